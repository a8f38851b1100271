"""A bar on stderr that says how far something long has come; nothing where nobody watches."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress

from gpuflow.cells import cell_width, clip
from gpuflow.cli.output import Output, terminal_width
from gpuflow.cli.streams import can_show
from gpuflow.units import format_count, format_share, format_time
from gpuflow.words import t

CELLS = 24
SIGNS = {True: ("█", "░"), False: ("#", "-")}
_REDRAW_S = 0.1


class Progress:
    """Draws itself over its own line, at most ten times a second."""

    def __init__(
        self, output: Output, total: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Prepare a bar.

        Args:
            output: Whose stderr it is drawn on, and in which language.
            total: What there is to do.
            clock: Seconds; another one in tests.
        """
        self.stream, self.language, self.total = output.streams.stderr, output.language, total
        self.clock, self.start_s = clock, clock()
        self._drawn_s = -_REDRAW_S
        full, empty = SIGNS[True]
        self.signs = SIGNS[can_show(self.stream, full + empty)]
        self.is_shown = "stderr" not in output.streams.missing and self.stream.isatty()

    def update(self, done: int) -> None:
        """Say how much is done."""
        now_s = self.clock()
        if not self.is_shown or (now_s - self._drawn_s < _REDRAW_S and done < self.total):
            return
        self._drawn_s = now_s
        text = self.line(done, now_s)
        # A line that folds would not be drawn over, but below itself.
        room = terminal_width(self.stream) or cell_width(text) + 1
        self._write(f"\r{clip(text, room - 1)}\x1b[K")

    def line(self, done: int, now_s: float) -> str:
        """The bar with figures."""
        share = done / self.total if self.total else 1.0
        full, empty = self.signs
        filled = round(CELLS * share)
        spent_s = now_s - self.start_s
        left_s = spent_s * (1 - share) / share if share else 0.0
        return t(
            "progress.line",
            self.language,
            bar=full * filled + empty * (CELLS - filled),
            share=format_share(round(share, 2)),
            done=format_count(done),
            total=format_count(self.total),
            left=format_time(float(round(left_s))),
        )

    def end(self) -> None:
        """Take the bar away."""
        if self.is_shown:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        with suppress(OSError, ValueError):
            self.stream.write(text)
            self.stream.flush()
