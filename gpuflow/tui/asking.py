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

PATIENCE_S = 1.0
"""For the first answer, which may have to cross an ocean; nobody answers on a plain console."""
_ANSWER = re.compile(rb"\x1b\[\d+;(\d+)R")
_WHERE = b"\x1b[6n"


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
        with contextlib.suppress(termios.error, OSError):
            # An answer that comes too late must not be typed into the shell.
            termios.tcsetattr(keyboard, termios.TCSAFLUSH, saved)
    return tuple(found)


def _width(text: str, encoding: str, keyboard: int, screen: int) -> int | None:
    try:
        os.write(screen, b"\r" + text.encode(encoding) + _WHERE)
    except (OSError, UnicodeEncodeError, LookupError):
        return None
    answer = b""
    deadline = time.monotonic() + PATIENCE_S
    while (left_s := deadline - time.monotonic()) > 0:
        if not select.select([keyboard], [], [], left_s)[0]:
            break
        data = os.read(keyboard, 256)
        if not data:
            break
        answer += data
        if place := _ANSWER.search(answer):
            return int(place[1]) - 1
    return None
