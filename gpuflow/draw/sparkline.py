"""Small curves of braille dots: two values a cell, four dots high.

Their ASCII twin says with one sign how many dots a cell has; see `gpuflow.draw.ascii`.
"""

from __future__ import annotations

from collections.abc import Sequence

BLANK = 0x2800
HEIGHT = 4
"""Dots of a full column."""
_LEFT = (0x00, 0x40, 0x44, 0x46, 0x47)
_RIGHT = (0x00, 0x80, 0xA0, 0xB0, 0xB8)
"""Columns of 0 to 4 dots, from the bottom up."""


def sparkline(parts: Sequence[float]) -> str:
    """Columns of dots for parts of the highest, 0..1; anything above nothing shows a dot.

    Example:
        >>> sparkline([0.0, 0.2, 0.5, 0.75, 1.0])
        '⢀⣴⡇'
    """
    heights = [_height(part) for part in parts]
    if len(heights) % 2:
        heights.append(0)
    pairs = zip(heights[::2], heights[1::2], strict=True)
    return "".join(chr(BLANK + _LEFT[a] + _RIGHT[b]) if a or b else " " for a, b in pairs)


def _height(part: float) -> int:
    least = 1 if part > 0 else 0
    return min(max(round(part * HEIGHT), least), HEIGHT)
