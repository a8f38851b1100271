"""Big mode, for a room and a beamer: the stage at work, one sentence, two figures in large."""

from __future__ import annotations

from dataclasses import dataclass

from gpuflow.cells import cell_width
from gpuflow.draw.bound import first_key, keys_shown
from gpuflow.draw.canvas import Canvas, Piece, Rect, width_of
from gpuflow.draw.caption import caption_pages, draw_caption
from gpuflow.draw.focus import Part
from gpuflow.draw.header import PAUSED, PLAYING, clock_text, phase_name
from gpuflow.draw.links import flow_role
from gpuflow.draw.numerals import (
    HALF_ROWS,
    WHOLE_ROWS,
    draw_halves,
    draw_wholes,
    numeral_width,
)
from gpuflow.draw.stage import draw_stage, plan_of, stage_at_work
from gpuflow.draw.texts import step_heading
from gpuflow.draw.view import PlayView
from gpuflow.draw.wrap import pages, wrap
from gpuflow.units import format_bytes, format_time

LEAST_WIDTH, LEAST_HEIGHT = 60, 20
"""Smaller screens show what they always show."""
ROOMY_WIDTH, ROOMY_HEIGHT = 140, 40
"""From here on a dot of a numeral is two cells wide."""
LEAST_STAGE_ROWS = 8
MOST_SENTENCE_ROWS = 3


@dataclass(frozen=True, slots=True)
class BigFigure:
    """One of the two figures."""

    label: str
    number: str
    """Digits alone."""
    unit: str
    role: str


@dataclass(frozen=True, slots=True)
class BigLayout:
    """Where the parts stand."""

    heading: Rect
    stage: Rect
    sentence: Rect
    figures: Rect
    keys: Rect


def fits_big(width: int, height: int) -> bool:
    """Whether a size has room for big mode."""
    return width >= LEAST_WIDTH and height >= LEAST_HEIGHT


def big_layout(view: PlayView) -> BigLayout:
    """Divide the screen: what the sentence and the figures leave over is the stage's."""
    width = view.width - 2
    figures = 1 + (WHOLE_ROWS if _is_roomy(view) or view.is_ascii else HALF_ROWS)
    wanted = len(wrap(sentence(view), width)) if view.caption is None else MOST_SENTENCE_ROWS + 2
    heading, keys, gaps = 1, 1, 1 + (view.height >= 24)
    room = view.height - heading - keys - figures - gaps - LEAST_STAGE_ROWS
    words = min(max(wanted, 1), max(room, 1), MOST_SENTENCE_ROWS + 2)
    stage = view.height - heading - keys - figures - gaps - words
    y, rects = 0, []
    for rows, gap in ((heading, 0), (stage, 0), (words, 1), (figures, gaps - 1), (keys, 0)):
        rects.append(Rect(1, y, width, rows))
        y += rows + gap
    return BigLayout(*rects)


def _is_roomy(view: PlayView) -> bool:
    return view.width >= ROOMY_WIDTH and view.height >= ROOMY_HEIGHT


def draw_big(canvas: Canvas, view: PlayView) -> None:
    """The whole screen."""
    layout = big_layout(view)
    _heading(canvas, view, layout.heading)
    _stage(canvas, view, layout.stage)
    if view.caption is not None:
        draw_caption(canvas, view.caption, layout.sentence, view.page)
    else:
        lines = pages(wrap(sentence(view), layout.sentence.width), layout.sentence.height)[0]
        for y, line in enumerate(lines, start=layout.sentence.y):
            canvas.put(layout.sentence.x, y, line, "strong", width=layout.sentence.width)
    _figures(canvas, view, layout.figures)
    canvas.put(layout.keys.x, layout.keys.y, _hint(view), "key", width=layout.keys.width)


def _hint(view: PlayView) -> str:
    """Which key does what; those of a tour and of a question stand with its words."""
    if view.mode == "question":
        return ""
    bound = view.scene.bound
    keys = {name: first_key(name, bound) for name in ("play", "big", "help", "quit")}
    step = keys_shown("step", "←→", bound, is_short=True)
    form = "tour" if view.mode == "tour" else "play" if view.is_playing else "pause"
    return view.scene.word(f"big.hint.{form}", step=step, **keys)


def big_pages(view: PlayView) -> int:
    """Pages of the caption; the one sentence needs none."""
    if view.caption is None:
        return 1
    return len(caption_pages(view.caption, big_layout(view).sentence, is_framed=False))


def sentence(view: PlayView) -> str:
    """The one to remember, or else the summary."""
    return view.texts.takeaway or view.texts.summary


def _heading(canvas: Canvas, view: PlayView, row: Rect) -> None:
    badge = f"badge_{view.state.step.phase}"
    marks = [Piece(f" {mark}", "accent") for mark in view.marks]
    right = [Piece(f" {phase_name(view)} ", badge), *marks]
    x = canvas.put(row.x, row.y, PLAYING if view.is_playing else PAUSED, "accent")
    room = row.right - x - 2 - width_of(right)
    canvas.put(x + 1, row.y, step_heading(view), "title", width=room)
    canvas.put_right(row.right, row.y, right, width=row.width)


def _stage(canvas: Canvas, view: PlayView, area: Rect) -> None:
    """The stage at work; both ends of a hand-over, where there are only two."""
    span, p = view.state.span, view.scene.timeline.scenario.parallel
    is_between = span is not None and (span.kind == "send" or span.stage is None)
    shows_all = p.pp == 1 or (is_between and p.pp == 2 and area.height >= 2 * LEAST_STAGE_ROWS - 2)
    part = None if shows_all else Part(stage_at_work(view) or 0, 0, p.tp * p.dp)
    # What the stage leaves over stands above and below it.
    spare = max(area.height - plan_of(view, area, part=part).height, 0)
    middle = area._replace(y=area.y + spare // 2, height=area.height - spare)
    draw_stage(canvas, view, middle, part=part)


def big_figures(view: PlayView) -> tuple[BigFigure, BigFigure]:
    """The clock, and the message that moves or else what is known last."""
    scene, state = view.scene, view.state
    clock = _figure(scene.word("big.clock"), clock_text(state.time_s), "clock")
    span, known = state.span, state.known
    if span is not None and span.collective is not None and not state.is_compressed:
        name = scene.t(f"collective.{span.collective}")
        label = scene.word("big.message", name=name, time=format_time(span.duration_s))
        is_unsaid = span.time_source == "measured" and not span.message_size_bytes
        size = "–" if is_unsaid else format_bytes(span.message_size_bytes)
        return clock, _figure(label, size, flow_role(span))
    for name, seconds in (("TPOT", known.tpot_s), ("TTFT", known.ttft_s)):
        if seconds is not None:
            meaning = scene.word(f"basics.{name.lower()}.meaning")
            return clock, _figure(f"{name}  {meaning}", format_time(seconds), "accent")
    if view.is_covered:
        return clock, BigFigure("", "–", "", "dim")
    return clock, _figure(scene.word("big.step"), format_time(state.step.duration_s), "accent")


def _figure(label: str, text: str, role: str) -> BigFigure:
    number, _, unit = text.partition(" ")
    return BigFigure(label, number, unit, role)


def _figures(canvas: Canvas, view: PlayView, area: Rect) -> None:
    figures = big_figures(view)
    half = area.width // 2
    scale = 2 if _is_roomy(view) else 1
    for i, figure in enumerate(figures):
        x = area.x + i * half
        canvas.put(x, area.y, figure.label, "dim", width=half - 1)
        if view.is_ascii:
            end = draw_wholes(canvas, x, area.y + 1, figure.number, figure.role, scale=1, sign="#")
        elif scale == 2 and numeral_width(figure.number, scale) + cell_width(figure.unit) < half:
            end = draw_wholes(canvas, x, area.y + 1, figure.number, figure.role, scale=scale)
        else:
            end = draw_halves(canvas, x, area.bottom - HALF_ROWS, figure.number, figure.role)
        canvas.put(end + 1, area.bottom - 1, figure.unit, "strong", width=half)
