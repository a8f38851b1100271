"""Screen time: a pure, monotone map from seconds on the screen to simulated seconds.

In every step the first layer of each kind is slow enough to follow, the layers alike are compressed
into one stretch, and the folded laps into another. A step with nothing to do still has its time on
the screen, so that it can be read and addressed.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass

from gpuflow.cluster.parameters import stage_layers
from gpuflow.engine.timeline import Span, StepTime, Timeline

SHOWN_S = {"compute": 1.4, "collective": 2.2, "send": 2.2, "host": 1.6, "fold": 3.0}
"""Screen seconds of one span that is shown."""
INSTANT_S = 0.5
"""Screen seconds of computing that the profile does not charge: named, not dwelt on."""
COMPRESSED_S = 3.0
"""Screen seconds of a run of layers alike."""
IDLE_S = 2.5
"""Screen seconds of a step with nothing to do."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the screen's time in which simulated time runs evenly."""

    step: int
    first_span: int
    last_span: int
    """One past the last; equal to first_span in an idle step."""
    screen_start_s: float
    screen_end_s: float
    start_s: float
    end_s: float
    is_compressed: bool

    @property
    def slowdown(self) -> float:
        """Screen seconds per simulated second; 0 when simulated time stands still."""
        simulated = self.end_s - self.start_s
        return (self.screen_end_s - self.screen_start_s) / simulated if simulated > 0 else 0.0


class Pace:
    """The map of one timeline."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.stretches: tuple[Stretch, ...] = tuple(_stretches(timeline))
        self._ends = [s.screen_end_s for s in self.stretches]
        self._step_starts = [
            next(s.screen_start_s for s in self.stretches if s.step == step.index)
            for step in timeline.steps
        ]
        self.events: tuple[float, ...] = tuple(s.screen_start_s for s in self.stretches)
        """Screen seconds at which something new is shown."""

    @property
    def duration_s(self) -> float:
        """Screen seconds in all."""
        return self._ends[-1]

    def step_start(self, index: int) -> float:
        """Screen second at which a step begins."""
        return self._step_starts[index]

    def step_end(self, index: int) -> float:
        """Screen second at which a step ends."""
        if index + 1 < len(self._step_starts):
            return self._step_starts[index + 1]
        return self.duration_s

    def stretch(self, screen_s: float) -> Stretch:
        """The stretch that runs at a screen second (the later one at a border)."""
        return self.stretches[min(bisect_right(self._ends, screen_s), len(self.stretches) - 1)]

    def time(self, screen_s: float) -> float:
        """Simulated second at a screen second."""
        s = self.stretch(screen_s)
        part = (screen_s - s.screen_start_s) / (s.screen_end_s - s.screen_start_s)
        return s.start_s + min(max(part, 0.0), 1.0) * (s.end_s - s.start_s)

    def at_time(self, time_s: float) -> float:
        """First screen second at which a simulated second is reached."""
        for s in self.stretches:
            if time_s <= s.end_s and s.end_s > s.start_s:
                part = max(time_s - s.start_s, 0.0) / (s.end_s - s.start_s)
                return s.screen_start_s + part * (s.screen_end_s - s.screen_start_s)
        return self.duration_s


def _runs(timeline: Timeline, step: StepTime) -> list[tuple[int, int, bool]]:
    """(first span, one past the last, compressed) of a step's stretches."""
    runs: list[tuple[int, int, bool]] = []
    met: set[object] = set()
    layer_key: tuple[object, ...] | None = None
    is_new = True
    for i in range(step.first_span, step.last_span):
        span = timeline.spans[i]
        alike = False
        if span.layer:
            key = (span.stage, span.layer)
            if key != layer_key:
                layer_key = key
                kind = layer_kind(timeline, span)
                is_new = kind not in met
                met.add(kind)
            alike = not is_new
        if alike and runs and runs[-1][2] and timeline.spans[i - 1].stage == span.stage:
            runs[-1] = (runs[-1][0], i + 1, True)
        else:
            runs.append((i, i + 1, alike))
    return runs


def layer_kind(timeline: Timeline, span: Span) -> tuple[object, ...]:
    """What makes a layer worth showing on its own: its stage and its shape."""
    scenario = timeline.scenario
    index = stage_layers(scenario, span.stage or 0)[span.layer - 1]
    return (span.stage, scenario.model.layers[index])


def _shown_s(span: Span) -> float:
    if span.kind == "compute" and span.duration_s == 0.0:
        return INSTANT_S
    return SHOWN_S[span.kind]


def _stretches(timeline: Timeline) -> list[Stretch]:
    made: list[Stretch] = []
    clock = 0.0
    for step in timeline.steps:
        runs = _runs(timeline, step)
        if not runs:
            made.append(
                Stretch(
                    step.index,
                    step.first_span,
                    step.first_span,
                    clock,
                    clock + IDLE_S,
                    step.start_s,
                    step.start_s,
                    is_compressed=False,
                )
            )
            clock += IDLE_S
        for first, last, compressed in runs:
            head = timeline.spans[first]
            lasts_s = COMPRESSED_S if compressed else _shown_s(head)
            made.append(
                Stretch(
                    step.index,
                    first,
                    last,
                    clock,
                    clock + lasts_s,
                    head.start_s,
                    timeline.spans[last - 1].end_s,
                    is_compressed=compressed or head.kind == "fold",
                )
            )
            clock += lasts_s
    return made
