"""One change at a time, each simulated: what would help this scenario most.

A change keeps the load: all users together have as many sequences in flight as before. What counts
is how long a whole answer takes; the batch is tried apart, since it trades that for tokens per
second.
Links and NICs twice as fast halve what messages over them take beyond the time of an empty one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from gpuflow.cluster.memory import has_room
from gpuflow.engine.bottleneck import time_parts
from gpuflow.engine.simulate import simulate
from gpuflow.engine.timeline import Timeline, tokens_per_s
from gpuflow.errors import ScenarioError
from gpuflow.scenario import catalog
from gpuflow.scenario.spec import ClusterSpec, ParallelSpec, Phase, Scenario
from gpuflow.scenario.splits import is_possible

ChangeKind = Literal["split", "precision", "batch", "gpus", "gpu", "link", "nic"]
OWN: frozenset[ChangeKind] = frozenset({"split", "precision"})
"""Changes on the machines at hand."""
HARDWARE: frozenset[ChangeKind] = frozenset({"gpus", "gpu", "link", "nic"})
"""Changes that take other machines or more of them."""

_NEXT_GPU: Mapping[str, str] = {
    "v100-sxm2": "a100-80gb-sxm",
    "a100-80gb-sxm": "h100-sxm",
    "h100-pcie": "h100-sxm",
    "h800": "h200-sxm",
    "h100-sxm": "h200-sxm",
    "h20": "h200-sxm",
    "h200-sxm": "b200-sxm",
    "b200-sxm": "b300-sxm",
    "gb200": "gb300",
    "l40s": "h100-sxm",
    "rtx-3090": "rtx-4090",
    "rtx-4090": "rtx-pro-6000",
    "rtx-pro-6000": "h100-sxm",
}
"""The next larger GPU of the same maker."""
_NARROWER: Mapping[str, tuple[str, ...]] = {
    "bf16": ("fp8", "int8"),
    "fp16": ("fp8", "int8"),
    "fp8": ("fp4",),
}

Room = Callable[[Scenario], bool]
"""Whether a scenario fits into its GPUs' memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing done differently, and what it gives."""

    kind: ChangeKind
    value: str
    """What it becomes: a precision, GPU or fabric by id, a batch; empty for a split."""
    parallel: ParallelSpec
    batch: int
    fits: bool
    ttft_s: float
    tpot_s: float | None
    answer_s: float
    tokens_per_s: float | None

    def gain(self, before: Timeline) -> float:
        """Part of the answer's time that is saved; below 0 it takes longer."""
        return 1 - self.answer_s / before.end_s


def try_changes(timeline: Timeline, room: Room = has_room) -> tuple[Change, ...]:
    """Every change that the model and machines allow, in the order in which it was tried.

    Args:
        timeline: The scenario as it is.
        room: Says whether a scenario fits; the figures of one that does not are given all the same.
    """
    scenario = timeline.scenario
    found = [_simulated(kind, value, changed, room) for kind, value, changed in _tried(scenario)]
    return (*found, *_faster_links(timeline, room))


def best_change(
    timeline: Timeline,
    changes: tuple[Change, ...],
    kinds: frozenset[ChangeKind],
    least: float = 0.0,
) -> Change | None:
    """The change of some kinds that shortens the answer most and fits; None where none does.

    Args:
        timeline: The scenario as it is.
        changes: What was tried.
        kinds: Kinds that count.
        least: Part of the answer's time that it must save more than.
    """
    helping = [
        change
        for change in changes
        if change.kind in kinds and change.fits and change.gain(timeline) > least
    ]
    return max(helping, key=lambda change: change.gain(timeline), default=None)


def _simulated(kind: ChangeKind, value: str, scenario: Scenario, room: Room) -> Change:
    timeline = simulate(scenario)
    has_laps = timeline.laps > 0
    return Change(
        kind=kind,
        value=value,
        parallel=scenario.parallel,
        batch=scenario.workload.batch,
        fits=room(scenario),
        ttft_s=timeline.ttft_s,
        tpot_s=timeline.tpot_s if has_laps else None,
        answer_s=timeline.end_s,
        tokens_per_s=tokens_per_s(timeline) if has_laps else None,
    )


# ---------------------------------------------------------------- what is tried


def _tried(scenario: Scenario) -> Iterator[tuple[ChangeKind, str, Scenario]]:
    yield from _splits(scenario)
    for precision in _NARROWER.get(scenario.precision, ()):
        if precision in scenario.cluster.device.peak_flop_per_s:
            yield "precision", precision, replace(scenario, precision=precision)
            break
    doubled = scenario.workload.batch * 2
    yield "batch", str(doubled), _with_batch(scenario, doubled)
    larger = _larger_gpu(scenario)
    if larger is not None:
        yield "gpu", larger.cluster.device.name, larger


def _splits(scenario: Scenario) -> Iterator[tuple[ChangeKind, str, Scenario]]:
    """Twice or half the tensor parallelism, paid for in stages, in replicas, or in GPUs."""
    p, batch = scenario.parallel, scenario.workload.batch
    total = batch * p.dp
    wanted: list[tuple[ChangeKind, int, int, int]] = [
        ("split", p.tp * 2, p.pp // 2, p.dp),
        ("split", p.tp // 2, p.pp * 2, p.dp),
        ("split", p.tp * 2, p.pp, p.dp // 2),
        ("split", p.tp // 2, p.pp, p.dp * 2),
        ("gpus", p.tp * 2, p.pp, p.dp),
    ]
    for kind, tp, pp, dp in wanted:
        grows = 2 if kind == "gpus" else 1
        if min(tp, pp, dp) < 1 or tp * pp * dp != grows * p.world or total % dp:
            continue
        ep = _expert_ranks(p, tp, dp)
        parallel = replace(p, tp=tp, pp=pp, dp=dp, ep=ep)
        if pp != p.pp:
            parallel = replace(parallel, stage_layers=())
        if is_possible(scenario.model, parallel):
            changed = replace(scenario, parallel=parallel)
            yield kind, "", _with_batch(changed, total // dp)


def _expert_ranks(p: ParallelSpec, tp: int, dp: int) -> int:
    """Experts that all ranks of a stage share stay so; other groups keep their size."""
    if p.ep > 1 and p.ep == p.tp * p.dp:
        return tp * dp
    return p.ep


def _with_batch(scenario: Scenario, batch: int) -> Scenario:
    """Another batch; micro-batches stay, as far as it can be cut into them."""
    groups = scenario.workload.micro_batches
    changed = scenario.with_workload(batch=batch)
    return changed if batch % groups == 0 else changed.with_workload(micro_batches=1)


def _larger_gpu(scenario: Scenario) -> Scenario | None:
    name = _NEXT_GPU.get(scenario.cluster.device.name)
    if name is None:
        return None
    try:
        device = catalog.device(name)
        cluster = ClusterSpec(
            device=device,
            scale_up=catalog.fabric(device.fabric),
            scale_out=catalog.fabric(device.nic),
            gpus_per_node=device.gpus_per_node,
        )
    except ScenarioError:
        return None
    if not catalog.has_peak(device, scenario.precision):
        return None
    return replace(scenario, cluster=cluster)


# ---------------------------------------------------------------- links


def _faster_links(timeline: Timeline, room: Room) -> Iterator[Change]:
    """Links inside nodes, then NICs, twice as fast."""
    scenario = timeline.scenario
    tiers: tuple[tuple[ChangeKind, str, bool], ...] = (
        ("link", scenario.cluster.scale_up.name, False),
        ("nic", scenario.cluster.scale_out.name, True),
    )
    for kind, fabric, crosses in tiers:
        saved = {phase: _saved(timeline, phase, crosses) for phase in ("prefill", "decode")}
        if not any(saved.values()):
            continue
        ttft_s = timeline.ttft_s * (1 - saved["prefill"])
        tpot_s = timeline.tpot_s * (1 - saved["decode"]) if timeline.laps else None
        p, batch = scenario.parallel, scenario.workload.batch
        yield Change(
            kind=kind,
            value=fabric,
            parallel=p,
            batch=batch,
            fits=room(scenario),
            ttft_s=ttft_s,
            tpot_s=tpot_s,
            answer_s=ttft_s + timeline.laps * (tpot_s or 0.0),
            tokens_per_s=batch * p.dp / tpot_s if tpot_s else None,
        )


def _saved(timeline: Timeline, phase: Phase, crosses: bool) -> float:
    """Part of a pass that goes when bandwidth doubles."""
    whole = timeline.pass_s(phase)
    found = sum(
        part.seconds
        for part in time_parts(timeline, phase)
        if part.resource == "bandwidth" and part.is_across_nodes == crosses
    )
    return found / 2 / whole if whole else 0.0
