"""What differs between two rows, so that no more than that has to be sent to the terminal."""

from __future__ import annotations

from gpuflow.cells import cell_width
from gpuflow.draw.frame import Row


def changed_span(before: Row, after: Row) -> tuple[int, int] | None:
    """(first cell, one past the last) that differ; None when nothing does.

    A wide character is never cut: the span begins and ends between characters of both rows.
    Both rows are equally wide.
    """
    if before == after:
        return None
    old, new = _cells(before), _cells(after)
    length = min(len(old), len(new))
    first = next(x for x in range(length + 1) if x == length or old[x] != new[x])
    last = max(len(old), len(new))
    while last > first and len(old) == len(new) and old[last - 1] == new[last - 1]:
        last -= 1
    while first > 0 and (_is_second_half(old, first) or _is_second_half(new, first)):
        first -= 1
    while _is_second_half(old, last) or _is_second_half(new, last):
        last += 1
    return (first, last) if last > first else None


def _cells(row: Row) -> list[tuple[str, str]]:
    """(character, role) of every cell; the second half of a wide character is empty."""
    cells: list[tuple[str, str]] = []
    for text, role in row:
        for character in text:
            width = cell_width(character)
            if width:
                cells.append((character, role))
                cells.extend([("", role)] * (width - 1))
    return cells


def _is_second_half(cells: list[tuple[str, str]], x: int) -> bool:
    return x < len(cells) and cells[x][0] == ""
