"""Who sends to whom in the round shown: lines beside the stack, with heads and moving packets.

Within a node (and where there is one level) lines are double, between nodes they are heavy, so the
two differ without colour. `◂` is where numbers arrive, `+` that they are added.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpuflow.draw.canvas import Canvas
from gpuflow.draw.explore_boxes import switch_has_turned
from gpuflow.draw.explore_nets import Net, lines_of
from gpuflow.draw.explore_plan import StackPlan
from gpuflow.draw.explore_view import ExploreView

_ACROSS, _DOWN = "═━", "║┃"
_JOINTS = ({"d": "╗", "u": "╝", "ud": "╣"}, {"d": "┓", "u": "┛", "ud": "┫"})
_BRANCHES = ({"d": "╦", "u": "╩", "ud": "╬"}, {"d": "┳", "u": "┻", "ud": "╋"})
"""Joints whose row goes on to a lane further out."""
HEAD = "◂"
_PACKETS = {(1, 0): "»", (-1, 0): "«", (0, 1): "▼", (0, -1): "▲"}

_Cell = tuple[int, int]


def draw_lines(canvas: Canvas, view: ExploreView, plan: StackPlan) -> None:
    """The lines of the round shown; nothing before the first."""
    if not view.round:
        return
    if plan.switch is not None:
        _to_switch(canvas, view, plan)
        return
    if not plan.has_lines:
        return
    nets = lines_of(view.subject).rounds[view.round - 1]
    for net in nets:
        _vertical(canvas, view, plan, net)
    for net in nets:
        _horizontals(canvas, view, plan, net)
    for net in nets:
        _joints(canvas, view, plan, net, nets)
    if view.is_in_flight:
        for net in nets:
            _packets(canvas, view, plan, net)


def _role(view: ExploreView, net: Net) -> str:
    """Between nodes another colour than within them."""
    return view.outer_role if net.is_between else view.role


def _rows(plan: StackPlan, net: Net) -> dict[int, bool]:
    """Rows that a net touches, and whether numbers arrive there."""
    rows = {plan.places[r].receive_y: True for r in net.receivers}
    return rows | {plan.places[s].send_y: False for s in net.senders}


def _edge(plan: StackPlan) -> int:
    """The first column right of the boxes."""
    return plan.places[0].box.right


def _vertical(canvas: Canvas, view: ExploreView, plan: StackPlan, net: Net) -> None:
    rows = _rows(plan, net)
    x = plan.lane(net.lane, is_between=net.is_between)
    canvas.vline(x, min(rows), max(rows) - min(rows) + 1, _DOWN[net.is_between], _role(view, net))


def _horizontals(canvas: Canvas, view: ExploreView, plan: StackPlan, net: Net) -> None:
    edge = _edge(plan)
    x = plan.lane(net.lane, is_between=net.is_between)
    sign, role = _ACROSS[net.is_between], _role(view, net)
    for y, arrives in _rows(plan, net).items():
        canvas.hline(edge, y, x - edge, sign, role)
        if arrives:
            canvas.put(edge, y, f"{HEAD}+" if net.adds else HEAD, role)


def _joints(
    canvas: Canvas, view: ExploreView, plan: StackPlan, net: Net, nets: Sequence[Net]
) -> None:
    """Where a net's rows meet its lane; a row shared with a net further out goes on."""
    rows = _rows(plan, net)
    x = plan.lane(net.lane, is_between=net.is_between)
    further = {
        y
        for other in nets
        if plan.lane(other.lane, is_between=other.is_between) > x
        for y in _rows(plan, other)
    }
    for y in rows:
        ways = ("u" if y > min(rows) else "") + ("d" if y < max(rows) else "")
        table = _BRANCHES if y in further else _JOINTS
        canvas.put(x, y, table[net.is_between][ways], _role(view, net))


def _paths(plan: StackPlan, net: Net) -> Iterator[list[_Cell]]:
    """The way of every message of a net, cell by cell."""
    edge = _edge(plan)
    x = plan.lane(net.lane, is_between=net.is_between)
    for sender in net.senders:
        for receiver in net.receivers:
            if sender == receiver:
                continue
            start, end = plan.places[sender].send_y, plan.places[receiver].receive_y
            way = 1 if end > start else -1
            yield [
                *((column, start) for column in range(edge, x)),
                *((x, y) for y in range(start, end, way)),
                *((column, end) for column in range(x, edge, -1)),
            ]


def _packets(canvas: Canvas, view: ExploreView, plan: StackPlan, net: Net) -> None:
    """One packet for every message; where all exchange, one out of and one into every rank."""
    if min(len(net.senders), len(net.receivers)) < 2:
        for path in _paths(plan, net):
            _packet(canvas, path, view.flight)
        return
    edge = _edge(plan)
    length = plan.lane(net.lane, is_between=net.is_between) - edge
    step = min(int(view.flight * 2 * length), 2 * length - 1)
    is_out = step < length
    column = edge + (step if is_out else 2 * length - step)
    for y, arrives in _rows(plan, net).items():
        if arrives is not is_out:
            canvas.put(column, y, "»" if is_out else "«", "accent")


def _packet(canvas: Canvas, path: Sequence[_Cell], part: float) -> None:
    index = min(int(part * len(path)), len(path) - 1)
    here = path[index]
    there = path[index + 1] if index + 1 < len(path) else (here[0] - 1, here[1])
    canvas.put(*here, _PACKETS[there[0] - here[0], there[1] - here[1]], "accent")


def _to_switch(canvas: Canvas, view: ExploreView, plan: StackPlan) -> None:
    """Straight lines between every rank and the switch: first in, then out."""
    one, switch = view.current, plan.switch
    if one is None or switch is None:
        return
    n = view.replay.n_ranks
    is_out = switch_has_turned(view)
    for rank, place in enumerate(plan.places):
        sends, receives = (rank, n) in one.transfers, (n, rank) in one.transfers
        edge = place.box.right
        length = switch.x - edge
        if length < 1:
            continue
        if place.send_y == place.receive_y:
            is_to_left = receives and (is_out or not sends)
            sign = ("«" if is_to_left else "»") if sends or receives else " "
            canvas.put(edge, place.send_y, _wire(sign, length), view.role)
            continue
        adds = any(a for (_, to), a in zip(one.transfers, one.adds, strict=True) if to == n)
        if sends:
            head = "+▸" if adds and length > 3 else "▸"
            canvas.put(edge, place.send_y, "═" * (length - len(head)) + head, view.role)
        if receives and (is_out or not sends):
            canvas.put(edge, place.receive_y, HEAD + "═" * (length - 1), view.role)
        if view.is_in_flight and length > 2:
            _switch_packet(canvas, view, (edge, length), place.send_y, place.receive_y, is_out)


def _wire(sign: str, length: int) -> str:
    return " " * length if sign == " " else sign.center(length, "═")


def _switch_packet(
    canvas: Canvas,
    view: ExploreView,
    columns: tuple[int, int],
    send_y: int,
    receive_y: int,
    is_out: bool,
) -> None:
    """One packet on its way in, later one on its way out."""
    edge, length = columns
    part = (2 * view.flight) % 1.0
    step = min(int(part * length), length - 1)
    if is_out and canvas.at(edge, receive_y) == HEAD:
        canvas.put(edge + length - 1 - step, receive_y, "«", "accent")
    elif not is_out and canvas.at(edge, send_y) == "═":
        canvas.put(edge + step, send_y, "»", "accent")
