"""What a collective costs: the round, all of it, its time; and all algorithms side by side."""

from __future__ import annotations

from gpuflow.cells import cell_width, pad
from gpuflow.draw.canvas import Canvas, Piece, Rect, width_of
from gpuflow.draw.explore_view import ExploreView, fitting, share_text
from gpuflow.engine.explore import AlgorithmCost
from gpuflow.units import format_bytes, format_count, format_time

PANEL_MOST = 64
"""Cells of the widest panel of algorithms."""
_LIBRARIES = {"nccl": "NCCL", "rccl": "RCCL"}


def draw_costs(canvas: Canvas, view: ExploreView, x: int, y: int, width: int) -> None:
    """Three rows: this round, all rounds, the time on these machines."""
    _labelled(canvas, view, "now", round_forms(view), (x, y, width))
    _labelled(canvas, view, "cost", cost_forms(view), (x, y + 1, width))
    _labelled(canvas, view, "time", time_forms(view), (x, y + 2, width))


def _labelled(
    canvas: Canvas, view: ExploreView, key: str, forms: list[str], at: tuple[int, int, int]
) -> None:
    x, y, width = at
    words = [view.t(f"label.{name}") for name in ("now", "cost", "time")]
    label = pad(view.t(f"label.{key}"), max(map(cell_width, words)) + 2)
    end = canvas.put(x, y, label, "accent" if key == "now" else "dim", width=width)
    room = width - (end - x)
    canvas.put(end, y, fitting(forms, room), "text", width=room)


def draw_legend(canvas: Canvas, view: ExploreView, x: int, y: int, width: int) -> None:
    """What the signs beside numbers and the two kinds of line mean, as much as fits."""
    levels = [("═", "inside", view.role), ("━", "between", view.outer_role)]
    if view.subject.is_drawn:
        signs = [("»", "sent", "accent"), ("✓", "final", "good"), ("·", "nothing", "dim")]
        if view.has_sums:
            signs.insert(1, ("+", "partial", "reduce"))
    else:
        signs = [("✓", "final", "good")]
        if view.has_sums:
            signs.insert(0, ("+", "added", "reduce"))
    for sign, word, role in [*signs, *(levels if view.subject.has_levels else [])]:
        text = view.t(f"legend.{word}")
        needed = cell_width(sign) + 1 + cell_width(text)
        if needed > width:
            return
        end = canvas.put(x, y, sign, role)
        canvas.put(end + 1, y, text, "dim")
        x, width = x + needed + 3, width - needed - 3


# ---------------------------------------------------------------- the round


def round_forms(view: ExploreView) -> list[str]:
    """What moves in the round shown, longest form first."""
    if not view.round:
        return [view.t("now.start"), view.t("now.start_short")]
    messages, least, most, adds = _moved(view)
    if not messages:
        return [view.t("now.nothing")]
    amount = share_text(most)
    if least != most:
        amount = f"{share_text(least)} – {amount}"
    size = view.size_of(most)
    if least != most:
        size = f"{view.size_of(least)} – {size}"
    way = "adds" if adds == {True} else "both" if len(adds) > 1 else "copies"
    count = view.t(f"messages.{'one' if messages == 1 else 'many'}", count=format_count(messages))
    forms = [
        view.t(f"now.{way}", messages=count, share=amount, size=size),
        view.t("now.short", messages=count, share=amount, size=size),
        f"{format_count(messages)} × {size}",
    ]
    level = _level(view)
    return [f"{level}{forms[0]}", f"{level}{forms[1]}", *forms] if level else forms


def _level(view: ExploreView) -> str:
    """Where the round's messages go, of algorithms with two levels."""
    if not view.levels:
        return ""
    key = "both" if len(view.levels) > 1 else "between" if True in view.levels else "inside"
    return view.t(f"now.level.{key}")


def _moved(view: ExploreView) -> tuple[int, float, float, set[bool]]:
    """Messages, least and most of S in one of them, and whether they add."""
    if view.subject.is_drawn:
        one = view.replay.rounds[view.round - 1]
        shares = [count / view.replay.n_elements for count in one.counts]
        return len(shares), min(shares, default=0), max(shares, default=0), set(one.adds)
    whole = view.tally.whole(view.round)
    ways = {way for way, is_there in ((True, whole.adds), (False, whole.copies)) if is_there}
    return whole.messages, whole.least, whole.most, ways


# ---------------------------------------------------------------- all of it


def cost_forms(view: ExploreView) -> list[str]:
    """Rounds and bytes sent by closed form, longest form first."""
    own = view.outlook.own
    size = format_bytes(view.outlook.size_bytes)
    source = view.t(f"size.{view.outlook.size_source}", size=size)
    key = "cost.round" if own.rounds == 1 else "cost.rounds"
    rounds = view.t(key, rounds=format_count(own.rounds))
    if own.sent_least == own.sent_most:
        sent = view.t(
            "cost.each", share=share_text(own.sent_most), size=view.size_of(own.sent_most)
        )
    else:
        sent = view.t(
            "cost.from_to",
            least=share_text(own.sent_least),
            most=share_text(own.sent_most),
            size=view.size_of(own.sent_most),
        )
    return [f"{rounds} · {sent} · {source}", f"{rounds} · {sent}", sent]


def time_forms(view: ExploreView) -> list[str]:
    """How long it takes on the play's machines, and as the library runs it."""
    outlook = view.outlook
    own, library = outlook.own, outlook.library
    ranks = outlook.subject.n_ranks
    if outlook.n_nodes > 1:
        place = view.t(
            "time.nodes", nodes=outlook.n_nodes, gpus=outlook.gpus_per_node, gpu=outlook.gpu
        )
    else:
        place = view.t("time.node", gpus=ranks, gpu=outlook.gpu)
    if own.time_s is None:
        key = "time.no_switch" if outlook.subject.has_switch else "time.not_here"
        time = view.t(key, place=place)
    else:
        time = view.t("time.here", place=place, time=format_time(own.time_s))
    if library is None:
        return [time]
    name = _LIBRARIES.get(outlook.library_name, "")
    is_planner = library.rule == "nccl_planner" and bool(name)
    key = "time.library" if is_planner else "time.usual"
    # The planner's formula and the schedule are two models: one ring may have a time of each.
    source = "planned" if is_planner and library.source == "simulated" else library.source
    more = view.t(
        key,
        name=name,
        algorithm=library.algorithm,
        time=format_time(library.time_s),
        source=view.t(f"source.{source}"),
    )
    return [f"{time} · {more}", time, format_time(own.time_s) if own.time_s else time]


# ---------------------------------------------------------------- all algorithms


def panel_size(view: ExploreView) -> tuple[int, int]:
    """Least cells and rows of the panel of algorithms, border included."""
    # mark before the name, sign behind the time, three gaps, two borders
    return sum(_panel_widths(view)) + 7, len(view.outlook.algorithms) + 4


def draw_panel(canvas: Canvas, view: ExploreView, area: Rect) -> None:
    """Rounds, bytes sent and time of all algorithms; the one shown and the quickest are marked."""
    outlook = view.outlook
    title = Piece(view.t("panel.title", size=format_bytes(outlook.size_bytes)), "title")
    box = area._replace(height=min(area.height, panel_size(view)[1]))
    canvas.box(box, "border", title=(title,))
    inner = box.inner()
    widths = _panel_widths(view)
    gap = max(min((inner.width - sum(widths) - 2) // 3, 4), 1)
    _panel_line(canvas, _panel_heads(view), widths, gap, (inner.x + 1, inner.y), ["dim"] * 4)
    for y, one in enumerate(outlook.algorithms, inner.y + 1):
        is_own = one.algorithm == outlook.subject.algorithm
        is_quickest = one.algorithm == outlook.quickest
        roles = ["accent" if is_own else "text", "text", "text", "good" if is_quickest else "text"]
        cells = _panel_row(view, one)
        if one.time_s is None:
            roles[3] = "dim"
        if is_own:
            canvas.put(inner.x, y, "▶", "accent")
        end = _panel_line(canvas, cells, widths, gap, (inner.x + 1, y), roles)
        if is_quickest:
            canvas.put(end, y, "✓", "good")
    legend = (
        Piece("▶ ", "accent"),
        Piece(view.t("panel.own"), "dim"),
        Piece("  ✓ ", "good"),
        Piece(view.t("panel.quickest"), "dim"),
        Piece(f"  – {view.t('panel.not_here')}", "dim"),
    )
    y = inner.bottom - 1
    if y > inner.y + len(outlook.algorithms):
        short = legend if width_of(legend) < inner.width else legend[:-1]
        canvas.put_pieces(inner.x + 1, y, short, width=inner.width - 1)


def _panel_heads(view: ExploreView) -> list[str]:
    return [view.t(f"panel.{name}") for name in ("algorithm", "rounds", "sent", "time")]


def _panel_widths(view: ExploreView) -> list[int]:
    rows = [_panel_row(view, one) for one in view.outlook.algorithms]
    columns = zip(_panel_heads(view), *rows, strict=True)
    return [max(map(cell_width, column)) for column in columns]


def _panel_row(view: ExploreView, one: AlgorithmCost) -> list[str]:
    time = format_time(one.time_s) if one.time_s is not None else "–"
    return [one.algorithm, format_count(one.rounds), share_text(one.sent_most), time]


def _panel_line(
    canvas: Canvas,
    cells: list[str],
    widths: list[int],
    gap: int,
    at: tuple[int, int],
    roles: list[str],
) -> int:
    """One line of the panel, names at the left and figures at the right of their columns."""
    x, y = at
    for i, (text, width, role) in enumerate(zip(cells, widths, roles, strict=True)):
        canvas.put(x, y, pad(text, width, "right" if i else "left"), role)
        x += width + gap
    return x - gap
