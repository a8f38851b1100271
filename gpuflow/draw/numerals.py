"""Large numerals: half blocks three rows high, or whole cells five rows high."""

from __future__ import annotations

from gpuflow.draw.canvas import Canvas

_ROWS = 5
_SHAPES: dict[str, tuple[str, ...]] = {
    "0": ("###", "#.#", "#.#", "#.#", "###"),
    "1": (".#.", "##.", ".#.", ".#.", "###"),
    "2": ("###", "..#", "###", "#..", "###"),
    "3": ("###", "..#", ".##", "..#", "###"),
    "4": ("#.#", "#.#", "###", "..#", "..#"),
    "5": ("###", "#..", "###", "..#", "###"),
    "6": ("###", "#..", "###", "#.#", "###"),
    "7": ("###", "..#", "..#", "..#", "..#"),
    "8": ("###", "#.#", "###", "#.#", "###"),
    "9": ("###", "#.#", "###", "..#", "###"),
    ".": (".", ".", ".", ".", "#"),
    ",": (".", ".", ".", "#", "#"),
    "–": ("...", "...", "###", "...", "..."),
}
_HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}
HALF_ROWS = (_ROWS + 1) // 2
"""Rows of half blocks."""
WHOLE_ROWS = _ROWS
"""Rows of whole cells."""


def numeral_width(text: str, scale: int = 1) -> int:
    """Cells that a number takes beside each other, without the gap after it."""
    return scale * (sum(len(_SHAPES[sign][0]) + 1 for sign in text) - 1)


def draw_halves(canvas: Canvas, x: int, y: int, text: str, role: str) -> int:
    """A number in half blocks, HALF_ROWS rows from `y` on; returns the cell after it."""
    blank = "." * (numeral_width(text))
    rows = [blank, *_rows(text)]
    for row in range(HALF_ROWS):
        above, below = rows[2 * row], rows[2 * row + 1]
        signs = (_HALVES[a == "#", b == "#"] for a, b in zip(above, below, strict=True))
        canvas.put(x, y + row, "".join(signs), role)
    return x + len(blank)


def draw_wholes(
    canvas: Canvas, x: int, y: int, text: str, role: str, *, scale: int, sign: str = "█"
) -> int:
    """A number in whole cells, `scale` of them for a dot, WHOLE_ROWS rows from `y` on."""
    for row, dots in enumerate(_rows(text)):
        canvas.put(x, y + row, "".join((sign if d == "#" else " ") * scale for d in dots), role)
    return x + numeral_width(text, scale)


def _rows(text: str) -> list[str]:
    return [".".join(_SHAPES[sign][row] for sign in text) for row in range(_ROWS)]
