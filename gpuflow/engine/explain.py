"""Every figure of an estimate as a formula over its inputs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from gpuflow.cluster.cost import PassShape, decode_shape, prefill_shape
from gpuflow.cluster.parameters import layer_at
from gpuflow.engine.explain_cost import ListeningCost, PartFormula
from gpuflow.engine.explain_memory import memory_figures
from gpuflow.engine.explain_traffic import Messages, link_figures, traffic_figures
from gpuflow.engine.explanation import Figure, Inputs, total
from gpuflow.engine.metrics import Estimate
from gpuflow.engine.overlap import LEAST_TOKENS, half_of
from gpuflow.engine.timeline import Span, StepTime, Timeline, TimeSource
from gpuflow.scenario.model_spec import LayerSpec
from gpuflow.scenario.spec import ComputePart, Phase
from gpuflow.units import Quantity

PartKey = tuple[Phase, ComputePart, int]


def explain(estimate: Estimate) -> tuple[Figure, ...]:
    """All figures, results first, then what they are made of."""
    timeline = estimate.timeline
    parts, messages = Parts(timeline), Messages(timeline)
    return (
        *_results(estimate),
        *_steps(timeline, parts, messages),
        *parts.figures(),
        *messages.figures(),
        *traffic_figures(estimate, messages),
        *link_figures(timeline),
        *memory_figures(estimate),
    )


def time_sources(spans: Iterable[Span]) -> dict[TimeSource, float]:
    """Seconds by where they come from; what is folded repeats the others."""
    found: dict[TimeSource, float] = {}
    for span in spans:
        if span.kind != "fold" and span.duration_s:
            found[span.time_source] = found.get(span.time_source, 0.0) + span.duration_s
    return found


# ---------------------------------------------------------------- results


def _results(estimate: Estimate) -> Iterable[Figure]:
    timeline = estimate.timeline
    yield _pass_figure(timeline, "prefill")
    if estimate.tpot_s is None:
        return
    yield _pass_figure(timeline, "decode")
    for at in estimate.tpot_at:
        inputs = Inputs(timeline.scenario)
        mean = inputs.add("TPOT", "tpot", estimate.tpot_s, "time")
        more = inputs.add("Δ", "attention_difference", at.tpot_s - estimate.tpot_s, "time")
        there = decode_shape(timeline.scenario, at.position).context
        inputs.add("C", "context_there", there, "count", "asked")
        inputs.add("C_mean", "context_mean", decode_shape(timeline.scenario).context, "count")
        yield Figure(
            id=f"tpot_at.{at.position}",
            group="result",
            name="tpot_at",
            values={"position": at.position},
            value=Quantity(at.tpot_s, "time"),
            formula=f"{mean} + {more}",
            inputs=inputs.all,
            time_sources=time_sources(s for s in timeline.spans if s.phase == "decode"),
        )
    yield _rate(timeline, "tokens_per_s_per_user", estimate.tokens_per_s_per_user)
    yield _rate(timeline, "tokens_per_s", estimate.tokens_per_s)


def _pass_figure(timeline: Timeline, phase: Phase) -> Figure:
    """TTFT or TPOT: the steps of its phase, and what goes on beside the pass shown."""
    inputs, pipelining = Inputs(timeline.scenario), timeline.pipelining
    steps = [step for step in timeline.steps if step.phase == phase]
    terms = [
        inputs.add(f"t{s.index + 1}", "step", s.duration_s, "time", values={"number": s.index + 1})
        for s in steps
        if not s.is_idle
    ]
    if pipelining is not None:
        is_prefill = phase == "prefill"
        rest = pipelining.prefill_rest_s if is_prefill else pipelining.lap_wait_s
        if rest > 0:
            terms.append(inputs.add("rest", f"rest_{phase}", rest, "time"))
    value = timeline.ttft_s if phase == "prefill" else timeline.tpot_s
    return Figure(
        id="ttft_s" if phase == "prefill" else "tpot_s",
        group="result",
        name="ttft" if phase == "prefill" else "tpot",
        value=Quantity(value, "time"),
        formula=total(terms),
        inputs=inputs.all,
        time_sources=time_sources(s for s in timeline.spans if s.phase == phase),
    )


def _rate(timeline: Timeline, name: str, value: float | None) -> Figure:
    inputs, scenario = Inputs(timeline.scenario), timeline.scenario
    formula = f"1 / {inputs.add('TPOT', 'tpot', timeline.tpot_s, 'time')}"
    if name == "tokens_per_s":
        batch = inputs.asked("N", "batch", scenario.workload.batch)
        replicas = inputs.asked("dp", "dp", scenario.parallel.dp)
        formula = f"{batch} * {replicas} / TPOT"
    return Figure(
        id=name,
        group="result",
        name=name,
        value=Quantity(value or 0.0, "count"),
        formula=formula,
        inputs=inputs.all,
    )


# ---------------------------------------------------------------- steps


def _steps(timeline: Timeline, parts: Parts, messages: Messages) -> Iterable[Figure]:
    for step in timeline.steps:
        if step.is_idle:
            continue
        spans = timeline.spans[step.first_span : step.last_span]
        yield _step_figure(timeline, step, spans)
        if step.compute_s:
            yield _sum_figure(timeline, step, "compute", spans, parts.terms(spans))
        if step.communication_s:
            yield _sum_figure(timeline, step, "communication", spans, messages.terms(spans))


def _step_figure(timeline: Timeline, step: StepTime, spans: Sequence[Span]) -> Figure:
    inputs = Inputs(timeline.scenario)
    terms = [
        inputs.add("compute", "step_compute", step.compute_s, "time"),
        inputs.add("communication", "step_communication", step.communication_s, "time"),
    ]
    if step.host_s:
        terms.append(inputs.profile("host", "host", step.host_s, "time"))
    return Figure(
        id=f"steps.{step.id}.duration_s",
        group="step",
        name="step",
        values={"number": step.index + 1},
        value=Quantity(step.duration_s, "time"),
        formula=total(terms),
        inputs=inputs.all,
        time_sources=time_sources(spans),
    )


Term = tuple[int, float, str, dict[str, object]]
"""How often, seconds of one, and the name of the input with what fills it."""


def _sum_figure(
    timeline: Timeline, step: StepTime, kind: str, spans: Sequence[Span], terms: Sequence[Term]
) -> Figure:
    """A step's computing or communication: so many of each kind."""
    inputs, written = Inputs(timeline.scenario), []
    for place, (count, seconds, name, values) in enumerate(terms, 1):
        times = inputs.add(f"n{place}", f"{name}_count", count, "count", values=values)
        one = inputs.add(f"t{place}", name, seconds, "time", values=values)
        written.append(f"{times} * {one}")
    mine = [s for s in spans if (s.kind == "compute") == (kind == "compute") and s.kind != "host"]
    return Figure(
        id=f"steps.{step.id}.{kind}_s",
        group="step",
        name=f"step_{kind}",
        values={"number": step.index + 1},
        value=Quantity(step.compute_s if kind == "compute" else step.communication_s, "time"),
        formula=total(written),
        inputs=inputs.all,
        time_sources=time_sources(mine),
    )


# ---------------------------------------------------------------- computing


class Parts:
    """The parts of the model that are computed, each with its formula."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline, self.scenario = timeline, timeline.scenario
        self.cost = ListeningCost(self.scenario)
        self._first: dict[PartKey, Span] = {}
        self._counts: Counter[PartKey] = Counter()
        for span in timeline.spans:
            if span.kind == "compute":
                key = self._key(span)
                self._first.setdefault(key, span)
                self._counts[key] += 1

    def _key(self, span: Span) -> PartKey:
        part = span.part or "sampling"
        is_of_layer = part in {"attention", "mlp"}
        return span.phase, part, id(self._layer(span)) if is_of_layer else 0

    def _layer(self, span: Span) -> LayerSpec:
        return layer_at(self.scenario, span.stage, span.layer)

    def terms(self, spans: Sequence[Span]) -> list[Term]:
        """What a step computes, part by part."""
        counts = Counter(self._key(span) for span in spans if span.kind == "compute")
        return [
            (count, self._first[key].duration_s, f"part.{key[1]}", {})
            for key, count in counts.items()
            if self._first[key].duration_s
        ]

    def figures(self) -> Iterable[Figure]:
        """One figure a part, phase and kind of layer."""
        seen: Counter[str] = Counter()
        for (phase, part, _), span in self._first.items():
            if not span.duration_s:
                continue
            name = f"compute.{phase}.{part}"
            seen[name] += 1
            yield self._figure(span, part, f"{name}.{seen[name]}" if seen[name] > 1 else name)

    def _figure(self, span: Span, part: ComputePart, name: str) -> Figure:
        shape = self._shape(span.phase)
        is_halved = self._is_halved(span, shape)
        written = PartFormula(
            self.cost, part, self._layer(span), half_of(shape) if is_halved else shape
        )
        key = self._key(span)
        return Figure(
            id=name,
            group="compute",
            name=f"part.{part}",
            values={"phase": span.phase, "count": self._counts[key]},
            value=Quantity(span.duration_s, "time"),
            formula=f"2 * ({written.formula})" if is_halved else written.formula,
            inputs=written.inputs.all,
            time_sources={span.time_source: span.duration_s},
        )

    def _shape(self, phase: Phase) -> PassShape:
        return (prefill_shape if phase == "prefill" else decode_shape)(self.scenario)

    def _is_halved(self, span: Span, shape: PassShape) -> bool:
        has_halves = self.scenario.workload.overlap and shape.tokens >= LEAST_TOKENS
        return has_halves and span.layer > 0
