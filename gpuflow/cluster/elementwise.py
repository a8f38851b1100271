"""Amounts that are numbers or numpy arrays.

The cost formulas run on both: on numbers for one scenario, on arrays for many at once. Annotations
say `float` for either.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from numpy.typing import NDArray

Amount = float | NDArray[np.float64]


def amount(values: NDArray[np.float64]) -> float:
    """An array, where annotations say `float`."""
    return cast(float, values)


def lesser(a: Amount, b: Amount) -> float:
    """The smaller one, element by element."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return cast(float, np.minimum(a, b))
    return a if a < b else b


def greater(a: Amount, b: Amount) -> float:
    """The larger one, element by element."""
    if isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return cast(float, np.maximum(a, b))
    return a if a > b else b
