"""Which measured groups bend at the same sizes, having the same choices of kernel behind them."""

from __future__ import annotations

from gpuflow.cluster.measurements import Key
from gpuflow.cluster.nccl_model import chip

_RING = {"all_reduce", "all_gather", "reduce_scatter"}
"""NCCL picks algorithm and protocol of these three by the same plan."""


def sister_weight(key: Key, other: Key) -> float:
    """How much one group's bends say of another's; 0: nothing.

    The weights are those that predict left-out sizes of the one-node table best: a GPU of the same
    generation, and all_gather and reduce_scatter of the same ranks, bend alike; all_reduce nearly
    so; other rank counts of all_reduce a little.
    """
    if key == other or key.kernel != other.kernel or key.nodes > 1 or other.nodes > 1:
        return 0.0
    mine, its = chip(key.gpu), chip(other.gpu)
    if mine is None or its is None:
        return 0.0
    if (mine.architecture, mine.link) != (its.architecture, its.link):
        return 0.0
    if key.kernel != "nccl":
        return 0.3 if _but_gpu(key) == _but_gpu(other) else 0.0
    if key.ranks != other.ranks:
        both = key.gpu == other.gpu and key.collective == other.collective == "all_reduce"
        return 0.2 if both else 0.0
    if key.collective == other.collective:
        return 1.0
    if not {key.collective, other.collective} <= _RING:
        return 0.0
    return 0.7 if "all_reduce" in {key.collective, other.collective} else 1.0


def _but_gpu(key: Key) -> tuple[object, ...]:
    return (key.collective, key.kernel, key.launch, key.ranks, key.nodes)
