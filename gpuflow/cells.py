"""Text measured in terminal cells: Chinese characters take two, combining marks none.

Only the standard library's character data is used, so that drawing needs no other package; on
what the project shows, the widths are those that rich computes.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import Literal

Align = Literal["left", "right", "center"]

ELLIPSIS = "…"
"""Ends what was cut."""

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


def cell_width(text: str) -> int:
    """Cells that `text` takes on one line of a terminal.

    Example:
        >>> cell_width("all_reduce"), cell_width("张量并行 TP")
        (10, 11)
    """
    if text.isascii() and text.isprintable():
        return len(text)
    return _measured(text)


def is_narrow(text: str) -> bool:
    """Whether every character of `text` takes exactly one cell.

    Example:
        >>> is_narrow("╭ 4 MiB ─╮"), is_narrow("4 层")
        (True, False)
    """
    if text.isascii() and text.isprintable():
        return True
    return _is_narrow(text)


@lru_cache(maxsize=4096)
def _is_narrow(text: str) -> bool:
    return all(_character_width(character) == 1 for character in text)


@lru_cache(maxsize=4096)
def _measured(text: str) -> int:
    return sum(map(_character_width, text))


@lru_cache(maxsize=4096)
def _character_width(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cc", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def clip(text: str, width: int) -> str:
    """`text` in at most `width` cells; what is cut ends in an ellipsis.

    A wide character is never split, so the result may be one cell short.

    Example:
        >>> clip("流水线并行", 7), clip("stage", 5), clip("stage", 0)
        ('流水线…', 'stage', '')
    """
    if width <= 0:
        return ""
    if cell_width(text) <= width:
        return text
    used = 0
    for index, character in enumerate(text):
        used += _character_width(character)
        if used > width - 1:
            return text[:index] + ELLIPSIS
    return text


def pad(text: str, width: int, align: Align = "left") -> str:
    """`text` in exactly `width` cells, cut or filled with blanks.

    Example:
        >>> pad("层", 4), pad("层", 4, "right"), pad("ab", 5, "center")
        ('层  ', '  层', ' ab  ')
    """
    text = clip(text, width)
    missing = max(width - cell_width(text), 0)
    left = {"left": 0, "right": missing, "center": missing // 2}[align]
    return " " * left + text + " " * (missing - left)


def sanitise(text: str) -> str:
    r"""Text from outside with everything that could steer a terminal made visible.

    Control characters become their control pictures, hidden characters (bidirectional marks,
    zero-width joiners, lone surrogates, line separators) a replacement character.

    Example:
        >>> sanitise("a\x1b[31mb\n")
        'a␛[31mb␊'
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if unicodedata.category(character) in _HIDDEN_CATEGORIES or "\ufe00" <= character <= "\ufe0f":
        code = ord(character)
        if code < 0x20:
            return chr(0x2400 + code)
        return "\N{SYMBOL FOR DELETE}" if code == 0x7F else _REPLACEMENT
    return character
