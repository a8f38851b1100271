"""Tables as values, before anybody knows how wide the page is.

A `Table` is for people: titles and cells are sentences of one language. Programs get `csv_text` of
the records that the JSON document holds, under the same names.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gpuflow.cells import sanitise

Align = Literal["left", "right"]

NOTHING = "–"
"""Shown where a value does not apply."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column's title, and how its cells stand."""

    title: str
    align: Align = "left"
    begins_group: bool = False
    """A thin rule stands before it."""
    marks_row: bool = False
    """Names the row when the table is folded into blocks."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One value, written out; lines of a cell stand under each other."""

    text: str
    role: str = ""
    """What it is, for colour: tp, pp, ep, ok, tight, short, dim; empty for plain text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells under titled columns, with sentences before and after."""

    title: str = ""
    intro: tuple[str, ...] = ()
    """Sentences that stand before the rows."""
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    """Sentences that belong to the table and follow it."""
    has_parts: bool = False
    """Whether its groups of columns may stand one below the other where they are too wide."""


def clean(table: Table) -> Table:
    """The table with everything made visible in it that could steer a terminal."""
    rows = tuple(
        tuple(Cell("\n".join(map(sanitise, cell.text.split("\n"))), cell.role) for cell in row)
        for row in table.rows
    )
    return replace(table, title=sanitise(table.title), rows=rows)


def table_of(
    title: str, columns: Sequence[Column], rows: Sequence[Sequence[str]], notes: Sequence[str] = ()
) -> Table:
    """A table of plain texts."""
    cells = tuple(tuple(map(Cell, row)) for row in rows)
    return Table(title=title, columns=tuple(columns), rows=cells, notes=tuple(notes))


def markdown(table: Table) -> str:
    """A GitHub-flavoured Markdown table, its title a heading and its notes a list."""
    table = clean(table)
    # A heading ends in no colon, which in text leads on to what stands below it.
    title = table.title.rstrip(":：")
    blocks = [f"## {literal(title)}"] if title else []
    blocks += ["  \n".join(map(literal, table.intro))] if table.intro else []
    if table.columns:
        blocks.append(_markdown_rows(table))
    if table.notes:
        blocks.append("\n".join(f"- {literal(note)}" for note in table.notes))
    return "\n\n".join(blocks)


def _markdown_rows(table: Table) -> str:
    rules = ["---:" if column.align == "right" else "---" for column in table.columns]
    lines = [
        _markdown_row([column.title for column in table.columns]),
        f"| {' | '.join(rules)} |",
        *(_markdown_row([cell.text for cell in row]) for row in table.rows),
    ]
    return "\n".join(lines)


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(literal(cell).replace(chr(10), '<br>') for cell in cells)} |"


def literal(text: str) -> str:
    """Text whose signs Markdown does not take for its own."""
    for sign in ("\\", "|", "`", "*", "<", "["):
        text = text.replace(sign, f"\\{sign}")
    return text


def csv_text(rows: Sequence[Mapping[str, object]]) -> str:
    """Comma-separated records under their names; None is an empty field, a list is JSON."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(map(sanitise, names))
    for row in rows:
        writer.writerow([_field(row.get(name)) for name in names])
    return stream.getvalue()


def _field(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, (Mapping, list, tuple)):
        return sanitise(json.dumps(value, ensure_ascii=False))
    if isinstance(value, bool):
        return "true" if value else "false"
    return sanitise(value) if isinstance(value, str) else value


def records(document: Mapping[str, object]) -> list[Mapping[str, object]]:
    """A document of several tables as one: a record for every single value, said where it stands.

    Example:
        >>> records({"ttft_s": 0.5, "steps": [{"id": "prompt", "host_s": 0.0}]})[1]
        {'section': 'steps', 'row': 0, 'name': 'id', 'value': 'prompt'}
    """
    found: list[Mapping[str, object]] = []
    for name, value in document.items():
        if isinstance(value, Mapping):
            found += [_record(name, None, key, item) for key, item in value.items()]
        elif isinstance(value, (list, tuple)):
            for row, item in enumerate(value):
                parts = item.items() if isinstance(item, Mapping) else [("", item)]
                found += [_record(name, row, key, part) for key, part in parts]
        else:
            found.append(_record("", None, name, value))
    return found


def _record(section: str, row: int | None, name: str, value: object) -> Mapping[str, object]:
    return {"section": section, "row": row, "name": name, "value": value}
