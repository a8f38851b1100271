"""What the stages are called, and what is said of one in its frame or row."""

from __future__ import annotations

from gpuflow.cells import cell_width
from gpuflow.draw.canvas import Canvas, Piece, Rect, width_of
from gpuflow.draw.gpu import MIN_BAR, bar
from gpuflow.draw.kv import fill_text, kv_share, widest_fill
from gpuflow.draw.tiles import AT_REST
from gpuflow.draw.view import PlayView


def is_lit(view: PlayView, stage: int) -> bool:
    """Whether any GPU of a stage does anything."""
    return any(activity not in AT_REST for activity, _ in view.state.gpus.counts(stage))


def stage_name(view: PlayView, stage: int) -> str:
    """Stage and its layers."""
    shared, recording = view.state.gpus.stages[stage], view.scene.timeline.recording
    if recording is not None and not recording.has_layers:
        return view.scene.t("strip.stage", stage=stage + 1)
    return view.scene.t(
        "stage.name", stage=stage + 1, first=shared.first_layer, last=shared.last_layer
    )


def repeat_note(view: PlayView, stage: int, room: int | None = None) -> str:
    """What of a stage is shown slowly and what is skipped through; empty when nothing is.

    Args:
        view: The moment.
        stage: Which one, from 0.
        room: Cells; None: as many as it takes.
    """
    state = view.state
    if state.span is not None and state.span.kind == "fold":
        names = {"passes": "stage.folded_passes", "groups": "stage.folded_groups"}
        name = names.get(state.span.fold or "", "stage.folded")
        return view.scene.t(name, laps=state.span.repeats)
    if not state.repeat_alike or state.span is None or state.span.stage != stage:
        return ""
    shown, alike = state.repeat_shown, state.repeat_alike
    note = view.scene.t("stage.alike", shown=shown, layers=shown + alike, alike=alike)
    if room is None or cell_width(note) <= room:
        return note
    return view.scene.t("stage.alike_short", shown=shown, layers=shown + alike)


def cache_text(view: PlayView, stage: int) -> str:
    """The KV cache of each GPU of a stage, in figures alone."""
    full = view.scene.kv_full_bytes[view.scene.mesh.stage_ranks(stage)[0]]
    text = fill_text(view.state.gpus.stages[stage].kv_bytes, full)
    return f"KV {text.rjust(widest_fill(full))}"


def draw_cache(canvas: Canvas, view: PlayView, row: Rect, stage: int) -> None:
    """The KV cache of each GPU of a stage: a bar, how much of how much, the share."""
    gpus = view.state.gpus
    rank = view.scene.mesh.stage_ranks(stage)[0]
    held, full = gpus.stages[stage].kv_bytes, view.scene.kv_full_bytes[rank]
    fill = Piece(fill_text(held, full).rjust(widest_fill(full) + 1), "dim")
    share = Piece(kv_share(view.scene, gpus[rank]).rjust(7), "dim")
    room = row.width - cell_width("KV ") - MIN_BAR
    tail = next((form for form in ((fill, share), (fill,)) if width_of(form) <= room), ())
    if room < 0:
        return
    end = canvas.put_right(row.right, row.y, tail, width=room) if tail else row.right
    canvas.put(row.x, row.y, "KV ", "dim")
    part = held / full if full else 0.0
    bar(canvas, Rect(row.x + 3, row.y, end - row.x - 3, 1), part, "kv")
