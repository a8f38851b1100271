"""Words in the place of a step's texts: a question, a stop of a tour."""

from __future__ import annotations

from gpuflow.draw.canvas import Canvas, Piece, Rect, width_of
from gpuflow.draw.view import Caption
from gpuflow.draw.wrap import pages, wrap

LEAST_ROWS = 3
"""Rows of words that are worth more than a row for the hint."""

Line = tuple[str, str]
"""(words, role)"""


def caption_pages(caption: Caption, area: Rect, *, is_framed: bool) -> list[list[Line]]:
    """The lead and the text in pages of an area.

    Args:
        caption: What is to be said.
        area: Where, its heading (or frame) and hint included.
        is_framed: Whether a frame takes the outer cells.
    """
    room = _room(caption, area, is_framed=is_framed)
    lines = [(line, "strong") for line in wrap(caption.lead, room.width)] if caption.lead else []
    if caption.text:
        # One cell stays free for the ellipsis of a page that goes on.
        lines += [(line, "text") for line in wrap(caption.text, room.width - 1)]
    return _cut(lines, room.height)


def draw_caption(canvas: Canvas, caption: Caption, area: Rect, page: int) -> None:
    """Title, words and hint under each other."""
    cut = caption_pages(caption, area, is_framed=False)
    has_hint_row = _has_hint_row(caption, area.height - 1)
    mark = _mark(page, len(cut))
    words = [] if has_hint_row or not caption.hint else [Piece(f"  {caption.hint}", "key")]
    if mark:
        words = [Piece(f"  {mark}", "tab_open"), *words]
    title_room = max(area.width - width_of(words), 8)
    canvas.put(area.x, area.y, caption.title, "title", width=title_room)
    canvas.put_right(area.right, area.y, words, width=area.width - 8)
    _words(canvas, caption, area, cut[min(page, len(cut) - 1)], is_framed=False)


def draw_caption_panel(canvas: Canvas, caption: Caption, area: Rect, page: int) -> None:
    """The same in a frame, its title in the border."""
    cut = caption_pages(caption, area, is_framed=True)
    mark = _mark(page, len(cut))
    canvas.box(area, "border_lit")
    canvas.head_box(area, (Piece(caption.title, "title"),), (Piece(mark, "tab_open"),))
    _words(canvas, caption, area, cut[min(page, len(cut) - 1)], is_framed=True)


def _mark(page: int, n_pages: int) -> str:
    return f"[⇥ {min(page, n_pages - 1) + 1}/{n_pages}]" if n_pages > 1 else ""


def _room(caption: Caption, area: Rect, *, is_framed: bool) -> Rect:
    """Where the lead and the text stand."""
    inner = area.inner(1) if is_framed else Rect(area.x, area.y + 1, area.width, area.height - 1)
    hint = 1 if _has_hint_row(caption, inner.height) else 0
    return Rect(inner.x, inner.y, max(inner.width, 2), max(inner.height - hint, 1))


def _has_hint_row(caption: Caption, rows: int) -> bool:
    """Whether the hint has a row of its own, or stands beside the title where rows are few."""
    return bool(caption.hint) and rows > LEAST_ROWS


def _words(
    canvas: Canvas, caption: Caption, area: Rect, lines: list[Line], *, is_framed: bool
) -> None:
    room = _room(caption, area, is_framed=is_framed)
    for y, (line, role) in enumerate(lines[: room.height], start=room.y):
        canvas.put(room.x, y, line, role, width=room.width)
    if room.height < (area.height - 2 if is_framed else area.height - 1):
        canvas.put(room.x, room.bottom, caption.hint, "key", width=room.width)


def _cut(lines: list[Line], height: int) -> list[list[Line]]:
    """Pages of lines; what goes on ends in an ellipsis."""
    words = pages([line for line, _ in lines], height)
    cut, start = [], 0
    for page in words:
        roles = [role for _, role in lines[start : start + len(page)]]
        cut.append(list(zip(page, roles, strict=True)))
        start += len(page)
    return cut
