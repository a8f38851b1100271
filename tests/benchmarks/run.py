"""How fast the slow things are, each against plain numpy on the same machine in the same run.

    python tests/benchmarks/run.py [--json] [NAME ...]

One line a benchmark: name, value, baseline, ratio, limit, and what was prepared outside the
clock. Values and baselines are timed in turn and are medians of five; where the baseline is
what is allowed, it is not measured. The exit status is 1 when a ratio or a peak of memory is over
its limit. Not collected by pytest: times on a busy machine are no test.
"""

from __future__ import annotations

import argparse
import itertools
import json
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
from measure import Measure
from terminals import LackingError

from gpuflow.cluster.charge import charge, charge_rounds
from gpuflow.cluster.fabric import build_fabric
from gpuflow.cluster.points import collective_points, runnable
from gpuflow.collectives.algorithms import build
from gpuflow.collectives.replay import play
from gpuflow.engine.sweep_grid import Axes, SweepGrid
from gpuflow.engine.targets import Tier
from gpuflow.scenario.load import DEFAULT_SCENARIO, Overrides, load_scenario
from gpuflow.scenario.spec import ClusterSpec, DeviceSpec, FabricSpec

REPEATS = 5


@dataclass(frozen=True)
class Result:
    """What one benchmark found."""

    name: str
    value_s: float
    baseline_s: float
    ratio: float
    limit: float
    baseline: str
    prepared_s: float
    """Building what is measured, outside the clock."""
    peak_bytes: int | None = None
    """Most memory held at a time, in a run of its own."""
    peak_limit_bytes: int | None = None

    @property
    def is_within(self) -> bool:
        is_small = self.peak_bytes is None or self.peak_bytes <= (self.peak_limit_bytes or 0)
        return is_small and self.ratio <= self.limit


def seconds(action: Callable[[], object]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def compare(
    name: str,
    action: Callable[[], object],
    plain: Callable[[], object],
    *,
    baseline: str,
    limit: float,
    prepared_s: float = 0.0,
) -> Result:
    """Times both once to warm up, then in turn."""
    action(), plain()
    pairs = [(seconds(action), seconds(plain)) for _ in range(REPEATS)]
    value_s, baseline_s = (statistics.median(times) for times in zip(*pairs, strict=True))
    return Result(name, value_s, baseline_s, value_s / baseline_s, limit, baseline, prepared_s)


def against_clock(
    name: str, action: Callable[[], object], *, allowed_s: float, peak_limit_bytes: int
) -> Result:
    """Times an action against a fixed time, and watches its memory in one more run."""
    action()
    value_s = statistics.median(seconds(action) for _ in range(REPEATS))
    tracemalloc.start()
    action()
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return Result(
        name,
        value_s,
        allowed_s,
        value_s / allowed_s,
        1.0,
        f"{allowed_s:g} s allowed",
        0.0,
        peak_bytes,
        peak_limit_bytes,
    )


def replay_ring() -> Result:
    """Ring all_reduce of 8 ranks x 64 MiB float32 on loaded buffers."""
    n_ranks, n_elements = 8, 64 * 2**20 // 4
    schedule = build("all_reduce", "ring", n_ranks, n_elements)
    buffers = np.ones((n_ranks, n_elements), np.float32)
    chunk = n_elements // n_ranks

    def action() -> None:
        for _ in play(schedule, buffers):
            pass

    def plain() -> None:
        # The same bytes by hand: in place, 8 MiB at a time, every rank to its neighbour.
        for turn in range(n_ranks - 1):
            for rank in range(n_ranks):
                start = (rank - turn - 1) % n_ranks * chunk
                part = slice(start, start + chunk)
                to = buffers[(rank + 1) % n_ranks, part]
                np.add(to, buffers[rank, part], out=to)
        for turn in range(n_ranks - 1):
            for rank in range(n_ranks):
                start = (rank - turn) % n_ranks * chunk
                part = slice(start, start + chunk)
                np.copyto(buffers[(rank + 1) % n_ranks, part], buffers[rank, part])

    return compare(
        "replay_ring_8x64MiB",
        action,
        plain,
        baseline="numpy's additions and copies of the same bytes, in place",
        limit=1.25,
    )


def two_tier_cluster(step_s: float = 3.4e-6) -> ClusterSpec:
    """Nodes of eight behind one switch each, a NIC a GPU between them."""

    def fabric(
        tier: Tier, topology: Literal["switch", "fat_tree", "rail"], rate: float, step_s: float
    ) -> FabricSpec:
        return FabricSpec(
            name=tier,
            title=tier,
            tier=tier,
            topology=topology,
            link_bandwidth_bytes_per_s=rate,
            bus_bandwidth_bytes_per_s=rate,
            hop_bandwidth_bytes_per_s=rate,
            collective_latency_s=0.0,
            hop_latency_s=0.0,
            step_latency_s=step_s,
            source="benchmark",
        )

    device = DeviceSpec(
        name="gpu",
        title="GPU",
        memory_bytes=80e9,
        memory_bandwidth_bytes_per_s=3.35e12,
        peak_flop_per_s={"bf16": 989e12},
        fabric="scale_up",
        nic="scale_out",
        gpus_per_node=8,
        source="benchmark",
    )
    return ClusterSpec(
        device=device,
        scale_up=fabric("scale_up", "switch", 370e9, step_s),
        scale_out=fabric("scale_out", "fat_tree", 46e9, 4 * step_s),
        gpus_per_node=8,
    )


def charge_ring() -> Result:
    """Every transfer of a 1,024-rank ring all_reduce, charged to 7,000 links; no symmetry."""
    n_ranks = 1024
    begin = time.perf_counter()
    fabric = build_fabric(two_tier_cluster(), n_ranks)
    rounds = list(build("all_reduce", "ring", n_ranks, n_ranks * 1000 + 7).rounds())
    prepared_s = time.perf_counter() - begin
    members = np.arange(n_ranks)[np.newaxis]
    numbers = np.random.default_rng(0).random(sum(len(one) for one in rounds))
    return compare(
        "charge_ring_1024_ranks",
        lambda: charge_rounds(rounds, fabric, members, 2),
        lambda: np.add.reduce(numbers),
        baseline=f"numpy.add.reduce over {len(numbers):,} float64",
        limit=80,
        prepared_s=prepared_s,
    )


def charge_hierarchical() -> Result:
    """16,384 ranks in nodes of eight: fabric, schedule and charge, nothing kept from before."""
    n_ranks = 16384

    # A new cluster each time, so that no fabric is kept from the run before.
    counter = (1e-6 * k for k in itertools.count(1))

    def action() -> None:
        fabric = build_fabric(two_tier_cluster(step_s=next(counter)), n_ranks)
        schedule = build(
            "all_reduce", "hierarchical", n_ranks, n_ranks * 1000 + 7, ranks_per_node=8
        )
        charge(schedule, fabric, np.arange(n_ranks), 2)

    return against_clock("charge_hierarchical_16384", action, allowed_s=2.0, peak_limit_bytes=10**9)


def points() -> Result:
    """100,000 (size, ranks, algorithm) points, from fabrics and cost lines made afresh."""
    ranks = (2, 4, 8, 16, 32, 64, 128)
    clusters = iter(two_tier_cluster(step_s=1e-6 * k) for k in itertools.count(1))

    def action() -> None:
        cluster = next(clusters)
        n_algorithms = [len(runnable("all_reduce", cluster, n)) for n in ranks]
        n_sizes = -(-100_000 // sum(n_algorithms))
        sizes = range(1024, 1024 * (n_sizes + 1), 1024)
        made = sum(len(collective_points("all_reduce", cluster, n, sizes)) for n in ranks)
        if made < 100_000:
            raise RuntimeError(f"only {made} points")

    return against_clock("points_100000", action, allowed_s=1.0, peak_limit_bytes=10**9)


def sweep() -> Result:
    """200,000 configurations of a model, device and engine profile in one call."""
    from sweep import CONFIGURATIONS, measure

    rate, allowed_s = measure("vllm"), 1.0
    return Result(
        f"sweep_{CONFIGURATIONS}",
        rate.at_once_s,
        allowed_s,
        rate.at_once_s / allowed_s,
        1.0,
        f"{allowed_s:g} s allowed; {rate.per_second:,.0f} a second, {rate.ratio:.0f} times a plain"
        " Python loop over the same formulas",
        0.0,
    )


def sweep_grid() -> Result:
    """A million points of `gpuflow sweep`, splits planned afresh, and what nothing else beats."""
    changes = Overrides(model="llama-3-70b", tp=1, pp=1, profile="vllm")
    scenario = load_scenario(DEFAULT_SCENARIO, changes)
    axes = Axes(
        tp=(1, 2, 4, 8),
        pp=(1, 2, 4),
        dp=(1,),
        ep=(1,),
        batch=tuple(range(1, 257)),
        prompt=tuple(range(128, 128 + 326 * 100, 100)),
    )

    def action() -> None:
        grid = SweepGrid(scenario, axes)
        if [*grid.blocks()][-1] < 1_000_000 or not grid.fronts():
            raise RuntimeError("fewer than a million points")

    return against_clock("sweep_grid_1000000", action, allowed_s=30.0, peak_limit_bytes=10**9)


BENCHMARKS: dict[str, Callable[[], Result]] = {
    "replay_ring": replay_ring,
    "charge_ring": charge_ring,
    "charge_hierarchical": charge_hierarchical,
    "points": points,
    "sweep": sweep,
    "sweep_grid": sweep_grid,
}


def ssh() -> Iterator[Measure]:
    """The player over ssh on loopback, and its first frame."""
    from ssh import measure

    return measure()


def memory() -> Iterator[Measure]:
    """Ten minutes of play, at once."""
    from memory import measure

    return measure()


def frames() -> Iterator[Measure]:
    """Frames of 1 to 1,024 GPUs beside one of four."""
    from frames import measure

    return measure()


def trace() -> Iterator[Measure]:
    """A profiler's trace of 64 MB, read in a process of its own."""
    from traces import measure

    return measure()


MEASURED: dict[str, Callable[[], Iterator[Measure]]] = {
    "ssh": ssh,
    "memory": memory,
    "frames": frames,
    "trace": trace,
}
"""Those of several figures each, with units of their own."""


def line(result: Result) -> str:
    verdict = "ok" if result.is_within else "OVER"
    notes = [f"against {result.baseline}"]
    if result.prepared_s:
        notes.append(f"built in {result.prepared_s * 1e3:.1f} ms")
    if result.peak_bytes is not None:
        notes.append(f"peak {result.peak_bytes / 1e6:.0f} MB")
    return (
        f"{result.name:<26} {result.value_s * 1e3:9.2f} ms  baseline"
        f" {result.baseline_s * 1e3:9.3f} ms  ratio {result.ratio:6.2f}  limit"
        f" {result.limit:g}  {verdict}  ({'; '.join(notes)})"
    )


def measured(names: Iterable[str]) -> Iterator[Result | Measure]:
    """Every figure of the benchmarks of those names; what is not to be had here is skipped."""
    for name in names:
        if name in BENCHMARKS:
            yield BENCHMARKS[name]()
            continue
        try:
            yield from MEASURED[name]()
        except LackingError as lacking:
            print(f"{name:<26} skipped: {lacking}", file=sys.stderr)


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Benchmarks against plain numpy.")
    known = [*BENCHMARKS, *MEASURED]
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(known))
    parser.add_argument("--json", action="store_true", help="one JSON document instead of lines")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(known)
    if unknown:
        parser.error(f"no benchmark {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    results: list[Result | Measure] = []
    for result in measured(options.names or known):
        results.append(result)
        if not options.json:
            text = result.line() if isinstance(result, Measure) else line(result)
            print(text, flush=True)
    if options.json:
        print(
            json.dumps(
                [{**asdict(r), "ratio": r.ratio, "is_within": r.is_within} for r in results],
                indent=2,
            )
        )
    return 0 if all(result.is_within for result in results) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
