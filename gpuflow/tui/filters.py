"""Last changes to what is sent: no colour at all, or ASCII alone."""

from __future__ import annotations

from rich.segment import Segment
from textual.color import Color
from textual.filter import LineFilter

from gpuflow.draw.ascii import ascii_text


class NoColour(LineFilter):
    """Keeps attributes such as bold and drops every colour.

    Textual's own filter for NO_COLOR turns colours into greys, which are colours still.
    """

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Segments whose styles hold no colour."""
        return [
            Segment(text, style.without_color if style else style, control)
            for text, style, control in segments
        ]


class AsciiSigns(LineFilter):
    """Every sign in its ASCII likeness, for encodings that lack box drawing."""

    def apply(self, segments: list[Segment], background: Color) -> list[Segment]:
        """Segments of the same widths in ASCII."""
        return [Segment(ascii_text(text), style, control) for text, style, control in segments]
