"""Time and bus bandwidth of a collective over sizes, for each algorithm: simulated points.

A schedule whose sizes divide takes a fixed latency plus a time in proportion to its size, so one
charge gives all sizes of an algorithm; other sizes differ by at most one element a round. Of the
protocols, and of the chunk counts where an algorithm has a pipeline, the quickest is taken.
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
from gpuflow.cluster.nccl_model import PROTOCOLS, Protocol
from gpuflow.cluster.protocols import (
    ISSUE_S,
    Launch,
    as_launched,
    fixed_s,
    protocol_shares,
)
from gpuflow.cluster.rings import path_latencies_s, ring_orders
from gpuflow.cluster.symmetry import can_be_charged, charge_alike, is_alike
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
    """ll, ll128 or simple: the quickest for this algorithm."""
    time_s: float
    bus_bandwidth_bytes_per_s: float
    """Bus factor x size / time (nccl-tests)."""
    time_source: Literal["simulated"]
    chosen: bool
    """The least time at this size; the first listed among equals."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class CostLine:
    """Time of an algorithm's schedule on a fabric as a straight line over its size."""

    latencies_s: FloatArray
    """Starts of all rounds by protocol: LL, LL128, Simple."""
    seconds_per_byte: float
    """As Simple has it."""
    rounds: int
    messages: int
    """Messages of the GPU that sends most of them in a round, over all rounds."""

    def time_s(self, size_bytes: ArrayLike, protocol: Protocol = "simple") -> FloatArray:
        """Seconds for each size with a protocol's starts; nothing takes no time."""
        sizes = np.asarray(size_bytes, dtype=np.float64)
        latency_s = self.latencies_s[PROTOCOLS.index(protocol)]
        return np.where(sizes > 0, latency_s + sizes * self.seconds_per_byte, 0.0)


PIPELINE_CHUNKS = (1, 2, 4, 8, 16, 32, 64)
"""Chunk counts that are tried where an algorithm has a pipeline; the quickest is taken."""
MOST_DENSE_RANKS = 1024
"""Largest group for algorithms in which everybody sends everybody all at once, where a collective
has others; beyond it charges need a fabric whose nodes are alike."""


def runnable(collective: str, cluster: ClusterSpec, n_ranks: int) -> tuple[str, ...]:
    """The algorithms that these machines can run, in the order of `ALGORITHMS`.

    Left out are those that need a switch which adds where there is none or where ranks lie in
    several nodes; two levels where there is one node or the last one would be filled in part; and,
    beyond 1,024 ranks, messages between all pairs at once, but for all_to_all.

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
        and (n_ranks <= MOST_DENSE_RANKS or _is_chargeable(collective, name, cluster, n_ranks))
    )


def _is_chargeable(collective: str, algorithm: str, cluster: ClusterSpec, n_ranks: int) -> bool:
    """Whether thousands of ranks can run an algorithm, and be charged in a moment."""
    if not is_alike(collective, algorithm):
        return not is_dense(collective, algorithm)
    if is_dense(collective, algorithm) and collective != "all_to_all" and algorithm != "pat":
        return False
    return can_be_charged(collective, algorithm, build_fabric(cluster, n_ranks))


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
        latencies_s=cost.latencies_s,
        seconds_per_byte=(cost.time_s - cost.latency_s) / n_elements,
        rounds=cost.rounds,
        messages=cost.messages,
    )


@lru_cache(maxsize=4096)
def cost_lines(
    collective: str, algorithm: str, fabric: Fabric, n_ranks: int
) -> tuple[CostLine, ...]:
    """The line of an algorithm on the first GPUs, or one for each of `PIPELINE_CHUNKS`.

    The least time of all lines holds at any size. Over all GPUs of a fabric, ring means rings side
    by side (`gpuflow.cluster.rings`) whose chunks wait for their own path only; and ranks that do
    alike are charged together.

    Raises:
        ValueError: As `build` and `charge`.
    """
    gpus = np.arange(n_ranks)
    if is_pipelined(collective, algorithm) and n_ranks > 1:
        return _pipeline_lines(collective, algorithm, fabric, gpus)
    if n_ranks == fabric.n_gpus and is_alike(collective, algorithm):
        alike = charge_alike(collective, algorithm, fabric)
        latencies_s = alike.latencies_s
        if algorithm == "ring":
            latencies_s = path_latencies_s(fabric, ring_orders(fabric), alike.rounds)
        line = CostLine(
            latencies_s=latencies_s,
            seconds_per_byte=alike.transfers_s,
            rounds=alike.rounds,
            messages=alike.messages,
        )
        return (line,)
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
    depth = starts.shape[1]
    lines = []
    for m in PIPELINE_CHUNKS:
        first = np.maximum(np.arange(depth + m - 1) - m + 1, 0)
        last = np.minimum(np.arange(depth + m - 1), depth - 1)
        windows = before[last + 1] - before[first]
        slowest = [starts[:, a : b + 1].max(axis=1) for a, b in zip(first, last, strict=True)]
        lines.append(
            CostLine(
                latencies_s=np.sum(slowest, axis=0),
                seconds_per_byte=float(windows.max(axis=1).sum()) / m,
                rounds=len(slowest),
                messages=len(slowest),
            )
        )
    return tuple(lines)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScheduleTimes:
    """Times of several algorithms over sizes; A algorithms, S sizes."""

    algorithms: tuple[str, ...]
    time_s: FloatArray
    """Shape (A, S)."""
    protocol: IntArray
    """Index into `PROTOCOLS` of the quickest one, shape (A, S)."""

    @property
    def best(self) -> IntArray:
        """Index of the algorithm with the least time, the first among equals; shape (S,)."""
        return np.asarray(self.time_s.argmin(axis=0))


def schedule_times(
    collective: str,
    cluster: ClusterSpec,
    n_ranks: int,
    sizes: ArrayLike,
    algorithms: Sequence[str] | None = None,
    launch: Launch = "nccl-tests",
) -> ScheduleTimes:
    """Times of every algorithm at every size, in arrays.

    Ranks fill one node after the other. send_recv runs at the rate of one lone transfer, all
    else at that of collectives.

    Args:
        collective: A key of `ALGORITHMS`.
        cluster: Where it runs.
        n_ranks: R, at least 1.
        sizes: Bytes by the collective's size convention (`gpuflow.collectives.schedule`), (S,).
        algorithms: Which to compare; None: all that are `runnable`.
        launch: How it is launched, which is most of the time of a small collective.

    Raises:
        ValueError: A name is unknown, a number is out of range, or the machines cannot run an
            algorithm.
    """
    at = np.asarray(sizes, dtype=np.float64)
    if (at < 0).any():
        raise ValueError("a size is 0 bytes or more")
    names = runnable(collective, cluster, n_ranks) if algorithms is None else tuple(algorithms)
    if not names:
        raise ValueError(f"no algorithm of {collective!r} to compare")
    fabric = build_fabric(cluster, n_ranks, "hop" if collective == "send_recv" else "bus")
    found = []
    for name in names:
        shares = protocol_shares(name, cluster, n_ranks)
        found.append(_quickest(_Case(collective, name, launch, shares), fabric, n_ranks, at))
    return ScheduleTimes(
        algorithms=names,
        time_s=np.stack([one for one, _ in found]),
        protocol=np.stack([which for _, which in found]),
    )


def collective_points(
    collective: str,
    cluster: ClusterSpec,
    n_ranks: int,
    sizes: Sequence[int],
    algorithms: Sequence[str] | None = None,
    launch: Launch = "nccl-tests",
) -> list[Point]:
    """`schedule_times` as points, by size, then in the order of `algorithms`.

    Args and errors are those of `schedule_times`.
    """
    found = schedule_times(collective, cluster, n_ranks, sizes, algorithms, launch)
    times, factor = found.time_s, bus_factor(collective, n_ranks)
    with np.errstate(divide="ignore", invalid="ignore"):
        rates = np.where(times > 0, factor * np.asarray(sizes) / times, 0.0)
    columns = (times.T.tolist(), rates.T.tolist(), found.protocol.T.tolist())
    return [
        Point(size, n_ranks, name, PROTOCOLS[protocol], time_s, rate, "simulated", which == winner)
        for size, size_times, size_rates, size_protocols, winner in zip(
            sizes, *columns, found.best.tolist(), strict=True
        )
        for which, (name, time_s, rate, protocol) in enumerate(
            zip(found.algorithms, size_times, size_rates, size_protocols, strict=True)
        )
    ]


@dataclass(frozen=True, slots=True)
class _Case:
    collective: str
    algorithm: str
    launch: Launch
    shares: FloatArray
    """Of the links' rate, by protocol."""


def _quickest(
    case: _Case, fabric: Fabric, n_ranks: int, at: FloatArray
) -> tuple[FloatArray, IntArray]:
    """Least time at each size over protocols and chunk counts, and the protocol that has it."""
    lines = cost_lines(case.collective, case.algorithm, fabric, n_ranks)
    if not lines[0].rounds:
        return np.zeros(len(at)), np.full(len(at), PROTOCOLS.index("simple"))
    fixed = fixed_s(case.algorithm, case.launch)
    usable = np.flatnonzero(case.shares).tolist()
    rivals = np.stack(
        [
            fixed[which]
            + line.latencies_s[which]
            + ISSUE_S * max(line.messages - line.rounds, 0)
            + at * (line.seconds_per_byte / case.shares[which])
            for which in usable
            for line in lines
        ]
    )
    winner = rivals.argmin(axis=0)
    least = as_launched(rivals[winner, np.arange(len(at))], case.launch)
    return np.where(at > 0, least, 0.0), np.asarray(usable)[winner // len(lines)]
