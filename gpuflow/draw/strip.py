"""The timeline strip: eight steps on screen time, and what each stage does around the moment."""

from __future__ import annotations

from gpuflow.cells import cell_width
from gpuflow.draw.canvas import Canvas, Rect
from gpuflow.draw.frame import Row
from gpuflow.draw.roles import CLASS_ROLES
from gpuflow.draw.view import PlayView
from gpuflow.engine.timeline import Span

DONE, AHEAD, HEAD = "━", "╌", "▶"
_STRIP = frozenset({DONE, AHEAD, HEAD, *"12345678"})
LAYERS_SHOWN = 3
"""Layers of a window of the lanes."""
NEIGHBOURS = 4
"""Spans on each side that the lanes show around one that is of no layer."""
LANE_SIGNS = {"compute": "▇", "host": "◆", "rest": "·"}
CLASS_SIGNS = {"tp": "═", "pp": "━", "ep": "╌", "host": "•"}


def draw_strip(canvas: Canvas, view: PlayView, x: int, y: int, width: int) -> None:
    """Step numbers at their places on a line, the playhead on it."""
    if width < 2:
        return
    head = x + min(int(view.position * width), width - 1)
    canvas.put(x, y, AHEAD * width, "dim")
    canvas.put(x, y, DONE * (head - x), "accent")
    current = view.state.step.index
    last_end = x - 1
    for index, start in enumerate(view.scene.step_starts):
        place = max(x + int(start * width), last_end + 1)
        if place >= x + width:
            break
        role = "accent" if index <= current else "dim"
        if index == current:
            role = f"badge_{view.state.step.phase}"
        last_end = canvas.put(place, y, str(index + 1), role) - 1
    head = _beside_number(canvas, head, y, Rect(x, y, width, 1), current)
    canvas.put(head, y, HEAD, "accent")


def _beside_number(canvas: Canvas, head: int, y: int, strip: Rect, current: int) -> int:
    """Where the head stands when a number has its cell: behind the step's, before a later one."""
    sign = canvas.at(head, y)
    if not sign.isdigit():
        return head
    if int(sign) > current + 1:
        is_free = head > strip.x and not canvas.at(head - 1, y).isdigit()
        return head - 1 if is_free else head
    return min(head + 1, strip.right - 1)


def step_in_strip(row: Row, x: int) -> int | None:
    """The step that stands at or before a cell of a drawn strip, from 0.

    None where the row is no strip, or the cell is left of it.
    """
    text = "".join(run.text for run in row)
    line = text.strip()
    is_strip = len(line) > 1 and set(line) <= _STRIP and {DONE, AHEAD} & set(line)
    number = max((sign for sign in text[: x + 1] if sign.isdigit()), default="")
    return int(number) - 1 if is_strip and number else None


def window(view: PlayView) -> tuple[int, int, float, float]:
    """(first span, one past the last, from, to) of what the lanes show: some layers, or a step."""
    timeline, step = view.scene.timeline, view.state.step
    spans = timeline.spans[step.first_span : step.last_span]
    span = view.state.span
    first, last = step.first_span, step.last_span
    if span is not None and span.kind == "fold":
        return span.index, span.index + 1, span.start_s, span.end_s
    if span is not None and span.layer:
        low = (span.layer - 1) // LAYERS_SHOWN * LAYERS_SHOWN + 1
        near = [
            s
            for s in spans
            if s.layer and s.stage == span.stage and low <= s.layer < low + LAYERS_SHOWN
        ]
        first, last = near[0].index, near[-1].index + 1
    elif spans:
        here = spans[0].index if span is None else span.index
        around = timeline.spans[max(here - NEIGHBOURS, 0) : here + NEIGHBOURS + 1]
        near = [s for s in around if s.kind != "fold"]
        first, last = near[0].index, near[-1].index + 1
    if first >= last:
        return first, first, step.start_s, step.end_s
    return first, last, timeline.spans[first].start_s, timeline.spans[last - 1].end_s


def draw_lanes(canvas: Canvas, view: PlayView, area: Rect) -> None:
    """One lane a stage over a short window of simulated time, a mark where the moment is."""
    first, last, start_s, end_s = window(view)
    timeline, stages = view.scene.timeline, view.scene.timeline.scenario.parallel.pp
    names = [view.scene.t("strip.stage", stage=stage + 1) for stage in range(stages)]
    label = max(map(cell_width, names)) + 1
    cells = area.width - label
    rows = min(area.height - 1, stages)
    if cells < 8 or rows < 1:
        return
    spans = timeline.spans[first:last]
    lasts_s = end_s - start_s
    top = 0
    if rows < stages and view.state.span is not None and view.state.span.stage is not None:
        top = min(max(view.state.span.stage - rows // 2, 0), stages - rows)
    for row in range(rows):
        stage = top + row
        canvas.put(area.x, area.y + row, names[stage], "dim")
        for i in range(cells):
            moment_s = start_s + (i + 0.5) / cells * lasts_s
            is_ahead = view.is_covered and moment_s >= view.state.time_s
            sign, role = _lane_sign(None if is_ahead else _span_at(spans, moment_s), stage)
            canvas.put(area.x + label + i, area.y + row, sign, role)
    if lasts_s > 0 and not view.state.is_end:
        place = (view.state.time_s - start_s) / lasts_s
        head = area.x + label + min(max(int(place * cells), 0), cells - 1)
        canvas.put(head, area.y + rows, "▲", "accent")


def _span_at(spans: tuple[Span, ...], moment_s: float) -> Span | None:
    return next((s for s in spans if s.start_s <= moment_s < s.end_s), None)


def _lane_sign(span: Span | None, stage: int) -> tuple[str, str]:
    if span is None:
        return LANE_SIGNS["rest"], "dim"
    involved = span.stage is None or span.stage == stage
    if span.kind == "send" and span.stage is not None:
        involved = stage in {span.stage, span.stage + 1}
    if not involved:
        return LANE_SIGNS["rest"], "dim"
    if span.traffic_class is not None:
        role = CLASS_ROLES[span.traffic_class]
        return CLASS_SIGNS[role], role
    if span.kind == "host":
        return LANE_SIGNS["host"], "host"
    return LANE_SIGNS["compute"], "compute"
