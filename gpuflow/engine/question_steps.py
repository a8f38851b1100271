"""What a step can be asked as a whole: how many messages, what its time goes into, TTFT, TPOT."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuflow.engine.bottleneck import step_parts
from gpuflow.engine.facts import heaviest
from gpuflow.engine.pace import Pace
from gpuflow.engine.question_choice import Candidate, Choice, amount, count, named, number
from gpuflow.engine.question_messages import CLEAR, place_of, primitive_of
from gpuflow.engine.timeline import Span, StepTime
from gpuflow.scenario.spec import Phase
from gpuflow.units import Quantity, format_time

WEIGHED = ("memory", "arithmetic", "messages", "overhead")
"""What a step's time can go into."""


class StepQuestions:
    """Candidates of a timeline's steps."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.timeline = pace.timeline
        self.scenario = self.timeline.scenario

    def of_step(self, step: StepTime, spans: Sequence[Span]) -> Iterator[Candidate]:
        """All that a step can be asked, the most telling first."""
        yield from self._messages(step, spans)
        yield from self._dominates(step)
        yield from self._ttft(step)
        yield from self._tpot(step)

    def _messages(self, step: StepTime, spans: Sequence[Span]) -> Iterator[Candidate]:
        alike = [span for span in heaviest(spans) if span.layer]
        layers = len({(span.stage, span.layer) for span in alike})
        if not layers or len(alike) < 2 or len(alike) % layers:
            return
        per_layer = len(alike) // layers
        span = alike[0]
        every = len(self.scenario.model.layers)
        wrong = [number(per_layer, "one_layer")]
        if per_layer > 1:
            wrong.append(number(layers, "one_a_layer"))
        wrong.append(number(len(alike) * len(span.groups[0]), "by_ranks"))
        if every != layers:
            wrong.append(number(per_layer * every, "all_stages"))
        yield Candidate(
            moment_s=self.pace.step_start(step.index),
            kind="messages",
            about=step.phase,
            identity=("messages", step.phase, span.collective, len(alike)),
            tells=(primitive_of(span),),
            values=place_of(span) | {"per_layer": count(per_layer), "layers": count(layers)},
            right=number(len(alike)),
            wrong=wrong,
            is_ordered=True,
        )

    def _dominates(self, step: StepTime) -> Iterator[Candidate]:
        seconds = dict.fromkeys(WEIGHED, 0.0)
        for part in step_parts(self.timeline, step.index):
            is_message = part.resource in {"latency", "bandwidth"}
            seconds["messages" if is_message else part.resource] += part.seconds
        ranked = sorted(WEIGHED, key=lambda name: -seconds[name])
        first, second = seconds[ranked[0]], seconds[ranked[1]]
        if first <= 0 or second > (1 - CLEAR) * first:
            return
        # What this split or profile has nothing of is a choice for those who think it has.
        yield Candidate(
            moment_s=self.pace.step_start(step.index),
            kind="dominates",
            about="",
            identity=("dominates", step.id),
            values={
                **{name: Quantity(value, "time") for name, value in seconds.items()},
                "share": Quantity(first / sum(seconds.values()), "share"),
                "whole": Quantity(sum(seconds.values()), "time"),
                "step": count(step.index + 1),
            },
            right=named(ranked[0], "dominates"),
            wrong=[named(name, "dominates") for name in WEIGHED if name != ranked[0]],
            is_ordered=False,
            is_plain=second <= 0,
        )

    # ------------------------------------------------------------ the whole

    def _last_of(self, phase: Phase) -> StepTime | None:
        steps = [step for step in self.timeline.steps if step.phase == phase and not step.is_idle]
        return steps[-1] if steps else None

    def _sum_of(self, phase: Phase, whole_s: float) -> str:
        """The steps' times as a sum; what is folded is its last part."""
        parts = [step.duration_s for step in self.timeline.steps if step.phase == phase]
        rest = whole_s - sum(parts)
        parts += [rest] if rest > 1e-3 * whole_s else []
        return " + ".join(format_time(part) for part in parts if part > 0)

    def _silent(self, phase: Phase, whole_s: float) -> float:
        """The same without messages."""
        pass_s = self.timeline.pass_s(phase)
        steps = (step for step in self.timeline.steps if step.phase == phase)
        spent = sum(step.communication_s for step in steps)
        return whole_s * (1 - spent / pass_s) if pass_s else whole_s

    def _ttft(self, step: StepTime) -> Iterator[Candidate]:
        timeline, ttft_s = self.timeline, self.timeline.ttft_s
        if step != self._last_of("prefill") or ttft_s <= 0:
            return
        wrong = [amount(self._silent("prefill", ttft_s), "time", "no_messages")]
        if timeline.laps:
            wrong.append(amount(ttft_s + timeline.tpot_s, "time", "one_token_more"))
        if self.scenario.parallel.pp > 1:
            one = ttft_s / self.scenario.parallel.pp
            wrong.append(amount(one, "time", "one_stage"))
        wrong.append(amount(ttft_s / self.scenario.workload.prompt_tokens, "time", "per_token"))
        yield self._total("ttft", step, amount(ttft_s, "time"), wrong)

    def _tpot(self, step: StepTime) -> Iterator[Candidate]:
        timeline = self.timeline
        if step != self._last_of("decode") or not timeline.laps:
            return
        wrong = [
            amount(self._silent("decode", timeline.tpot_s), "time", "no_messages"),
            amount(timeline.ttft_s, "time", "other_phase"),
            amount(timeline.ttft_s / self.scenario.workload.prompt_tokens, "time", "per_token"),
        ]
        if self.scenario.parallel.pp > 1:
            one = timeline.tpot_s / self.scenario.parallel.pp
            wrong.insert(1, amount(one, "time", "one_stage"))
        yield self._total("tpot", step, amount(timeline.tpot_s, "time"), wrong)

    def _total(
        self, kind: Phase | str, step: StepTime, right: Choice, wrong: Sequence[Choice]
    ) -> Candidate:
        value = right.values["value"]
        whole_s = float(value.value) if isinstance(value, Quantity) else 0.0
        return Candidate(
            moment_s=self.pace.step_start(step.index),
            kind="ttft" if kind == "ttft" else "tpot",
            about="",
            identity=(kind,),
            values={"sum": self._sum_of(step.phase, whole_s)},
            right=right,
            wrong=wrong,
            is_ordered=True,
        )
