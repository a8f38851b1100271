"""The first things on the screen, while everything else is loaded: a title, then the first picture.

Loading, simulating and the widgets take about a second. Until then the terminal would be as it was,
and nobody could tell a slow disk from a program that hangs. Nothing here needs what is loaded.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Iterator, Sequence

from gpuflow.cells import cell_width, clip
from gpuflow.tui.asking import LINE, EarlyQuestion
from gpuflow.tui.lifecycle import giving_up, leaving_on_signals

LEAST_COLUMNS, LEAST_ROWS = 40, 10
"""Below this the player itself has hardly anything to show."""
ENTER = "\x1b[?1049h"
_HIDE, _CLEAR, _STRONG, _PLAIN = "\x1b[?25l", "\x1b[2J", "\x1b[1m", "\x1b[0m"
_LEAVE = "\x1b[?1049l\x1b[?25h"


class Opening:
    """The alternate screen with something on it, until the player takes it over.

    Args:
        screen: Descriptor of the terminal.
    """

    def __init__(self, screen: int = 2) -> None:
        self._screen = screen
        self._is_open = False
        self.question: EarlyQuestion | None = None
        """How wide a line is, asked as soon as there is a screen."""

    def show(self, title: str, line: str, encoding: str, *, is_asking: bool = True) -> None:
        """Draw, unless the screen is small or belongs to another program in the foreground.

        Args:
            title: At the top; may be empty, as may the line.
            line: In the middle.
            encoding: Of the screen.
            is_asking: Whether to ask how wide a line is.
        """
        size = self._size()
        if size is None:
            return
        columns, rows = size
        room = columns - 2
        shown = clip(line, room)
        middle = f"\x1b[{rows // 2};{(columns - cell_width(shown)) // 2 + 1}H{shown}"
        head = f"\x1b[1;2H{_STRONG}{clip(title, room)}{_PLAIN}"
        # The cursor ends on an empty row: whatever asks the terminal something writes there.
        picture = f"{ENTER}{_HIDE}{_CLEAR}{head}{middle}\x1b[{rows};1H"
        with contextlib.suppress(OSError):
            self._is_open = True
            os.write(self._screen, picture.encode(encoding, "replace"))
            if is_asking:
                self.question = EarlyQuestion(LINE, encoding, screen=self._screen)
                self.question.ask()

    def size(self) -> tuple[int, int] | None:
        """Columns and rows that may be drawn on; None where there is nothing to draw on."""
        return self._size() if self._is_open else None

    def draw(self, rows: Sequence[str], encoding: str) -> None:
        """Put a picture in place of the title.

        Args:
            rows: Of the whole screen, with their colours.
            encoding: Of the screen.
        """
        picture = "".join(f"\x1b[{y};1H{row}" for y, row in enumerate(rows, 1))
        with contextlib.suppress(OSError):
            os.write(self._screen, picture.encode(encoding, "replace"))

    def take(self) -> bool:
        """Whether the alternate screen is there already; from now on it is the taker's to leave."""
        was_open, self._is_open = self._is_open, False
        return was_open

    def close(self) -> None:
        """Back to the main screen, where nobody has taken this one over."""
        if self.question is not None:
            self.question.give_back()
        if self.take():
            with contextlib.suppress(OSError):
                os.write(self._screen, _LEAVE.encode())

    def _size(self) -> tuple[int, int] | None:
        """Columns and rows, unless they are few or another program is in the foreground."""
        try:
            columns, rows = os.get_terminal_size(self._screen)
            is_ours = os.tcgetpgrp(self._screen) == os.getpgrp()
        except OSError:
            return None
        is_enough = columns >= LEAST_COLUMNS and rows >= LEAST_ROWS
        return (columns, rows) if is_ours and is_enough else None


@contextlib.contextmanager
def opened(title: str, line: str, encoding: str, *, is_asking: bool = True) -> Iterator[Opening]:
    """An opening while the player is being made; however that ends, the screen is given back."""
    opening = Opening()
    # A stop would leave the shell on our screen; it is only put off until the player can stop.
    stopping = signal.signal(signal.SIGTSTP, signal.SIG_IGN)
    try:
        with leaving_on_signals(giving_up()):
            try:
                opening.show(title, line, encoding, is_asking=is_asking)
                yield opening
            finally:
                # Still watched: a terminal that takes no output would block this, too.
                opening.close()
    finally:
        signal.signal(signal.SIGTSTP, stopping)
