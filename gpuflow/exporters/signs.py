"""Line pieces, blocks and marks as shapes, so that pictures need no font for them and lines join.

Line pieces are told by their arms, everything else by polygons in a character's own box: x from 0
at its left edge to 1 at its right, y from 0 at its top to 1 at its bottom.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import NamedTuple

from gpuflow.draw.sparkline import HEIGHT, sparkline

Polygon = tuple[tuple[float, float], ...]


class Arms(NamedTuple):
    """How thick a line piece is from its middle to each edge: 0 nothing, 1 light, 2 heavy."""

    up: int
    right: int
    down: int
    left: int


ARMS: Mapping[str, Arms] = {
    "─": Arms(0, 1, 0, 1),
    "│": Arms(1, 0, 1, 0),
    "━": Arms(0, 2, 0, 2),
    "┃": Arms(2, 0, 2, 0),
    "┌": Arms(0, 1, 1, 0),
    "┐": Arms(0, 0, 1, 1),
    "└": Arms(1, 1, 0, 0),
    "┘": Arms(1, 0, 0, 1),
    "├": Arms(1, 1, 1, 0),
    "┤": Arms(1, 0, 1, 1),
    "┬": Arms(0, 1, 1, 1),
    "┴": Arms(1, 1, 0, 1),
    "┼": Arms(1, 1, 1, 1),
}
"""Straight pieces."""
CORNERS: Mapping[str, Arms] = {
    "╭": Arms(0, 1, 1, 0),
    "╮": Arms(0, 0, 1, 1),
    "╰": Arms(1, 1, 0, 0),
    "╯": Arms(1, 0, 0, 1),
}
"""Round pieces."""


def _box(left: float, top: float, right: float, bottom: float) -> Polygon:
    return ((left, top), (right, top), (right, bottom), (left, bottom))


def _braille() -> dict[str, tuple[Polygon, ...]]:
    """The cells of a sparkline: two columns of up to four dots, from the bottom up."""
    made = {}
    for left, right in product(range(HEIGHT + 1), repeat=2):
        dots = [(0.2, row) for row in range(left)] + [(0.6, row) for row in range(right)]
        boxes = tuple(_box(x, 0.82 - row / 4, x + 0.24, 0.94 - row / 4) for x, row in dots)
        made[sparkline([left / HEIGHT, right / HEIGHT])] = boxes
    del made[" "]
    return made


POLYGONS: Mapping[str, tuple[Polygon, ...]] = {
    **_braille(),
    "═": (_box(0, 0.38, 1, 0.45), _box(0, 0.55, 1, 0.62)),
    "╌": (_box(0, 0.47, 0.4, 0.53), _box(0.55, 0.47, 0.95, 0.53)),
    "╎": (_box(0.44, 0, 0.56, 0.42), _box(0.44, 0.5, 0.56, 0.92)),
    "█": (_box(0, 0, 1, 1),),
    "▇": (_box(0, 0.125, 1, 1),),
    "▆": (_box(0, 0.25, 1, 1),),
    "▅": (_box(0, 0.375, 1, 1),),
    "▄": (_box(0, 0.5, 1, 1),),
    "▃": (_box(0, 0.625, 1, 1),),
    "▂": (_box(0, 0.75, 1, 1),),
    "▁": (_box(0, 0.875, 1, 1),),
    "▏": (_box(0, 0, 0.125, 1),),
    "■": (_box(0, 0.25, 1, 0.75),),
    "░": tuple(
        _box(x / 4 + (y % 2) / 8, y / 8, x / 4 + (y % 2) / 8 + 0.12, y / 8 + 0.06)
        for y in range(8)
        for x in range(4)
    ),
    "▶": (((0.05, 0.28), (0.95, 0.5), (0.05, 0.72)),),
    "▸": (((0.2, 0.34), (0.8, 0.5), (0.2, 0.66)),),
    "▲": (((0.05, 0.72), (0.5, 0.28), (0.95, 0.72)),),
    "▼": (((0.05, 0.28), (0.95, 0.28), (0.5, 0.72)),),
    "◆": (((0.5, 0.25), (1, 0.5), (0.5, 0.75), (0, 0.5)),),
    "╱": (((0.9, 0), (1, 0), (0.1, 1), (0, 1)),),
    "╲": (((0, 0), (0.1, 0), (1, 1), (0.9, 1)),),
    "⏸": (_box(0.15, 0.25, 0.4, 0.75), _box(0.6, 0.25, 0.85, 0.75)),
    "⏩": (
        ((0.12, 0.28), (0.5, 0.5), (0.12, 0.72)),
        ((0.5, 0.28), (0.88, 0.5), (0.5, 0.72)),
    ),
    "🔥": (
        (
            *((0.5, 0.12), (0.62, 0.34), (0.68, 0.3), (0.78, 0.55), (0.74, 0.78)),
            *((0.6, 0.9), (0.4, 0.9), (0.26, 0.78), (0.22, 0.55), (0.34, 0.38), (0.42, 0.46)),
        ),
    ),
}
"""Everything else that is drawn."""


def is_box(polygon: Polygon) -> bool:
    """Whether a polygon is a rectangle that stands straight, and so wants straight pixels."""
    if len(polygon) != 4:
        return False
    (left, top), (right, high), (far, bottom), (near, low) = polygon
    return (left, right, top, bottom) == (near, far, high, low)
