"""Two scenarios side by side: which figures differ, and what of their time makes the difference.

The time of a pass is taken apart as `gpuflow.engine.bottleneck` does: reading memory, arithmetic,
fixed overhead, and for each class of traffic latency and bandwidth; what a pass waits for others is
apart. The parts add up to TTFT and TPOT, so their differences add up to the whole difference.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gpuflow.cluster.cost import CostModel, decode_shape, prefill_shape
from gpuflow.cluster.memory import largest_batch, stage_memories
from gpuflow.cluster.mesh import mesh_of
from gpuflow.cluster.parameters import layer_at
from gpuflow.engine.bottleneck import Resource, time_parts
from gpuflow.engine.collective_time import collective_time, fabric_of, hop_time
from gpuflow.engine.timeline import Span, Timeline, TimeSource, tokens_per_s
from gpuflow.scenario.model_spec import LayerSpec
from gpuflow.scenario.spec import ComputePart, Phase, Scenario, TrafficClass

Bound = Resource | Literal["waiting"]
MetricId = Literal[
    "gpus",
    "ttft_s",
    "tpot_s",
    "tokens_per_s_per_user",
    "tokens_per_s",
    "tokens_per_s_per_gpu",
    "weights_bytes",
    "spare_bytes",
    "max_batch",
]
_ROUNDING = 1e-9
"""Part of TTFT or TPOT below which sums of times differ by rounding alone."""
PHASES: tuple[Phase, Phase] = ("prefill", "decode")


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One figure of both; None where it does not apply."""

    id: MetricId
    a: float | None
    b: float | None

    @property
    def difference(self) -> float | None:
        """B less A."""
        return None if self.a is None or self.b is None else self.b - self.a

    @property
    def ratio(self) -> float | None:
        """B over A."""
        return None if not self.a or self.b is None else self.b / self.a


@dataclass(frozen=True, slots=True, kw_only=True)
class Messages:
    """A class's traffic in one pass of one scenario."""

    count: int
    collective: str
    """That of the heaviest messages."""
    size_bytes: float
    """Mean of those."""
    ranks: int
    fabric: str
    is_across_nodes: bool
    floor_s: float
    """What an empty one takes."""
    time_source: TimeSource


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What one GPU after the other computes in one pass."""

    flop: float
    read_bytes: float
    peak_flop_per_s: float
    memory_bytes_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One part of the time of a pass, in both."""

    phase: Phase
    bound: Bound
    traffic_class: TrafficClass | None
    a_s: float
    b_s: float
    whole_a_s: float
    """A's TTFT or TPOT."""
    a_messages: Messages | None
    b_messages: Messages | None

    @property
    def difference_s(self) -> float:
        """B less A; nothing where only rounding tells them apart."""
        difference_s = self.b_s - self.a_s
        return difference_s if abs(difference_s) > _ROUNDING * self.whole_a_s else 0.0

    @property
    def share(self) -> float:
        """The difference as a part of A's TTFT or TPOT."""
        return self.difference_s / self.whole_a_s if self.whole_a_s else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All of it."""

    a: Timeline
    b: Timeline
    metrics: tuple[Metric, ...]
    causes: tuple[Cause, ...]
    """By phase, the largest differences first."""
    work: dict[Phase, tuple[Work, Work]]
    """What A and B compute in a pass."""

    def of(self, phase: Phase) -> tuple[Cause, ...]:
        """Causes of one phase."""
        return tuple(cause for cause in self.causes if cause.phase == phase)

    def metric(self, metric_id: MetricId) -> Metric:
        """The figure of that id."""
        return next(metric for metric in self.metrics if metric.id == metric_id)


def compare(a: Timeline, b: Timeline) -> Comparison:
    """Set two timelines beside each other."""
    phases = [phase for phase in PHASES if a.pass_s(phase) and b.pass_s(phase)]
    return Comparison(
        a=a,
        b=b,
        metrics=tuple(_metrics(a, b)),
        causes=tuple(cause for phase in phases for cause in _causes(a, b, phase)),
        work={phase: (_work(a, phase), _work(b, phase)) for phase in phases},
    )


def _metrics(a: Timeline, b: Timeline) -> Iterator[Metric]:
    one, other = _figures(a), _figures(b)
    for name in one:
        yield Metric(id=name, a=one[name], b=other[name])


def _figures(timeline: Timeline) -> dict[MetricId, float | None]:
    scenario, has_laps = timeline.scenario, timeline.laps > 0
    memories = stage_memories(scenario)
    rate = tokens_per_s(timeline) if has_laps else None
    return {
        "gpus": float(scenario.parallel.world),
        "ttft_s": timeline.ttft_s,
        "tpot_s": timeline.tpot_s if has_laps else None,
        "tokens_per_s_per_user": 1 / timeline.tpot_s if has_laps else None,
        "tokens_per_s": rate,
        "tokens_per_s_per_gpu": None if rate is None else rate / scenario.parallel.world,
        "weights_bytes": max(stage.weights_bytes for stage in memories),
        "spare_bytes": min(stage.spare_bytes for stage in memories),
        "max_batch": float(largest_batch(scenario)),
    }


# ---------------------------------------------------------------- causes

_Key = tuple[Bound, TrafficClass | None]


def _causes(a: Timeline, b: Timeline, phase: Phase) -> list[Cause]:
    one, other = _seconds(a, phase), _seconds(b, phase)
    whole = a.ttft_s if phase == "prefill" else a.tpot_s
    causes = [
        Cause(
            phase=phase,
            bound=bound,
            traffic_class=kind,
            a_s=one.get((bound, kind), 0.0),
            b_s=other.get((bound, kind), 0.0),
            whole_a_s=whole,
            a_messages=_messages(a, phase, kind),
            b_messages=_messages(b, phase, kind),
        )
        for bound, kind in dict.fromkeys((*one, *other))
    ]
    return sorted(causes, key=lambda cause: (-abs(cause.difference_s), -cause.a_s))


def _seconds(timeline: Timeline, phase: Phase) -> dict[_Key, float]:
    """What TTFT or TPOT goes into; the parts of folded passes are waiting."""
    found: dict[_Key, float] = {}
    for part in time_parts(timeline, phase):
        key: _Key = (part.resource, part.traffic_class)
        found[key] = found.get(key, 0.0) + part.seconds
    whole = timeline.ttft_s if phase == "prefill" else timeline.tpot_s
    waiting = whole - timeline.pass_s(phase)
    if waiting > 1e-12 * whole:
        found["waiting", None] = waiting
    return found


def _messages(timeline: Timeline, phase: Phase, kind: TrafficClass | None) -> Messages | None:
    """A class's messages in a pass; None where there are none."""
    spans = [s for s in timeline.spans if s.phase == phase and s.traffic_class == kind and kind]
    if not spans:
        return None
    seconds: dict[str, float] = {}
    for span in spans:
        name = span.collective or ""
        seconds[name] = seconds.get(name, 0.0) + span.duration_s
    heaviest = max(seconds, key=lambda name: seconds[name])
    mine = [span for span in spans if span.collective == heaviest]
    mesh, first = mesh_of(timeline.scenario), mine[0]
    return Messages(
        count=len(mine),
        collective=heaviest,
        size_bytes=sum(span.message_size_bytes for span in mine) / len(mine),
        ranks=len(first.groups[0]),
        fabric=fabric_of(timeline.scenario, mesh, first.groups).title,
        is_across_nodes=mesh.crosses_nodes(first.groups),
        floor_s=_floor_s(timeline.scenario, first),
        time_source=first.time_source,
    )


def _floor_s(scenario: Scenario, span: Span) -> float:
    mesh = mesh_of(scenario)
    if span.kind == "send":
        return float(hop_time(scenario, mesh, span.groups, 1.0).time_s)
    return float(collective_time(scenario, mesh, span.groups, span.collective or "", 1.0).time_s)


def _work(timeline: Timeline, phase: Phase) -> Work:
    """FLOPs and bytes of the pass as shown, one stage after the other."""
    scenario = timeline.scenario
    cost = CostModel(scenario)
    shape = (prefill_shape if phase == "prefill" else decode_shape)(scenario)
    counts: dict[tuple[ComputePart, int], tuple[int, LayerSpec]] = {}
    for span in timeline.spans:
        if span.phase == phase and span.kind == "compute" and span.part is not None:
            layer = layer_at(scenario, span.stage, span.layer)
            key = (span.part, id(layer))
            counts[key] = (counts.get(key, (0, layer))[0] + 1, layer)
    costs = [(n, cost.part(part, layer, shape)) for (part, _), (n, layer) in counts.items()]
    return Work(
        flop=sum(n * one.flop for n, one in costs),
        read_bytes=sum(n * one.read_bytes for n, one in costs),
        peak_flop_per_s=cost.peak,
        memory_bytes_per_s=cost.memory_rate,
    )
