"""A Frame taller than its place, to scroll through."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.scroll_view import ScrollView
from textual.strip import Strip

from gpuflow.draw.changes import changed_span
from gpuflow.draw.frame import Frame
from gpuflow.draw.theme import Theme
from gpuflow.tui.widgets.canvas import row_strip


class Sheet(ScrollView, can_focus=True, inherit_bindings=False):
    """Shows a part of a frame; arrow keys and page keys move it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "scroll_up", show=False),
        Binding("down,j", "scroll_down", show=False),
        Binding("pageup", "page_up", show=False),
        Binding("pagedown", "page_down", show=False),
        Binding("home", "scroll_home", show=False),
        Binding("end,G", "scroll_end", show=False),
    ]

    def __init__(self, *, has_color: bool, id: str | None = None) -> None:
        super().__init__(id=id)
        self.has_color = has_color
        self.shown: Frame | None = None
        self._theme: Theme | None = None

    def show(self, frame: Frame, theme: Theme) -> None:
        """Show a frame; where only words changed, only their rows are refreshed."""
        before, self.shown = self.shown, frame
        is_same_theme = self._theme is theme
        self._theme = theme
        self.virtual_size = Size(frame.width, frame.height)
        if before is None or not is_same_theme or before.width != frame.width:
            self.refresh()
            return
        if before.height != frame.height:
            self.refresh()
            return
        top = round(self.scroll_y)
        regions = []
        for y in range(top, min(top + self.size.height, frame.height)):
            span = changed_span(before.rows[y], frame.rows[y])
            if span is not None:
                regions.append(Region(span[0], y - top, span[1] - span[0], 1))
        if regions:
            self.refresh(*regions)

    def render_line(self, y: int) -> Strip:
        """One row of the visible part."""
        frame, theme = self.shown, self._theme
        row = round(self.scroll_y) + y
        if frame is None or theme is None or row >= frame.height:
            return Strip.blank(self.size.width, self.rich_style)
        strip = row_strip(frame.rows[row], theme, frame.width, has_color=self.has_color)
        return strip.adjust_cell_length(self.size.width, self.rich_style)
