"""The requirement table as a Frame: the same rows that `gpuflow table` writes."""

from __future__ import annotations

import re
from dataclasses import replace

from gpuflow.draw.canvas import Canvas, Piece
from gpuflow.draw.frame import Frame
from gpuflow.engine.requirements import RequirementTable
from gpuflow.exporters.grid import fits, grid_text
from gpuflow.exporters.requirements import RULES, requirement_view
from gpuflow.exporters.tables import Table
from gpuflow.scenario.spec import Language
from gpuflow.words import t

_NARROWEST = 40
"""Narrower pages than this show the table cut."""
_STACKED_WIDTH = 119
"""A width at which figures stand under each other to fit."""
_ROLES = {"head": "strong", "ok": "good", "tight": "warn", "short": "bad"}
"""Roles of tables that have another name in a Frame."""
_OPEN, _MIDDLE, _CLOSE = "\ue000", "\ue001", "\ue002"
"""Private characters around a painted piece: role, then text."""
_PAINTED = re.compile(f"{_OPEN}([^{_MIDDLE}]*){_MIDDLE}([^{_CLOSE}]*){_CLOSE}")


def table_frame(
    table: RequirementTable,
    language: Language,
    width: int,
    before: RequirementTable | None = None,
    *,
    is_recorded: bool = False,
) -> Frame:
    """The table and its conclusions at a width, as tall as they need to be.

    Args:
        table: What was computed.
        language: In which language.
        width: Cells.
        before: The table before something was changed; verdicts that differ are marked.
        is_recorded: A recording is played: the rule of thumb alone, and why.
    """
    room = max(width, _NARROWEST) - 2
    main, conclusions = requirement_view(table, language, room, before)
    main = replace(main, title=f"{t('table.fold', language)} {main.title}")
    if is_recorded:
        rules, _ = _in_two(table, language, before)
        tables = [replace(rules, intro=(t("table.recorded", language),))]
    elif fits(main, room, folded=True):
        tables = [main]
    else:
        tables = _in_two(table, language, before)
    parts = [grid_text(part, room, _paint) for part in (*tables, conclusions)]
    lines = "\n\n".join(parts).split("\n")
    canvas = Canvas(width, len(lines))
    for y, line in enumerate(lines):
        canvas.put_pieces(1, y, _pieces(line))
    return canvas.to_frame()


def _in_two(
    table: RequirementTable, language: Language, before: RequirementTable | None
) -> list[Table]:
    """The rule of thumb, and under it what was computed, for a page too narrow for both."""
    main, _ = requirement_view(table, language, _STACKED_WIDTH, before)
    n_rules = len(RULES)
    rules = replace(
        main,
        title=f"{t('table.fold', language)} {main.title} · {t('table.rule_heading', language)}",
        columns=main.columns[:n_rules],
        rows=tuple(row[:n_rules] for row in main.rows),
        notes=(),
    )
    computed = replace(
        main,
        title=t("table.computed_heading", language),
        intro=(),
        columns=(main.columns[0], *main.columns[n_rules:]),
        rows=tuple((row[0], *row[n_rules:]) for row in main.rows),
    )
    return [rules, computed]


def _paint(text: str, role: str) -> str:
    return f"{_OPEN}{_ROLES.get(role, role) or 'text'}{_MIDDLE}{text}{_CLOSE}"


def _pieces(line: str) -> list[Piece]:
    """A line with its painted parts taken apart."""
    pieces: list[Piece] = []
    place = 0
    for found in _PAINTED.finditer(line):
        pieces.append(Piece(line[place : found.start()]))
        pieces.append(Piece(found[2], found[1]))
        place = found.end()
    return [*pieces, Piece(line[place:])]
