"""Stages without frames: a row each with its tiles side by side, nodes between their borders."""

from __future__ import annotations

from gpuflow.cells import cell_width
from gpuflow.draw.canvas import Canvas, Piece, Rect
from gpuflow.draw.gpu import FOLLOWED
from gpuflow.draw.link_counts import between_forms, busy_forms, crossing_forms, inside_forms
from gpuflow.draw.links import DOWN, DOWN_AT_REST, first_fit, flow_role
from gpuflow.draw.roles import at_rest
from gpuflow.draw.stage_form import StagePlan
from gpuflow.draw.stage_words import draw_cache, is_lit, repeat_note, stage_name
from gpuflow.draw.tiles import TilePainter
from gpuflow.draw.traffic import Traffic
from gpuflow.draw.view import PlayView

NODE, SAME_NODE = "│", " "
"""Between two tiles: the border of their nodes, or nothing where one node holds both."""


def draw_lines(canvas: Canvas, view: PlayView, plan: StagePlan, traffic: Traffic) -> None:
    """All rows of a plan of that form."""
    painter = TilePainter(canvas, view)
    for i, frame in enumerate(plan.frames):
        stage = plan.first_stage + i
        cells = plan.cells[i]
        _line(canvas, view, painter, frame, cells, stage, plan.per_cell, traffic)
        if _is_cut(view, plan, i):
            canvas.put(frame.x, frame.y, "…", "dim")
        if i + 1 < len(plan.frames) and plan.frames[i + 1].y - frame.y > 1:
            _pipe(canvas, view, Rect(frame.x, frame.y + 1, frame.width, 1), stage, traffic)
    _head(canvas, view, plan, painter)
    _foot(canvas, view, plan, traffic)


def _is_cut(view: PlayView, plan: StagePlan, i: int) -> bool:
    """Whether stages before or after this row are not in the picture."""
    stages = view.scene.mesh.parallel.pp
    is_first = i == 0 and plan.first_stage > 0
    is_last = i + 1 == len(plan.frames) and plan.first_stage + i + 1 < stages
    return (is_first or is_last) and not is_lit(view, plan.first_stage + i)


def _line(
    canvas: Canvas,
    view: PlayView,
    painter: TilePainter,
    row: Rect,
    cells: tuple[Rect, ...],
    stage: int,
    per_cell: int,
    traffic: Traffic,
) -> None:
    lit = is_lit(view, stage)
    arrives = "v" in "".join(traffic.between.get(stage - 1, {}).values())
    mark = "▼" if arrives else DOWN["pp"] if lit else DOWN_AT_REST["pp"]
    canvas.put(row.x, row.y, mark, flow_role(view.state.span) if lit else "border")
    end = cells[0].x if cells else row.right
    shared = view.state.gpus.stages[stage]
    short = view.scene.t("strip.stage", stage=stage + 1)
    forms = (
        stage_name(view, stage),
        f"{short} · {shared.first_layer}–{shared.last_layer}",
        short,
        str(stage + 1),
    )
    name = first_fit(forms, end - row.x - 3)
    canvas.put(row.x + 2, row.y, name, "title" if lit else "dim")
    mesh = view.scene.mesh
    last = -1
    for i, cell in enumerate(cells):
        ranks = painter.ranks(stage, i * per_cell, per_cell)
        border = NODE if mesh.node(ranks[0]) != last else SAME_NODE
        last = mesh.node(ranks[-1])
        if painter.followed in ranks:
            canvas.put(cell.x, cell.y, FOLLOWED, "accent")
        else:
            canvas.put(cell.x, cell.y, border, "border")
        painter.signs(Rect(cell.x + 1, cell.y, cell.width - 1, 1), stage, i * per_cell, per_cell)
    right = cells[-1].right if cells else row.x + 3 + cell_width(name)
    if cells:
        canvas.put(right, row.y, NODE, "border")
    draw_cache(canvas, view, Rect(right + 2, row.y, row.right - right - 2, 1), stage)


def _pipe(canvas: Canvas, view: PlayView, row: Rect, upper: int, traffic: Traffic) -> None:
    """The row between two stages: the line of the hand-over, and how many links it is."""
    ways = "".join(traffic.between.get(upper, {}).values())
    role = flow_role(view.state.span) if ways else at_rest("pp")
    sign = DOWN["pp"] if ways else DOWN_AT_REST["pp"]
    canvas.put(row.x, row.y, "▼" if "v" in ways else "▲" if ways else sign, role)
    if ways:
        forms = crossing_forms(view, between_forms(view, upper)[-1:])
        canvas.put(row.x + 2, row.y, first_fit(forms, row.width - 3), role)


def _head(canvas: Canvas, view: PlayView, plan: StagePlan, painter: TilePainter) -> None:
    """How many GPUs there are and how they are cut, and over the tiles what each column is."""
    if plan.head is None:
        return
    head, scene, mesh = plan.head, view.scene, view.scene.mesh
    p = mesh.parallel
    split = " × ".join(
        f"{name} {size}" for name, size in (("PP", p.pp), ("DP", p.dp), ("TP", p.tp)) if size > 1
    )
    values = {"gpus": f"{p.world:,}", "nodes": f"{mesh.n_nodes:,}", "split": split}
    forms = [scene.t("map.head", **values), scene.t("map.head_short", **values)]
    note = repeat_note(view, view.state.span.stage or 0) if view.state.span else ""
    text = first_fit(forms, head.width) or forms[-1]
    end = canvas.put(head.x, head.y, text, "strong", width=head.width)
    room = head.right - end - 2
    for piece in (Piece(note, "accent"), Piece(scene.t("map.hint"), "key")):
        if 0 < cell_width(piece.text) <= room:
            canvas.put_right(head.right, head.y, (piece,), width=room)
            break
    if head.height > 1 and plan.cells and plan.cells[0]:
        _columns(canvas, plan, head.bottom - 1, painter)


def _columns(canvas: Canvas, plan: StagePlan, y: int, painter: TilePainter) -> None:
    room = plan.cells[0][0].width - 1
    if room < cell_width("DP 1") and painter.mesh.parallel.dp > 1:
        canvas.put_right(plan.cells[0][0].x, y, (Piece("DP", "dim"),), width=4)
    for i, cell in enumerate(plan.cells[0]):
        ranks = painter.ranks(plan.first_stage, i * plan.per_cell, plan.per_cell)
        forms = painter.column_names(ranks)
        canvas.put(cell.x + 1, y, first_fit(forms, cell.width - 1), "dim")


def _foot(canvas: Canvas, view: PlayView, plan: StagePlan, traffic: Traffic) -> None:
    """The links, counted: those in use by what moves on them."""
    if plan.foot is None or not plan.frames:
        return
    span, row = view.state.span, plan.foot
    stage = plan.first_stage if span is None or span.stage is None else span.stage
    role = "dim"
    if traffic.is_busy(stage):
        forms, role = busy_forms(view), flow_role(span)
    elif traffic.between.get(stage) and view.scene.mesh.parallel.pp > 1:
        forms, role = crossing_forms(view, between_forms(view, stage)), flow_role(span)
    else:
        inside = inside_forms(view, stage) or [""]
        between = between_forms(view, 0) if view.scene.mesh.parallel.pp > 1 else [""]
        pairs = zip(inside, [*between, between[-1]], strict=False)
        forms = ["   ".join(filter(None, pair)) for pair in pairs]
    canvas.put(row.x, row.y, first_fit(forms, row.width), role)
