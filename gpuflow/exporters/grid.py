"""A table as lines of text: all of it in a pipe, folded to what a terminal shows.

Three ways, the first that fits: one line a row; cells folded into several lines; a short block a
row. Where a table has parts, its groups of columns come one below the other before anything is
folded. Nothing is ever cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, zip_longest

from gpuflow.cells import cell_width
from gpuflow.draw.wrap import wrap
from gpuflow.exporters.tables import Cell, Column, Table, clean

Paint = Callable[[str, str], str]
"""(text, role) to the text in that role's colour."""

_GAP = 2
_RULE = "│"
_NARROWEST = 7
"""Cells below which folding a column makes it harder to read than a block would be."""
_MOST_LINES = 4
"""Lines of a folded row beyond which blocks read better."""

_WORD = re.compile(r"[!-~\u00b5\u2013\u2713\u2717\u00d7\u2265\u2264]+")
"""ASCII and the signs that stand among figures; Chinese breaks anywhere."""

_COLORS = {
    "title": "1",
    "head": "1",
    "dim": "2",
    "tp": "34",
    "pp": "35",
    "ep": "33",
    "ok": "32",
    "tight": "33",
    "short": "31",
}
"""Select Graphic Rendition parameters: the terminal's own 16 colours, readable on any ground."""


def painter(has_color: bool) -> Paint:
    """What colours a piece of text by its role; nothing is coloured when `has_color` is false."""

    def paint(text: str, role: str) -> str:
        code = _COLORS.get(role) if has_color and text.strip() else None
        return f"\x1b[{code}m{text}\x1b[0m" if code else text

    return paint


def grid_text(table: Table, width: int | None, paint: Paint) -> str:
    """The table as lines.

    Args:
        table: What to show.
        width: Cells of the terminal; None where lines may be as long as they need to be.
        paint: Colours by role.
    """
    table = clean(table)
    lines = [paint(line, "title") for line in _folded(table.title, width)] if table.title else []
    lines += [paint(line, "dim") for text in table.intro for line in _folded(text, width)]
    if table.intro and table.rows:
        lines.append("")
    for number, part in enumerate(_parts(table, width) if table.rows else ()):
        lines += [""] if number else []
        widths = _widths(part, width)
        lines += _blocks(part, width, paint) if widths is None else _grid(part, widths, paint)
    if table.notes:
        lines += [""] if table.rows else []
        lines += [*(line for note in table.notes for line in _folded(f"• {note}", width, 2))]
    return "\n".join(line.rstrip() for line in lines)


def _folded(text: str, width: int | None, hang: int = 0) -> list[str]:
    """Lines of a sentence; those after the first are indented by `hang`."""
    if width is None:
        return [text]
    first, *rest = wrap(text, width - hang)
    return [first, *(" " * hang + line for line in rest)]


# ---------------------------------------------------------------- columns


def _natural(table: Table) -> list[int]:
    return [
        max(cell_width(line) for text in texts for line in text.split("\n"))
        for texts in (
            [column.title, *(row[index].text for row in table.rows)]
            for index, column in enumerate(table.columns)
        )
    ]


def _room(columns: Sequence[Column]) -> int:
    """Cells that gaps and rules take."""
    groups = sum(column.begins_group for column in columns[1:])
    return _GAP * (len(columns) - 1) + groups * (len(_RULE) + 2 - _GAP)


def fits(table: Table, width: int, *, folded: bool) -> bool:
    """Whether a table can be shown as a grid, with a line a row or with cells folded."""
    if folded:
        return _widths(table, width) is not None
    return sum(_natural(table)) + _room(table.columns) <= width


def _parts(table: Table, width: int | None) -> list[Table]:
    """The table, or its groups of columns in as few tables as fit where the whole does not."""
    starts = [i for i, column in enumerate(table.columns) if column.begins_group]
    if width is None or not (table.has_parts and starts) or fits(table, width, folded=False):
        return [table]
    edges = [0, *starts, len(table.columns)]
    found: list[Table] = []
    first = 0
    for here, after in pairwise(edges):
        wider = _part(table, first, after)
        if found and fits(wider, width, folded=False):
            found[-1] = wider
        else:
            first = here
            found.append(_part(table, here, after))
    return found if all(fits(part, width, folded=False) for part in found) else [table]


def _part(table: Table, first: int, last: int) -> Table:
    """Some columns of a table, behind those that name its rows."""
    naming = [i for i, column in enumerate(table.columns) if column.marks_row] or [0]
    chosen = [*naming, *(i for i in range(first, last) if i not in naming)]
    columns = [table.columns[i] for i in chosen]
    if len(columns) > len(naming):
        columns[len(naming)] = replace(columns[len(naming)], begins_group=False)
    rows = tuple(tuple(row[i] for i in chosen) for row in table.rows)
    return replace(table, columns=tuple(columns), rows=rows)


def _widths(table: Table, width: int | None) -> list[int] | None:
    """Cells of each column; None when no folding makes the table fit and stay readable."""
    widths = _natural(table)
    if width is None:
        return widths
    target = width - _room(table.columns)
    least = [
        min(natural, max(_NARROWEST, _longest_word(table, index)))
        for index, natural in enumerate(widths)
    ]
    while sum(widths) > target:
        spare = [have - need for have, need in zip(widths, least, strict=True)]
        if max(spare) <= 0:
            return None
        # The widest column that can still give does, so that no column is folded for another.
        widest = max(
            (index for index, cells in enumerate(spare) if cells > 0), key=widths.__getitem__
        )
        widths[widest] -= 1
    return widths if _most_lines(table, widths) <= _MOST_LINES else None


def _most_lines(table: Table, widths: Sequence[int]) -> int:
    """Lines of the tallest row at those widths."""
    return max(
        len(wrap(cell.text, cells))
        for row in table.rows
        for cell, cells in zip(row, widths, strict=True)
    )


def _longest_word(table: Table, index: int) -> int:
    """Cells that a column needs to break no word; lines that a cell has already stay whole."""
    texts = [table.columns[index].title, *(row[index].text for row in table.rows)]
    pieces = [text.split("\n") if "\n" in text else _WORD.findall(text) for text in texts]
    return max((cell_width(piece) for found in pieces for piece in found), default=0)


def _grid(table: Table, widths: Sequence[int], paint: Paint) -> list[str]:
    heads = [Cell(column.title, "head") for column in table.columns]
    rule = "".join(
        ("─┼─" if column.begins_group and index else "─" * (_GAP if index else 0)) + "─" * cells
        for index, (column, cells) in enumerate(zip(table.columns, widths, strict=True))
    )
    lines = _row(table.columns, heads, widths, paint)
    lines.append(paint(rule, "dim"))
    # Where there are but names and values, the names part the rows.
    folds = _most_lines(table, widths) > 1 and len(table.columns) > 2
    for index, row in enumerate(table.rows):
        if folds and index:
            lines.append(paint(rule.replace("─", "┄"), "dim"))
        lines += _row(table.columns, row, widths, paint)
    return lines


def _row(
    columns: Sequence[Column], cells: Sequence[Cell], widths: Sequence[int], paint: Paint
) -> list[str]:
    folded = [wrap(cell.text, cells_) for cell, cells_ in zip(cells, widths, strict=True)]
    lines: list[str] = []
    for height in range(max(map(len, folded))):
        line = ""
        for index, (column, cell, texts) in enumerate(zip(columns, cells, folded, strict=True)):
            if index:
                line += f" {paint(_RULE, 'dim')} " if column.begins_group else " " * _GAP
            text = texts[height] if height < len(texts) else ""
            # Blanks stay outside the colour, so that those at the end of a line can go.
            blanks = " " * (widths[index] - cell_width(text))
            painted = paint(text, cell.role)
            line += blanks + painted if column.align == "right" else painted + blanks
        lines.append(line)
    return lines


# ---------------------------------------------------------------- blocks


def _blocks(table: Table, width: int | None, paint: Paint) -> list[str]:
    """One short block a row: its name, then a line for each value."""
    labels = max(cell_width(column.title) for column in table.columns)
    if width is not None:
        labels = min(labels, width // 3)
    naming = [i for i, column in enumerate(table.columns) if column.marks_row] or [0]
    lines: list[str] = []
    for number, row in enumerate(table.rows):
        if number:
            lines.append("")
        named = [row[index] for index in naming]
        name = " · ".join(cell.text.replace("\n", " ") for cell in named)
        lines += [paint(line, named[0].role or "head") for line in _folded(name, width)]
        for index, (column, cell) in enumerate(zip(table.columns, row, strict=True)):
            if index not in naming and cell.text:
                lines += _entry(column, cell, labels, width, paint)
    return lines


def _entry(
    column: Column, cell: Cell, labels: int, width: int | None, paint: Paint
) -> Iterator[str]:
    """A value beside its label; both may take several lines."""
    room = None if width is None else max(width - labels - 4, 1)
    titles = wrap(column.title, labels)
    texts = [line for part in cell.text.split("\n") for line in _folded(part, room)]
    for title, text in zip_longest(titles, texts, fillvalue=""):
        label = paint(title, "dim") + " " * (labels - cell_width(title))
        yield f"  {label}  {paint(text, cell.role)}".rstrip()
