"""The presenter's notes on a second terminal: they follow a player from step to step."""

from __future__ import annotations

import os
import time
from pathlib import Path

from textual.screen import Screen

from gpuflow.draw.frame import Frame
from gpuflow.draw.notes import NotesView, draw_notes, draw_waiting
from gpuflow.scenario.spec import Language
from gpuflow.tui.lifecycle import leaving_on_signals, prepare_environment
from gpuflow.tui.options import PlayerOptions
from gpuflow.tui.position import Position, players, read_position
from gpuflow.tui.screens.notes import NotesScreen
from gpuflow.tui.terminal_app import TerminalApp

LOOK_S = 0.4
"""How often it is looked where the player is."""


class NotesApp(TerminalApp):
    """Shows the notes of the step that a player is at.

    Args:
        options: Looks, and the language until a player says its own.
        folder: Where players say where they are; None: nowhere.
        pid: The only player that is followed; None: the newest.
    """

    def __init__(self, options: PlayerOptions, folder: Path | None, pid: int | None) -> None:
        super().__init__(options)
        self.use_command_palette = False
        self.folder = folder
        self.wanted_pid = pid
        self.position: Position | None = None
        self.ended_pid: int | None = None
        self._notes_screen = NotesScreen()

    def get_default_screen(self) -> Screen[None]:
        """The notes are there from the start."""
        return self._notes_screen

    async def on_ready(self) -> None:
        """Look where a player is, again and again."""
        await self.look_again()
        self.set_interval(LOOK_S, self.look_again)

    # ------------------------------------------------------------ the player

    async def look_again(self) -> None:
        """Follow the player; where it has ended, say so and take the next one."""
        before = self.position
        self.position = self._found()
        if before is not None and (self.position is None or self.position.pid != before.pid):
            self.ended_pid = before.pid
        step = None if before is None else (before.pid, before.step)
        if self.position is not None:
            self._speak(self.position.language)
            if step != (self.position.pid, self.position.step):
                self._notes_screen.to_top()
        await self._notes_screen.rebuild()

    def _found(self) -> Position | None:
        if self.folder is None:
            return None
        wanted = self.wanted_pid
        if wanted is None and self.position is not None:
            wanted = self.position.pid
        found = None if wanted is None else read_position(self.folder, wanted)
        if found is None and self.wanted_pid is None:
            found = next(iter(players(self.folder)), None)
        return found

    def _speak(self, language: Language) -> None:
        """The player's language; ASCII has only one."""
        self.language = "en" if self.is_ascii else language

    def content(self, width: int) -> Frame:
        """What there is to read."""
        position = self.position
        if position is None:
            return draw_waiting(self.language, width, ended_pid=self.ended_pid)
        return draw_notes(
            NotesView(
                language=self.language,
                scenario=position.scenario,
                steps=position.steps[self.language],
                step=position.step,
                time_s=position.time_s,
                is_playing=position.is_playing,
                speed=position.speed,
                minutes=max(int((time.time() - position.began_s) // 60), 0),
            ),
            width,
        )


def run_notes(options: PlayerOptions, folder: Path | None, pid: int | None) -> int:
    """Show notes until the presenter leaves.

    Args:
        options: With everything decided that the terminal has a say in.
        folder: Where players say where they are.
        pid: The only player that is followed; None: the newest.

    Returns:
        Exit status, as of `run_player`.
    """
    prepare_environment(os.environ)
    app = NotesApp(options, folder, pid)
    with leaving_on_signals(app.leave):
        app.run(mouse=False)
    return app.return_code or 0
