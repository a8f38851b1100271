"""Tells a second terminal where the player is, whenever that has changed, and not too often."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

from textual.timer import Timer

from gpuflow.draw.notes import StepNotes, step_notes
from gpuflow.scenario.spec import Language
from gpuflow.tui.position import Position, clear_away, publish, withdraw
from gpuflow.words import LANGUAGES

if TYPE_CHECKING:
    from gpuflow.tui.app import PlayerApp
    from gpuflow.tui.playing import Playing

GAP_S = 0.4
"""Between two writes, however much changes in between."""


class Announcer:
    """Writes where a player is, once it has a folder for that."""

    def __init__(self, app: PlayerApp) -> None:
        self.app = app
        self.writes = 0
        self._folder: Path | None = None
        self._began_s = time.time()
        self._told: Position | None = None
        self._last_s = -GAP_S
        self._timer: Timer | None = None
        self._steps: tuple[Playing, dict[Language, tuple[StepNotes, ...]]] | None = None

    def open(self, folder: Path | None) -> None:
        """Write into a folder from now on; None: nowhere."""
        self._folder = folder
        if folder is not None:
            clear_away(folder)

    def close(self) -> None:
        """Nobody is here any more."""
        if self._folder is not None:
            withdraw(self._folder, os.getpid())
            self._folder = None

    def look(self) -> None:
        """Tell what has changed, at once or, where something was told just now, a little later."""
        if self._folder is None or self._timer is not None:
            return
        position = self.position()
        if position == self._told:
            return
        wait_s = self._last_s + GAP_S - time.monotonic()
        if wait_s > 0:
            self._timer = self.app.set_timer(wait_s, self._look_again)
            return
        self._last_s = time.monotonic()
        self._told = position
        self.writes += 1
        if not publish(self._folder, position):
            self.close()

    def _look_again(self) -> None:
        self._timer = None
        self.look()

    def position(self) -> Position:
        """Where the player is now."""
        playing = self.app.playing
        playhead = playing.playhead
        return Position(
            pid=os.getpid(),
            scenario=playing.timeline.scenario.name,
            language=self.app.language,
            step=playing.step_index,
            moment_s=playhead.moment_s,
            time_s=playing.pace.time(playhead.moment_s),
            is_playing=playhead.is_playing,
            speed=playhead.speed,
            began_s=self._began_s,
            steps=self._notes(playing),
        )

    def _notes(self, playing: Playing) -> dict[Language, tuple[StepNotes, ...]]:
        if self._steps is None or self._steps[0] is not playing:
            found = {
                language: tuple(map(step_notes, playing.scene(language).texts))
                for language in LANGUAGES
            }
            self._steps = (playing, found)
        return self._steps[1]
