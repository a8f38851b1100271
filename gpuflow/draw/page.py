"""Pages taller than the screen: blocks under or beside each other, as one Frame to scroll."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpuflow.cells import cell_width
from gpuflow.draw.canvas import Canvas, Piece, Rect
from gpuflow.draw.frame import Frame
from gpuflow.draw.wrap import wrap


@dataclass(frozen=True, slots=True)
class Line:
    """One paragraph of a block, wrapped to the block's width, or fixed pieces."""

    text: str = ""
    role: str = "text"
    indent: int = 0
    """Cells before every line of it."""
    bullet: str = ""
    """Stands in the indent of the first line."""
    pieces: tuple[Piece, ...] = ()
    """Instead of the text: pieces on one line, never wrapped."""
    is_centred: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A framed block: words in its border, lines in it."""

    title: tuple[Piece, ...]
    lines: tuple[Line, ...]
    right_title: tuple[Piece, ...] = ()
    foot: tuple[Piece, ...] = ()
    role: str = "border"

    def height(self, width: int) -> int:
        """Rows it takes at a width, border included."""
        return 2 + sum(len(_laid_out(line, width - 4)) for line in self.lines)

    def draw(self, canvas: Canvas, area: Rect) -> None:
        """Draw it, stretched to the area's height."""
        canvas.box(area, self.role, title=self.title, right_title=self.right_title, foot=self.foot)
        inner = area.inner(1)
        y = inner.y
        for line in self.lines:
            for index, text in enumerate(_laid_out(line, inner.width)):
                _draw_line(canvas, line, text, y, inner)
                if index == 0 and line.bullet:
                    canvas.put(inner.x, y, line.bullet, "accent")
                y += 1


def _laid_out(line: Line, width: int) -> list[str]:
    if line.pieces or not line.text:
        return [""]
    return wrap(line.text, width - line.indent)


def _draw_line(canvas: Canvas, line: Line, text: str, y: int, inner: Rect) -> None:
    if line.pieces:
        used = sum(cell_width(piece.text) for piece in line.pieces)
        x = inner.x + (max(inner.width - used, 0) // 2 if line.is_centred else line.indent)
        canvas.put_pieces(x, y, line.pieces, width=inner.right - x)
        return
    x = inner.x + line.indent
    if line.is_centred:
        x = inner.x + max(inner.width - cell_width(text), 0) // 2
    canvas.put(x, y, text, line.role, width=inner.right - x)


@dataclass(slots=True)
class Page:
    """Collects rows of blocks from top to bottom."""

    width: int
    _parts: list[Canvas] = field(default_factory=list)

    def words(self, *pieces: Piece) -> None:
        """One line of pieces."""
        canvas = Canvas(self.width, 1)
        canvas.put_pieces(1, 0, pieces, width=self.width - 2)
        self._parts.append(canvas)

    def paragraph(self, text: str, role: str = "text") -> None:
        """A wrapped paragraph over the whole width."""
        lines = wrap(text, self.width - 2)
        canvas = Canvas(self.width, len(lines))
        for y, line in enumerate(lines):
            canvas.put(1, y, line, role)
        self._parts.append(canvas)

    def blank(self) -> None:
        """An empty row."""
        self._parts.append(Canvas(self.width, 1))

    def beside(self, blocks: Sequence[Block]) -> None:
        """Blocks in one row, all as tall as the tallest."""
        width = (self.width - len(blocks) + 1) // len(blocks)
        height = max(block.height(width) for block in blocks)
        canvas = Canvas(self.width, height)
        for i, block in enumerate(blocks):
            block.draw(canvas, Rect(i * (width + 1), 0, width, height))
        self._parts.append(canvas)

    def columns(self, columns: Sequence[Sequence[Block]]) -> None:
        """Columns of blocks; in each the last block reaches down to the longest column's end."""
        width = (self.width - len(columns) + 1) // len(columns)
        heights = [[block.height(width) for block in column] for column in columns]
        total = max(map(sum, heights))
        canvas = Canvas(self.width, total)
        for i, column in enumerate(columns):
            y = 0
            for j, block in enumerate(column):
                is_last = j == len(column) - 1
                height = total - y if is_last else heights[i][j]
                block.draw(canvas, Rect(i * (width + 1), y, width, height))
                y += height
        self._parts.append(canvas)

    def to_frame(self) -> Frame:
        """All parts under each other."""
        rows = tuple(row for part in self._parts for row in part.rows())
        return Frame(self.width, len(rows), rows)
