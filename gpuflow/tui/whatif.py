"""What-if: which knob is chosen, what was changed, and the figures before and after.

It holds values only; the screen presses its keys and plays what it makes.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

from gpuflow.draw.view import Scene, WhatIfPanel
from gpuflow.draw.whatif import LONG_MARK, SHORT_MARK, changes_text
from gpuflow.engine.requirements import RequirementTable
from gpuflow.engine.simulate import simulate
from gpuflow.engine.timeline import Timeline
from gpuflow.engine.whatif import (
    Difference,
    Knob,
    KnobId,
    Lock,
    Settings,
    Side,
    Value,
    Vary,
    difference,
    knobs,
    side_of,
    with_setting,
)
from gpuflow.errors import InputError, Problem
from gpuflow.scenario.spec import Language, Scenario
from gpuflow.tui.options import PlayerOptions
from gpuflow.tui.playing import Playing

QUICK_GPUS = 8
"""GPUs up to which a change is simulated before the next frame, beyond it beside the player."""

_LONG_WIDTH = 116
"""Cells of a screen whose header names more than one change."""


class WhatIf:
    """The panel of one player.

    Args:
        original: What is played before any change.
        vary: Resolves changes; None where nothing can be changed.
        locks: What cannot be changed.
    """

    def __init__(self, original: Timeline, vary: Vary | None, locks: Mapping[KnobId, Lock]) -> None:
        self.is_open = False
        self.is_busy = False
        """Whether a change is being simulated."""
        self.row = 0
        self.page = 0
        self.settings: Settings = {}
        self._original = original
        self._wanted = original.scenario
        self._vary = vary
        self._locks = locks
        self._refused: tuple[KnobId, Value, Problem] | None = None
        self._knobs: tuple[Knob, ...] | None = None
        self._shown: tuple[Playing, Difference] | None = None

    @property
    def can_change(self) -> bool:
        """Whether there is anything to change."""
        return self._vary is not None

    @property
    def wanted(self) -> Scenario:
        """What is to be played, with the last change."""
        return self._wanted

    # ------------------------------------------------------------ what is shown

    @cached_property
    def before(self) -> Side:
        """What is played before any change."""
        return side_of(self._original)

    @property
    def knobs(self) -> tuple[Knob, ...]:
        """Everything that may be changed, as it was asked for last."""
        if self._knobs is None:
            self._knobs = knobs(self._original.scenario, self._wanted, self.settings, self._locks)
        return self._knobs

    def panel(self, playing: Playing) -> WhatIfPanel:
        """The panel beside what is played."""
        return WhatIfPanel(
            knobs=self.knobs,
            row=self.row,
            difference=self._difference(playing),
            refused=self._refused,
            page=self.page,
            is_busy=self.is_busy,
        )

    def _difference(self, playing: Playing) -> Difference:
        if self._shown is None or self._shown[0] is not playing:
            self._shown = (playing, difference(self.before, playing.side))
        return self._shown[1]

    def mark(self, scene: Scene, width: int) -> str:
        """What was changed, for a header of so many cells; empty where nothing was."""
        room = LONG_MARK if width >= _LONG_WIDTH else SHORT_MARK
        return changes_text(scene, self.knobs, room) if self.settings else ""

    def original_table(self) -> RequirementTable | None:
        """The requirement table before any change; None where there was none."""
        return self.before.table if self.settings else None

    # ------------------------------------------------------------ keys

    def choose(self, way: int) -> None:
        """The next knob, or the one before."""
        self.row = (self.row + way) % len(self.knobs)
        self._refused = None

    def turn(self, way: int) -> Scenario | None:
        """The next value of the chosen knob that can be had, or the one before.

        Returns:
            What is to be played; None where it stays as it is.
        """
        knob = self.knobs[self.row]
        self._refused = None
        if knob.lock is not None:
            return None
        for value in _further(knob, way):
            settings = with_setting(self._original.scenario, self.settings, knob.id, value)
            scenario = self._resolved(settings, knob.id, value)
            if scenario is not None:
                return scenario
        return None

    def put_back(self, *, is_all: bool) -> Scenario | None:
        """The chosen knob, or all of them, as they were.

        Returns:
            What is to be played; None where it stays as it is.
        """
        knob = self.knobs[self.row]
        self._refused = None
        kept = {} if is_all else {k: v for k, v in self.settings.items() if k != knob.id}
        if kept == self.settings:
            return None
        return self._resolved(kept, knob.id, knob.original)

    def _resolved(self, settings: Settings, name: KnobId, value: Value) -> Scenario | None:
        """The scenario of some settings, which are taken; None, and why, where they do not go."""
        if self._vary is None:
            return None
        try:
            scenario = self._vary(settings) if settings else self._original.scenario
        except InputError as error:
            if self._refused is None and error.problems:
                self._refused = (name, value, error.problems[0])
            return None
        chosen = self.knobs[self.row].id
        self.settings, self._wanted, self._knobs = settings, scenario, None
        self.row = next((i for i, knob in enumerate(self.knobs) if knob.id == chosen), 0)
        return scenario

    # ------------------------------------------------------------ playing it

    def is_quick(self, scenario: Scenario) -> bool:
        """Whether it is simulated within a frame."""
        return scenario.parallel.world <= QUICK_GPUS or scenario is self._original.scenario

    def play(self, scenario: Scenario, options: PlayerOptions, language: Language) -> Playing:
        """What is played of a scenario, everything for its first frame made; any thread may."""
        is_original = scenario is self._original.scenario
        playing = Playing(self._original if is_original else simulate(scenario), options)
        playing.scene(language)
        difference(self.before, playing.side)
        return playing


def _further(knob: Knob, way: int) -> tuple[Value, ...]:
    """Values after the present one in one direction; names go round."""
    here = knob.values.index(knob.value)
    after, before = knob.values[here + 1 :], knob.values[:here]
    is_number = isinstance(knob.value, int)
    if way > 0:
        return after if is_number else (*after, *before)
    return before[::-1] if is_number else (*before[::-1], *after[::-1])
