"""Points that no other one beats in both of two figures."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


def front(x: FloatArray, y: FloatArray) -> IntArray:
    """Places of the points for which no other point has x and y as large and one of them larger.

    Args:
        x: One figure of each point, more is better; shape (N,). nan: the point does not count.
        y: The other figure.

    Returns:
        Places in `x` and `y`, by falling x and then in their order; of equal points all.

    Example:
        >>> front(np.array([1.0, 2.0, 2.0, 3.0]), np.array([9.0, 5.0, 7.0, 1.0])).tolist()
        [3, 2, 0]
    """
    known = np.flatnonzero(np.isfinite(x) & np.isfinite(y))
    if not len(known):
        return known.astype(np.int64)
    order = known[np.lexsort((known, -y[known], -x[known]))]
    across, up = x[order], y[order]
    begins = np.r_[True, across[1:] != across[:-1]]
    run = np.cumsum(begins) - 1
    best = up[begins]
    # the best y among all points with a larger x
    before = np.r_[-np.inf, np.maximum.accumulate(best)[:-1]]
    is_best = (up == best[run]) & (best[run] > before[run])
    return np.asarray(order[is_best], dtype=np.int64)
