"""What groups that run a collective at the same time put on the links."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gpuflow.cluster.charge import charge
from gpuflow.cluster.fabric import Fabric
from gpuflow.cluster.rings import side_by_side
from gpuflow.cluster.symmetry import charge_alike, is_alike
from gpuflow.cluster.wiring import FloatArray
from gpuflow.collectives.algorithms import build, has_levels, is_dense
from gpuflow.collectives.places import ROOTED
from gpuflow.collectives.schedule import IntArray

MOST_DENSE_TRANSFERS = 1 << 21
"""Of all groups together; what has more is charged through a few ranks, where that can be."""


def link_bytes(
    collective: str,
    algorithm: str,
    fabric: Fabric,
    groups: ArrayLike,
    size_bytes: int,
    root: int = 0,
) -> FloatArray:
    """Bytes over each link, shape (L,); rings of a group run side by side.

    Args:
        collective: A key of `gpuflow.collectives.algorithms.ALGORITHMS`.
        algorithm: One of its algorithms.
        fabric: Where it runs.
        groups: GPUs of each group, shape (groups, R).
        size_bytes: By the collective's size convention.
        root: As in `gpuflow.collectives.algorithms.build`.

    Raises:
        ValueError: As `build` and `gpuflow.cluster.charge.charge`.
    """
    members = np.atleast_2d(np.asarray(groups, dtype=np.int64))
    n_ranks = members.shape[1]
    if _stand_for_all(collective, algorithm, fabric, members):
        return charge_alike(collective, algorithm, fabric).link_shares * size_bytes
    per_node = fabric.gpus_per_node
    has_whole_nodes = has_levels(collective, algorithm) and n_ranks % per_node == 0
    schedule = build(
        collective,
        algorithm,
        n_ranks,
        size_bytes,
        root,
        ranks_per_node=per_node if has_whole_nodes else None,
    )
    if algorithm != "ring" or collective in ROOTED:
        return charge(schedule, fabric, members, 1.0).link_bytes
    total = np.zeros(fabric.n_links)
    for rings, channels in side_by_side(fabric, members):
        total += charge(schedule, fabric, rings, 1 / channels).link_bytes
    return total


def _stand_for_all(collective: str, algorithm: str, fabric: Fabric, members: IntArray) -> bool:
    """Whether a few ranks may stand for a group of all GPUs, and must."""
    n_ranks = members.shape[1]
    is_large = members.shape[0] * n_ranks**2 > MOST_DENSE_TRANSFERS
    has_many = is_dense(collective, algorithm) or collective == "all_to_all"
    return is_large and has_many and n_ranks == fabric.n_gpus and is_alike(collective, algorithm)
