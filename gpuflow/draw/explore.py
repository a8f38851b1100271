"""One collective as one Frame: what is chosen, the ranks and their numbers, costs, keys."""

from __future__ import annotations

from gpuflow.cells import cell_width
from gpuflow.draw.canvas import Canvas, Piece, Rect, width_of
from gpuflow.draw.explore_boxes import draw_stack
from gpuflow.draw.explore_costs import (
    PANEL_MOST,
    draw_costs,
    draw_legend,
    draw_panel,
    panel_size,
)
from gpuflow.draw.explore_lines import draw_lines
from gpuflow.draw.explore_peers import needs_of
from gpuflow.draw.explore_plan import FORMS, StackPlan, plan_stack, spread
from gpuflow.draw.explore_sums import draw_sums
from gpuflow.draw.explore_view import ExploreView, fitting
from gpuflow.draw.frame import Frame
from gpuflow.draw.header import PAUSED, PLAYING
from gpuflow.draw.keys import draw_hints, explore_hints, pack
from gpuflow.draw.wrap import wrap_into
from gpuflow.units import format_count
from gpuflow.words import t

LEAST_WIDTH, LEAST_HEIGHT = 40, 10
"""Below this only the friendly line is drawn."""
KEYED_WIDTH, KEYED_HEIGHT = 60, 18
"""Below this key hints give way to the picture."""
SUMS_WIDTH = 96
"""Cells of summed rows beside which the panel of algorithms may stand."""
_COST_ROWS = 3


def draw_explore(view: ExploreView) -> Frame:
    """The whole screen of a view."""
    canvas = Canvas(view.width, view.height)
    if view.width < LEAST_WIDTH or view.height < LEAST_HEIGHT:
        _too_small(canvas, view)
        return canvas.to_frame()
    keys = key_rows(view)
    bottom = view.height - keys
    _header(canvas, view)
    top = _how(canvas, view, bottom)
    area = Rect(1, top, view.width - 2, bottom - _COST_ROWS - top)
    _picture(canvas, view, area)
    draw_costs(canvas, view, 1, bottom - _COST_ROWS, view.width - 2)
    if keys:
        draw_hints(canvas, explore_hints(view.language, is_ascii=view.is_ascii), bottom)
    return canvas.to_frame()


def has_keys(width: int, height: int) -> bool:
    """Whether key hints have room beside the picture."""
    return width >= KEYED_WIDTH and height >= KEYED_HEIGHT


def key_rows(view: ExploreView) -> int:
    """Rows of key hints."""
    if view.is_guided or not has_keys(view.width, view.height):
        return 0
    return len(pack(explore_hints(view.language, is_ascii=view.is_ascii), view.width))


# ---------------------------------------------------------------- head


def _header(canvas: Canvas, view: ExploreView) -> None:
    """What is chosen, each beside the key that changes it; at the right the round."""
    sign = PLAYING if view.is_playing else PAUSED
    canvas.put(1, 0, sign, "accent")
    subject = view.subject
    costs = view.outlook.algorithms
    index = [one.algorithm for one in costs].index(subject.algorithm) + 1
    parts = [
        ("↑↓", view.title(), view.role),
        ("a", f"{subject.algorithm} {index}/{len(costs)}", "strong"),
        ("+-", view.t("gpus", ranks=f"{subject.n_ranks:,}"), "strong"),
    ]
    if subject.has_levels:
        nodes = subject.n_ranks // subject.ranks_per_node
        parts.append(("n", view.t("nodes", nodes=nodes, gpus=subject.ranks_per_node), "strong"))
    round_text = view.t("round", round=format_count(view.round), rounds=format_count(view.rounds))
    room = view.width - 4 - cell_width(round_text) - 2
    forms = [
        [piece for part in parts for piece in _chosen(part, gap, has_key=has_key)]
        for gap, has_key in ((3, True), (2, True), (2, False), (1, False))
        if not (has_key and view.is_guided)
    ]
    # Which of how many algorithms it is counts least.
    parts[1] = ("a", subject.algorithm, "strong")
    forms.append([piece for part in parts for piece in _chosen(part, 1, has_key=False)])
    form = next((form for form in forms if width_of(form) <= room), forms[-1])
    canvas.put_pieces(4, 0, form, width=room)
    canvas.put_right(view.width - 1, 0, (Piece(round_text, "clock"),), width=cell_width(round_text))


def _chosen(part: tuple[str, str, str], gap: int, *, has_key: bool) -> list[Piece]:
    key, text, role = part
    keys = [Piece(f"{key} ", "key")] if has_key else []
    return [*keys, Piece(text, role), Piece(" " * gap)]


def _how(canvas: Canvas, view: ExploreView, bottom: int) -> int:
    """How the algorithm works, in one row or, where there is room, two; returns the row after."""
    subject = view.subject
    text = view.t(f"how.{subject.collective}.{subject.algorithm}")
    most = 1 if bottom < 26 else 2
    lines = wrap_into(text, view.width - 2, most)
    for y, line in enumerate(lines, 1):
        canvas.put(1, y, line, "dim", width=view.width - 2)
    return 1 + len(lines)


# ---------------------------------------------------------------- picture


def _picture(canvas: Canvas, view: ExploreView, area: Rect) -> None:
    """The ranks, or rows that sum them up; the panel of algorithms where it has room."""
    if area.height < 1:
        return
    if not view.subject.is_drawn:
        _summed(canvas, view, area)
        return
    needs = needs_of(view.subject, view.language)
    plan = plan_stack(needs, area)
    least, rows = panel_size(view)
    beside = area._replace(width=max(area.width - least - 1, 0))
    narrow = plan_stack(needs, beside)
    has_panel = area.height >= rows and _is_as_good(narrow, plan, beside)
    if has_panel:
        plan = spread(narrow, needs, beside.right - narrow.right)
    else:
        plan = spread(plan, needs, area.right - plan.right)
    draw_stack(canvas, view, plan)
    draw_lines(canvas, view, plan)
    if has_panel:
        width = min(area.right - plan.right - 1, PANEL_MOST)
        draw_panel(canvas, view, Rect(area.right - width, area.y, width, area.height))
    _below(canvas, view, area, plan.bottom, has_panel=has_panel)


def _summed(canvas: Canvas, view: ExploreView, area: Rect) -> None:
    """Rows that sum the ranks up, the panel of algorithms beside or below."""
    least, rows = panel_size(view)
    table = area
    has_panel = area.width > SUMS_WIDTH + least and area.height >= rows
    if has_panel:
        width = min(area.width - SUMS_WIDTH, PANEL_MOST)
        table = area._replace(width=area.width - width - 1)
        draw_panel(canvas, view, Rect(table.right + 1, area.y, width, area.height))
    end = draw_sums(canvas, view, table)
    _below(canvas, view, area, end, has_panel=has_panel)


def _below(canvas: Canvas, view: ExploreView, area: Rect, end: int, *, has_panel: bool) -> None:
    """What has room under the picture: the panel, unless it stands beside, and the legend."""
    least, rows = panel_size(view)
    if not has_panel and area.bottom - end > rows + 1 and least <= area.width:
        width = min(area.width, PANEL_MOST)
        draw_panel(canvas, view, Rect(area.x, end + 1, width, rows))
    if end < area.bottom:
        draw_legend(canvas, view, area.x, area.bottom - 1, area.width)


def _is_as_good(narrow: StackPlan, plan: StackPlan, room: Rect) -> bool:
    """Whether a plan for less room shows all that the other shows, but for words in tall boxes."""
    roomiest = max(FORMS.index(plan.form), FORMS.index("boxes"))
    same_form = FORMS.index(narrow.form) <= roomiest
    same_parts = narrow.has_lines >= plan.has_lines and (narrow.switch is None) == (
        plan.switch is None
    )
    return (
        narrow.right <= room.right
        and same_form
        and same_parts
        and narrow.has_numbers >= plan.has_numbers
        and (narrow.form != "slots" or narrow.named >= plan.named)
    )


def _too_small(canvas: Canvas, view: ExploreView) -> None:
    """As much of the friendly line as there is room for."""
    need, have = f"{LEAST_WIDTH}×{LEAST_HEIGHT}", f"{view.width}×{view.height}"
    forms = [
        t(f"ui.small.{form}", view.language, have=have, need=need) for form in ("long", "short")
    ]
    text = fitting([*forms, f"{have} < {need}", have], view.width)
    x = max((view.width - cell_width(text)) // 2, 0)
    canvas.put(x, max((view.height - 1) // 2, 0), text, "accent")
