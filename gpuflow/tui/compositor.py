"""Partial screen updates cut at both ends.

Textual cuts the changed part of a line at its right end only and sends everything left of it: one
cell at column 190 costs two kilobytes, where a hundred bytes would do.
"""

from __future__ import annotations

from rich.console import Console
from rich.control import Control
from textual._compositor import ChopsUpdate, Compositor


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
                sequences.append(Control.move_to(first, y).segment.text)
                sequences.append(strip.crop(first - x, last - x).render(console))
        return "".join(sequences)


class CuttingCompositor(Compositor):
    """A compositor whose partial updates are cut at both ends."""

    def render_partial_update(self) -> ChopsUpdate | None:
        """The changed spans; None when nothing has changed."""
        update = super().render_partial_update()
        if update is None:
            return None
        return CutUpdate(update.chops, update.spans, update.chop_ends)
