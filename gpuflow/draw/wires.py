"""Lines inside a stage: a pair's direct line, the shared rail of many, the full mesh of four."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from gpuflow.cells import cell_width
from gpuflow.draw.canvas import Canvas, Piece, Rect
from gpuflow.draw.links import (
    ACROSS,
    ACROSS_AT_REST,
    DOWN,
    DOWN_AT_REST,
    PULSE_SPACING,
    across,
    down,
    first_fit,
    flow_labels,
    flow_role,
    phase,
)
from gpuflow.draw.pipes import pipe_column
from gpuflow.draw.roles import at_rest
from gpuflow.draw.stage_form import StagePlan, StageSpec
from gpuflow.draw.traffic import Traffic
from gpuflow.draw.view import PlayView

_ENDS = {"═": tuple("╚╩╝"), "─": tuple("╰┴╯"), "╌": tuple("╰┴╯")}
"""Left end, connection and right end of a rail."""
_TAPS = {"═": "╥", "─": "┬", "╌": "┬"}


def draw_wires(
    canvas: Canvas, view: PlayView, plan: StagePlan, spec: StageSpec, traffic: Traffic
) -> None:
    """All lines inside the stages of a plan."""
    if plan.form == "boxes" and spec.wiring == "pair" and plan.per_row == 2:
        for stage, cells in enumerate(plan.cells, start=plan.first_stage):
            _pair(canvas, view, cells, (stage, plan.first_gpu), traffic)
    elif plan.form == "boxes" and spec.wiring == "full_mesh" and not plan.rails:
        for stage, cells in enumerate(plan.cells, start=plan.first_stage):
            _full_mesh(canvas, view, cells, (stage, plan.first_gpu), traffic)
    elif plan.form == "boxes" and plan.rails:
        _rails(canvas, view, plan, traffic)
    elif plan.form == "chips" and spec.wiring != "none":
        _between_chips(canvas, view, plan, traffic)


def pair_wire(view: PlayView) -> str:
    """What kind of line joins the GPUs of a stage: tp, or ep where TP has one rank."""
    return "tp" if view.scene.timeline.scenario.parallel.tp > 1 else "ep"


Place = tuple[int, int]
"""(stage, position in it of the first GPU drawn)"""


def _pair(
    canvas: Canvas, view: PlayView, cells: Sequence[Rect], place: Place, traffic: Traffic
) -> None:
    (left, right), (stage, first) = cells, place
    wire = pair_wire(view)
    ways = traffic.ways(stage, first, first + 1)
    role = flow_role(view.state.span) if ways else at_rest(wire)
    row = left.y + 1 + max(left.height - 2 - 3, 0) // 2
    gap = right.x - left.right
    across(canvas, left.right, row, gap, wire, role, phase=phase(view), ways=ways)
    room = gap - 2
    lines: list[Piece] = []
    if ways:
        forms = flow_labels(view, with_name=False)
        label = first_fit(forms, room)
        if label:
            lines.append(Piece(label, role))
        if label != forms[0]:
            rate = forms[0].rsplit(" · ", 1)[-1]
            lines.append(Piece(first_fit((rate,), room), role))
    else:
        fabric = view.scene.timeline.scenario.cluster.scale_up.title
        name = wire.upper()
        lines.append(Piece(first_fit((f"{name} · {fabric}", name), room), role))
    for offset, piece in enumerate(lines, start=1):
        if row + offset < left.bottom:
            _centred(canvas, left.right, row + offset, gap, piece)


def _centred(canvas: Canvas, x: int, y: int, width: int, piece: Piece) -> None:
    canvas.put(x + (width - cell_width(piece.text)) // 2, y, piece.text, piece.role)


def _full_mesh(
    canvas: Canvas, view: PlayView, cells: Sequence[Rect], place: Place, traffic: Traffic
) -> None:
    """Four GPUs in two rows, each joined to the three others."""
    moving, resting, ph = flow_role(view.state.span), at_rest("ep"), phase(view)
    stage, first = place
    for a, b in ((0, 1), (2, 3)):
        ways = traffic.ways(stage, first + a, first + b)
        row = cells[a].y + (cells[a].height - 1) // 2
        gap = cells[b].x - cells[a].right
        role = moving if ways else resting
        across(canvas, cells[a].right, row, gap, "ep", role, phase=ph, ways=ways)
    for a, b in ((0, 2), (1, 3)):
        ways = traffic.ways(stage, first + a, first + b).replace(">", "v").replace("<", "^")
        role = moving if ways else resting
        x, top = pipe_column(cells[a]), cells[a].bottom
        for y, sign in ((top - 1, "┬"), (cells[b].y, "┴")):
            if canvas.at(x, y) == "─":
                canvas.put(x, y, sign, role)
        down(canvas, x, top, cells[b].y - top, "ep", role, phase=ph, ways=ways)
    for a, b, sign in ((0, 3, "╲"), (1, 2, "╱")):
        ways = traffic.ways(stage, first + a, first + b)
        _diagonal(canvas, cells, sign, moving if ways else resting, is_moving=bool(ways), phase=ph)
    centre = (cells[0].right + cells[1].x - 1) // 2
    busy = bool(traffic.ways(stage, first, first + 3) or traffic.ways(stage, first + 1, first + 2))
    middle = (cells[0].bottom + cells[2].y - 1) // 2
    canvas.put(centre, middle, "╳", moving if busy else resting)


def _diagonal(
    canvas: Canvas, cells: Sequence[Rect], sign: str, role: str, *, is_moving: bool, phase: int
) -> None:
    """A dashed slope across the free rectangle between the four boxes."""
    x0, x1 = cells[0].right, cells[1].x - 1
    top = cells[0].bottom
    length, rows = x1 - x0 + 1, cells[2].y - top
    for i in range(length):
        x = x0 + i if sign == "╲" else x1 - i
        pulse = is_moving and (i - phase) % PULSE_SPACING == 0
        line = sign if i in {0, length - 1} else "╌"
        canvas.put(x, top + i * rows // length, "•" if pulse else line, role)


def _rails(canvas: Canvas, view: PlayView, plan: StagePlan, traffic: Traffic) -> None:
    mesh = view.scene.mesh
    p = mesh.parallel
    kinds = []
    if p.tp > 1:
        kinds.append(("tp", p.tp))
    if view.scene.has_dispatch:
        kinds.append(("ep", p.ep))
    moving = flow_role(view.state.span)
    carrier = moving if moving in dict(kinds) else kinds[0][0]
    for stage, cells in enumerate(plan.cells):
        for offset, (wire, size) in enumerate(kinds):
            for first in range(0, len(cells), size):
                group = range(first, min(first + size, len(cells)))
                place = plan.first_stage + stage, plan.first_gpu + first
                ways = traffic.along(*place, len(group)) if wire == carrier else ""
                role = moving if ways else at_rest(wire)
                _rail(canvas, view, plan, stage, group, wire, role, offset, ways=ways)


def _rail(
    canvas: Canvas,
    view: PlayView,
    plan: StagePlan,
    stage: int,
    group: range,
    wire: str,
    role: str,
    offset: int,
    *,
    ways: str,
) -> None:
    cells = plan.cells[stage]
    line = ACROSS[wire] if ways else ACROSS_AT_REST[wire]
    upright = DOWN[wire] if ways else DOWN_AT_REST[wire]
    left_end, joint, right_end = _ENDS[line]
    rows = sorted({i // plan.per_row for i in group})
    side = plan.frames[stage].x + 1
    for row in rows:
        inside = [i for i in group if i // plan.per_row == row]
        taps = [cells[i].middle - 1 + 2 * offset for i in inside]
        y = plan.rails[stage][row] + offset
        start = side if len(rows) > 1 else taps[0]
        across(canvas, start, y, taps[-1] - start + 1, wire, role, phase=phase(view), ways=ways)
        for i, tap in zip(inside, taps, strict=True):
            canvas.put(tap, cells[i].bottom - 1, _TAPS[line], role)
            for between in range(cells[i].bottom, y):
                canvas.put(tap, between, upright, role)
            end = left_end if tap == start else right_end if tap == taps[-1] else joint
            _join(canvas, tap, y, end, line, role)
    if len(rows) > 1:
        upper, lower = plan.rails[stage][rows[0]] + offset, plan.rails[stage][rows[-1]] + offset
        canvas.vline(side, upper, lower - upper, upright, role)
        canvas.put(side, upper, "╔" if line == "═" else "╭", role)
        canvas.put(side, lower, "╚" if line == "═" else "╰", role)
        for row in rows[1:-1]:
            y = plan.rails[stage][row] + offset
            canvas.put(side, y, "╠" if line == "═" else "├", role)


def _join(canvas: Canvas, x: int, y: int, sign: str, line: str, role: str) -> None:
    """A connection on a rail; of two pulses that meet there, none is left by halves."""
    for beside in (x - 1, x + 1):
        if {canvas.at(x, y), canvas.at(beside, y)} == {"«", "»"}:
            canvas.put(beside, y, line, role)
    canvas.put(x, y, sign, role)


def _between_chips(canvas: Canvas, view: PlayView, plan: StagePlan, traffic: Traffic) -> None:
    """Between small GPUs the lines of the class that moves, and only while it does."""
    p, role = view.scene.mesh.parallel, flow_role(view.state.span)
    wire, size = ("ep", p.ep) if role == "ep" or p.tp == 1 else ("tp", p.tp)
    for stage, cells in enumerate(plan.cells):
        if not traffic.is_busy(plan.first_stage + stage):
            continue
        for i, (a, b) in enumerate(pairwise(cells), start=plan.first_gpu + 1):
            if i % size and a.y == b.y:
                canvas.put(a.right, a.y, ACROSS[wire] * (b.x - a.right), role)
