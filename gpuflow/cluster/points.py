"""Time and bus bandwidth of a collective over sizes, for each algorithm: simulated points.

A schedule whose sizes divide takes a fixed latency plus a time in proportion to its size, so one
charge gives all sizes of an algorithm; other sizes differ by at most one element a round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpuflow.cluster.charge import charge
from gpuflow.cluster.fabric import Fabric, build_fabric
from gpuflow.collectives.algorithms import ALGORITHMS, build
from gpuflow.collectives.oracle import bus_factor
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


def cost_line(collective: str, algorithm: str, fabric: Fabric, gpus: ArrayLike) -> CostLine:
    """Charges one schedule whose chunks are all alike, and reads the line off it.

    Args:
        collective: A key of `ALGORITHMS`.
        algorithm: One of its algorithms.
        fabric: Where it runs.
        gpus: GPU of each peer, shape (R,), or (groups, R) for groups that run at the same time.

    Raises:
        ValueError: As `build` and `charge`.
    """
    n_ranks = np.asarray(gpus).shape[-1]
    # A multiple of every chunk count in use: n for most, and the power of two below it.
    n_elements = n_ranks << (n_ranks.bit_length() - 1)
    cost = charge(build(collective, algorithm, n_ranks, n_elements), fabric, gpus, 1.0)
    return CostLine(
        latency_s=cost.latency_s,
        seconds_per_byte=(cost.time_s - cost.latency_s) / n_elements,
    )


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
        algorithms: Which to compare; None: all of them.

    Raises:
        ValueError: A name is unknown or a number is out of range.
    """
    if any(size < 0 for size in sizes):
        raise ValueError("a size is 0 bytes or more")
    names = tuple(ALGORITHMS.get(collective, ()) if algorithms is None else algorithms)
    lines = [_line(collective, name, cluster, n_ranks) for name in names]
    if not lines:
        raise ValueError(f"no algorithm of {collective!r} to compare")
    times = np.stack([line.time_s(sizes) for line in lines])  # (algorithms, sizes)
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


def _line(collective: str, algorithm: str, cluster: ClusterSpec, n_ranks: int) -> CostLine:
    fabric = build_fabric(cluster, n_ranks, "hop" if collective == "send_recv" else "bus")
    return cost_line(collective, algorithm, fabric, np.arange(n_ranks))
