"""A widget that shows one Frame and sends only the rows, and of them the part, that changed."""

from __future__ import annotations

from rich.segment import Segment
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from gpuflow.draw.changes import changed_span
from gpuflow.draw.frame import Frame, Row
from gpuflow.draw.theme import Theme
from gpuflow.tui.styles import role_style


def row_strip(row: Row, theme: Theme, width: int, *, has_color: bool) -> Strip:
    """A row in a theme's colours."""
    segments = [
        Segment(text, role_style(theme.name, role, has_color=has_color)) for text, role in row
    ]
    return Strip(segments, width)


class FrameCanvas(Widget):
    """The play screen's picture."""

    def __init__(self, *, has_color: bool) -> None:
        super().__init__()
        self.has_color = has_color
        self.shown: Frame | None = None
        self._theme: Theme | None = None

    def show(self, frame: Frame, theme: Theme) -> None:
        """Show a frame; at most one region for each row that differs is refreshed."""
        before, self.shown = self.shown, frame
        old_theme, self._theme = self._theme, theme
        if before is None or before.width != frame.width or old_theme is not theme:
            self.refresh()
            return
        if before.height != frame.height:
            self.refresh()
            return
        regions = []
        for y, (old, new) in enumerate(zip(before.rows, frame.rows, strict=True)):
            span = changed_span(old, new)
            if span is not None:
                regions.append(Region(span[0], y, span[1] - span[0], 1))
        if regions:
            self.refresh(*regions)

    def render_line(self, y: int) -> Strip:
        """One row, in the theme's colours."""
        frame, theme = self.shown, self._theme
        if frame is None or theme is None or y >= frame.height:
            return Strip.blank(self.size.width, self.rich_style)
        strip = row_strip(frame.rows[y], theme, frame.width, has_color=self.has_color)
        return strip.adjust_cell_length(self.size.width, self.rich_style)
