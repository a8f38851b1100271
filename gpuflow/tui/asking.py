"""Asking the terminal how wide it draws a character: write it, then ask where the cursor stands."""

from __future__ import annotations

import contextlib
import os
import re
import select
import termios
import time
import tty
from collections.abc import Sequence
from typing import Any

from gpuflow.tui.lifecycle import giving_up, is_in_front, leaving_on_signals

LINE = "\u2500"
"""A piece of a line: two cells wide where ambiguous characters are."""
PATIENCE_S = 1.0
"""For the first answer, which may have to cross an ocean; nobody answers on a plain console."""
_ANSWER = re.compile(rb"\x1b\[\d+;(\d+)R")
_WHERE = b"\x1b[6n"


class EarlyQuestion:
    """How wide the terminal draws a text, asked while something else is done.

    The terminal answers as if somebody typed; what really was typed is kept beside the answer.

    Args:
        text: What to write, for as long as the question takes.
        encoding: Of the screen.
        keyboard: Descriptor that answers are read from.
        screen: Descriptor to write to.
    """

    def __init__(self, text: str, encoding: str, *, keyboard: int = 0, screen: int = 2) -> None:
        self._text, self._encoding = text, encoding
        self._keyboard, self._screen = keyboard, screen
        self._saved: list[Any] | None = None
        self._cells: int | None = None
        self.typed = b""
        """What somebody has typed meanwhile, once the answer is there."""

    def ask(self) -> None:
        """Put it; the terminal is to be given back, or its answer asked for, whatever happens."""
        with contextlib.suppress(termios.error, OSError, ValueError, LookupError):
            question = b"\r" + self._text.encode(self._encoding) + _WHERE + b"\r\x1b[K"
            # A signal may come at any point of this.
            self._saved = termios.tcgetattr(self._keyboard)
            tty.setcbreak(self._keyboard, termios.TCSANOW)
            os.write(self._screen, question)

    def listen(self, patience_s: float) -> int | None:
        """Its cells; None where no answer has come and comes within that time, but still may."""
        if self._saved is not None and self._cells is None:
            self._cells, self.typed = _heard(self._keyboard, patience_s, self.typed)
        return self._cells

    def answer(self, patience_s: float) -> int | None:
        """Its cells; None where no answer has come and comes within that time.

        The terminal is as it was afterwards; an answer that comes still later is a key that means
        nothing.
        """
        try:
            return self.listen(patience_s)
        finally:
            self.give_back()

    def give_back(self) -> None:
        """Set the terminal as it was, and lose nothing that was typed."""
        # Somebody else's by now where we are in the background, and set by whoever that is.
        if self._saved is not None and is_in_front(self._keyboard):
            with contextlib.suppress(termios.error, OSError):
                termios.tcsetattr(self._keyboard, termios.TCSANOW, self._saved)
        self._saved = None


def asked_widths(
    texts: Sequence[str], encoding: str, *, keyboard: int = 0, screen: int = 2
) -> tuple[int | None, ...]:
    """Cells that the terminal takes for each text.

    Args:
        texts: What to write.
        encoding: Of the screen.
        keyboard: Descriptor that answers are read from.
        screen: Descriptor to write to.

    Returns:
        One for each text; None where there is no terminal, no answer, or no way to write it.
    """
    # Ended in the middle, it would leave a terminal that shows nothing of what is typed.
    with leaving_on_signals(giving_up()):
        return _asked_widths(texts, encoding, keyboard, screen)


def _asked_widths(
    texts: Sequence[str], encoding: str, keyboard: int, screen: int
) -> tuple[int | None, ...]:
    found: list[int | None] = []
    try:
        saved = termios.tcgetattr(keyboard)
    except (termios.error, OSError, ValueError):
        return (None,) * len(texts)
    try:
        tty.setcbreak(keyboard, termios.TCSANOW)
        for text in texts:
            # Who has not answered once would let the user wait for every further question.
            is_mute = bool(found) and found[-1] is None
            found.append(None if is_mute else _width(text, encoding, keyboard, screen))
    finally:
        with contextlib.suppress(OSError):
            os.write(screen, b"\r\x1b[K")
        if is_in_front(keyboard):
            with contextlib.suppress(termios.error, OSError):
                # An answer that comes too late must not be typed into the shell.
                termios.tcsetattr(keyboard, termios.TCSAFLUSH, saved)
    return tuple(found)


def _width(text: str, encoding: str, keyboard: int, screen: int) -> int | None:
    try:
        os.write(screen, b"\r" + text.encode(encoding) + _WHERE)
    except (OSError, UnicodeEncodeError, LookupError):
        return None
    return _heard(keyboard, PATIENCE_S)[0]


def _heard(keyboard: int, patience_s: float, typed: bytes = b"") -> tuple[int | None, bytes]:
    """Cells before the cursor by the terminal's answer, and what was typed beside it.

    Args:
        keyboard: Descriptor to read from.
        patience_s: How long to wait; what is there already is read even where that is nothing.
        typed: What was read before.

    Returns:
        None for the cells where no answer has come in time.
    """
    deadline = time.monotonic() + patience_s
    with contextlib.suppress(OSError):
        while select.select([keyboard], [], [], max(deadline - time.monotonic(), 0.0))[0]:
            data = os.read(keyboard, 4096)
            if not data:
                break
            typed += data
            if place := _ANSWER.search(typed):
                return int(place[1]) - 1, typed[: place.start()] + typed[place.end() :]
    return None, typed
