"""Partial screen updates cut at both ends, between characters.

Textual cuts the changed part of a line at its right end only and sends everything left of it: one
cell at column 190 costs two kilobytes, where a hundred bytes would do. It also cuts through wide
characters, where what changed lies under another widget: half a character becomes a blank.
"""

from __future__ import annotations

from rich.console import Console
from rich.control import Control
from textual._compositor import ChopsUpdate, Compositor
from textual.geometry import Region
from textual.strip import Strip

from gpuflow.cells import cell_width


class CutUpdate(ChopsUpdate):
    """Sends of each changed span the span alone."""

    def render_segments(self, console: Console) -> str:
        """What to write to the terminal."""
        sequences: list[str] = []
        for y, start, stop in self.spans:
            ends = self.chop_ends[y]
            for end, (x, strip) in zip(ends, self.chops[y].items(), strict=False):
                first, last = max(x, start), min(end, stop)
                if strip is None or first >= last:
                    continue
                first, last = whole_characters(strip, first - x, last - x)
                sequences.append(Control.move_to(x + first, y).segment.text)
                sequences.append(strip.crop(first, last).render(console))
        return "".join(sequences)


class CuttingCompositor(Compositor):
    """A compositor whose partial updates are cut at both ends."""

    def render_partial_update(self) -> ChopsUpdate | None:
        """The changed spans; None when nothing has changed."""
        regions = self._dirty_regions.copy()
        self._dirty_regions.clear()
        if not regions:
            return None
        spans = list(self._regions_to_spans(regions))
        changed = Region.from_union(regions)
        # Whole rows: a widget asked for a part of one would halve its characters at both ends.
        rows = Region(0, changed.y, self.size.width, changed.height).intersection(self.size.region)
        chops = self._render_chops(rows, {y for y, _, _ in spans}.__contains__)
        return CutUpdate(chops, spans, [cuts[1:] for cuts in self.cuts])


def whole_characters(strip: Strip, first: int, last: int) -> tuple[int, int]:
    """The cells [first, last) of a strip, and the other halves of the characters at both ends."""
    start = 0
    for character in strip.text:
        if start >= last:
            break
        end = start + cell_width(character)
        if start < first < end:
            first = start
        if start < last < end:
            last = end
        start = end
    return first, last
