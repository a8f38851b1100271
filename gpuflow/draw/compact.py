"""Screens smaller than the full layout: one stage at a time, then words and figures alone.

A split pane or a phone's terminal still says what happens: down to 60x16 with the stage at work,
down to 40x10 in words. Only below that there is nothing left but a line that names both sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gpuflow.cells import cell_width, clip
from gpuflow.draw.canvas import Canvas, Piece, Rect, width_of
from gpuflow.draw.caption import caption_pages, draw_caption
from gpuflow.draw.figures import UNKNOWN, metric_values
from gpuflow.draw.header import draw_header
from gpuflow.draw.keys import KEYS, hints, plain_hints
from gpuflow.draw.links import first_fit, flow_labels, flow_role
from gpuflow.draw.primitive import draw_primitive_row
from gpuflow.draw.stage import draw_stage, stage_at_work
from gpuflow.draw.strip import draw_strip
from gpuflow.draw.texts import step_heading, tab_pieces, text_pages
from gpuflow.draw.view import PlayView
from gpuflow.draw.wrap import wrap, wrap_into
from gpuflow.draw.zoom import draw_picture

MIN_WIDTH, MIN_HEIGHT = 40, 10
"""Below this no sentence can be read."""
STAGE_WIDTH, STAGE_HEIGHT = 60, 16
"""From here on the stage at work is drawn."""
_KEYS = ("step", "play", "help", "quit", "tab", "language", "table", "speed", "ask")
"""Hints by how much they are missed where only some fit."""

Form = Literal["stage", "words", "line"]


@dataclass(frozen=True, slots=True)
class CompactLayout:
    """Where the parts stand; a part without rows is not drawn."""

    form: Form
    where: Rect
    """Which stage is shown."""
    stage: Rect
    heading: Rect
    summary: Rect
    tabs: Rect
    text: Rect
    now: Rect
    """The primitive in use."""
    figures: Rect
    strip: Rect
    keys: Rect


def form_of(width: int, height: int) -> Form:
    """What a size smaller than the full layout has room for."""
    if width < MIN_WIDTH or height < MIN_HEIGHT:
        return "line"
    return "stage" if width >= STAGE_WIDTH and height >= STAGE_HEIGHT else "words"


def compact_layout(view: PlayView) -> CompactLayout:
    """Divide a small screen."""
    form = form_of(view.width, view.height)
    width = view.width - 2
    title = wrap(step_heading(view), width)
    above, below = 1, 3 + (1 if form == "stage" else 2)
    room = view.height - above - below
    if form == "stage":
        # Looked at from near, the picture says itself where it is.
        has_stages = view.scene.timeline.scenario.parallel.pp > 1
        where = 1 if has_stages and view.focus is None else 0
        # Three lines of text are the least that a page is worth turning for.
        text = min(max((room - 9) // 2, 2), 8)
        rows = [where, room - where - 2 - text, 1, 0, 1, text]
    else:
        heading = min(len(title), 2)
        summary = min(len(wrap(view.texts.summary, width)), max(room - heading, 0))
        rest = room - heading - summary
        tabs = 1 if rest >= 3 else 0
        rows = [0, 0, heading, summary, tabs, rest - tabs]
    rows += [1, 1 if form == "stage" else 2, 1, 1]
    y, rects = above, []
    for count in rows:
        rects.append(Rect(1, y, width, count))
        y += count
    return CompactLayout(form, *rects)


def compact_pages(view: PlayView) -> int:
    """Pages of the open tab's text on a small screen."""
    if form_of(view.width, view.height) == "line":
        return 1
    layout = compact_layout(view)
    if view.caption is not None:
        return len(caption_pages(view.caption, _words_area(layout), is_framed=False))
    if not layout.tabs.height:
        return 1
    return len(text_pages(view, layout.text, with_summary=layout.form == "words"))


def draw_compact(canvas: Canvas, view: PlayView) -> None:
    """A small screen."""
    if form_of(view.width, view.height) == "line":
        draw_too_small(canvas, view)
        return
    layout = compact_layout(view)
    draw_header(canvas, view, 1)
    if layout.form == "stage":
        if view.focus is None:
            shown = stage_at_work(view) or 0
            _where(canvas, view, layout.where, shown)
            draw_stage(canvas, view, layout.stage, only=shown)
        else:
            draw_picture(canvas, view, layout.stage)
        draw_primitive_row(canvas, view, layout.now.x, layout.now.y, layout.now.width)
    else:
        _now(canvas, view, layout.now)
    if view.caption is not None:
        draw_caption(canvas, view.caption, _words_area(layout), view.page)
    else:
        _paragraph(canvas, layout.heading, step_heading(view), "title")
        _paragraph(canvas, layout.summary, view.texts.summary, "strong")
        _text(canvas, view, layout)
    _figures(canvas, view, layout.figures)
    draw_strip(canvas, view, layout.strip.x, layout.strip.y, layout.strip.width)
    _keys(canvas, view, layout.keys)


def _words_area(layout: CompactLayout) -> Rect:
    """From the heading to the end of the text."""
    top = layout.heading
    return Rect(top.x, top.y, top.width, layout.text.bottom - top.y)


def _where(canvas: Canvas, view: PlayView, row: Rect, shown: int) -> None:
    """Which of the stages is in the picture, where there are more."""
    if row.height:
        stages = view.scene.timeline.scenario.parallel.pp
        text = view.scene.t("compact.where", stage=shown + 1, stages=stages)
        canvas.put(row.x, row.y, text, "dim", width=row.width)


def _paragraph(canvas: Canvas, area: Rect, text: str, role: str) -> None:
    """As many lines as there is room for; the last one says when more would follow."""
    for y, line in enumerate(wrap_into(text, area.width, area.height), start=area.y):
        canvas.put(area.x, y, line, role, width=area.width)


def _text(canvas: Canvas, view: PlayView, layout: CompactLayout) -> None:
    if not layout.tabs.height:
        return
    with_summary = layout.form == "words"
    cut = text_pages(view, layout.text, with_summary=with_summary)
    forms = [tab_pieces(view, len(cut), is_short=short) for short in (False, True)]
    fitting = [form for form in forms if width_of(form) <= layout.tabs.width]
    opened = [piece for piece in forms[-1] if piece.role == "tab_open"]
    tabs = fitting[0] if fitting else opened
    canvas.put_pieces(layout.tabs.x, layout.tabs.y, tabs, width=layout.tabs.width)
    for y, line in enumerate(cut[min(view.page, len(cut) - 1)], start=layout.text.y):
        canvas.put(layout.text.x, y, line, "text", width=layout.text.width)


def _now(canvas: Canvas, view: PlayView, row: Rect) -> None:
    """What runs at the moment, in as many words as fit."""
    span = view.state.span
    label = first_fit(flow_labels(view, with_name=True), row.width - 2)
    if label:
        canvas.put(row.x, row.y, f"» {label}", flow_role(span), width=row.width)
    elif span is not None and span.part:
        part = view.scene.t(f"part.{span.part}")
        text = view.scene.t("primitive.computing", part=part)
        canvas.put(row.x, row.y, f"● {text}", "compute", width=row.width)
    elif span is not None and span.kind == "host":
        canvas.put(row.x, row.y, f"◆ {view.scene.t('state.host')}", "host", width=row.width)


def _figures(canvas: Canvas, view: PlayView, area: Rect) -> None:
    """The metrics, as many as the rows hold, each whole or not at all."""
    groups = [
        (Piece(f"{name} ", "dim"), Piece(value, "dim" if value == UNKNOWN else "strong"))
        for name, value, _ in metric_values(view)
    ]
    x, y = area.x, area.y
    for group in groups:
        if x > area.x and x + width_of(group) > area.right:
            x, y = area.x, y + 1
        if y >= area.bottom:
            return
        x = canvas.put_pieces(x, y, group, width=area.right - x) + 2


def _keys(canvas: Canvas, view: PlayView, row: Rect) -> None:
    """The hints that fit into one row, in their usual order."""
    pairs = hints(view.scene.language, view.scene.bound)
    words = dict(zip((key.id for key in KEYS), pairs, strict=True))
    if view.is_ascii:
        plain = {name: plain_hints((pair,)) for name, pair in words.items()}
        words = {name: pair for name, pairs in plain.items() for pair in pairs}
    chosen: list[str] = []
    room = row.width
    for name in (name for name in _KEYS if name in words):
        needed = _hint_width(words[name]) + (2 if chosen else 0)
        if needed <= room:
            chosen.append(name)
            room -= needed
    x = row.x
    for name in (key.id for key in KEYS if key.id in chosen):
        key, word = words[name]
        x = canvas.put(x, row.y, key, "key")
        x = canvas.put(x + 1, row.y, word, "dim") + 2


def _hint_width(pair: Sequence[str]) -> int:
    return cell_width(pair[0]) + 1 + cell_width(pair[1])


def draw_too_small(canvas: Canvas, view: PlayView) -> None:
    """As much of the friendly line as there is room for, in the middle."""
    need = f"{MIN_WIDTH}×{MIN_HEIGHT}"
    have = f"{view.width}×{view.height}"
    forms = (
        view.scene.t("small.long", have=have, need=need),
        view.scene.t("small.short", have=have, need=need),
        f"{have} < {need}",
    )
    text = next((f for f in forms if cell_width(f) <= view.width), clip(forms[-1], view.width))
    x = max((view.width - cell_width(text)) // 2, 0)
    canvas.put_pieces(x, max((view.height - 1) // 2, 0), (Piece(text, "accent"),))
