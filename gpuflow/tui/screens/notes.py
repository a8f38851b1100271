"""The notes as a page to scroll, with a footer."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen

from gpuflow.tui.screens.pages import LEAST_HEIGHT, LEAST_WIDTH, NARROWEST
from gpuflow.tui.widgets.keybar import Hint, KeyBar
from gpuflow.tui.widgets.sheet import Sheet
from gpuflow.words import t

if TYPE_CHECKING:
    from gpuflow.tui.notes import NotesApp


class NotesScreen(Screen[None]):
    """A Frame to scroll and a footer."""

    @property
    def notes(self) -> NotesApp:
        """The app."""
        return cast("NotesApp", self.app)

    def compose(self) -> ComposeResult:
        """Page and footer."""
        yield Sheet(has_color=self.notes.has_color)
        yield KeyBar(self.hints)

    def hints(self) -> list[Hint]:
        """What can be pressed here."""
        pairs = [("↑↓", "scroll"), ("T", "theme"), ("q", "quit")]
        return [(key, t(f"ui.key.{name}", self.notes.language)) for key, name in pairs]

    def on_mount(self) -> None:
        """Show it, ready to scroll."""
        self.redraw()
        self.query_one(Sheet).focus()

    def on_resize(self, _event: events.Resize) -> None:
        """Draw for the new size."""
        self.call_after_refresh(self.rebuild)

    async def rebuild(self) -> None:
        """Everything that depends on size or language."""
        if not self.is_mounted:
            return
        width, height = self.app.size
        has_room = width >= LEAST_WIDTH and height >= LEAST_HEIGHT
        bar, sheet = self.query_one(KeyBar), self.query_one(Sheet)
        bar.set_class(not has_room, "-hidden")
        sheet.styles.overflow_y = "auto" if has_room else "hidden"
        if has_room:
            await bar.rebuild()
        self.redraw()

    def redraw(self) -> None:
        """Show what there is to read now; only what has changed is sent."""
        if self.is_mounted and self.app.size.width:
            # One column is left for the scroll bar.
            frame = self.notes.content(max(self.app.size.width - 1, NARROWEST))
            self.query_one(Sheet).show(frame, self.notes.look)

    def to_top(self) -> None:
        """A new step begins at its beginning."""
        if self.is_mounted:
            self.query_one(Sheet).scroll_home(animate=False)
