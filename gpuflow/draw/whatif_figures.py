"""The differences that changes make, as lines: figures, the eight steps, the verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from gpuflow.cells import cell_width, clip, pad
from gpuflow.draw.canvas import Piece
from gpuflow.draw.view import Scene
from gpuflow.units import format_bytes, format_count, format_share, format_time

if TYPE_CHECKING:
    from gpuflow.engine.requirements import Verdict
    from gpuflow.engine.whatif import Difference, FigureId, Pair, VerdictChange

Line = tuple[Piece, ...]

UP, DOWN = "▲", "▼"
NOTHING = "–"
_BETTER: Mapping[FigureId, int] = {
    "ttft_s": -1,
    "tpot_s": -1,
    "tokens_per_s": 1,
    "prefill_share": -1,
    "decode_share": -1,
    "spare_bytes": 1,
}
"""Whether more is better (1) or less; the others are neither."""
_WITHOUT_RATIO = frozenset({"prefill_share", "decode_share", "spare_bytes"})
"""Figures whose change is not told as a part of what they were."""
_VERDICT_ROLES: Mapping[Verdict, str] = {"ok": "good", "tight": "warn", "short": "bad"}
_LEAST_NAME = 6
_MOST_RATIO = 9.995
"""From here on a figure is told as so many times as large."""


def difference_lines(scene: Scene, difference: Difference, width: int) -> list[Line]:
    """Everything that differs, and what stays, in so many cells."""
    figures = [
        _Row(scene.word(f"whatif.figure.{name}"), pair, _figure_text(name, pair), _told(name, pair))
        for name, pair in difference.figures.items()
    ]
    steps = [
        _Row(
            f"{index + 1} {scene.texts[index].title}",
            pair,
            (_time(pair.before), _time(pair.after)),
            (_arrow(pair), _role(pair, -1)),
        )
        for index, pair in enumerate(difference.steps)
    ]
    lines = list(_rows(figures, width))
    lines += [_heading(scene.word("whatif.steps"), width), *_rows(steps, width)]
    lines += [_heading(scene.word("whatif.verdicts"), width)]
    return [*lines, *_verdicts(scene, difference.verdicts, width)]


def _heading(words: str, width: int) -> Line:
    """Words in a line across."""
    words = clip(words, max(width - 3, 0))
    return (
        Piece("─ ", "border"),
        Piece(words, "title"),
        Piece(f" {'─' * (width - 3 - cell_width(words))}", "border"),
    )


class _Row:
    """One figure of both, written out."""

    def __init__(
        self, name: str, pair: Pair, texts: tuple[str, str], told: tuple[str, str]
    ) -> None:
        self.name = name
        self.is_same = pair.is_same or texts[0] == texts[1]
        self.before, self.after = texts
        self.arrow, self.role = ("", "dim") if self.is_same else told


def _rows(rows: list[_Row], width: int) -> Iterator[Line]:
    """Rows with their figures under each other; a figure that stays is said once."""
    before = max((cell_width(row.before) for row in rows if not row.is_same), default=0)
    after = max(cell_width(row.after) for row in rows)
    arrow = max(cell_width(row.arrow) for row in rows)
    needed = (before + 3 if before else 0) + after + (arrow + 1 if arrow else 0)
    if width - needed < _LEAST_NAME:
        needed -= arrow + 1 if arrow else 0
        arrow = 0
    room = max(min(max(cell_width(row.name) for row in rows), width - needed - 1), 1)
    for row in rows:
        name = Piece(f"{pad(clip(row.name, room), room)} ", "dim" if row.is_same else "text")
        then = "" if row.is_same else row.before
        gap = " → " if then else "   "
        yield (
            name,
            Piece((" " * (before - cell_width(then)) + then + gap) if before else "", "dim"),
            Piece(" " * (after - cell_width(row.after)) + row.after, row.role),
            Piece(f" {row.arrow}" if arrow else "", row.role),
        )


def _figure_text(name: FigureId, pair: Pair) -> tuple[str, str]:
    return _one(name, pair.before), _one(name, pair.after)


def _one(name: FigureId, value: float | None) -> str:
    if value is None:
        return NOTHING
    if name in {"ttft_s", "tpot_s"}:
        return format_time(value)
    if name in {"prefill_share", "decode_share"}:
        return format_share(value)
    if name == "kv_bytes":
        return format_bytes(value)
    if name == "spare_bytes":
        return format_bytes(value) if value >= 0 else f"✗ −{format_bytes(-value)}"
    return format_count(round(value))


def _time(seconds: float | None) -> str:
    return NOTHING if seconds is None else format_time(seconds)


def _told(name: FigureId, pair: Pair) -> tuple[str, str]:
    """Arrow and role of a figure."""
    role = _role(pair, _BETTER.get(name, 0))
    if name == "spare_bytes" and pair.after is not None and pair.after < 0:
        role = "bad"
    if name in _WITHOUT_RATIO and not pair.is_same and pair.difference:
        return (UP if pair.difference > 0 else DOWN), role
    return _arrow(pair), role


def _role(pair: Pair, better: int) -> str:
    if pair.is_same:
        return "text"
    if not better or not pair.difference:
        return "accent"
    return "good" if pair.difference * better > 0 else "bad"


def _arrow(pair: Pair) -> str:
    """Which way, and by what part of the figure before."""
    ratio = pair.ratio
    if pair.is_same or ratio is None:
        return ""
    sign = UP if ratio > 0 else DOWN
    if ratio > _MOST_RATIO:
        return f"{sign} ×{format_count(round(ratio + 1))}"
    places = 0 if abs(ratio) >= 0.0995 else 1
    return f"{sign} {'+' if ratio > 0 else '−'}{abs(ratio) * 100:.{places}f} %"


def _verdicts(scene: Scene, changes: tuple[VerdictChange, ...], width: int) -> Iterator[Line]:
    if not changes:
        yield (Piece(clip(scene.word("whatif.verdicts_same"), width), "dim"),)
    names = [scene.word(f"whatif.row.{change.row}") for change in changes]
    room = max(map(cell_width, names), default=0) + 1
    for name, change in zip(names, changes, strict=True):
        yield (
            Piece(pad(name, room), "text"),
            _verdict(scene, change.before),
            Piece(" → ", "dim"),
            _verdict(scene, change.after),
        )


def _verdict(scene: Scene, verdict: Verdict | None) -> Piece:
    if verdict is None:
        return Piece(NOTHING, "dim")
    return Piece(scene.word(f"table.verdict.{verdict}"), _VERDICT_ROLES[verdict])
