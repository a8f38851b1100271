"""A screen to read: a Frame to scroll through and a footer."""

from __future__ import annotations

from abc import abstractmethod

from textual.app import ComposeResult

from gpuflow.draw.frame import Frame
from gpuflow.tui.screens.sized import SizedScreen
from gpuflow.tui.widgets.keybar import Hint, KeyBar
from gpuflow.tui.widgets.sheet import Sheet

NARROWEST = 30
"""Nothing is folded any narrower; a narrower screen shows the left part."""
LEAST_WIDTH, LEAST_HEIGHT = 16, 8
"""Below this it is shown without footer and scroll bar."""


class ReadingScreen(SizedScreen):
    """A Frame to scroll and a footer."""

    # ------------------------------------------------------------ what a screen has of its own

    @abstractmethod
    def hints(self) -> list[Hint]:
        """What can be pressed here."""

    @abstractmethod
    def content(self, width: int) -> Frame:
        """What there is to read, at a width in cells."""

    # ------------------------------------------------------------ picture

    def compose(self) -> ComposeResult:
        """Page and footer."""
        yield Sheet(has_color=self.owner.has_color)
        yield KeyBar(self.hints)

    def on_mount(self) -> None:
        """Show it, ready to scroll."""
        self.redraw()
        self.query_one(Sheet).focus()

    async def rebuild(self) -> None:
        """Everything that depends on size or language."""
        if not self.can_show:
            return
        # With no room for a page and its footer Textual would lay out scroll bars for ever.
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
        if self.can_show:
            # One column is left for the scroll bar.
            frame = self.content(max(self.app.size.width - 1, NARROWEST))
            self.query_one(Sheet).show(frame, self.owner.look)
