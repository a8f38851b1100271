"""Messages, their times, and bytes over links, as formulas."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

from gpuflow.cluster.cost import ACTIVATION_BYTES, PassShape, decode_shape, prefill_shape
from gpuflow.cluster.mesh import mesh_of
from gpuflow.cluster.selection import RULE_SOURCES
from gpuflow.collectives.oracle import bus_factor
from gpuflow.engine.collective_time import (
    TOKEN_ID_BYTES,
    dispatch_bytes_per_value,
    fabric_of,
)
from gpuflow.engine.explanation import Figure, Inputs, Origin, total
from gpuflow.engine.kernel_time import kernel_curve
from gpuflow.engine.link_traffic import FabricTraffic, MessageBytes, fabric_traffic
from gpuflow.engine.metrics import Estimate, Traffic
from gpuflow.engine.overlap import LEAST_TOKENS
from gpuflow.engine.timeline import Span, Timeline, TimeSource
from gpuflow.scenario.spec import Phase
from gpuflow.units import Quantity

BUS_FACTOR_SOURCE = "nccl-tests, PERFORMANCE.md"
PLANNER_SOURCE = RULE_SOURCES["nccl_planner"]
MOST_LINKS = 24
"""Kinds of links that are explained; beyond, the busiest."""

_CURVES: dict[TimeSource, tuple[str, Origin]] = {
    "calibrated": ("curve", "measured"),
    "measured": ("curve", "measured"),
    "extrapolated": ("curve_carried", "measured"),
    "simulated": ("planned", "rule"),
    "assumed": ("planned", "rule"),
}
"""What a time read off a curve is called, by where the curve comes from."""
MessageKey = tuple[Phase, str, str, float, int, str, float]


class Messages:
    """Messages that differ in what they are or how long they take."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline, self.scenario = timeline, timeline.scenario
        self.mesh = mesh_of(self.scenario)
        self._first: dict[MessageKey, Span] = {}
        for span in timeline.spans:
            if span.traffic_class is not None:
                self._first.setdefault(self._key(span), span)

    def _key(self, span: Span) -> MessageKey:
        return (
            span.phase,
            span.traffic_class or "",
            span.collective or "",
            span.message_size_bytes,
            len(span.groups[0]),
            span.time_source,
            round(span.duration_s, 15),
        )

    def terms(self, spans: Sequence[Span]) -> list[tuple[int, float, str, dict[str, object]]]:
        """What a step sends, kind by kind."""
        counts = Counter(self._key(span) for span in spans if span.traffic_class is not None)
        return [
            (count, self._first[key].duration_s, "message", _named(self._first[key]))
            for key, count in counts.items()
        ]

    def alike(self, row: Traffic) -> list[tuple[Span, int]]:
        """Messages that a row of the traffic table counts, with how many of each."""
        counts = Counter(
            self._key(span)
            for span in self.timeline.spans
            if (span.phase, span.traffic_class, span.collective, span.message_size_bytes)
            == (row.phase, row.traffic_class, row.collective, row.message_size_bytes)
            and (len(span.groups[0]), span.time_source) == (row.ranks, row.time_source)
        )
        return [(self._first[key], count) for key, count in counts.items()]

    def figures(self) -> Iterable[Figure]:
        """Size and time of each."""
        seen: Counter[str] = Counter()
        for span in self._first.values():
            name = f"messages.{span.phase}.{span.traffic_class}.{span.collective}"
            seen[name] += 1
            name = f"{name}.{seen[name]}" if seen[name] > 1 else name
            yield self._size(span, name)
            yield self._time(span, name)

    def _shape(self, span: Span) -> PassShape:
        return (prefill_shape if span.phase == "prefill" else decode_shape)(self.scenario)

    def _size(self, span: Span, name: str) -> Figure:
        inputs = Inputs(self.scenario)
        return Figure(
            id=f"{name}.message_size_bytes",
            group="message",
            name="message_size",
            values=_named(span),
            value=Quantity(span.message_size_bytes, "bytes"),
            formula=self._size_formula(span, inputs),
            inputs=inputs.all,
        )

    def _size_formula(self, span: Span, inputs: Inputs) -> str:
        shape, payload, model = self._shape(span), span.payload, self.scenario.model
        if payload == "token_ids":
            tokens = shape.tokens
            if span.phase == "decode":
                tokens = shape.sequences * self.scenario.workload.prompt_tokens
            return f"{inputs.add('T', 'tokens', tokens, 'count', 'asked')} * {_id_bytes(inputs)}"
        if payload in {"token", "output"}:
            sequences = inputs.asked("N", "sequences", shape.sequences)
            if payload == "token":
                return f"{sequences} * {_id_bytes(inputs)}"
            ranks = inputs.asked("r", "ranks", len(span.groups[0]))
            return f"{sequences} * {_id_bytes(inputs)} * {ranks}"
        if payload == "logits":
            sequences = inputs.asked("N", "sequences", shape.sequences)
            vocabulary = inputs.model("V", "vocabulary", model.vocab_size)
            return f"{sequences} * {vocabulary} * {_width(inputs)}"
        tokens_ = inputs.add("T", "tokens", shape.tokens, "count", "asked")
        if payload == "activations":
            hidden = inputs.model("h", "hidden_size", model.hidden_size)
            return f"{tokens_} * {hidden} * {_width(inputs)}"
        is_latent = model.expert_width != model.hidden_size
        named = ("l", "latent_size") if is_latent else ("h", "hidden_size")
        vector = inputs.model(*named, model.expert_width)
        chosen = model.moe.experts_per_token if model.moe else 0
        copies, width = inputs.model("k", "experts_per_token", chosen), ""
        if payload == "dispatch":
            per_value = dispatch_bytes_per_value(self.scenario)
            width = inputs.add("b_d", "dispatch_bytes", per_value, "bytes", "rule")
        ranks = inputs.asked("p", "tp", self.scenario.parallel.tp)
        return f"{tokens_} / {ranks} * {copies} * {vector} * {width or _width(inputs)}"

    def _time(self, span: Span, name: str) -> Figure:
        inputs = Inputs(self.scenario)
        shape = self._shape(span)
        has_halves = self.scenario.workload.overlap and shape.tokens >= LEAST_TOKENS
        is_halved = has_halves and span.layer > 0 and span.kind == "collective"
        formula, plain_s = self._one(span, inputs, is_halved=is_halved)
        if is_halved:
            shown = span.duration_s / plain_s if plain_s else 1.0
            exposed = inputs.add("e", "exposed", shown, "share")
            formula = f"{exposed} * {formula}"
        return Figure(
            id=f"{name}.message_time_s",
            group="message",
            name="message_time",
            values=_named(span),
            value=Quantity(span.duration_s, "time"),
            formula=formula,
            inputs=inputs.all,
            time_sources={span.time_source: span.duration_s},
        )

    def _one(self, span: Span, inputs: Inputs, *, is_halved: bool) -> tuple[str, float]:
        """Formula and seconds of one message, hidden or not."""
        collective, size = span.collective or "", span.message_size_bytes
        each, parts = (size / 2, 2) if is_halved else (size, 1)
        moved = inputs.add("S", "half_message" if is_halved else "message_bytes", each, "bytes")
        curve = kernel_curve(self.scenario, self.mesh, span.groups, collective)
        if curve is not None:
            seconds = float(curve.seconds(each))
            name, origin = _CURVES[curve.source_at(each)]
            published = "; ".join(curve.published) or PLANNER_SOURCE
            if curve.simulated is not None and curve.source_at(each) == "simulated":
                name, published = "charged", PLANNER_SOURCE
            read = inputs.add("t_S", name, seconds, "time", origin, published)
            return (f"2 * {read}" if is_halved else read), parts * seconds
        fabric = fabric_of(self.scenario, self.mesh, span.groups, collective)
        is_hop = span.kind == "send"
        latency = fabric.hop_latency_s if is_hop else fabric.collective_latency_s
        rate = fabric.hop_bandwidth_bytes_per_s if is_hop else fabric.bus_bandwidth_bytes_per_s
        said = {"fabric": fabric.title}
        fixed = inputs.add("α", "fixed_cost", latency, "time", "fabric", fabric.source, said)
        wire = moved
        factor = 1.0
        if not is_hop:
            factor = bus_factor(collective, len(span.groups[0]))
            symbol = inputs.add("f", "bus_factor", factor, "count", "rule", BUS_FACTOR_SOURCE)
            wire = f"{symbol} * {moved}"
        reached = inputs.add("BW", "reached", rate, "rate", "fabric", fabric.source, said)
        formula = f"{fixed} + {wire} / {reached}"
        seconds = latency + factor * each / rate
        return (f"2 * ({formula})" if is_halved else formula), parts * seconds


def _named(span: Span) -> dict[str, object]:
    """What a message is called after."""
    return {
        "phase": span.phase,
        "class": span.traffic_class or "",
        "collective": span.collective or "",
        "ranks": len(span.groups[0]),
    }


def _id_bytes(inputs: Inputs) -> str:
    return inputs.add("b_id", "token_id_bytes", TOKEN_ID_BYTES, "bytes", "rule")


def _width(inputs: Inputs) -> str:
    return inputs.add("b_a", "activation_bytes", ACTIVATION_BYTES, "bytes", "rule")


# ---------------------------------------------------------------- rows of the traffic table


def traffic_figures(estimate: Estimate, messages: Messages) -> Iterable[Figure]:
    """Time and share of each row of the traffic table."""
    timeline, seen = estimate.timeline, Counter[str]()
    for row in estimate.traffic:
        name = f"traffic.{row.phase}.{row.traffic_class}.{row.collective}"
        seen[name] += 1
        name = f"{name}.{seen[name]}" if seen[name] > 1 else name
        inputs, terms = Inputs(timeline.scenario), []
        alike = messages.alike(row)
        for place, (span, count) in enumerate(alike, 1):
            mark = str(place) if len(alike) > 1 else ""
            times = inputs.add(f"n{mark}", "message_count", count, "count", values=_named(span))
            one = inputs.add(f"t{mark}", "message", span.duration_s, "time", values=_named(span))
            terms.append(f"{times} * {one}")
        yield Figure(
            id=f"{name}.time_s",
            group="traffic",
            name="traffic_time",
            values=_named(alike[0][0]),
            value=Quantity(row.time_s, "time"),
            formula=total(terms),
            inputs=inputs.all,
            time_sources={row.time_source: row.time_s},
        )
        yield _share(timeline, row, name, alike[0][0])


def _share(timeline: Timeline, row: Traffic, name: str, span: Span) -> Figure:
    inputs = Inputs(timeline.scenario)
    part = inputs.add("t", "traffic_time", row.time_s, "time")
    whole = inputs.add("t_pass", f"pass_{row.phase}", timeline.pass_s(row.phase), "time")
    return Figure(
        id=f"{name}.share",
        group="traffic",
        name="traffic_share",
        values=_named(span),
        value=Quantity(row.share, "share"),
        formula=f"{part} / {whole}",
        inputs=inputs.all,
    )


# ---------------------------------------------------------------- links


def link_figures(timeline: Timeline) -> Iterable[Figure]:
    """Bytes over links, those alike taken together; the busiest where there are many kinds."""
    found = fabric_traffic(timeline)
    phases: tuple[Phase, Phase] = ("prefill", "decode")
    kinds: list[tuple[float, Phase, list[int], list[MessageBytes]]] = []
    for phase in phases:
        mine = [one for one in found.messages if one.message.phase == phase]
        if not mine:
            continue
        parts = np.array([one.times * one.carried for one in mine])
        _, first, which = np.unique(parts.round(3), axis=1, return_index=True, return_inverse=True)
        for kind in np.argsort(first).tolist():
            links = np.flatnonzero(np.ravel(which) == kind).tolist()
            carried = float(parts[:, links[0]].sum())
            if carried:
                at = [one for one, row in zip(mine, parts, strict=True) if row[links[0]]]
                kinds.append((carried, phase, links, at))
    most = sorted((carried for carried, *_ in kinds), reverse=True)[:MOST_LINKS]
    for carried, phase, links, messages in kinds:
        if carried >= most[-1]:
            yield _link_figure(timeline, found, phase, links, messages)


def _link_figure(
    timeline: Timeline,
    found: FabricTraffic,
    phase: Phase,
    links: list[int],
    messages: list[MessageBytes],
) -> Figure:
    inputs, terms, carried = Inputs(timeline.scenario), [], 0.0
    for place, one in enumerate(messages, 1):
        mark = str(place) if len(messages) > 1 else ""
        size = float(one.carried[links[0]])
        named: dict[str, object] = {
            "class": one.message.traffic_class or "",
            "collective": one.message.collective,
            "algorithm": one.message.algorithm,
            "ranks": len(one.message.groups[0]),
            "phase": phase,
        }
        times = inputs.add(f"n{mark}", "message_count", one.times, "count", values=named)
        bytes_ = inputs.add(f"s{mark}", "message_on_link", size, "bytes", values=named)
        terms.append(f"{times} * {bytes_}")
        carried += one.times * size
    source, destination = found.fabric.link_ends(links[0])
    return Figure(
        id=f"links.{phase}.{source}.{destination}",
        group="link",
        name="link" if len(links) == 1 else "links",
        values={
            "phase": phase,
            "from": source,
            "to": destination,
            "count": len(links) - 1,
        },
        value=Quantity(carried, "bytes"),
        formula=total(terms),
        inputs=inputs.all,
    )
