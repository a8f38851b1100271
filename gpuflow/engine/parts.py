"""Parts of a play: one step alone, and the one moment that stands for a step."""

from __future__ import annotations

from gpuflow.engine.pace import Pace

_BEFORE_END_S = 1e-6
"""The end of a step is the start of the next; a little earlier it is still this one."""


def part_of_step(pace: Pace, index: int) -> tuple[float, float]:
    """(from, to) of a step, counted from 0, in screen seconds."""
    start_s = pace.step_start(index)
    return start_s, max(pace.step_end(index) - _BEFORE_END_S, start_s)


def still_moment(pace: Pace, index: int) -> float:
    """The moment that says most about a step in one picture: its first message, half-way."""
    start_s, end_s = part_of_step(pace, index)
    times = pace.timeline.steps[index]
    spans = pace.timeline.spans[times.first_span : times.last_span]
    shown = next((span for span in spans if span.collective), spans[0] if spans else None)
    if shown is None:
        return (start_s + end_s) / 2
    middle_s = pace.at_time((shown.start_s + shown.end_s) / 2)
    return min(max(middle_s, start_s), end_s)
