"""The pages to read: basics, primitives, help. Escape or the key that opened one closes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.binding import Binding, BindingType
from textual.timer import Timer

from gpuflow.draw.basics import draw_basics
from gpuflow.draw.frame import Frame
from gpuflow.draw.gallery import cards_of_step, draw_primitives
from gpuflow.draw.glossary import draw_glossary
from gpuflow.draw.help import draw_help
from gpuflow.tui.screens.reading import ReadingScreen
from gpuflow.tui.widgets.keybar import Hint

if TYPE_CHECKING:
    from gpuflow.tui.app import PlayerApp

BEATS_PER_S = 1.25
"""How fast the cards of the gallery go through their rounds."""


class ReadingPage(ReadingScreen):
    """A page of the player's own; Escape or its key closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "app.close_page", show=False),
    ]

    @property
    def player(self) -> PlayerApp:
        """The app."""
        return cast("PlayerApp", self.app)

    def hints(self) -> list[Hint]:
        """What can be pressed here."""
        scene = self.player.scene
        pairs = [("Esc", "back"), ("↑↓", "scroll"), *self.more_hints()]
        pairs += [("T", "theme"), ("L", "language"), ("q", "quit")]
        return [(key, scene.t(f"key.{name}")) for key, name in pairs]

    def more_hints(self) -> list[tuple[str, str]]:
        """(key, name of its word) of what only this page has."""
        return []


class BasicsPage(ReadingPage):
    """What inference is, in a page."""

    def content(self, width: int) -> Frame:
        """The basics."""
        return draw_basics(self.player.scene, width)


class HelpPage(ReadingPage):
    """Keys, signs, how to read the picture."""

    def content(self, width: int) -> Frame:
        """The help."""
        return draw_help(self.player.scene, width, is_kiosk=self.player.is_kiosk)


class GlossaryPage(ReadingPage):
    """The terms of the field, those of the present step first."""

    def content(self, width: int) -> Frame:
        """The glossary."""
        player = self.player
        return draw_glossary(player.scene, width, step=player.step_index, is_ascii=player.is_ascii)


class PrimitivesPage(ReadingPage):
    """Ten cards that play on small numbers; space holds them.

    They hold by themselves where nothing is to move, and while another screen covers them.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space", "play", show=False),
        Binding("enter", "app.explore", show=False),
    ]

    def __init__(self) -> None:
        super().__init__()
        self.beat = 0
        self.is_playing = False
        self._timer: Timer | None = None

    def more_hints(self) -> list[tuple[str, str]]:
        """Space, and the way to the explorer."""
        return [("␣", "play"), ("x", "explore")]

    def content(self, width: int) -> Frame:
        """The gallery at the present beat."""
        scene = self.player.scene
        current = cards_of_step(scene, self.player.step_index)
        return draw_primitives(scene, width, current=current, beat=self.beat)

    def on_mount(self) -> None:
        """Let the cards play; Textual calls the handler of the base class after this."""
        self.is_playing = self.player.playing.is_animated
        self._keep_time()

    def on_screen_suspend(self) -> None:
        """Another screen is on top."""
        self._stop()

    def on_screen_resume(self) -> None:
        """Go on."""
        self._keep_time()

    def action_play(self) -> None:
        """Play or hold."""
        self.is_playing = not self.is_playing
        self._keep_time()

    def _keep_time(self) -> None:
        if not self.is_playing:
            self._stop()
        elif self._timer is None:
            self._timer = self.set_interval(1 / BEATS_PER_S, self._next_beat)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _next_beat(self) -> None:
        self.beat += 1
        self.redraw()


PAGES: dict[str, type[ReadingPage]] = {
    "basics": BasicsPage,
    "primitives": PrimitivesPage,
    "glossary": GlossaryPage,
    "help": HelpPage,
}
"""By the name that the keys use."""
