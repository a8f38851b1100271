"""The stage: pipeline stages as frames from top to bottom, their GPUs in them, lines between."""

from __future__ import annotations

from dataclasses import replace

from gpuflow.cells import cell_width
from gpuflow.draw.canvas import Canvas, Piece, Rect
from gpuflow.draw.expert_bars import example_forms
from gpuflow.draw.focus import Part
from gpuflow.draw.gpu import GpuPainter
from gpuflow.draw.link_counts import FEW, busy_forms, inside_forms
from gpuflow.draw.links import first_fit, flow_role
from gpuflow.draw.moves import held_values, number_width, replay_of
from gpuflow.draw.pipes import draw_absent_link, draw_pipes, has_turns
from gpuflow.draw.stage_form import StagePlan, StageSpec, Wiring
from gpuflow.draw.stage_lines import draw_lines
from gpuflow.draw.stage_plan import plan_stage
from gpuflow.draw.stage_words import cache_text, is_lit, repeat_note, stage_name
from gpuflow.draw.tile_plan import tile_sizes
from gpuflow.draw.tiles import TilePainter
from gpuflow.draw.traffic import Traffic, traffic_of
from gpuflow.draw.view import PlayView, Scene
from gpuflow.draw.wires import draw_wires

_AROUND_WORDS = 8
"""Cells of the upper edge of a frame that two words in it leave."""


def stage_spec(scene: Scene, part: Part | None = None) -> StageSpec:
    """What a scene asks to have placed: all its stages, or a part of one."""
    p = scene.timeline.scenario.parallel
    gpus = p.tp * p.dp if part is None else part.size
    wiring: Wiring = "none"
    rails = (p.tp > 1) + scene.has_dispatch
    if gpus == 2 and rails:
        wiring, rails = "pair", 0
    elif gpus == 4 and p.tp == 1 and scene.has_dispatch:
        wiring = "full_mesh"
    elif gpus > 2 and rails:
        wiring = "rail"
    return StageSpec(
        stages=p.pp if part is None else 1,
        gpus=gpus,
        digits=len(str(p.world - 1)),
        wiring=wiring,
        rails=rails if gpus > 2 else 0,
        tiles=tile_sizes(scene.mesh) if part is None or part.size == p.tp * p.dp else (),
    )


def stage_at_work(view: PlayView) -> int | None:
    """The stage that works alone at the moment; None when all do or none does."""
    span = view.state.span
    return span.stage if span is not None else None


def plan_of(view: PlayView, area: Rect, *, part: Part | None = None) -> StagePlan:
    """Where the stages stand, or a part of one."""
    spec = stage_spec(view.scene, part)
    if part is None:
        followed = view.followed
        kept = stage_at_work(view) if followed is None else view.scene.mesh.position(followed).stage
        return plan_stage(area, spec, at_work=kept or 0)
    return replace(plan_stage(area, spec), first_stage=part.stage, first_gpu=part.first)


def draw_stage(
    canvas: Canvas,
    view: PlayView,
    area: Rect,
    *,
    only: int | None = None,
    part: Part | None = None,
) -> StagePlan:
    """Draw all stages into `area`, `only` one of them, or a part; returns where things were put."""
    p = view.scene.mesh.parallel
    if only is not None:
        part = Part(only, 0, p.tp * p.dp)
    spec, plan = stage_spec(view.scene, part), plan_of(view, area, part=part)
    traffic = traffic_of(view, has_turns=has_turns(plan, spec))
    if plan.form == "lines":
        draw_lines(canvas, view, plan, traffic)
        return plan
    for i, frame in enumerate(plan.frames):
        lit = is_lit(view, plan.first_stage + i)
        canvas.box(frame, "border_lit" if lit else "border")
    if plan.form == "tiles":
        _tiles(canvas, view, plan)
    else:
        _gpus(canvas, view, plan)
    draw_wires(canvas, view, plan, spec, traffic)
    is_to_say = draw_pipes(canvas, view, plan, spec, traffic)
    for i, frame in enumerate(plan.frames):
        _name(canvas, view, frame, plan.first_stage + i)
        _foot(canvas, view, plan, frame, plan.first_stage + i, spec, traffic)
    if is_to_say:
        draw_absent_link(canvas, view, plan.frames[-1])
    return plan


def _tiles(canvas: Canvas, view: PlayView, plan: StagePlan) -> None:
    painter = TilePainter(canvas, view)
    for i, cells in enumerate(plan.cells):
        for j, rect in enumerate(cells):
            painter.tile(rect, plan.first_stage + i, j * plan.per_cell, plan.per_cell)


def _gpus(canvas: Canvas, view: PlayView, plan: StagePlan) -> None:
    held, digits = dict(held_values(view.state)), number_width(replay_of(view.state))
    painter = GpuPainter(canvas, view, held, digits)
    draw = painter.box if plan.form == "boxes" else painter.chip
    for i, cells in enumerate(plan.cells):
        ranks = view.scene.mesh.stage_ranks(plan.first_stage + i)[plan.first_gpu :]
        for rect, rank in zip(cells, ranks, strict=False):
            draw(rect, view.state.gpus[rank])


def _name(canvas: Canvas, view: PlayView, frame: Rect, stage: int) -> None:
    """Name and note of a stage, over the pipes that pass through its frame."""
    lit, name = is_lit(view, stage), stage_name(view, stage)
    note = repeat_note(view, stage, frame.width - cell_width(name) - _AROUND_WORDS)
    canvas.head_box(
        frame,
        (Piece(name, "title" if lit else "dim"),),
        (Piece(note, "accent"),) if lit else (),
    )


def _foot(
    canvas: Canvas,
    view: PlayView,
    plan: StagePlan,
    frame: Rect,
    stage: int,
    spec: StageSpec,
    traffic: Traffic,
) -> None:
    """In the bottom edge: the message, where no line inside has room for it, or the links."""
    y, end = frame.bottom - 1, frame.x + 2
    if plan.form == "tiles" and plan.cells[0][0].height < 3:
        end = canvas.put(end, y, f" {cache_text(view, stage)} ", "dim")
    is_said = spec.wiring == "pair" and plan.form == "boxes"
    if traffic.is_busy(stage):
        p = view.scene.mesh.parallel
        forms = busy_forms(view, counted=spec.gpus == p.tp * p.dp)
        label = "" if is_said else first_fit(forms, frame.right - end - 6)
        if label:
            x = frame.x + (frame.width - cell_width(label) - 2) // 2
            canvas.put(max(x, end + 1), y, f" {label} ", flow_role(view.state.span))
        return
    if spec.gpus >= FEW:
        # Lines of the hand-over may cross the edge, one in its middle or one of each GPU.
        room = frame.middle - end - 3
        links = first_fit(inside_forms(view, stage, gpus=spec.gpus), room)
        is_free = all(canvas.at(x, y) == "─" for x in range(end, end + cell_width(links) + 2))
        end = canvas.put(end, y, f" {links} ", "dim") if links and is_free else end
    if view.scene.has_dispatch and stage == plan.first_stage + len(plan.frames) - 1:
        example = first_fit(example_forms(view), frame.right - end - 6)
        if example:
            x = frame.right - 3 - cell_width(example) - 1
            canvas.put(x, y, f" {example} ", "dim")
