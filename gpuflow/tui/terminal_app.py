"""What every program of ours on a terminal has in common: its looks, its driver and its end."""

from __future__ import annotations

import traceback
from typing import ClassVar

from rich.console import RenderableType
from rich.text import Text
from textual import on
from textual.app import App
from textual.binding import Binding, BindingType
from textual.driver import Driver
from textual.filter import LineFilter

from gpuflow.draw.theme import THEMES, Theme, load_theme
from gpuflow.scenario.spec import Language
from gpuflow.tui.driver import PlayerDriver
from gpuflow.tui.filters import AsciiSigns, NoColour
from gpuflow.tui.options import PlayerOptions
from gpuflow.tui.screens.reading import ReadingScreen
from gpuflow.tui.screens.timed import TimedScreen
from gpuflow.tui.styles import textual_theme, theme_id

INTERRUPTED = 130
"""128 + SIGINT, whether Ctrl+C arrives as a key or as a signal."""

HUNG_UP = 129
"""128 + SIGHUP: the signal and the end of input come together, in either order."""


class TerminalApp(App[None]):
    """Draws in our themes and leaves the terminal as it was.

    Args:
        options: What the command line and the terminal have decided.
    """

    CSS_PATH = "app.tcss"
    TITLE = "gpuflow"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("T", "next_theme", show=False),
        Binding("q,ctrl+q", "leave", show=False),
        Binding("ctrl+c", "interrupt", show=False, priority=True),
        Binding("ctrl+z", "suspend_process", show=False, priority=True),
    ]

    def __init__(self, options: PlayerOptions) -> None:
        self.options = options
        self.has_color = options.has_color
        self.is_ascii = options.is_ascii
        self.is_leaving = False
        """Nothing is drawn any more."""
        self._early_end: int | None = None
        self._last_filters: list[LineFilter] = []
        if not options.has_color:
            self._last_filters.append(NoColour())
        if options.is_ascii:
            self._last_filters.append(AsciiSigns())
        super().__init__(driver_class=PlayerDriver)
        self.language: Language = options.language
        self.look: Theme = load_theme(options.theme_name or THEMES[0])
        for name in THEMES:
            self.register_theme(textual_theme(load_theme(name)))
        self.theme = theme_id(self.look.name)

    def get_line_filters(self) -> list[LineFilter]:
        """Textual's own, then ours."""
        return [*super().get_line_filters(), *self._last_filters]

    # ------------------------------------------------------------ looks

    def action_next_theme(self) -> None:
        """The next theme, on every screen."""
        index = (THEMES.index(self.look.name) + 1) % len(THEMES)
        self.look = load_theme(THEMES[index])
        self.theme = theme_id(self.look.name)
        for screen in self.screen_stack:
            if isinstance(screen, (TimedScreen, ReadingScreen)):
                screen.redraw()

    @on(Driver.SignalResume)
    def repaint(self) -> None:
        """Draw all of the screen: after a stop the terminal has nothing of it any more."""
        self.screen.refresh()

    # ------------------------------------------------------------ leaving

    def exit(
        self, result: None = None, return_code: int = 0, message: RenderableType | None = None
    ) -> None:
        """Leave; whatever comes, nothing is drawn any more."""
        if not self.is_leaving and isinstance(self._driver, PlayerDriver):
            self._driver.watch_the_end(return_code)
        self.is_leaving = True
        super().exit(result, return_code, message)

    def _fatal_error(self) -> None:
        """Leave with Python's own traceback; Textual's, with every local, would fill pages."""
        self.is_leaving = True
        self._exit_renderables.append(Text(traceback.format_exc()))
        self._close_messages_no_wait()

    def action_leave(self) -> None:
        """The viewer has seen enough."""
        self.exit(return_code=0)

    def action_interrupt(self) -> None:
        """Ctrl+C, in one press."""
        self.exit(return_code=INTERRUPTED)

    def leave(self, status: int) -> None:
        """Leave with a status; may be called from a signal handler or another thread."""
        self._early_end = status
        loop = self._loop
        if loop is not None and not loop.is_closed():
            loop.call_soon_threadsafe(self._leave_with, status)

    def on_load(self) -> None:
        """Leave at once where a signal came before there was anything that could."""
        if self._early_end is not None:
            self.exit(return_code=self._early_end)

    def _leave_with(self, status: int) -> None:
        self.exit(return_code=status)

    def input_has_ended(self) -> None:
        """Nobody can press a key any more, as after a hang-up; called by the driver's thread."""
        self.leave(HUNG_UP)
