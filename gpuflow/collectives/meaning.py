"""What each collective must produce, in one line of numpy; and inputs that read easily.

x  inputs, one array a peer (empty where a peer brings nothing)        n  peers
Outputs are None for peers whose buffer means nothing afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gpuflow.collectives.places import places

Vector = NDArray[Any]
Outputs = list["Vector | None"]

_DISTINCT = 9973
"""Values of `start` repeat beyond this many: small enough that sums of float32 stay exact."""


def _sum(x: Sequence[Vector]) -> Vector:
    return np.asarray(np.sum(x, axis=0, dtype=x[0].dtype))


_MEANING: dict[str, Callable[[Sequence[Vector], int, int], Outputs]] = {
    "all_reduce": lambda x, n, root: [_sum(x)] * n,
    "all_gather": lambda x, n, root: [np.concatenate(x)] * n,
    "reduce_scatter": lambda x, n, root: [*np.array_split(_sum(x), n)],
    "all_to_all": lambda x, n, root: [
        np.concatenate(blocks) for blocks in zip(*(np.array_split(a, n) for a in x), strict=True)
    ],
    "broadcast": lambda x, n, root: [x[root]] * n,
    "reduce": lambda x, n, root: [_sum(x) if peer == root else None for peer in range(n)],
    "scatter": lambda x, n, root: [*np.array_split(x[root], n)],
    "gather": lambda x, n, root: [np.concatenate(x) if peer == root else None for peer in range(n)],
    "send_recv": lambda x, n, root: [
        x[root] if peer == (root + 1) % n else None for peer in range(n)
    ],
}


def meaning(collective: str, inputs: Sequence[Vector], root: int = 0) -> Outputs:
    """The outputs every algorithm of `collective` must produce from `inputs`.

    Args:
        collective: One of `gpuflow.scenario.spec.COLLECTIVES`.
        inputs: One array a peer; chunks of one vector where the collective starts from chunks.
        root: The root, or the sender of send_recv.

    Raises:
        ValueError: `collective` is unknown.

    Example:
        >>> [o.tolist() for o in meaning("all_reduce", [np.array([1, 2]), np.array([3, 4])])]
        [[4, 6], [4, 6]]
    """
    if collective not in _MEANING:
        raise ValueError(f"unknown collective {collective!r}; known: {', '.join(_MEANING)}")
    return _MEANING[collective](inputs, len(inputs), root)


def start(
    collective: str,
    n_ranks: int,
    n_elements: int,
    root: int = 0,
    dtype: DTypeLike = np.int64,
) -> list[Vector]:
    """Inputs that can be followed by eye: 1, 2, 3 ... over all data of the group.

    Where peers bring vectors of their own (all_reduce, reduce_scatter, all_to_all, reduce) peer
    r's go on from where peer r - 1's end; elsewhere the one vector of the group is 1..N.
    """
    place = places(collective, n_ranks, n_elements, root)
    has_own_vector = collective in {"all_reduce", "reduce_scatter", "all_to_all", "reduce"}
    inputs = []
    for peer in range(n_ranks):
        first = peer * n_elements if has_own_vector else int(place.input_offset[peer])
        numbers = np.arange(first, first + int(place.input_count[peer]))
        inputs.append((numbers % _DISTINCT + 1).astype(dtype))
    return inputs
