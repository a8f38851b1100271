"""From a scenario's steps to tasks: what runs on which ranks, one task after the other.

Selectors are resolved here, operations that the split leaves nothing to do vanish, and every task
gets its size and its time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

from gpuflow.cluster.cost import CostModel, PassShape, decode_shape, prefill_shape
from gpuflow.cluster.mesh import Groups, Mesh, mesh_of
from gpuflow.cluster.parameters import stage_layers
from gpuflow.collectives.algorithms import default_algorithm
from gpuflow.collectives.oracle import bus_factor
from gpuflow.engine.collective_time import (
    MessageTime,
    collective_time,
    hop_time,
    message_size,
    traffic_class,
)
from gpuflow.engine.kernel_time import kernel_algorithm
from gpuflow.engine.overlap import LEAST_TOKENS, exposed_share, half_of
from gpuflow.engine.timeline import TimeSource
from gpuflow.scenario.model_spec import LayerSpec
from gpuflow.scenario.spec import (
    Collective,
    CollectiveOp,
    ComputeOp,
    ComputePart,
    HostOp,
    LayersOp,
    Operation,
    Payload,
    Phase,
    Scenario,
    SendOp,
    StagesOp,
    TrafficClass,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One piece of work; it starts when the one before it has ended."""

    step: int
    kind: Literal["compute", "collective", "send", "host"]
    duration_s: float
    time_source: TimeSource = "assumed"
    stage: int | None = None
    layer: int = 0
    layers: int = 0
    part: ComputePart | None = None
    collective: Collective | None = None
    algorithm: str = ""
    payload: Payload | None = None
    traffic_class: TrafficClass | None = None
    groups: Groups = ()
    root: int = 0
    message_size_bytes: float = 0.0
    bus_bandwidth_bytes_per_s: float | None = None
    host_action: str = ""


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in the model an operation stands."""

    step: int
    shape: PassShape
    stage: int | None = None
    layer: int = 0
    layers: int = 0
    spec: LayerSpec | None = None


class Planner:
    """Resolves the operations of one scenario."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.mesh: Mesh = mesh_of(scenario)
        self.cost = CostModel(scenario)
        self._seconds: dict[tuple[object, ...], float] = {}
        self._messages: dict[tuple[object, ...], MessageTime] = {}
        self._sent: dict[tuple[object, ...], dict[str, Any] | None] = {}
        self._alone = [
            tuple((rank,) for rank in self.mesh.stage_ranks(stage))
            for stage in range(scenario.parallel.pp)
        ]
        self._algorithms: dict[tuple[object, ...], str] = {}

    def tasks(self) -> tuple[Task, ...]:
        """All tasks of one prefill pass and one decode lap.

        One batch is in flight, so each task waits for the one before it.
        """
        drafts: list[Task] = []
        for index, step in enumerate(self.scenario.steps):
            if step.phase == "decode" and self.scenario.workload.output_tokens < 2:
                continue
            place = _Place(index, self._shapes()[step.phase])
            if self._starts_pass(index):
                drafts.extend(self._host_time(place))
            for operation in step.operations:
                drafts.extend(self._resolve(operation, place))
        if self.scenario.workload.overlap:
            drafts = self._overlapped(drafts)
        return tuple(drafts)

    def _overlapped(self, drafts: list[Task]) -> list[Task]:
        """Messages of layers as long as they show beside the computing of the other half."""
        shares: dict[Phase, float] = {}
        for phase, shape in self._shapes().items():
            mine = [t for t in drafts if t.layer and self._phase(t) == phase]
            if self._halved(shape):
                compute_s = sum(t.duration_s for t in mine if t.kind == "compute")
                messages_s = sum(t.duration_s for t in mine if t.kind == "collective")
                layers = {(t.stage, t.layer) for t in mine}
                shares[phase] = exposed_share(compute_s, messages_s, len(layers))
        return [
            replace(t, duration_s=shares.get(self._phase(t), 1.0) * t.duration_s)
            if t.layer and t.kind == "collective"
            else t
            for t in drafts
        ]

    def _phase(self, task: Task) -> Phase:
        return self.scenario.steps[task.step].phase

    def _shapes(self) -> dict[Phase, PassShape]:
        return {"prefill": prefill_shape(self.scenario), "decode": decode_shape(self.scenario)}

    def _halved(self, shape: PassShape) -> bool:
        """Whether a pass runs as two halves, one computing while the other sends."""
        return self.scenario.workload.overlap and shape.tokens >= LEAST_TOKENS

    def _starts_pass(self, index: int) -> bool:
        steps = self.scenario.steps
        return index == 0 or steps[index].phase != steps[index - 1].phase

    def _host_time(self, place: _Place) -> Iterator[Task]:
        if self.scenario.profile.host_s_per_step:
            yield Task(
                step=place.step,
                kind="host",
                duration_s=self.scenario.profile.host_s_per_step,
                host_action="schedule",
                groups=self.mesh.groups("world", 0),
            )

    def _resolve(self, operation: Operation, place: _Place) -> Iterator[Task]:
        if isinstance(operation, StagesOp):
            for stage in self._selected(operation):
                for inner in operation.operations:
                    yield from self._resolve(inner, replace(place, stage=stage))
        elif isinstance(operation, LayersOp):
            yield from self._layers(operation, place)
        elif isinstance(operation, ComputeOp):
            yield self._compute(operation, place)
        elif isinstance(operation, CollectiveOp):
            yield from self._collective(operation, place)
        elif isinstance(operation, SendOp):
            yield from self._send(operation, place)
        else:
            yield self._host(operation, place)

    def _selected(self, operation: StagesOp) -> range:
        pp = self.scenario.parallel.pp
        return {
            "first": range(1),
            "rest": range(1, pp),
            "last": range(pp - 1, pp),
            "all": range(pp),
        }[operation.stages]

    def _layers(self, operation: LayersOp, place: _Place) -> Iterator[Task]:
        indices = stage_layers(self.scenario, place.stage or 0)
        numbers = range(1, len(indices) + 1)
        chosen = {"all": numbers, "first": numbers[:1], "rest": numbers[1:]}[operation.which]
        for number in chosen:
            spec = self.scenario.model.layers[indices[number - 1]]
            at = _Place(place.step, place.shape, place.stage, number, len(indices), spec)
            for inner in _present(operation.operations, spec):
                yield from self._resolve(inner, at)

    def _stage_or_last(self, place: _Place) -> int:
        return self.scenario.parallel.pp - 1 if place.stage is None else place.stage

    def _compute(self, operation: ComputeOp, place: _Place) -> Task:
        stage = self._stage_or_last(place)
        key = (operation.part, id(place.spec), place.shape)
        seconds = self._seconds.get(key)
        if seconds is None:
            spec = place.spec or self.scenario.model.layers[0]
            shape, times = place.shape, 1
            if place.layer and self._halved(shape):
                shape, times = half_of(shape), 2
            seconds = times * float(self.cost.part(operation.part, spec, shape).time_s)
            self._seconds[key] = seconds
        return Task(
            step=place.step,
            kind="compute",
            duration_s=seconds,
            stage=stage,
            layer=place.layer,
            layers=place.layers,
            part=operation.part,
            groups=self._alone[stage],
        )

    def _collective(self, operation: CollectiveOp, place: _Place) -> Iterator[Task]:
        exchanged = self.cost.dispatched and (place.spec is None or place.spec.mlp.experts > 0)
        if operation.when == "dispatched" and not exchanged:
            return
        if operation.when == "not_dispatched" and exchanged:
            return
        # layers alike send alike
        key = (id(operation), place.stage, place.step, bool(place.layer))
        if key not in self._sent:
            self._sent[key] = self._message(operation, place)
        message = self._sent[key]
        if message is not None:
            yield Task(layer=place.layer, **message)

    def _message(self, operation: CollectiveOp, place: _Place) -> dict[str, Any] | None:
        """All of a collective's task but the layer; None in groups of one rank."""
        stage = self._stage_or_last(place)
        groups = self.mesh.groups(operation.group, stage)
        n = len(groups[0])
        if n < 2:
            return None
        size = message_size(self.scenario, operation.payload, place.shape, n)
        timed = self._timed(operation.collective, groups, size)
        if place.layer and self._halved(place.shape):
            half = self._timed(operation.collective, groups, size / 2)
            timed = MessageTime(2 * half.time_s, half.source)
        within_stage = operation.group in {"tp", "dp", "ep"}
        return {
            "step": place.step,
            "kind": "collective",
            "duration_s": timed.time_s,
            "time_source": timed.source,
            "stage": stage if within_stage else None,
            "layers": place.layers,
            "collective": operation.collective,
            "algorithm": self._algorithm(operation.collective, groups, size),
            "payload": operation.payload,
            "traffic_class": traffic_class(operation.payload, is_send=False),
            "groups": groups,
            "root": self._root(operation, groups),
            "message_size_bytes": size,
            "bus_bandwidth_bytes_per_s": _bus_bandwidth(operation.collective, size, n, timed),
        }

    def _timed(self, collective: Collective, groups: Groups, size_bytes: float) -> MessageTime:
        key = (collective, groups, size_bytes)
        if key not in self._messages:
            if collective == "send_recv":
                found = hop_time(self.scenario, self.mesh, groups, size_bytes)
            else:
                found = collective_time(self.scenario, self.mesh, groups, collective, size_bytes)
            self._messages[key] = MessageTime(float(found.time_s), found.source)
        return self._messages[key]

    def _algorithm(self, collective: Collective, groups: Groups, size_bytes: float) -> str:
        key = (collective, groups, size_bytes)
        if key not in self._algorithms:
            self._algorithms[key] = kernel_algorithm(
                self.scenario, self.mesh, groups, collective, size_bytes
            )
        return self._algorithms[key]

    def _root(self, operation: CollectiveOp, groups: Groups) -> int:
        """A sampled token starts at the last stage's first rank, everything else at peer 0."""
        if operation.collective != "broadcast" or operation.payload != "token":
            return 0
        last = self.scenario.parallel.pp - 1
        sampler = self.mesh.rank(self.mesh.position(groups[0][0]).dp_rank, last, 0)
        return groups[0].index(sampler) if sampler in groups[0] else 0

    def _send(self, operation: SendOp, place: _Place) -> Iterator[Task]:
        stage = place.stage or 0
        if stage + 1 >= self.scenario.parallel.pp:
            return
        pairs = self.mesh.hops(stage)
        size = message_size(self.scenario, operation.payload, place.shape, 2)
        timed = self._timed("send_recv", pairs, size)
        yield Task(
            step=place.step,
            kind="send",
            duration_s=timed.time_s,
            time_source=timed.source,
            stage=stage,
            collective="send_recv",
            algorithm=default_algorithm("send_recv"),
            payload=operation.payload,
            traffic_class=traffic_class(operation.payload, is_send=True),
            groups=pairs,
            message_size_bytes=size,
            bus_bandwidth_bytes_per_s=_bus_bandwidth("send_recv", size, 2, timed),
        )

    def _host(self, operation: HostOp, place: _Place) -> Task:
        return Task(
            step=place.step,
            kind="host",
            duration_s=0.0,
            host_action=operation.action,
            groups=self.mesh.groups("world", 0),
        )


def _present(operations: tuple[Operation, ...], layer: LayerSpec) -> Iterator[Operation]:
    """What a layer has of a body: parts it lacks go, with the collectives that follow them.

    Some layers of hybrid models only mix tokens, or are an MLP alone. A dispatch belongs to the
    experts after it.
    """
    mixes = layer.attention is not None or layer.mixer is not None
    has = {"attention": mixes, "mlp": layer.mlp.ffn_size > 0}
    is_present = True
    for operation in operations:
        if isinstance(operation, ComputeOp):
            is_present = has.get(operation.part, True)
        to_experts = isinstance(operation, CollectiveOp) and operation.payload == "dispatch"
        if is_present or to_experts:
            yield operation


def _bus_bandwidth(collective: str, size: float, n_ranks: int, timed: MessageTime) -> float | None:
    return bus_factor(collective, n_ranks) * size / timed.time_s if timed.time_s else None
