"""A grid of cells to draw on: text with a role, lines and boxes, nothing outside the edges.

A wide character fills two cells; the second holds an empty string. Drawing over one half of a wide
character leaves a blank in the other, so a row is always exactly as wide as the canvas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gpuflow.cells import cell_width, clip, is_narrow
from gpuflow.draw.frame import Frame, Row, Run


class Rect(NamedTuple):
    """A part of the canvas, in cells."""

    x: int
    y: int
    width: int
    height: int

    @property
    def right(self) -> int:
        """One past the last column."""
        return self.x + self.width

    @property
    def bottom(self) -> int:
        """One past the last row."""
        return self.y + self.height

    @property
    def middle(self) -> int:
        """The column in the middle."""
        return self.x + (self.width - 1) // 2

    def inner(self, pad: int = 0) -> Rect:
        """What is left inside a border, with `pad` blank cells at each side."""
        return Rect(
            self.x + 1 + pad,
            self.y + 1,
            max(self.width - 2 - 2 * pad, 0),
            max(self.height - 2, 0),
        )


class Piece(NamedTuple):
    """Text in a role, to be put beside other pieces."""

    text: str
    role: str = "text"


BORDERS: Mapping[str, tuple[str, ...]] = {
    "round": tuple("╭─╮│╰─╯│"),
    "heavy": tuple("┏━┓┃┗━┛┃"),
    "dashed": tuple("╭╌╮╎╰╌╯╎"),
}
"""Top left, top, top right, right, bottom left, bottom, bottom right, left."""


class Canvas:
    """Cells with a role each."""

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self._texts = [[" "] * width for _ in range(height)]
        self._roles = [["text"] * width for _ in range(height)]

    def put(
        self, x: int, y: int, text: str, role: str = "text", *, width: int | None = None
    ) -> int:
        """Write on one row; what does not fit ends in an ellipsis.

        Args:
            x: First cell; what would stand left of the canvas is not drawn.
            y: Row; outside the canvas nothing is drawn.
            text: One line.
            role: Its role.
            width: Room in cells; None: up to the right edge.

        Returns:
            The cell after the text.
        """
        room = self.width - x if width is None else min(width, self.width - x)
        if not 0 <= y < self.height or room <= 0:
            return x
        if len(text) > room or not text.isascii():
            text = clip(text, room)
        texts, roles = self._texts[y], self._roles[y]
        if x >= 0 and is_narrow(text):
            return self._put_narrow(texts, roles, x, text, role)
        for character in text:
            size = cell_width(character)
            if size == 0:
                continue
            if x >= 0:
                self._clear_halves(texts, x, size)
                texts[x] = character
                roles[x] = role
                if size == 2:
                    texts[x + 1] = ""
                    roles[x + 1] = role
            x += size
        return x

    def _put_narrow(self, texts: list[str], roles: list[str], x: int, text: str, role: str) -> int:
        """Write what has one character a cell, all at once."""
        end = x + len(text)
        if end > x:
            if texts[x] == "" and x > 0:
                texts[x - 1] = " "
            if end < self.width and texts[end] == "":
                texts[end] = " "
            texts[x:end] = text
            roles[x:end] = [role] * (end - x)
        return end

    def _clear_halves(self, texts: list[str], x: int, size: int) -> None:
        if texts[x] == "" and x > 0:
            texts[x - 1] = " "
        after = x + size
        if after < self.width and texts[after] == "":
            texts[after] = " "

    def put_pieces(
        self, x: int, y: int, pieces: Sequence[Piece], *, width: int | None = None
    ) -> int:
        """Write pieces one after another in `width` cells; the one that does not fit is cut."""
        end = self.width if width is None else min(x + width, self.width)
        for index, piece in enumerate(pieces):
            room = end - x
            follows = any(p.text for p in pieces[index + 1 :])
            if follows and cell_width(piece.text) == room and room > 0:
                # Something is lost after this piece although it fits: say so.
                return self.put(
                    x, y, f"{clip_exact(piece.text, room - 1)}…", piece.role, width=room
                )
            x = self.put(x, y, piece.text, piece.role, width=room)
            if cell_width(piece.text) > room:
                return x
        return x

    def put_right(self, right: int, y: int, pieces: Sequence[Piece], *, width: int) -> int:
        """Write pieces so that they end before cell `right`; returns their first cell."""
        total = sum(cell_width(piece.text) for piece in pieces)
        x = right - min(total, width)
        self.put_pieces(x, y, pieces, width=right - x)
        return x

    def hline(
        self, x: int, y: int, length: int, character: str = "─", role: str = "border"
    ) -> None:
        """A line to the right."""
        self.put(x, y, character * max(min(length, self.width - x), 0), role)

    def vline(
        self, x: int, y: int, length: int, character: str = "│", role: str = "border"
    ) -> None:
        """A line downwards."""
        for row in range(y, y + length):
            self.put(x, row, character, role)

    def box(
        self,
        rect: Rect,
        role: str = "border",
        *,
        border: str = "round",
        title: Sequence[Piece] = (),
        right_title: Sequence[Piece] = (),
        foot: Sequence[Piece] = (),
    ) -> None:
        """A border with words in its top edge (left and right) and in its bottom edge."""
        if rect.width < 2 or rect.height < 2:
            return
        top_left, top, top_right, right, low_left, low, low_right, left = BORDERS[border]
        self.put(rect.x, rect.y, top_left + top * (rect.width - 2) + top_right, role)
        for y in range(rect.y + 1, rect.bottom - 1):
            self.put(rect.x, y, left, role)
            self.put(rect.right - 1, y, right, role)
        self.put(rect.x, rect.bottom - 1, low_left + low * (rect.width - 2) + low_right, role)
        self.head_box(rect, title, right_title)
        if foot and rect.width > 6:
            wanted = sum(cell_width(piece.text) for piece in foot) + 2
            x = max(rect.x + (rect.width - wanted) // 2, rect.x + 2)
            self._edge_text(x, rect.bottom - 1, foot, rect.right - 2 - x - 2)

    def head_box(
        self, rect: Rect, title: Sequence[Piece] = (), right_title: Sequence[Piece] = ()
    ) -> None:
        """Words in the top edge of a box, over whatever crosses it."""
        room = rect.width - 4
        used = rect.x + 1
        if title and room > 0:
            used = self._edge_text(rect.x + 1, rect.y, title, room)
        if width_of(right_title):
            wanted = sum(cell_width(piece.text) for piece in right_title) + 2
            room = rect.right - 2 - used - 1
            if room >= min(wanted, 8):
                self._edge_text(rect.right - 2 - min(wanted, room), rect.y, right_title, room - 2)

    def _edge_text(self, x: int, y: int, pieces: Sequence[Piece], room: int) -> int:
        x = self.put(x, y, " ", "text")
        x = self.put_pieces(x, y, pieces, width=room)
        return self.put(x, y, " ", "text")

    def at(self, x: int, y: int) -> str:
        """The character in a cell; empty in the second half of a wide one and off the canvas."""
        return self._texts[y][x] if 0 <= x < self.width and 0 <= y < self.height else ""

    def rows(self) -> tuple[Row, ...]:
        """The rows as runs of one role each."""
        return tuple(
            _runs(texts, roles) for texts, roles in zip(self._texts, self._roles, strict=True)
        )

    def to_frame(self) -> Frame:
        """All of it."""
        return Frame(self.width, self.height, self.rows())


def _runs(texts: list[str], roles: list[str]) -> Row:
    runs: list[Run] = []
    start = 0
    for x in range(1, len(texts) + 1):
        if x == len(texts) or roles[x] != roles[start]:
            runs.append(Run("".join(texts[start:x]), roles[start]))
            start = x
    return tuple(runs) if texts else ()


def clip_exact(text: str, width: int) -> str:
    """The first `width` cells of a text without an ellipsis; a wide character is never split."""
    used = 0
    for index, character in enumerate(text):
        used += cell_width(character)
        if used > width:
            return text[:index]
    return text


def width_of(pieces: Sequence[Piece]) -> int:
    """Cells that pieces take beside each other."""
    return sum(cell_width(piece.text) for piece in pieces)
