"""The ASCII twin of a Frame: every cell keeps its place, every sign has a likeness of its width.

For terminals and encodings without box drawing, and for those that draw it two cells wide.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import lru_cache

from gpuflow.cells import cell_width
from gpuflow.draw.frame import Frame, Row, Run

_GROUPS: Mapping[str, str] = {
    "-": "─╌┄–—‐−",
    "=": "═⇄↔⇆",
    "|": "│╎┃║┆▏",
    "+": "╭╮╰╯┌┐└┘├┤┬┴┼╔╗╚╝╠╣╦╩╬┏┓┗┛┣┫╥╨✓",
    "#": "▇█▆▅▄▃▂▁■━",
    "%": "▒▓",
    ":": "░",
    ">": "»→▶▸⏵›",
    "<": "«←◀◂⏴‹",
    "v": "▼↓▾⬇",
    "^": "▲↑▴",
    "*": "●•◆★",
    "o": "○◇",
    "X": "╳✗✕",
    "\\": "╲",
    "/": "╱÷",
    "x": "×",
    "u": "µμ",
    ".": "·",
    '"': "“”",
    "'": "‘’",
    "_": "␣",
    "~": "≈…",
    "!": "⏸",
    "a": "α",
    "b": "β",
    "1": "₁",
    "2": "₂",
    "3": "₃",
    "4": "₄",
    "[": "⌈",
    "]": "⌉",
}
_TABLE = {ord(sign): plain for plain, signs in _GROUPS.items() for sign in signs} | {
    ord("⏩"): ">>",
    ord("⇥"): ">",
}


WIDE_SIGN, WIDE_SQUARE = "**", "[]"
"""For a pictograph, and for the coloured squares that stand for kinds of traffic."""
SQUARES = "🟦🟧🟪"
BRAILLE = range(0x2800, 0x2900)
DOTS = " .:-=+*%#"
"""For a cell of braille with 0 to 8 dots."""


def to_ascii(frame: Frame) -> Frame:
    """The same picture in ASCII; wide characters become question marks of their width."""
    return Frame(frame.width, frame.height, tuple(map(_row, frame.rows)))


def _row(row: Row) -> Row:
    return tuple(Run(ascii_text(run.text), run.role) for run in row)


@lru_cache(maxsize=4096)
def ascii_text(text: str) -> str:
    """A text in ASCII, as wide in cells as it was.

    Example:
        >>> ascii_text("╭ 4 MiB · 19.3 µs ─╮ 层")
        '+ 4 MiB . 19.3 us -+ ??'
    """
    if text.isascii():
        return text
    return "".join(map(_likeness, text))


def _likeness(character: str) -> str:
    if character.isascii():
        return character
    known = _TABLE.get(ord(character))
    if known is not None:
        return known
    if ord(character) in BRAILLE:
        return DOTS[(ord(character) - BRAILLE.start).bit_count()]
    width = cell_width(character)
    if width == len(WIDE_SIGN) and unicodedata.category(character) == "So":
        return WIDE_SQUARE if character in SQUARES else WIDE_SIGN
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode("ascii")
    return plain if len(plain) == width and plain.isprintable() else "?" * width
