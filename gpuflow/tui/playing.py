"""One timeline being played: its pace, its states, and the playhead that time moves."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from gpuflow.draw.scene import scene_of
from gpuflow.draw.view import Scene
from gpuflow.engine.moment import Moments
from gpuflow.engine.pace import Pace
from gpuflow.engine.parts import part_of_step, still_moment
from gpuflow.engine.timeline import Timeline
from gpuflow.scenario.spec import Language
from gpuflow.tui.options import PlayerOptions
from gpuflow.tui.playhead import NEAR_S, SPEEDS, Playhead

if TYPE_CHECKING:
    # What the first picture does not show need not be loaded for it.
    from gpuflow.engine.requirements import RequirementTable
    from gpuflow.engine.whatif import Side


class Playing:
    """What is played; another timeline is another one of these.

    Args:
        timeline: What to play.
        options: Where and how to start.
    """

    def __init__(self, timeline: Timeline, options: PlayerOptions) -> None:
        self.timeline = timeline
        self.pace = Pace(timeline)
        self.moments = Moments(self.pace)
        self.is_animated = options.is_animated
        self.held_s = 0.0
        """Seconds that the step has been shown, where nothing moves."""
        only = options.only_step
        part = None if only is None else part_of_step(self.pace, only)
        self.playhead = Playhead(
            self.pace.duration_s,
            options.start_s if part is None else part[0],
            is_playing=options.is_playing,
            loops=options.loops,
            part=part,
        )
        if not self.is_animated:
            self.playhead.seek(still_moment(self.pace, self.step_index))
        self.playhead.speed = min(SPEEDS, key=lambda known: abs(known - options.speed))
        self._bound = options.keys
        self._scenes: dict[Language, Scene] = {}

    def scene(self, language: Language) -> Scene:
        """The timeline in a language."""
        if language not in self._scenes:
            self._scenes[language] = scene_of(self.moments, language, self._bound)
        return self._scenes[language]

    @cached_property
    def requirements(self) -> RequirementTable:
        """The requirement table of what is played; of a recording the rules of thumb alone."""
        from gpuflow.engine.requirements import requirement_table

        if self.timeline.recording is not None:
            return requirement_table(self.timeline.scenario)
        return self.side.table

    @cached_property
    def side(self) -> Side:
        """Everything of it that is compared with another scenario."""
        from gpuflow.engine.whatif import side_of

        return side_of(self.timeline)

    @property
    def step_index(self) -> int:
        """The step at the moment, from 0."""
        return self.pace.stretch(self.playhead.moment_s).step

    def go_step(self, index: int) -> None:
        """To the start of a step; before the first or after the last there is none."""
        index = min(max(index, 0), len(self.timeline.steps) - 1)
        if index != self.step_index:
            self.playhead.free()
        self.held_s = 0.0
        start_s = self.pace.step_start(index)
        self.playhead.seek(start_s if self.is_animated else still_moment(self.pace, index))

    def go_on_from(self, before: Playing) -> None:
        """Take over from another play: at the same step, as far into it, and just as quickly."""
        step, theirs = before.step_index, before.pace
        start_s, end_s = theirs.step_start(step), theirs.step_end(step)
        part = min(max((before.playhead.moment_s - start_s) / (end_s - start_s), 0.0), 1.0)
        mine = self.playhead
        if (before.playhead.first_s, before.playhead.last_s) == (0.0, theirs.duration_s):
            mine.free()
        start_s, end_s = self.pace.step_start(step), self.pace.step_end(step)
        is_in_step = step + 1 < len(self.timeline.steps)
        moment_s = start_s + part * (end_s - start_s)
        mine.seek(min(moment_s, end_s - NEAR_S) if is_in_step else moment_s)
        if not self.is_animated:
            mine.seek(still_moment(self.pace, step))
        mine.speed, mine.is_playing = before.playhead.speed, before.playhead.is_playing
        self.held_s = before.held_s

    def let_pass(self, elapsed_s: float) -> None:
        """Let so many seconds of the viewer pass."""
        if self.is_animated:
            self.playhead.advance(elapsed_s)
        elif self.playhead.is_playing:
            self.held_s += elapsed_s * self.playhead.speed
            step = self.step_index
            if self.held_s >= self.pace.step_end(step) - self.pace.step_start(step):
                self._turn_over()

    def _turn_over(self) -> None:
        """The next step of a play without motion, within the part that is played."""
        self.held_s = 0.0
        playhead, following = self.playhead, self.step_index + 1
        steps = len(self.timeline.steps)
        if following < steps and self.pace.step_start(following) < playhead.last_s:
            playhead.seek(still_moment(self.pace, following))
        elif playhead.loops:
            first = self.pace.stretch(playhead.first_s).step
            playhead.seek(still_moment(self.pace, first))
        else:
            playhead.seek(playhead.last_s)
            playhead.is_playing = False
