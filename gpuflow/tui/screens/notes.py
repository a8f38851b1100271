"""The notes as a page to scroll, with a footer."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from gpuflow.draw.frame import Frame
from gpuflow.tui.screens.reading import ReadingScreen
from gpuflow.tui.widgets.keybar import Hint
from gpuflow.tui.widgets.sheet import Sheet
from gpuflow.words import t

if TYPE_CHECKING:
    from gpuflow.tui.notes import NotesApp


class NotesScreen(ReadingScreen):
    """The notes of the step that the player is at."""

    @property
    def notes(self) -> NotesApp:
        """The app."""
        return cast("NotesApp", self.app)

    def hints(self) -> list[Hint]:
        """What can be pressed here."""
        pairs = [("↑↓", "scroll"), ("T", "theme"), ("q", "quit")]
        return [(key, t(f"ui.key.{name}", self.notes.language)) for key, name in pairs]

    def content(self, width: int) -> Frame:
        """The notes at a width."""
        return self.notes.content(width)

    def to_top(self) -> None:
        """A new step begins at its beginning."""
        if self.can_show:
            self.query_one(Sheet).scroll_home(animate=False)
