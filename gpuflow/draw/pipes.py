"""Lines between stages: the pipeline's hand-over, and the dim line of what MoE would add."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from gpuflow.cells import cell_width
from gpuflow.draw.canvas import Canvas, Rect
from gpuflow.draw.link_counts import between_forms, crossing_forms
from gpuflow.draw.links import DOWN_AT_REST, across, down, first_fit, flow_labels, flow_role, phase
from gpuflow.draw.roles import at_rest
from gpuflow.draw.stage_form import StagePlan, StageSpec
from gpuflow.draw.traffic import Traffic, Turn
from gpuflow.draw.view import PlayView


def draw_pipes(
    canvas: Canvas, view: PlayView, plan: StagePlan, spec: StageSpec, traffic: Traffic
) -> bool:
    """Lines from each stage to the next, with what they carry.

    Returns:
        Whether what a mixture of experts would add is still to be said, where there is room.
    """
    is_each = _has_line_each(plan, spec)
    for upper in range(len(plan.frames) - 1):
        ways = traffic.between.get(plan.first_stage + upper, {})
        if is_each:
            turns = traffic.turns.get(plan.first_stage + upper, frozenset())
            _each(canvas, view, plan, upper, ways, turns)
        else:
            _bundle(canvas, view, plan, upper, ways)
    is_absent = not view.scene.has_dispatch
    return is_absent and not (is_each and _absent_link_between(canvas, view, plan))


def _has_line_each(plan: StagePlan, spec: StageSpec) -> bool:
    """Whether every GPU has its own line to the next stage."""
    return plan.form == "boxes" and plan.per_row == spec.gpus


def has_turns(plan: StagePlan, spec: StageSpec) -> bool:
    """Whether lines between stages have a free row to turn aside in."""
    gaps = [below.y - above.bottom for above, below in pairwise(plan.frames)]
    return _has_line_each(plan, spec) and bool(gaps) and min(gaps) > 0


def pipe_column(box: Rect) -> int:
    """Where a box's line to the next stage stands: right of the words in its border."""
    return box.right - 5 if box.width >= 28 else box.right - 2


def _each(
    canvas: Canvas,
    view: PlayView,
    plan: StagePlan,
    upper: int,
    ways: Mapping[int, str],
    turns: frozenset[Turn],
) -> None:
    """One line for every pair of GPUs, from border to border, and what turns aside between them."""
    moving, resting = flow_role(view.state.span), at_rest("pp")
    columns = [pipe_column(box) for box in plan.cells[upper]]
    for i, (a, b) in enumerate(zip(plan.cells[upper], plan.cells[upper + 1], strict=True)):
        way = ways.get(i, "")
        role = moving if way else resting
        for row, sign in ((a.bottom - 1, "┬"), (b.y, "┴")):
            if canvas.at(columns[i], row) == "─":
                canvas.put(columns[i], row, sign, role)
        length = b.y - a.bottom
        down(canvas, columns[i], a.bottom, length, "pp", role, phase=phase(view), ways=way)
    gap_top = plan.frames[upper].bottom
    gap = plan.frames[upper + 1].y - gap_top
    if gap <= 0:
        return
    for turn in sorted(turns):
        _turn(canvas, view, plan, upper, ways, turn)
    room = (columns[1] if len(columns) > 1 else plan.frames[upper].right) - columns[0] - 4
    row = gap_top + (gap - 1) // 2
    if not (ways or turns):
        label = first_fit((view.scene.t("pipe.idle"), "PP"), room)
    elif moving == "pp":
        label = first_fit([f"PP {form}" for form in flow_labels(view, with_name=False)], room)
    else:
        label = first_fit(flow_labels(view, with_name=True), room)
    if turns and gap == 1:
        label = f" {label} "
    canvas.put(columns[0] + 2, row, label, moving if ways or turns else resting)


def _turn(
    canvas: Canvas,
    view: PlayView,
    plan: StagePlan,
    upper: int,
    ways: Mapping[int, str],
    turn: Turn,
) -> None:
    """From one GPU down, along the last free row, and down to another; or the way back."""
    above, below, way = turn
    role, ph = flow_role(view.state.span), phase(view)
    start, end = pipe_column(plan.cells[upper][above]), pipe_column(plan.cells[upper + 1][below])
    top, bottom = plan.cells[upper][above].bottom, plan.cells[upper + 1][below].y
    row = plan.frames[upper + 1].y - 1
    down(canvas, start, top, row - top, "pp", role, phase=ph, ways=way)
    down(canvas, end, row + 1, bottom - row - 1, "pp", role, phase=ph, ways=way)
    left, right = min(start, end), max(start, end)
    is_rightward = (end > start) == (way == "v")
    aside = ">" if is_rightward else "<"
    across(canvas, left, row, right - left + 1, "pp", role, phase=ph, ways=aside)
    corners = ("┗", "┓") if start < end else ("┏", "┛")
    ends = (above, below) if start < end else (below, above)
    for x, corner, joint, gpu in zip((left, right), corners, ("┣", "┫"), ends, strict=True):
        canvas.put(x, row, joint if ways.get(gpu) else corner, role)


def _bundle(
    canvas: Canvas, view: PlayView, plan: StagePlan, upper: int, ways: Mapping[int, str]
) -> None:
    """One line for all pairs together, where they are too many to draw."""
    above, below = plan.frames[upper], plan.frames[upper + 1]
    way = "".join(sign for sign in "v^" if any(sign in each for each in ways.values()))
    role = flow_role(view.state.span) if way else at_rest("pp")
    x = above.middle
    gap = below.y - above.bottom
    if gap <= 0:
        # No row between the frames: a sign in the lower one's border tells.
        canvas.put(x, below.y, "▼" if "v" in way else "▲" if way else DOWN_AT_REST["pp"], role)
        return
    for row, sign in ((above.bottom - 1, "┬"), (below.y, "┴")):
        if canvas.at(x, row) == "─":
            canvas.put(x, row, sign, role)
    down(canvas, x, above.bottom, gap, "pp", role, phase=phase(view), ways=way)
    names = between_forms(view, plan.first_stage + upper)
    forms = crossing_forms(view, names[-1:]) if way else names
    label = first_fit(forms, above.right - x - 4)
    canvas.put(x + 2, above.bottom + (gap - 1) // 2, label, role)


def _absent_link_between(canvas: Canvas, view: PlayView, plan: StagePlan) -> bool:
    """The All-to-All of a mixture of experts, which this model has no use for: dim, dashed.

    Returns:
        Whether it had room between the lines of the first two stages.
    """
    if len(plan.frames) < 2 or len(plan.cells[0]) != 2:
        return False
    text = view.scene.t("pipe.moe")
    left, right = map(pipe_column, plan.cells[0])
    gap_top = plan.frames[0].bottom
    gap = plan.frames[1].y - gap_top
    row = gap_top + gap // 2
    taken = left + 14
    width = min(cell_width(text) + 10, right - taken - 2)
    is_free = gap > 0 and all(canvas.at(x, row) == " " for x in range(taken, right))
    if not is_free or width < cell_width(text) + 4:
        return False
    line = "╌" * ((width - cell_width(text) - 2) // 2)
    x = max(taken + 1, (left + right - width) // 2)
    canvas.put(x, row, f"{line} {text} {line}", at_rest("ep"))
    return True


def draw_absent_link(canvas: Canvas, view: PlayView, frame: Rect) -> None:
    """The same in the bottom edge of the last stage, where nothing else is said in its place."""
    text = f" ╌╌ {view.scene.t('pipe.moe')} ╌╌ "
    width, y = cell_width(text), frame.bottom - 1
    x = frame.right - 2 - width
    has_room = frame.width >= 2 * width + 40 or (frame.width >= width + 4 and not view.state.replay)
    if has_room and all(canvas.at(i, y) == "─" for i in range(x - 1, x + width)):
        canvas.put(x, y, text, at_rest("ep"))
