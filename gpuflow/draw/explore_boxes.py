"""The ranks of one collective with their real small numbers, frames of nodes, and the switch."""

from __future__ import annotations

from gpuflow.cells import cell_width
from gpuflow.collectives.places import ROOTED
from gpuflow.collectives.small import SmallRow
from gpuflow.draw.canvas import Canvas, Piece, Rect, width_of
from gpuflow.draw.explore_peers import digits_of, rank_words, receives_text, sends_text
from gpuflow.draw.explore_plan import Place, StackPlan
from gpuflow.draw.explore_view import ExploreView

_SWITCH_TURN = 0.5
"""Part of a flight after which the switch passes on what has come."""


# ---------------------------------------------------------------- numbers


def is_complete(view: ExploreView, rank: int) -> bool:
    """Whether a rank has all that the collective brings it."""
    now, after = view.replay.rows_after(view.done)[rank], view.replay.after[rank]
    return any(after.is_final) and now.values == after.values and now.is_final == after.is_final


def value_pieces(view: ExploreView, rank: int) -> list[Piece]:
    """A rank's numbers as they stand: `»` goes out, `+` is a partial sum, `✓` is final."""
    replay, digits = view.replay, digits_of(view.subject)
    now, before = replay.rows_after(view.done)[rank], replay.before[rank]
    earlier = replay.rows_after(max(view.done - 1, 0))[rank]
    sent = view.current.sent[rank] if view.is_in_flight and view.current else ()
    all_done = is_complete(view, rank)
    pieces = [Piece("[", "dim")]
    for i, value in enumerate(now.values):
        text = ("·" if value is None else str(value)).rjust(digits)
        is_partial = (
            view.has_sums
            and value is not None
            and value != before.values[i]
            and not now.is_final[i]
        )
        is_new = value != earlier.values[i]
        role = "dim" if value is None else "number"
        mark = Piece(" ")
        if is_partial:
            mark = Piece("+", "reduce")
        if value is not None and (is_new or is_partial):
            role = "reduce" if is_new else "tp"
        if now.is_final[i]:
            role, mark = "good", Piece(" " if all_done else "✓", "good")
        if i in sent:
            mark = Piece("»", "accent")
        if all_done and i == len(now.values) - 1 and i not in sent:
            mark = Piece("✓", "good")
        pieces += [Piece(text, role), mark]
    return [*pieces, Piece("]", "dim")]


def sign_pieces(row: SmallRow, before: SmallRow, width: int) -> list[Piece]:
    """One sign a number, where the numbers themselves have no room."""
    pieces = []
    for i, value in enumerate(row.values[:width]):
        if value is None:
            pieces.append(Piece("·", "dim"))
        elif row.is_final[i]:
            pieces.append(Piece("█", "good"))
        else:
            is_old = value == before.values[i]
            pieces.append(Piece("░", "number") if is_old else Piece("▒", "reduce"))
    return pieces


# ---------------------------------------------------------------- drawing


def draw_stack(canvas: Canvas, view: ExploreView, plan: StackPlan) -> None:
    """Frames, boxes with their numbers, and the switch."""
    for node, frame in enumerate(plan.frames):
        _node(canvas, view, plan, node, frame)
    for rank, place in enumerate(plan.places):
        if plan.form == "slots":
            _slot(canvas, view, plan, rank, place)
        else:
            _box(canvas, view, plan, rank, place)
    hidden = view.replay.n_ranks - len(plan.places)
    if hidden and plan.places:
        row = plan.places[-1].box
        canvas.put(row.x, row.y, " " * row.width)
        canvas.put(row.x, row.y, view.t("hidden", count=hidden + 1), "dim", width=row.width)
    if plan.switch is not None:
        _switch(canvas, view, plan.switch)


def _node(canvas: Canvas, view: ExploreView, plan: StackPlan, node: int, frame: Rect) -> None:
    role = "border" if True in view.levels else "border_lit"
    if not plan.has_gutter:
        title = Piece(view.t("node", node=node), "strong")
        canvas.box(frame, role, border="heavy", title=(title,))
        return
    last = min(frame.bottom, canvas.height) - 1
    for y in range(frame.y, last + 1):
        left, right = "┏┓" if y == frame.y else "┗┛" if y == frame.bottom - 1 else "┃┃"
        canvas.put(frame.x, y, left, role)
        canvas.put(frame.right - 1, y, right, role)


def _takes_part(view: ExploreView, rank: int) -> bool:
    one = view.current
    return one is not None and any(rank in pair for pair in one.transfers)


def _name(view: ExploreView, rank: int) -> list[Piece]:
    pieces = [Piece(f"GPU {rank}", "strong")]
    is_rooted = view.subject.collective in ROOTED - {"send_recv"}
    if is_rooted and rank == view.subject.root:
        pieces.append(Piece(f" · {view.t('root')}", "dim"))
    return pieces


def _box(canvas: Canvas, view: ExploreView, plan: StackPlan, rank: int, place: Place) -> None:
    box = place.box
    role = view.flow_role if _takes_part(view, rank) and view.is_in_flight else "border"
    receives = _receives(view, plan, rank)
    right = (Piece(receives, view.flow_role),) if receives else ()
    canvas.box(box, role, title=_name(view, rank), right_title=right)
    if plan.form == "shared" and rank and plan.places[rank - 1].box.bottom > box.y:
        canvas.put(box.x, box.y, "├", role)
        canvas.put(box.right - 1, box.y, "┤", role)
    inner = box.inner(1)
    canvas.put_pieces(inner.x, place.send_y, value_pieces(view, rank), width=inner.width)
    sends = Piece(_sends(view, plan, rank), view.flow_role)
    canvas.put_right(inner.right, place.send_y, (sends,), width=inner.width)
    if plan.form == "tall" and view.round:
        for y, text in enumerate(
            rank_words(view.subject, view.language, rank, view.round), place.send_y + 1
        ):
            canvas.put(inner.x, y, text, view.flow_role, width=inner.width)


def _sends(view: ExploreView, plan: StackPlan, rank: int) -> str:
    if not plan.named or not view.round:
        return ""
    return sends_text(view.subject, view.language, rank, view.round, plan.named)


def _receives(view: ExploreView, plan: StackPlan, rank: int) -> str:
    if not plan.named or not view.round:
        return ""
    return receives_text(view.subject, view.language, rank, view.round, plan.named)


def _slot(canvas: Canvas, view: ExploreView, plan: StackPlan, rank: int, place: Place) -> None:
    box = place.box
    digits = len(str(view.replay.n_ranks - 1))
    number = str(rank).rjust(digits)
    label = f"GPU {number} " if plan.label >= digits + 5 else number.ljust(plan.label)
    canvas.put(box.x, box.y, label, "strong", width=box.width)
    x = box.x + plan.label
    values = value_pieces(view, rank)
    if not plan.has_numbers:
        now, before = view.replay.rows_after(view.done)[rank], view.replay.before[rank]
        values = sign_pieces(now, before, box.right - x)
    x = canvas.put_pieces(x, box.y, values, width=box.right - x)
    if plan.named and view.round:
        receives = Piece(_receives(view, plan, rank), view.flow_role)
        end = canvas.put_right(box.right, box.y, (receives,), width=box.right - x)
        sends = _sends(view, plan, rank)
        gap = 1 if plan.label > digits else 0
        canvas.put(x + gap, box.y, sends, view.flow_role, width=end - x - gap)


def switch_has_turned(view: ExploreView) -> bool:
    """Whether what has come to the switch is already on its way out."""
    return not view.is_in_flight or view.flight >= _SWITCH_TURN


def _switch(canvas: Canvas, view: ExploreView, box: Rect) -> None:
    """The switch with what it passes on: it adds, multicasts, and holds nothing back."""
    is_busy = view.current is not None and view.is_in_flight
    title = Piece(view.t("switch"), "strong")
    role = view.role if is_busy else "border_lit"
    if box.width >= width_of((title,)) + 6:
        canvas.box(box, role, border="heavy", title=(title,))
    else:
        canvas.box(box, role, border="heavy")
        canvas.put_pieces(box.x + 2, box.y, (title,), width=box.width - 4)
    inner = box.inner(1 if box.width >= 14 else 0)
    y = inner.y
    one = view.current
    if one is None or inner.height < 1:
        return
    n = view.replay.n_ranks
    adds = any(a for (_, to), a in zip(one.transfers, one.adds, strict=True) if to == n)
    forms = [view.t(f"switch.{'adds' if adds else 'copies'}{size}") for size in ("", "_short")]
    text = next((form for form in forms if cell_width(form) <= inner.width), forms[-1])
    digits = digits_of(view.subject)
    row = one.switch_row
    values = row.values if row is not None and switch_has_turned(view) else ()
    n_values = view.replay.n_elements
    lines = -(-n_values // max(inner.width // (digits + 1), 1))
    each = -(-n_values // lines)
    left = inner.x + (inner.width - each * (digits + 1) + 1) // 2
    if lines + 1 < inner.height:
        y += (inner.height - lines - 1) // 2
        middle = inner.x + max(inner.width - cell_width(text), 0) // 2
        canvas.put(middle, y, text, "dim", width=inner.right - middle)
        y += 1
    for i, value in enumerate(values):
        text = ("·" if value is None else str(value)).rjust(digits)
        if y + i // each < inner.bottom:
            role = "dim" if value is None else "reduce"
            canvas.put(left + i % each * (digits + 1), y + i // each, text, role)
