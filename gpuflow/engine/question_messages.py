"""What one message can be asked: its primitive, size, ways, sums and time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice, pairwise

from gpuflow.cluster.mesh import Groups, mesh_of
from gpuflow.cluster.pass_shape import decode_shape, prefill_shape
from gpuflow.collectives.oracle import bus_factor
from gpuflow.engine.moment import Moments
from gpuflow.engine.question_choice import Candidate, Choice, amount, count, named
from gpuflow.engine.question_sums import replay_sums
from gpuflow.engine.timeline import Span
from gpuflow.scenario.spec import Collective, Phase
from gpuflow.units import Quantity, format_count

MOST_PAIRS = 3
"""More pairs are written as the first ones and the last."""
CLEAR = 0.05
"""Times nearer to each other than this part are one."""
_OTHER_PRIMITIVES: dict[Collective, tuple[Collective, ...]] = {
    "all_reduce": ("all_gather", "broadcast", "reduce_scatter"),
    "all_gather": ("all_reduce", "broadcast", "all_to_all"),
    "reduce_scatter": ("all_reduce", "scatter", "all_gather"),
    "all_to_all": ("all_gather", "all_reduce", "scatter"),
    "broadcast": ("scatter", "all_gather", "all_reduce"),
    "reduce": ("all_reduce", "gather", "reduce_scatter"),
    "scatter": ("broadcast", "all_to_all", "gather"),
    "gather": ("all_gather", "reduce", "scatter"),
    "send_recv": ("broadcast", "all_reduce", "all_to_all"),
}
EXPLAINED = frozenset(
    {
        "token_ids.broadcast",
        "activations.all_reduce",
        "activations.all_gather",
        "activations.reduce_scatter",
        "activations.send_recv",
        "dispatch.all_to_all",
        "combine.all_to_all",
        "logits.all_gather",
        "token.broadcast",
        "output.gather",
    }
)
"""Payloads and collectives that `ask.primitive.<about>` has words for."""
_LAYER_PAYLOADS = frozenset({"activations", "dispatch", "combine"})


class MessageQuestions:
    """Candidates of a timeline's messages."""

    def __init__(self, moments: Moments) -> None:
        self.moments = moments
        self.pace = moments.pace
        self.timeline = moments.timeline
        self.scenario = self.timeline.scenario
        self.mesh = mesh_of(self.scenario)

    def of_message(self, span: Span, spans: Sequence[Span]) -> Iterator[Candidate]:
        """All that a message can be asked, the most telling first.

        Args:
            span: The first of its kind in its step.
            spans: Of the step.
        """
        yield from self._primitive(span)
        yield from self._size(span, spans)
        yield from self._sends(span)
        yield from self._sums(span)
        yield from self._time(span, spans)

    def _start(self, span: Span) -> float:
        """Screen second at which a span begins."""
        for stretch in self.pace.stretches:
            if stretch.first_span <= span.index < stretch.last_span:
                if stretch.first_span == span.index:
                    return stretch.screen_start_s
                break
        return self.pace.at_time(span.start_s)

    def _primitive(self, span: Span) -> Iterator[Candidate]:
        if span.collective is None or span.payload is None:
            return
        about = f"{span.payload}.{span.collective}"
        if about not in EXPLAINED:
            return
        yield Candidate(
            moment_s=self._start(span),
            kind="primitive",
            about=about,
            identity=primitive_of(span),
            values=place_of(span),
            right=named(span.collective, "collective"),
            wrong=[named(name, "collective") for name in _OTHER_PRIMITIVES[span.collective]],
            is_ordered=False,
        )

    def _size(self, span: Span, spans: Sequence[Span]) -> Iterator[Candidate]:
        size = span.message_size_bytes
        if span.payload is None or size <= 0:
            return
        shapes = {"prefill": prefill_shape(self.scenario), "decode": decode_shape(self.scenario)}
        here, there = shapes[span.phase], shapes[_other(span.phase)]
        n = len(span.groups[0])
        wrong = [amount(size / 2, "bytes", "half")]
        if span.payload in _LAYER_PAYLOADS and self.timeline.laps:
            wrong.append(amount(size * there.tokens / here.tokens, "bytes", "other_phase"))
        times = sum(is_alike(other, span) for other in spans)
        if times > 1:
            wrong.append(amount(size * times, "bytes", "all_messages"))
        wrong.append(amount(size * 8, "bytes", "bits"))
        if n > 1:
            wrong.append(amount(size / n, "bytes", "shared"))
        yield Candidate(
            moment_s=self._start(span),
            kind="size",
            about=span.payload,
            identity=size_of(span),
            tells=(primitive_of(span),),
            values=place_of(span) | self._factors(span),
            right=amount(size, "bytes"),
            wrong=wrong,
            is_ordered=True,
        )

    def _factors(self, span: Span) -> dict[str, object]:
        """What a message's size is made of; `tokens` is derived from the size."""
        model, size = self.scenario.model, span.message_size_bytes
        copies = model.moe.experts_per_token if model.moe else 0
        is_to_experts = span.payload in {"dispatch", "combine"}
        width = model.expert_width if is_to_experts else model.hidden_size
        tp = self.scenario.parallel.tp
        per_value = 2.0
        if span.payload == "dispatch":
            shape = prefill_shape if span.phase == "prefill" else decode_shape
            tokens = shape(self.scenario).all_tokens / tp
            per_value = size / (tokens * copies * width)
        share = {
            "activations": 2.0 * width,
            "dispatch": per_value * copies * width,
            "combine": 2.0 * copies * width,
            "logits": 2.0 * model.vocab_size,
            "output": 4.0 * len(span.groups[0]),
        }.get(span.payload or "", 4.0)
        return {
            "tokens": count(size / share),
            "copies": count(copies),
            "hidden_size": count(width),
            "vocab_size": count(model.vocab_size),
            "value_bytes": Quantity(per_value, "bytes"),
            "tp": count(tp),
        }

    def _sends(self, span: Span) -> Iterator[Candidate]:
        if span.kind != "send" or span.stage is None:
            return
        pairs = span.groups
        senders, receivers = [a for a, _ in pairs], [b for _, b in pairs]
        if len(pairs) == 1:
            wrong = [
                _pairs([(b, a) for a, b in pairs], "backwards"),
                _pairs([pairs[0], (receivers[0], senders[0])], "both_ways"),
            ]
        else:
            wrong = [
                _pairs([(senders[0], b) for b in receivers], "one_sender"),
                _pairs(list(pairwise(senders)), "within_stage"),
                _pairs(_each_to_each(senders, receivers), "everyone"),
            ]
        yield Candidate(
            moment_s=self._start(span),
            kind="sends",
            about="",
            identity=("sends", pairs),
            tells=(primitive_of(span),),
            values=place_of(span) | {"pairs": count(len(pairs))},
            right=_pairs([(a, b) for a, b in pairs], ""),
            wrong=wrong,
            is_ordered=False,
        )

    def _sums(self, span: Span) -> Iterator[Candidate]:
        moment_s = self._start(span)
        replay = self.moments.at(moment_s).replay
        if replay is None or replay.collective != span.collective:
            return
        found = replay_sums(replay)
        if found is None:
            return
        yield Candidate(
            moment_s=moment_s,
            kind="sums",
            about=replay.collective,
            identity=("sums", replay.collective),
            tells=(primitive_of(span),),
            values=place_of(span) | {"before": found.before, "rank": count(found.rank)},
            right=Choice(values={"value": found.right}),
            wrong=[Choice(values={"value": text}, mistake=name) for name, text in found.wrong],
            is_ordered=False,
        )

    def _time(self, span: Span, spans: Sequence[Span]) -> Iterator[Candidate]:
        seconds, size = span.duration_s, span.message_size_bytes
        if seconds <= 0 or size <= 0 or self.scenario.workload.overlap:
            return
        crosses = self.mesh.crosses_nodes(span.groups)
        fabric = self.scenario.cluster.scale_out if crosses else self.scenario.cluster.scale_up
        factor = bus_factor(span.collective or "", len(span.groups[0]))
        wire = factor * size / fabric.link_bandwidth_bytes_per_s
        is_split = wire < (1 - CLEAR) * seconds
        wrong = [amount(wire, "time", "no_fixed_cost")] if is_split else []
        times = sum(is_alike(other, span) for other in spans)
        if times > 1:
            wrong.append(amount(seconds * times, "time", "all_messages"))
        wrong.append(amount(max(seconds - wire, 0.0) + 8 * wire, "time", "bits"))
        wrong += [
            amount(other.duration_s, "time", "other_phase")
            for other in self._in_other_phase(span)
            if abs(other.duration_s - seconds) > CLEAR * seconds
        ]
        whole = sum(other.duration_s for other in spans if other.kind != "fold")
        wrong.append(amount(whole, "time", "whole_step"))
        there = self.scenario.cluster.scale_up if crosses else self.scenario.cluster.scale_out
        elsewhere = factor * size / there.link_bandwidth_bytes_per_s
        wrong.append(amount(max(seconds - wire, 0.0) + elsewhere, "time", "other_fabric"))
        fixed = {"wire": Quantity(wire, "time"), "fixed": Quantity(seconds - wire, "time")}
        yield Candidate(
            moment_s=self._start(span),
            kind="time",
            about="split" if is_split else "whole",
            identity=("time", span.collective, size),
            tells=(primitive_of(span), size_of(span)),
            values=place_of(span)
            | fixed
            | {
                "time": Quantity(seconds, "time"),
                "factor": count(factor),
                "link": fabric.title,
                "rate": Quantity(
                    fabric.link_bandwidth_bytes_per_s, "bit_rate" if crosses else "rate"
                ),
                "reached": Quantity(factor * size / seconds, "bit_rate" if crosses else "rate"),
            },
            right=amount(seconds, "time"),
            wrong=wrong,
            is_ordered=True,
        )

    def _in_other_phase(self, span: Span) -> list[Span]:
        """The first such message of the other phase, where there is one."""
        found = (
            other
            for other in self.timeline.spans
            if other.phase != span.phase
            and (other.collective, other.payload) == (span.collective, span.payload)
        )
        return list(islice(found, 1))


def place_of(span: Span) -> dict[str, object]:
    """Where a message travels and how large it is, for the sentences about it."""
    stage = 0 if span.stage is None else span.stage
    return {
        "ranks": count(len(span.groups[0])),
        "root": count(span.groups[0][span.root]),
        "stage": count(stage + 1),
        "next": count(stage + 2),
        "collective": span.collective or "",
        "payload": span.payload or "",
        "size": Quantity(span.message_size_bytes, "bytes"),
    }


def first_messages(spans: Sequence[Span]) -> list[Span]:
    """The first message of every kind."""
    found: list[Span] = []
    for span in spans:
        if span.collective is not None and not any(is_alike(span, other) for other in found):
            found.append(span)
    return found


def primitive_of(span: Span) -> tuple[object, ...]:
    """Identity of the question for its primitive."""
    return ("primitive", f"{span.payload}.{span.collective}")


def size_of(span: Span) -> tuple[object, ...]:
    """Identity of the question for its size."""
    return ("size", span.payload, span.message_size_bytes)


def is_alike(a: Span, b: Span) -> bool:
    """Whether two spans send the same kind of message."""
    mine = (a.collective, a.payload, a.message_size_bytes)
    return mine == (b.collective, b.payload, b.message_size_bytes)


def _other(phase: Phase) -> Phase:
    return "decode" if phase == "prefill" else "prefill"


def _each_to_each(senders: Sequence[int], receivers: Sequence[int]) -> list[tuple[int, int]]:
    """All pairs, or as many of them as are written."""
    if len(senders) <= MOST_PAIRS:
        return [(a, b) for a in senders for b in receivers]
    first = [(senders[0], b) for b in receivers[: MOST_PAIRS + 1]]
    return [*first, (senders[-1], receivers[-1])]


def _pairs(pairs: Sequence[Sequence[int]] | Groups, mistake: str) -> Choice:
    """Who sends to whom, the first ones and the last."""
    texts = [f"{format_count(a)}→{format_count(b)}" for a, b in pairs]
    if len(texts) > MOST_PAIRS + 1:
        texts = [*texts[:MOST_PAIRS], "…", texts[-1]]
    return Choice(values={"value": " ".join(texts)}, mistake=mistake)
