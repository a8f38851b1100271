"""Where a guided tour stops: moments of a play, found by what happens in them, on any timeline.

A stop that shows a collective the play does not have is one of the explorer instead; what is
neither there nor a collective (waiting stages, laps) is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpuflow.engine.explore import Subject, subject_of
from gpuflow.engine.facts import NONE, facts
from gpuflow.engine.pace import Pace, Stretch
from gpuflow.engine.timeline import Span
from gpuflow.units import Quantity

APPROACH_S = 4.0
"""Screen seconds that are played before a stop, where so much lies behind the stop before it."""
HALF_WAY = 0.55
"""Where in what is shown the play stops: numbers are on their way."""
_EDGE_S = 1e-3
"""Screen seconds before the end of a stretch: the next one has not begun."""
DRAWN_RANKS = 4
"""Of a collective that the play does not have, and of the ring that is shown round by round."""
MOST_RING_RANKS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """One stop of the tour."""

    id: str
    """`tour.<id>.*` are its words."""
    screen_s: float
    """The moment of the play; of a stop in the explorer, the one that stands behind it."""
    step: int
    """Index of the step whose figures it tells."""
    span: Span | None = None
    """The message whose figures it tells; None: those of the step's heaviest class."""
    subject: Subject | None = None
    """What the explorer shows; None: the stop is in the play."""
    is_away: bool = False
    """Whether the play has nothing of the collective it is about."""


def tour_stops(pace: Pace) -> tuple[Stop, ...]:
    """The stops of a timeline in their order; a recording has none, since it is no whole answer."""
    if pace.timeline.recording is not None:
        return ()
    stops: list[Stop] = []
    for name, find in _PLAN:
        here_s = stops[-1].screen_s if stops else 0.0
        found = find(_Finder(pace, name, here_s))
        if found is not None:
            stops.append(found)
    return tuple(stops)


def approach(stops: tuple[Stop, ...], index: int) -> float:
    """Screen second from which the play runs up to a stop; the stop's own where there is no way."""
    stop = stops[index]
    before_s = stops[index - 1].screen_s if index else 0.0
    if stop.subject is not None or before_s > stop.screen_s:
        return stop.screen_s
    return max(before_s, stop.screen_s - APPROACH_S)


def stop_values(pace: Pace, stop: Stop) -> dict[str, Quantity]:
    """Values of the placeholders in the words of a stop.

    Those of a scenario's texts, of the stop's own message where it is about one, and:

    ranks, rounds                 of what the explorer shows
    prefill_*, decode_*           size and time of one message inside a layer, in either phase
    """
    timeline = pace.timeline
    alike = None if stop.span is None else _alike(pace, stop.span)
    values = facts(timeline, stop.step, alike)
    subject = stop.subject
    values["ranks"] = Quantity(float(subject.n_ranks), "count") if subject else NONE
    values["rounds"] = Quantity(float(subject.rounds), "count") if subject else NONE
    of_layers = [span for span in timeline.spans if _is_of_layer(span)]
    for phase in ("prefill", "decode"):
        message = next((span for span in of_layers if span.phase == phase), None)
        values[f"{phase}_size"] = Quantity(message.message_size_bytes, "bytes") if message else NONE
        values[f"{phase}_time"] = Quantity(message.duration_s, "time") if message else NONE
    return values


def _alike(pace: Pace, span: Span) -> list[Span]:
    """Messages of the step like one of them, itself first."""
    step = pace.timeline.steps[span.step]
    spans = pace.timeline.spans[step.first_span : step.last_span]
    key = (span.collective, span.payload, span.kind)
    others = [s for s in spans if (s.collective, s.payload, s.kind) == key and s is not span]
    return [span, *others]


# ---------------------------------------------------------------- finding moments


def _first(pace: Pace, wanted: Callable[[Span], bool]) -> Span | None:
    return next((span for span in pace.timeline.spans if wanted(span)), None)


def _is_of_layer(span: Span) -> bool:
    return span.collective is not None and span.layer > 0


@dataclass(frozen=True, slots=True)
class _Finder:
    """Makes the stop of one name."""

    pace: Pace
    name: str
    here_s: float
    """Moment of the stop before it."""

    def at(self, screen_s: float, *, step: int | None = None, span: Span | None = None) -> Stop:
        """In the play at a moment."""
        index = self.pace.stretch(screen_s).step if step is None else step
        return Stop(id=self.name, screen_s=screen_s, step=index, span=span)

    def during(self, span: Span | None, *, tells: bool = False) -> Stop | None:
        """In the play while a span runs; None without one."""
        if span is None:
            return None
        stretch = self._stretch_of(span)
        lasts_s = stretch.screen_end_s - stretch.screen_start_s
        moment_s = stretch.screen_start_s + HALF_WAY * lasts_s
        return self.at(moment_s, step=span.step, span=span if tells else None)

    def of_collective(
        self, collective: str, wanted: Callable[[Span], bool], ranks: int = DRAWN_RANKS
    ) -> Stop:
        """While the first such message runs; in the explorer where there is none."""
        span = _first(self.pace, lambda s: s.collective == collective and wanted(s))
        stop = self.during(span, tells=True)
        return stop or self.in_explorer(subject_of(collective, n_ranks=ranks), is_away=True)

    def in_explorer(self, subject: Subject, *, is_away: bool = False) -> Stop:
        """In the explorer, the play behind it where it was."""
        return Stop(
            id=self.name,
            screen_s=self.here_s,
            step=self.pace.stretch(self.here_s).step,
            subject=subject,
            is_away=is_away,
        )

    def compressed(self, phase: str, share: float) -> Stop | None:
        """Within the first run of layers alike of a phase; None where no layer is like another."""
        for stretch in self.pace.stretches:
            spans = self.pace.timeline.spans[stretch.first_span : stretch.last_span]
            if stretch.is_compressed and spans[0].kind != "fold" and spans[0].phase == phase:
                lasts_s = stretch.screen_end_s - stretch.screen_start_s - _EDGE_S
                return self.at(stretch.screen_start_s + share * lasts_s)
        return None

    def _stretch_of(self, span: Span) -> Stretch:
        stretches = self.pace.stretches
        return next(s for s in stretches if s.first_span <= span.index < s.last_span)


def _welcome(find: _Finder) -> Stop:
    return find.at(0.0)


def _prompt(find: _Finder) -> Stop | None:
    span = _first(find.pace, lambda s: s.payload == "token_ids")
    if span is not None:
        return find.during(span, tells=True)
    return find.during(_first(find.pace, lambda s: s.kind == "host" and s.step == 0))


def _attention(find: _Finder) -> Stop | None:
    return find.during(_first(find.pace, lambda s: s.part == "attention"))


def _all_reduce(find: _Finder) -> Stop:
    return find.of_collective("all_reduce", lambda s: s.phase == "prefill")


def _ring(find: _Finder) -> Stop:
    tp = find.pace.timeline.scenario.parallel.tp
    ranks = tp if DRAWN_RANKS <= tp <= MOST_RING_RANKS else DRAWN_RANKS
    return find.in_explorer(subject_of("all_reduce", "ring", ranks))


def _all_to_all(find: _Finder) -> Stop:
    return find.of_collective("all_to_all", lambda s: s.payload == "dispatch")


def _combine(find: _Finder) -> Stop | None:
    return find.during(_first(find.pace, lambda s: s.payload == "combine"), tells=True)


def _layers(find: _Finder) -> Stop | None:
    return find.compressed("prefill", 0.5)


def _kv(find: _Finder) -> Stop | None:
    return find.compressed("prefill", 1.0) or find.during(
        _first(find.pace, lambda s: s.part == "attention")
    )


def _hand_over(find: _Finder) -> Stop:
    span = _first(find.pace, lambda s: s.kind == "send" and s.phase == "prefill")
    return find.during(span, tells=True) or find.in_explorer(
        subject_of("send_recv", n_ranks=2), is_away=True
    )


def _waiting(find: _Finder) -> Stop | None:
    return find.during(
        _first(find.pace, lambda s: s.part in {"attention", "mlp"} and (s.stage or 0) > 0)
    )


def _logits(find: _Finder) -> Stop:
    return find.of_collective(
        "all_gather", lambda s: s.payload == "logits" and s.phase == "prefill"
    )


def _token(find: _Finder) -> Stop:
    return find.of_collective("broadcast", lambda s: s.payload == "token" and s.phase == "prefill")


def _decode_step(pace: Pace) -> int:
    return next(step.index for step in pace.timeline.steps if step.phase == "decode")


def _ttft(find: _Finder) -> Stop:
    """Once it is known, in decode's first moment; its figures are those of prefill's last step."""
    index = _decode_step(find.pace)
    return find.at(find.pace.step_start(index) + _EDGE_S, step=index - 1)


def _decode(find: _Finder) -> Stop | None:
    return find.during(
        _first(find.pace, lambda s: s.phase == "decode" and s.part in {"attention", "mlp"})
    )


def _small(find: _Finder) -> Stop | None:
    span = _first(find.pace, lambda s: s.phase == "decode" and _is_of_layer(s))
    return find.during(span, tells=True)


def _kv_read(find: _Finder) -> Stop | None:
    return find.compressed("decode", 1.0)


def _gather(find: _Finder) -> Stop:
    return find.of_collective("gather", lambda s: s.payload == "output")


def _laps(find: _Finder) -> Stop | None:
    return find.during(_first(find.pace, lambda s: s.fold == "laps"))


def _explored(collective: str) -> Callable[[_Finder], Stop]:
    return lambda find: find.in_explorer(subject_of(collective, n_ranks=DRAWN_RANKS))


def _network(find: _Finder) -> Stop | None:
    """What both phases ask, where messages run inside layers at all."""
    has = {s.phase for s in find.pace.timeline.spans if _is_of_layer(s)}
    return find.at(find.pace.duration_s) if has == {"prefill", "decode"} else None


def _end(find: _Finder) -> Stop:
    return find.at(find.pace.duration_s)


_PLAN: tuple[tuple[str, Callable[[_Finder], Stop | None]], ...] = (
    ("welcome", _welcome),
    ("prompt", _prompt),
    ("attention", _attention),
    ("all_reduce", _all_reduce),
    ("ring", _ring),
    ("all_to_all", _all_to_all),
    ("combine", _combine),
    ("layers", _layers),
    ("kv", _kv),
    ("hand_over", _hand_over),
    ("waiting", _waiting),
    ("logits", _logits),
    ("token", _token),
    ("ttft", _ttft),
    ("decode", _decode),
    ("small", _small),
    ("kv_read", _kv_read),
    ("gather", _gather),
    ("laps", _laps),
    ("scatter", _explored("scatter")),
    ("reduce_scatter", _explored("reduce_scatter")),
    ("reduce", _explored("reduce")),
    ("network", _network),
    ("end", _end),
)
"""Every stop by its name, and what finds it."""
