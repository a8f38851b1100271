"""Lines that carry bytes: thin and dim at rest, in their class's line with pulses while they move.

Tensor parallel is a double line, pipeline a heavy one, expert parallel a dashed one, so that the
classes differ without colour.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpuflow.draw.canvas import Canvas, Piece, width_of
from gpuflow.draw.roles import CLASS_ROLES
from gpuflow.draw.view import PlayView
from gpuflow.engine.timeline import Span
from gpuflow.units import format_bit_rate, format_bytes, format_rate, format_time

PULSE_CELLS_PER_S = 10.0
PULSE_SPACING = 7
PASSABLE = frozenset(" ─═╌│┼")
"""What a line downwards may be drawn over."""
ACROSS = {"tp": "═", "ep": "╌", "pp": "━"}
"""Lines of the classes from left to right."""
ACROSS_AT_REST = {"tp": "─", "ep": "╌", "pp": "─"}
DOWN = {"tp": "║", "ep": "╎", "pp": "┃"}
DOWN_AT_REST = {"tp": "│", "ep": "╎", "pp": "│"}


def phase(view: PlayView) -> int:
    """How far the pulses have moved: a function of the moment alone."""
    return int(view.state.screen_s * PULSE_CELLS_PER_S)


def across(
    canvas: Canvas, x: int, y: int, length: int, wire: str, role: str, *, phase: int, ways: str
) -> None:
    """A line to the right with pulses.

    Args:
        canvas: Where to draw.
        x: First cell.
        y: Row.
        length: Cells.
        wire: tp, pp or ep: which kind of line it is.
        role: Of the bytes on it.
        phase: Cells that the pulses have moved.
        ways: ">" while bytes move to the right, "<" to the left, "<>" both, "" at rest.
    """
    if not ways:
        canvas.hline(x, y, length, ACROSS_AT_REST[wire], role)
        return
    signs = [ACROSS[wire]] * max(length, 0)
    _pulse(signs, ">" in ways, "<" in ways, ("»", "«"), phase)
    canvas.put(x, y, "".join(signs), role)


def down(
    canvas: Canvas, x: int, y: int, length: int, wire: str, role: str, *, phase: int, ways: str
) -> None:
    """A line downwards with pulses; `ways` holds "v" and "^".

    It passes behind words, so that those in a border stay readable.
    """
    signs = [DOWN[wire] if ways else DOWN_AT_REST[wire]] * max(length, 0)
    if ways:
        _pulse(signs, "v" in ways, "^" in ways, ("▼", "▲"), phase // 2)
    for row, sign in enumerate(signs, start=y):
        below = canvas.at(x, row)
        if below in PASSABLE:
            canvas.put(x, row, "┼" if below == "─" and not ways else sign, role)


def _pulse(
    signs: list[str], forward: bool, backward: bool, heads: tuple[str, str], phase: int
) -> None:
    spacing = min(PULSE_SPACING, max(len(signs), 2))
    for i in range(len(signs)):
        if forward and (i - phase) % spacing == 0:
            signs[i] = heads[0]
        elif backward and (i + phase - spacing // 2) % spacing == 0:
            signs[i] = heads[1]


def flow_role(span: Span | None) -> str:
    """Role of the bytes of a span."""
    return CLASS_ROLES[span.traffic_class] if span and span.traffic_class else "dim"


def rate_text(view: PlayView, span: Span) -> str:
    """Bus bandwidth as people read it: GB/s inside a node, Gb/s between nodes."""
    rate = span.bus_bandwidth_bytes_per_s
    if rate is None:
        return ""
    crosses = view.scene.mesh.crosses_nodes(span.groups)
    return format_bit_rate(rate) if crosses else format_rate(rate)


def flow_labels(view: PlayView, *, with_name: bool) -> list[str]:
    """What moves, how much, how long, how fast; longest form first."""
    span = view.state.span
    if span is None or span.collective is None:
        return []
    forms = span_labels(view, span)
    if with_name:
        name = view.scene.t(f"collective.{span.collective}")
        forms = [f"{name} {form}" for form in forms[:2]] + [name, *forms[1:]]
    return forms


def span_labels(view: PlayView, span: Span) -> list[str]:
    """Size, time and rate of a message; longest form first.

    Of a recording that does not say how large its messages were, the time alone.
    """
    if span.time_source == "measured" and not span.message_size_bytes:
        return [format_time(span.duration_s)] * 3
    size, time = format_bytes(span.message_size_bytes), format_time(span.duration_s)
    rate = rate_text(view, span)
    return [" · ".join(filter(None, (size, time, rate))), f"{size} · {time}", size]


def first_fit(forms: Sequence[str], width: int) -> str:
    """The first form that fits; empty when none does."""
    return next((form for form in forms if width_of((Piece(form),)) <= width), "")
