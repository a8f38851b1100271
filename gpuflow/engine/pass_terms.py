"""A pass as a sum of few terms: each kind of work once, with how often it occurs.

The planner lays out every task of a pass; most are alike from layer to layer. Summed up by kind
they give the pass's time for any number of tokens, sequences and contexts at once: the shape may
hold numbers or numpy arrays. Tasks follow one another, so their sum is the timeline's length.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gpuflow.cluster.cost import CostModel, PassShape
from gpuflow.cluster.elementwise import amount
from gpuflow.cluster.mesh import Groups, Mesh, mesh_of
from gpuflow.cluster.parameters import layer_at
from gpuflow.engine.collective_time import collective_time, hop_time, message_size
from gpuflow.engine.overlap import LEAST_TOKENS, exposed_share, half_of
from gpuflow.engine.plan import Planner, Task
from gpuflow.scenario.model_spec import LayerSpec
from gpuflow.scenario.spec import (
    Collective,
    ComputePart,
    Payload,
    Phase,
    ProfileSpec,
    Scenario,
    TrafficClass,
)

Kind = Literal["compute", "collective", "send"]
TimeKind = TrafficClass | Literal["compute", "host"]
"""What a pass's time is counted under."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One kind of work of a pass."""

    kind: Kind
    count: int
    layer: LayerSpec
    part: ComputePart | None
    collective: Collective | None
    payload: Payload | None
    traffic_class: TrafficClass | None
    groups: Groups
    is_of_layer: bool

    @property
    def time_kind(self) -> TimeKind:
        """What its time is counted under."""
        return self.traffic_class or "compute"


class PassTerms:
    """Both passes of a scenario, prefill and decode, as terms."""

    def __init__(self, scenario: Scenario) -> None:
        at_least_two = max(scenario.workload.output_tokens, 2)
        planned = scenario.with_workload(output_tokens=at_least_two, overlap=False)
        self.terms: dict[Phase, tuple[Term, ...]] = _summed(planned, Planner(planned).tasks())
        self._bind(scenario)

    def _bind(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.mesh: Mesh = mesh_of(scenario)
        self.cost = CostModel(scenario)

    def with_profile(self, profile: ProfileSpec) -> PassTerms:
        """The same passes under another profile."""
        other = object.__new__(PassTerms)
        other.terms = self.terms
        other._bind(replace(self.scenario, profile=profile))
        return other

    def seconds(self, phase: Phase, shape: PassShape) -> float:
        """Length of a pass; an array where the shape holds arrays."""
        return sum(self.seconds_by_kind(phase, shape).values())

    def seconds_by_kind(self, phase: Phase, shape: PassShape) -> dict[TimeKind, float]:
        """Length of a pass by what the time goes into; their sum is the whole.

        Args:
            phase: Whose tasks: a decode pass that takes prompts along counts as decode.
            shape: Its tokens.
        """
        times = [term.count * self._term_seconds(term, shape) for term in self.terms[phase]]
        if self.scenario.workload.overlap:
            times = self._overlapped(phase, shape, times)
        found: dict[TimeKind, float] = {"compute": 0.0}
        if self.terms[phase]:
            found["host"] = self.scenario.profile.host_s_per_step
        for term, seconds in zip(self.terms[phase], times, strict=True):
            found[term.time_kind] = found.get(term.time_kind, 0.0) + seconds
        return found

    def _overlapped(self, phase: Phase, shape: PassShape, plain: list[float]) -> list[float]:
        """The terms' times where the pass runs in two halves; one token has none."""
        half, terms = half_of(shape), self.terms[phase]
        halves = [
            2 * term.count * self._term_seconds(term, half) if term.is_of_layer else one
            for term, one in zip(terms, plain, strict=True)
        ]
        compute, messages = (
            sum(s for t, s in zip(terms, halves, strict=True) if t.is_of_layer and t.kind == kind)
            for kind in ("compute", "collective")
        )
        share = exposed_share(compute, messages, len(self.scenario.model.layers))
        hidden = [
            share * one if term.is_of_layer and term.kind == "collective" else one
            for term, one in zip(terms, halves, strict=True)
        ]
        has_halves = np.asarray(shape.tokens) >= LEAST_TOKENS
        if has_halves.ndim == 0:
            return hidden if has_halves else plain
        return [
            amount(np.where(has_halves, two, one)) for two, one in zip(hidden, plain, strict=True)
        ]

    def _term_seconds(self, term: Term, shape: PassShape) -> float:
        if term.kind == "compute":
            return self.cost.part(term.part or "sampling", term.layer, shape).time_s
        payload, n_ranks = term.payload or "activations", len(term.groups[0])
        if term.kind == "send":
            size = message_size(self.scenario, payload, shape, 2)
            return hop_time(self.scenario, self.mesh, term.groups, size).time_s
        size = message_size(self.scenario, payload, shape, n_ranks)
        collective = term.collective or "all_reduce"
        return collective_time(self.scenario, self.mesh, term.groups, collective, size).time_s


def _summed(scenario: Scenario, tasks: tuple[Task, ...]) -> dict[Phase, tuple[Term, ...]]:
    """Tasks that cost the same become one term; host tasks are left to the profile."""
    mesh, counts = mesh_of(scenario), Counter[tuple[object, ...]]()
    first: dict[tuple[object, ...], tuple[Phase, Task, LayerSpec]] = {}
    for task in tasks:
        if task.kind == "host":
            continue
        phase, layer = scenario.steps[task.step].phase, layer_at(scenario, task.stage, task.layer)
        crosses = mesh.crosses_nodes(task.groups)
        what = (task.kind, task.part, task.collective, task.payload, len(task.groups[0]), crosses)
        place: tuple[object, ...] = (phase, *what, task.layer > 0)
        if task.part in {"attention", "mlp"}:
            place = (*place, id(layer))
        counts[place] += 1
        first.setdefault(place, (phase, task, layer))
    terms: dict[Phase, list[Term]] = {"prefill": [], "decode": []}
    for key, (phase, task, layer) in first.items():
        kind: Kind = "compute"
        if task.kind in {"collective", "send"}:
            kind = "send" if task.kind == "send" else "collective"
        terms[phase].append(
            Term(
                kind=kind,
                count=counts[key],
                layer=layer,
                part=task.part,
                collective=task.collective,
                payload=task.payload,
                traffic_class=task.traffic_class,
                groups=task.groups,
                is_of_layer=task.layer > 0,
            )
        )
    return {phase: tuple(found) for phase, found in terms.items()}
