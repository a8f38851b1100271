"""A screen on which time passes: a timer while it plays, none while it is paused or covered."""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import TYPE_CHECKING, cast

from textual.timer import Timer

from gpuflow.tui.compositor import CuttingCompositor
from gpuflow.tui.screens.sized import SizedScreen

if TYPE_CHECKING:
    from gpuflow.tui.app import PlayerApp

LONGEST_TICK_S = 0.5
"""A stalled terminal or a suspended process does not make the play leap."""


class TimedScreen(SizedScreen):
    """Draws a picture as often as the player's frame rate says, and only while it changes."""

    def __init__(self) -> None:
        super().__init__()
        self._compositor = CuttingCompositor()
        self._timer: Timer | None = None
        self._last_s = 0.0

    @property
    def player(self) -> PlayerApp:
        """The app, which holds language, theme and what is played."""
        return cast("PlayerApp", self.app)

    # ------------------------------------------------------------ what a screen has of its own

    @property
    @abstractmethod
    def is_moving(self) -> bool:
        """Whether time passes; Textual itself has an `is_running`, which is another thing."""

    @abstractmethod
    def pass_time(self, elapsed_s: float) -> None:
        """Let so many seconds of the viewer pass."""

    @abstractmethod
    def redraw(self) -> None:
        """Show what there is to see now."""

    # ------------------------------------------------------------ time

    def on_mount(self) -> None:
        """Start."""
        self.redraw()
        self.keep_time()

    def on_screen_suspend(self) -> None:
        """Nothing moves while another screen is on top."""
        self._stop()

    def on_screen_resume(self) -> None:
        """Go on."""
        self.redraw()
        self.keep_time()

    def keep_time(self) -> None:
        """Have a timer while playing and none while paused."""
        if not self.is_moving:
            self._stop()
        elif self._timer is None:
            self._last_s = time.monotonic()
            self._timer = self.set_interval(1 / self.player.fps, self._tick)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _tick(self) -> None:
        now_s = time.monotonic()
        elapsed_s, self._last_s = now_s - self._last_s, now_s
        self.pass_time(min(elapsed_s, LONGEST_TICK_S))
        if not self.is_moving:
            self.keep_time()
        elif self.player.is_terminal_behind:
            return
        self.redraw()
