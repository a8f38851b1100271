"""The step's words: title, summary, and three texts in tabs or all at once."""

from __future__ import annotations

from gpuflow.cells import cell_width
from gpuflow.draw.canvas import Canvas, Piece, Rect, width_of
from gpuflow.draw.view import TABS, PlayView
from gpuflow.draw.wrap import pages, wrap

WIDE_WIDTH, WIDE_ROWS = 116, 34
"""Cells, and rows beside those of the key hints, from which texts stand beside the stage."""


def has_panel(width: int, rows: int) -> bool:
    """Whether texts stand in a panel beside the stage instead of under it."""
    return width >= WIDE_WIDTH and rows >= WIDE_ROWS


def panel_width(width: int) -> int:
    """Cells of that panel, its frame included."""
    return min(max(width * 37 // 100, 42), 84)


def step_heading(view: PlayView) -> str:
    """Number and title of the step."""
    return view.scene.t("text.heading", step=view.state.step.index + 1, title=view.texts.title)


def tab_pieces(view: PlayView, n_pages: int, *, is_short: bool = False) -> list[Piece]:
    """The three tabs, the open one marked by brackets; none where all are empty."""
    if not any(map(view.texts.tab, range(len(TABS)))):
        return []
    pieces: list[Piece] = []
    for index, name in enumerate(TABS):
        word = view.scene.t(f"tab.{name}")
        if is_short and name == "network":
            word = view.scene.t("tab.network_short")
        if index == view.tab:
            page = f" {min(view.page, n_pages - 1) + 1}/{n_pages}" if n_pages > 1 else ""
            pieces.append(Piece(f"[{word}{page}]", "tab_open"))
        else:
            pieces.append(Piece(f" {word} ", "tab"))
    return pieces


def body(view: PlayView, *, with_summary: bool) -> str:
    """The open tab's text; an idle step's reason comes first where no summary stands above."""
    text = view.texts.tab(view.tab)
    if view.state.step.is_idle and not with_summary:
        return f"{view.texts.summary}\n{text}"
    return text


def text_pages(view: PlayView, room: Rect, *, with_summary: bool) -> list[list[str]]:
    """The open tab's text in pages of the room."""
    text = body(view, with_summary=with_summary)
    lines = wrap(text, room.width)
    if len(lines) > room.height:
        # One cell stays free for the ellipsis of a page that goes on.
        lines = wrap(text, room.width - 1)
    return pages(lines, room.height)


def draw_tabs(canvas: Canvas, view: PlayView, area: Rect) -> None:
    """Heading and tabs in the first row, under them the open text (and the summary, with room)."""
    summary_rows = summary_room(area)
    room = Rect(area.x, area.y + 1 + summary_rows, area.width, area.height - 1 - summary_rows)
    cut = text_pages(view, room, with_summary=bool(summary_rows))
    tabs = tab_pieces(view, len(cut))
    if width_of(tabs) + cell_width(step_heading(view)) + 2 > area.width:
        tabs = tab_pieces(view, len(cut), is_short=True)
    heading_room = area.width - width_of(tabs) - 2
    if heading_room >= 12:
        canvas.put_pieces(area.x, area.y, (Piece(step_heading(view), "title"),), width=heading_room)
    canvas.put_right(area.right, area.y, tabs, width=area.width)
    if summary_rows:
        canvas.put(area.x, area.y + 1, view.texts.summary, "strong", width=area.width)
    shown = cut[min(view.page, len(cut) - 1)]
    _lines(canvas, room, shown)
    _takeaway(canvas, view, room, len(shown), gap=0)


def summary_room(area: Rect) -> int:
    """Rows for the summary: one where at least three are left for the text."""
    return 1 if area.height >= 5 else 0


def draw_tab_panel(canvas: Canvas, view: PlayView, area: Rect) -> None:
    """A framed panel: title in the border, summary, tabs, text."""
    heading = step_heading(view)
    canvas.box(area, "border", title=(Piece(heading, "title"),))
    inner = area.inner(1)
    summary = wrap(view.texts.summary, inner.width)
    if cell_width(heading) > area.width - 4:
        # A title too long for the border is said in full inside.
        summary = [*wrap(view.texts.title, inner.width), *summary]
    y = inner.y
    for line in summary:
        canvas.put(inner.x, y, line, "strong", width=inner.width)
        y += 1
    room = panel_room(view, area)
    cut = text_pages(view, room, with_summary=True)
    canvas.put_pieces(inner.x, room.y - 1, tab_pieces(view, len(cut)), width=inner.width)
    shown = cut[min(view.page, len(cut) - 1)]
    _lines(canvas, room, shown)
    _takeaway(canvas, view, room, len(shown), gap=1)


def panel_room(view: PlayView, area: Rect) -> Rect:
    """Where the text of a framed panel stands."""
    inner = area.inner(1)
    heading = step_heading(view)
    used = len(wrap(view.texts.summary, inner.width)) + 2
    if cell_width(heading) > area.width - 4:
        used += len(wrap(view.texts.title, inner.width))
    return Rect(inner.x, inner.y + used, inner.width, max(inner.height - used, 0))


def draw_all_texts(canvas: Canvas, view: PlayView, area: Rect) -> bool:
    """All three texts under each other in one framed panel.

    Returns:
        False, with nothing drawn, when they do not fit.
    """
    inner = area.inner(1)
    lines: list[tuple[str, str]] = [
        (line, "strong") for line in wrap(view.texts.summary, inner.width)
    ]
    for index, name in enumerate(TABS):
        if not view.texts.tab(index):
            # A step that has nothing to do has a reason and no texts.
            continue
        is_open = index == view.tab
        word = view.scene.t(f"tab.{name}")
        lines += [
            ("", "text"),
            (f"▸ {word}" if is_open else f"  {word}", "tab_open" if is_open else "tab"),
        ]
        lines += [(line, "text") for line in wrap(view.texts.tab(index), inner.width)]
    if len(lines) > inner.height:
        return False
    canvas.box(area, "border", title=(Piece(step_heading(view), "title"),))
    for y, (line, role) in enumerate(lines, start=inner.y):
        canvas.put(inner.x, y, line, role, width=inner.width)
    _takeaway(canvas, view, inner, len(lines), gap=1)
    return True


def _takeaway(canvas: Canvas, view: PlayView, room: Rect, used: int, *, gap: int) -> None:
    """What is worth remembering in the last rows of the room, where so many are free."""
    lines = wrap(view.texts.takeaway, room.width - 2) if view.texts.takeaway else []
    if not lines or used + gap + len(lines) > room.height:
        return
    top = room.bottom - len(lines)
    canvas.put(room.x, top, "▸", "accent")
    for y, line in enumerate(lines, start=top):
        canvas.put(room.x + 2, y, line, "strong", width=room.width - 2)


def _lines(canvas: Canvas, room: Rect, lines: list[str]) -> None:
    for y, line in enumerate(lines[: room.height], start=room.y):
        canvas.put(room.x, y, line, "text", width=room.width)
