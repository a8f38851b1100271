"""Time and bus bandwidth of a collective over sizes, for each algorithm: simulated points.

A schedule whose sizes divide takes a fixed latency plus a time in proportion to its size, so one
charge gives all sizes of an algorithm; other sizes differ by at most one element a round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpuflow.cluster.charge import charge, round_loads
from gpuflow.cluster.fabric import Fabric, build_fabric
from gpuflow.collectives.algorithms import (
    ALGORITHMS,
    build,
    has_levels,
    is_dense,
    is_pipelined,
    needs_switch,
)
from gpuflow.collectives.oracle import bus_factor
from gpuflow.collectives.schedule import IntArray
from gpuflow.scenario.spec import ClusterSpec

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Point:
    """One size of one algorithm."""

    size_bytes: int
    ranks: int
    algorithm: str
    protocol: str
    time_s: float
    bus_bandwidth_bytes_per_s: float
    """Bus factor x size / time (nccl-tests)."""
    time_source: Literal["simulated"]
    chosen: bool
    """The least time at this size; the first listed among equals."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CostLine:
    """Time of an algorithm on a fabric as a straight line over its size."""

    latency_s: float
    seconds_per_byte: float

    def time_s(self, size_bytes: ArrayLike) -> FloatArray:
        """Seconds for each size; a collective of nothing takes no time."""
        sizes = np.asarray(size_bytes, dtype=np.float64)
        return np.where(sizes > 0, self.latency_s + sizes * self.seconds_per_byte, 0.0)


PIPELINE_CHUNKS = (1, 2, 4, 8, 16, 32, 64)
"""Chunk counts that are tried where an algorithm has a pipeline; the quickest is taken."""
MOST_DENSE_RANKS = 1024
"""Largest group for algorithms in which everybody talks to everybody at once."""


def runnable(collective: str, cluster: ClusterSpec, n_ranks: int) -> tuple[str, ...]:
    """The algorithms that these machines can run, in the order of `ALGORITHMS`.

    Left out are those that need a switch which adds where there is none or where ranks lie in
    several nodes; two levels where there is one node or the last one would be filled in part; and
    messages between all pairs at once beyond 1,024 ranks.

    Raises:
        ValueError: `collective` is unknown.
    """
    if collective not in ALGORITHMS:
        raise ValueError(f"unknown collective {collective!r}; known: {', '.join(ALGORITHMS)}")
    per_node = cluster.gpus_per_node
    has_one_node = n_ranks <= per_node
    fabric = cluster.scale_up
    can_add = has_one_node and fabric.topology == "switch" and fabric.adds_in_switch
    fills_nodes = not has_one_node and per_node > 1 and n_ranks % per_node == 0
    return tuple(
        name
        for name in ALGORITHMS[collective]
        if (can_add or not needs_switch(collective, name))
        and (fills_nodes or not has_levels(collective, name))
        and (n_ranks <= MOST_DENSE_RANKS or not is_dense(collective, name))
    )


def cost_line(
    collective: str, algorithm: str, fabric: Fabric, gpus: ArrayLike, n_chunks: int = 1
) -> CostLine:
    """Charges one schedule whose chunks are all alike, and reads the line off it.

    Args:
        collective: A key of `ALGORITHMS`.
        algorithm: One of its algorithms.
        fabric: Where it runs.
        gpus: GPU of each peer, shape (R,), or (groups, R) for groups that run at the same time.
        n_chunks: Chunks in the pipeline, of algorithms that have one.

    Raises:
        ValueError: As `build` and `charge`.
    """
    n_ranks = np.asarray(gpus).shape[-1]
    # A multiple of every number of chunks in use: n, the power of two below it, and halves of
    # the pipeline's.
    n_elements = (n_ranks << (n_ranks.bit_length() - 1)) * 2 * n_chunks
    levels = fabric.gpus_per_node if has_levels(collective, algorithm) else None
    schedule = build(
        collective, algorithm, n_ranks, n_elements, ranks_per_node=levels, n_chunks=n_chunks
    )
    cost = charge(schedule, fabric, gpus, 1.0)
    return CostLine(
        latency_s=cost.latency_s,
        seconds_per_byte=(cost.time_s - cost.latency_s) / n_elements,
    )


@lru_cache(maxsize=4096)
def cost_lines(
    collective: str, algorithm: str, fabric: Fabric, n_ranks: int
) -> tuple[CostLine, ...]:
    """The line of an algorithm on the first GPUs, or one for each of `PIPELINE_CHUNKS`.

    The least time of all lines holds at any size.

    Raises:
        ValueError: As `build` and `charge`.
    """
    gpus = np.arange(n_ranks)
    if is_pipelined(collective, algorithm) and n_ranks > 1:
        return _pipeline_lines(collective, algorithm, fabric, gpus)
    return (cost_line(collective, algorithm, fabric, gpus),)


def _pipeline_lines(
    collective: str, algorithm: str, fabric: Fabric, gpus: IntArray
) -> tuple[CostLine, ...]:
    """Lines for all chunk counts from one pass of a single chunk.

    With m chunks round t does for chunk t - s what round s does for a single chunk, for every s
    in t - m + 1 .. t: loads of a round are sums, and starts maxima, over such windows of rounds.
    """
    n_elements = 2 * len(gpus)
    alone = build(collective, algorithm, len(gpus), n_elements, n_chunks=1)
    starts, loads = round_loads(alone, fabric, gpus)
    used = loads.any(axis=0)
    seconds = loads[:, used] * fabric.seconds_per_byte[used] / n_elements
    before = np.concatenate([np.zeros((1, seconds.shape[1])), np.cumsum(seconds, axis=0)])
    depth = len(starts)
    lines = []
    for m in PIPELINE_CHUNKS:
        first = np.maximum(np.arange(depth + m - 1) - m + 1, 0)
        last = np.minimum(np.arange(depth + m - 1), depth - 1)
        windows = before[last + 1] - before[first]
        start = sum(float(starts[a : b + 1].max()) for a, b in zip(first, last, strict=True))
        lines.append(
            CostLine(latency_s=start, seconds_per_byte=float(windows.max(axis=1).sum()) / m)
        )
    return tuple(lines)


def collective_points(
    collective: str,
    cluster: ClusterSpec,
    n_ranks: int,
    sizes: Sequence[int],
    algorithms: Sequence[str] | None = None,
) -> list[Point]:
    """Points of every algorithm at every size, by size, then in the order of `algorithms`.

    Ranks fill one node after the other. send_recv runs at the rate of one lone transfer, all
    else at that of collectives.

    Args:
        collective: A key of `ALGORITHMS`.
        cluster: Where it runs.
        n_ranks: R, at least 1.
        sizes: Bytes by the collective's size convention (`gpuflow.collectives.schedule`).
        algorithms: Which to compare; None: all that are `runnable`.

    Raises:
        ValueError: A name is unknown, a number is out of range, or the machines cannot run an
            algorithm.
    """
    if any(size < 0 for size in sizes):
        raise ValueError("a size is 0 bytes or more")
    names = runnable(collective, cluster, n_ranks) if algorithms is None else tuple(algorithms)
    if not names:
        raise ValueError(f"no algorithm of {collective!r} to compare")
    fabric = build_fabric(cluster, n_ranks, "hop" if collective == "send_recv" else "bus")
    times = np.stack(
        [_best_times(collective, name, fabric, n_ranks, sizes) for name in names]
    )  # (algorithms, sizes)
    best = times.argmin(axis=0).tolist()
    factor = bus_factor(collective, n_ranks)
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(times > 0, factor * np.asarray(sizes) / times, 0.0)
    by_size = zip(sizes, times.T.tolist(), rates.T.tolist(), best, strict=True)
    return [
        Point(size, n_ranks, name, "simple", time_s, rate, "simulated", which == winner)
        for size, size_times, size_rates, winner in by_size
        for which, (name, time_s, rate) in enumerate(
            zip(names, size_times, size_rates, strict=True)
        )
    ]


def _best_times(
    collective: str, algorithm: str, fabric: Fabric, n_ranks: int, sizes: Sequence[int]
) -> FloatArray:
    lines = cost_lines(collective, algorithm, fabric, n_ranks)
    return np.asarray(np.min([line.time_s(sizes) for line in lines], axis=0))
