"""The picture as near as somebody looks: all stages, one, a group of GPUs, or a single one."""

from __future__ import annotations

from gpuflow.cells import cell_width
from gpuflow.draw.canvas import Canvas, Piece, Rect
from gpuflow.draw.focus import Focus, Part, part_of, seen_rank
from gpuflow.draw.follow import follow_forms
from gpuflow.draw.gpu_close import draw_close, rows_of_close
from gpuflow.draw.link_counts import between_forms, crossing_forms
from gpuflow.draw.links import DOWN_AT_REST, first_fit, flow_role
from gpuflow.draw.roles import at_rest
from gpuflow.draw.stage import draw_stage, plan_of, stage_at_work
from gpuflow.draw.traffic import traffic_of
from gpuflow.draw.view import PlayView


def shown_part(view: PlayView, focus: Focus) -> Part | None:
    """The GPUs in the picture; None: all of them."""
    if focus.level == "cluster":
        return None
    mesh = view.scene.mesh
    rank = seen_rank(focus, mesh, stage_at_work(view))
    if focus.level == "stage":
        return Part(mesh.position(rank).stage, 0, mesh.parallel.tp * mesh.parallel.dp)
    return part_of(mesh, rank)


def draw_picture(canvas: Canvas, view: PlayView, area: Rect) -> None:
    """The stage of the screen, from where the view looks at it."""
    focus = view.focus
    if focus is None:
        draw_stage(canvas, view, area)
        return
    _where(canvas, view, focus, Rect(area.x, area.y, area.width, 1))
    room = _room(area)
    if focus.level == "gpu":
        rank = seen_rank(focus, view.scene.mesh, stage_at_work(view))
        draw_close(canvas, view, room, rank)
        return
    part = shown_part(view, focus)
    if part is None or not _has_neighbours(view, room):
        draw_stage(canvas, view, room, part=part)
        return
    inner = Rect(room.x, room.y + 1, room.width, room.height - 2)
    plan = draw_stage(canvas, view, inner, part=part)
    _hand_over(canvas, view, Rect(room.x, room.y, room.width, 1), part.stage - 1, "in")
    below = Rect(room.x, inner.y + plan.height, room.width, 1)
    _hand_over(canvas, view, below, part.stage, "out")


def picture_height(view: PlayView, area: Rect) -> int:
    """Rows of an area that the picture has a use for."""
    focus = view.focus
    if focus is None:
        return plan_of(view, area).height
    room = _room(area)
    if focus.level == "gpu":
        rank = seen_rank(focus, view.scene.mesh, stage_at_work(view))
        return 1 + rows_of_close(view, room, rank)
    part = shown_part(view, focus)
    if part is None or not _has_neighbours(view, room):
        return 1 + plan_of(view, room, part=part).height
    return 3 + plan_of(view, room._replace(height=room.height - 2), part=part).height


def _room(area: Rect) -> Rect:
    """What is left under the line that says where we are."""
    return Rect(area.x, area.y + 1, area.width, max(area.height - 1, 0))


def _has_neighbours(view: PlayView, room: Rect) -> bool:
    """Whether there are rows for what comes from the stage before and goes to the next."""
    return view.scene.mesh.parallel.pp > 1 and room.height >= 9


def _where(canvas: Canvas, view: PlayView, focus: Focus, row: Rect) -> None:
    """What is looked at and how to look elsewhere, or what the followed rank does."""
    scene, mesh = view.scene, view.scene.mesh
    rank = seen_rank(focus, mesh, stage_at_work(view))
    if focus.is_following:
        forms = follow_forms(view, rank)
        text = first_fit(forms, row.width) or forms[-1]
        canvas.put(row.x, row.y, text, "accent", width=row.width)
        return
    stage = mesh.position(rank).stage
    values = {
        "stage": stage + 1,
        "stages": mesh.parallel.pp,
        "rank": rank,
        "node": mesh.node(rank),
        "last": mesh.n_ranks - 1,
    }
    text = scene.t(f"focus.{focus.level}", **values)
    end = canvas.put(row.x, row.y, text, "strong", width=row.width)
    hints = [scene.t(f"focus.keys.{kind}") for kind in ("long", "short")]
    follows = "" if focus.is_held or mesh.parallel.pp == 1 else scene.t("focus.automatic")
    if follows and end + cell_width(follows) + 3 <= row.right:
        end = canvas.put(end, row.y, f" · {follows}", "dim")
    hint = first_fit(hints, row.right - end - 2)
    if hint:
        canvas.put_right(row.right, row.y, (Piece(hint, "key"),), width=row.right - end - 2)


def _hand_over(canvas: Canvas, view: PlayView, row: Rect, upper: int, way: str) -> None:
    """The links to a stage that is not in the picture."""
    stages = view.scene.mesh.parallel.pp
    if not 0 <= upper < stages - 1:
        return
    ways = "".join(traffic_of(view).between.get(upper, {}).values())
    role = flow_role(view.state.span) if ways else at_rest("pp")
    sign = "▼" if "v" in ways else "▲" if ways else DOWN_AT_REST["pp"]
    other = upper + 1 if way == "in" else upper + 2
    name = view.scene.t(f"focus.{way}", stage=other)
    counts = between_forms(view, upper)
    forms = crossing_forms(view, counts) if ways else counts
    words = [f"{sign} {name} · {form}" for form in forms]
    canvas.put(row.x + 2, row.y, first_fit((*words, f"{sign} {name}"), row.width - 3), role)
