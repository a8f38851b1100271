"""What the time of a pass goes into, and which of it is the most.

A part of the model counts as reading memory or as arithmetic, whichever takes it longer, less the
profile's fixed overhead. A message counts as latency as long as an empty one takes, and as
bandwidth beyond that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gpuflow.cluster.cost import CostModel, PassShape, decode_shape, prefill_shape
from gpuflow.cluster.mesh import Mesh, mesh_of
from gpuflow.cluster.parameters import layer_at
from gpuflow.engine.collective_time import collective_time, hop_time
from gpuflow.engine.timeline import Span, Timeline
from gpuflow.scenario.spec import Phase, Scenario, TrafficClass

Resource = Literal["memory", "arithmetic", "overhead", "latency", "bandwidth"]
_EMPTY_BYTES = 1.0


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that a pass's time goes into."""

    resource: Resource
    traffic_class: TrafficClass | None
    """Whose latency or bandwidth."""
    is_across_nodes: bool
    """Whether those messages leave the node."""
    seconds: float


def time_parts(timeline: Timeline, phase: Phase) -> tuple[Part, ...]:
    """All parts of a pass, the largest first; folded passes and laps are left out."""
    spans = [span for span in timeline.spans if span.phase == phase]
    return _parts(timeline.scenario, phase, spans)


def step_parts(timeline: Timeline, index: int) -> tuple[Part, ...]:
    """All parts of one step, counted from 0, the largest first."""
    step = timeline.steps[index]
    spans = timeline.spans[step.first_span : step.last_span]
    return _parts(timeline.scenario, step.phase, spans)


def _parts(scenario: Scenario, phase: Phase, spans: Sequence[Span]) -> tuple[Part, ...]:
    sorter = _Sorter(scenario, phase)
    for span in spans:
        if span.kind != "fold":
            sorter.add(span)
    parts = [Part(*key, seconds) for key, seconds in sorter.seconds.items() if seconds > 0]
    return tuple(sorted(parts, key=lambda part: -part.seconds))


_Key = tuple[Resource, TrafficClass | None, bool]


class _Sorter:
    def __init__(self, scenario: Scenario, phase: Phase) -> None:
        self.scenario = scenario
        self.mesh: Mesh = mesh_of(scenario)
        self.cost = CostModel(scenario)
        shape = prefill_shape if phase == "prefill" else decode_shape
        self.shape: PassShape = shape(scenario)
        self.seconds: dict[_Key, float] = {}
        self._shares: dict[tuple[object, ...], tuple[float, Resource]] = {}
        self._latencies: dict[tuple[object, ...], tuple[float, bool]] = {}

    def add(self, span: Span) -> None:
        if span.kind == "host":
            self._count("overhead", None, False, span.duration_s)
        elif span.traffic_class is not None:
            self._message(span, span.traffic_class)
        else:
            fixed_s, resource = self._compute(span)
            fixed_s = min(fixed_s, span.duration_s)
            self._count("overhead", None, False, fixed_s)
            self._count(resource, None, False, span.duration_s - fixed_s)

    def _count(
        self, resource: Resource, owner: TrafficClass | None, crosses: bool, seconds: float
    ) -> None:
        key: _Key = (resource, owner, crosses)
        self.seconds[key] = self.seconds.get(key, 0.0) + seconds

    def _message(self, span: Span, owner: TrafficClass) -> None:
        key = (span.collective, id(span.groups))
        if key not in self._latencies:
            if span.kind == "send":
                empty = hop_time(self.scenario, self.mesh, span.groups, _EMPTY_BYTES)
            else:
                empty = collective_time(
                    self.scenario, self.mesh, span.groups, span.collective or "", _EMPTY_BYTES
                )
            self._latencies[key] = float(empty.time_s), self.mesh.crosses_nodes(span.groups)
        latency_s, crosses = self._latencies[key]
        latency_s = min(latency_s, span.duration_s)
        self._count("latency", owner, crosses, latency_s)
        self._count("bandwidth", owner, crosses, span.duration_s - latency_s)

    def _compute(self, span: Span) -> tuple[float, Resource]:
        """Fixed seconds of a part, and what takes the rest of its time."""
        layer = layer_at(self.scenario, span.stage, span.layer)
        part = span.part or "sampling"
        key = (part, id(layer))
        if key not in self._shares:
            found = self.cost.part(part, layer, self.shape)
            profile, device = self.scenario.profile, self.scenario.cluster.device
            rate = device.memory_bandwidth_bytes_per_s * profile.memory_fraction
            fixed_s = profile.layer_overhead_s / 2 if part in {"attention", "mlp"} else 0.0
            is_read = found.read_bytes / rate >= (found.time_s - fixed_s) / 2
            self._shares[key] = fixed_s, "memory" if is_read else "arithmetic"
        return self._shares[key]
