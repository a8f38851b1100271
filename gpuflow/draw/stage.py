"""The stage: pipeline stages as frames from top to bottom, their GPUs in them, lines between."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from gpuflow.cells import cell_width
from gpuflow.draw.canvas import Canvas, Piece, Rect, width_of
from gpuflow.draw.gpu import FAST, MIN_BAR, SIGNS, GpuPainter, bar
from gpuflow.draw.kv import fill_text, kv_share, widest_fill
from gpuflow.draw.links import first_fit, flow_labels, flow_role
from gpuflow.draw.moves import held_values, number_width, replay_of
from gpuflow.draw.pipes import draw_pipes
from gpuflow.draw.stage_plan import StagePlan, StageSpec, Wiring, plan_stage
from gpuflow.draw.traffic import Traffic, traffic_of
from gpuflow.draw.view import PlayView, Scene
from gpuflow.draw.wires import draw_wires
from gpuflow.engine.state import GpuState


def stage_spec(scene: Scene) -> StageSpec:
    """What a scene asks to have placed."""
    p = scene.timeline.scenario.parallel
    gpus = p.tp * p.dp
    wiring: Wiring = "none"
    rails = (p.tp > 1) + scene.has_dispatch
    if gpus == 2 and rails:
        wiring, rails = "pair", 0
    elif gpus == 4 and p.tp == 1 and scene.has_dispatch:
        wiring = "full_mesh"
    elif gpus > 2 and rails:
        wiring = "rail"
    return StageSpec(
        stages=p.pp,
        gpus=gpus,
        digits=len(str(p.world - 1)),
        wiring=wiring,
        rails=rails if gpus > 2 else 0,
    )


def stage_at_work(view: PlayView) -> int | None:
    """The stage that works alone at the moment; None when all do or none does."""
    span = view.state.span
    return span.stage if span is not None else None


def draw_stage(canvas: Canvas, view: PlayView, area: Rect, *, only: int | None = None) -> StagePlan:
    """Draw all stages into `area`, or `only` one of them; returns where things were put."""
    spec = stage_spec(view.scene)
    if only is None:
        plan = plan_stage(area, spec, at_work=stage_at_work(view) or 0)
    else:
        spec = replace(spec, stages=1)
        plan = replace(plan_stage(area, spec), first_stage=only)
    traffic = traffic_of(view)
    painter = GpuPainter(
        canvas, view, dict(held_values(view.state)), number_width(replay_of(view.state))
    )
    for i, frame in enumerate(plan.frames):
        stage = plan.first_stage + i
        gpus = [view.gpus[rank] for rank in view.scene.mesh.stage_ranks(stage)]
        if plan.form == "lines":
            _line(canvas, view, frame, gpus)
            continue
        _frame(canvas, view, frame, gpus)
        if plan.form == "tiles":
            _summary(canvas, view, frame.inner(1), gpus)
        for rect, gpu in zip(plan.cells[i] if plan.cells else (), gpus, strict=False):
            (painter.box if plan.form == "boxes" else painter.chip)(rect, gpu)
    if plan.form != "lines":
        draw_wires(canvas, view, plan, spec, traffic)
        draw_pipes(canvas, view, plan, spec, traffic)
        for i, frame in enumerate(plan.frames):
            ranks = view.scene.mesh.stage_ranks(plan.first_stage + i)
            _name(canvas, view, frame, [view.gpus[rank] for rank in ranks])
        if spec.wiring != "pair" or plan.form != "boxes":
            _say_what_moves(canvas, view, plan, traffic)
    return plan


def _is_lit(gpus: list[GpuState]) -> bool:
    return any(gpu.activity not in {"idle", "wait"} for gpu in gpus)


def _say_what_moves(canvas: Canvas, view: PlayView, plan: StagePlan, traffic: Traffic) -> None:
    """The message in the bottom edge of a frame, where no line inside has room for it."""
    for i, frame in enumerate(plan.frames):
        if traffic.is_busy(plan.first_stage + i):
            label = f" {first_fit(flow_labels(view, with_name=True), frame.width - 8)} "
            x = frame.x + (frame.width - cell_width(label)) // 2
            canvas.put(x, frame.bottom - 1, label, flow_role(view.state.span))


def _frame(canvas: Canvas, view: PlayView, frame: Rect, gpus: list[GpuState]) -> None:
    canvas.box(frame, "border_lit" if _is_lit(gpus) else "border")


def _name(canvas: Canvas, view: PlayView, frame: Rect, gpus: list[GpuState]) -> None:
    """Name and note of a stage, over the pipes that pass through its frame."""
    lit = _is_lit(gpus)
    canvas.head_box(
        frame,
        (Piece(stage_name(view, gpus), "title" if lit else "dim"),),
        (Piece(repeat_note(view, gpus[0].stage), "accent"),) if lit else (),
    )


def stage_name(view: PlayView, gpus: list[GpuState]) -> str:
    """Stage and its layers."""
    gpu = gpus[0]
    return view.scene.t(
        "stage.name", stage=gpu.stage + 1, first=gpu.first_layer, last=gpu.last_layer
    )


def repeat_note(view: PlayView, stage: int) -> str:
    """What of a stage is shown slowly and what is skipped through; empty when nothing is."""
    state = view.state
    if state.span is not None and state.span.kind == "fold":
        names = {"passes": "stage.folded_passes", "groups": "stage.folded_groups"}
        name = names.get(state.span.fold or "", "stage.folded")
        return view.scene.t(name, laps=state.span.repeats)
    if not state.repeat_alike or state.span is None or state.span.stage != stage:
        return ""
    return view.scene.t(
        "stage.alike",
        shown=state.repeat_shown,
        layers=state.repeat_shown + state.repeat_alike,
        alike=state.repeat_alike,
    )


def _counts(view: PlayView, gpus: list[GpuState]) -> list[Piece]:
    """How many GPUs do what, the most first."""
    fast = view.state.is_compressed
    counted = Counter(gpu.activity for gpu in gpus)
    pieces: list[Piece] = []
    for activity, number in counted.most_common():
        word = view.scene.t(f"state.{activity}")
        span = view.state.span
        if activity == "exchange" and span is not None:
            word = view.scene.t(f"collective.{span.collective}")
        sign = SIGNS[activity]
        if fast and activity not in {"idle", "wait"}:
            sign, word = FAST, view.scene.t("state.fast")
        role = "wait" if activity in {"idle", "wait"} else "compute"
        if activity in {"exchange", "send", "receive"}:
            role = flow_role(span)
        pieces.append(Piece(f"{sign} {number} {word}  ", role))
    return pieces


def _summary(canvas: Canvas, view: PlayView, row: Rect, gpus: list[GpuState]) -> None:
    """All GPUs of a stage in one row: how many, what they do, their KV cache."""
    name = view.scene.t("stage.gpus", gpus=len(gpus))
    pieces = [Piece(f"{name}  ", "strong"), *_counts(view, gpus)]
    kv_width = min(row.width * 2 // 5, 40)
    room = row.width - kv_width - 1
    layer = next((gpu for gpu in gpus if gpu.layer), None)
    if layer is not None:
        words = view.scene.t("gpu.layer", layer=layer.layer, layers=layer.layers)
        forms = (words, f"{layer.layer}/{layer.layers}")
        pieces.append(Piece(first_fit(forms, room - width_of(pieces)), "text"))
    x = canvas.put_pieces(row.x, row.y, pieces, width=room) + 1
    held = sum(gpu.kv_bytes for gpu in gpus)
    full = sum(view.scene.kv_full_bytes[gpu.rank] for gpu in gpus)
    start = max(row.right - kv_width, x)
    fill = Piece(fill_text(held, full).rjust(widest_fill(full) + 1), "dim")
    share = Piece(kv_share(view.scene, gpus[0]).rjust(7), "dim")
    room = row.right - start - cell_width("KV ") - MIN_BAR
    tail = next((form for form in ((fill, share), (fill,)) if width_of(form) <= room), ())
    if room >= 0:
        end = canvas.put_right(row.right, row.y, tail, width=room) if tail else row.right
        canvas.put(start, row.y, "KV ", "dim")
        bar(canvas, Rect(start + 3, row.y, end - start - 3, 1), held / full if full else 0, "kv")


def _widest_name(view: PlayView) -> int:
    last = view.scene.mesh.stage_ranks(view.scene.mesh.parallel.pp - 1)[0]
    return cell_width(stage_name(view, [view.gpus[last]]))


def _line(canvas: Canvas, view: PlayView, row: Rect, gpus: list[GpuState]) -> None:
    """A stage without a frame, where there are more stages than room for frames."""
    lit = _is_lit(gpus)
    name = stage_name(view, gpus)
    canvas.put(row.x, row.y, "┃", flow_role(view.state.span) if lit else "border")
    canvas.put(row.x + 2, row.y, name, "title" if lit else "dim", width=row.width // 3)
    x = row.x + 4 + min(_widest_name(view), row.width // 3)
    _summary(canvas, view, Rect(x, row.y, row.right - x, 1), gpus)
