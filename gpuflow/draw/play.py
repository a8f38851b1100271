"""The play screen as one Frame: header, stage, texts, primitive, metrics, strip, key hints."""

from __future__ import annotations

from dataclasses import dataclass

from gpuflow.draw.big import big_pages, draw_big, fits_big
from gpuflow.draw.canvas import Canvas, Rect
from gpuflow.draw.caption import caption_pages, draw_caption, draw_caption_panel
from gpuflow.draw.compact import compact_pages, draw_compact
from gpuflow.draw.figures import draw_legend_row, draw_metrics_panel, draw_metrics_row
from gpuflow.draw.frame import Frame
from gpuflow.draw.header import draw_header
from gpuflow.draw.keys import draw_keys, key_rows
from gpuflow.draw.primitive import draw_primitive_panel, draw_primitive_row
from gpuflow.draw.strip import draw_lanes, draw_strip
from gpuflow.draw.texts import (
    draw_all_texts,
    draw_tab_panel,
    draw_tabs,
    has_panel,
    panel_room,
    panel_width,
    summary_room,
    text_pages,
)
from gpuflow.draw.view import PlayView, WhatIfPanel
from gpuflow.draw.whatif import draw_panel, rows_wanted
from gpuflow.draw.whatif_screen import draw_with_panel, panel_page_count
from gpuflow.draw.zoom import draw_picture, picture_height

FULL_WIDTH, FULL_HEIGHT = 80, 24
"""From here on all parts of the screen have a place."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the parts of the screen stand."""

    header_rows: int
    stage: Rect
    texts: Rect
    is_wide: bool
    bottom: Rect
    """Primitive, metrics and strip."""
    keys: int
    """Rows of key hints."""


def draw_play(view: PlayView) -> Frame:
    """The whole screen of a view, as much of it as its size has room for."""
    canvas = Canvas(view.width, view.height)
    if view.panel is not None and not _holds_panel(view, view.panel):
        draw_with_panel(canvas, view, view.panel)
        return canvas.to_frame()
    if is_drawn_big(view):
        draw_big(canvas, view)
        return canvas.to_frame()
    if not fits(view.width, view.height):
        draw_compact(canvas, view)
        return canvas.to_frame()
    layout = layout_of(view)
    draw_header(canvas, view, layout.header_rows)
    draw_picture(canvas, view, layout.stage)
    if view.panel is not None:
        draw_panel(canvas, view.scene, view.panel, layout.texts)
    elif view.caption is not None:
        draw = draw_caption_panel if layout.is_wide else draw_caption
        draw(canvas, view.caption, layout.texts, view.page)
    elif layout.is_wide:
        if not draw_all_texts(canvas, view, layout.texts):
            draw_tab_panel(canvas, view, layout.texts)
    else:
        draw_tabs(canvas, view, layout.texts)
    (_wide_bottom if layout.is_wide else _narrow_bottom)(canvas, view, layout.bottom)
    draw_keys(canvas, view, view.height - layout.keys)
    return canvas.to_frame()


def is_drawn_big(view: PlayView) -> bool:
    """Whether big mode is asked for and has room."""
    return view.is_big and fits_big(view.width, view.height)


def fits(width: int, height: int) -> bool:
    """Whether a size has room for the full layout and the footer."""
    return width >= FULL_WIDTH and height >= FULL_HEIGHT


def _holds_panel(view: PlayView, panel: WhatIfPanel) -> bool:
    """Whether all of a panel fits in the place of the texts, beside the stage."""
    if not fits(view.width, view.height):
        return False
    layout = layout_of(view)
    return layout.is_wide and layout.texts.height >= rows_wanted(
        view.scene, panel, layout.texts.width
    )


def page_count(view: PlayView) -> int:
    """Pages of the panel, the caption, or the open tab's text, at this size."""
    if view.panel is not None:
        return 1 if _holds_panel(view, view.panel) else panel_page_count(view, view.panel)
    if is_drawn_big(view):
        return big_pages(view)
    if not fits(view.width, view.height):
        return compact_pages(view)
    layout = layout_of(view)
    if view.caption is not None:
        return len(caption_pages(view.caption, layout.texts, is_framed=layout.is_wide))
    if layout.is_wide:
        if draw_all_texts(Canvas(view.width, view.height), view, layout.texts):
            return 1
        return len(text_pages(view, panel_room(view, layout.texts), with_summary=True))
    used = summary_room(layout.texts)
    area = layout.texts
    room = Rect(area.x, area.y + 1 + used, area.width, area.height - 1 - used)
    return len(text_pages(view, room, with_summary=bool(used)))


def layout_of(view: PlayView) -> Layout:
    """Divide the screen."""
    keys = key_rows(view)
    rows = view.height - keys
    header = 2 if rows >= 25 else 1
    if has_panel(view.width, rows):
        return _wide(view, rows, header, keys)
    return _narrow(view, rows, header, keys)


def _narrow(view: PlayView, rows: int, header: int, keys: int) -> Layout:
    bottom = 4 if rows >= 27 else 3 if _has_primitive_row(view) else 2
    room = rows - header - bottom
    text = min(max(3 + (room - 18) // 2, 3), 9) + (1 if bottom < 3 else 0)
    margin = 0 if view.width < 84 else 1
    stage = Rect(margin, header, view.width - 2 * margin, room - text)
    used = picture_height(view, stage)
    # What the stage leaves over is the texts', up to what the longest of them may need.
    stage = stage._replace(height=max(used, room - 14))
    texts = Rect(1, stage.bottom, view.width - 2, room - stage.height)
    return Layout(header, stage, texts, False, Rect(1, texts.bottom, view.width - 2, bottom), keys)


def _has_primitive_row(view: PlayView) -> bool:
    """Whether the primitive in use is said where there are few rows."""
    return view.caption is None or not view.caption.needs_room


def _wide(view: PlayView, rows: int, header: int, keys: int) -> Layout:
    stages = view.scene.timeline.scenario.parallel.pp
    lanes = min(stages, 4) + 1
    bottom = 7 + lanes + 2
    height = rows - header - bottom
    right = panel_width(view.width)
    stage = Rect(1, header, view.width - right - 3, height)
    # What the stage leaves over goes to the panels under it, until they have room for all.
    spare = height - picture_height(view, stage)
    height -= min(max(spare, 0), 7)
    bottom = rows - header - height
    stage = stage._replace(height=height)
    texts = Rect(stage.right + 1, header, right, height)
    return Layout(header, stage, texts, True, Rect(1, stage.bottom, view.width - 2, bottom), keys)


def _narrow_bottom(canvas: Canvas, view: PlayView, area: Rect) -> None:
    y = area.y
    if area.height > 2:
        draw_primitive_row(canvas, view, area.x, y, area.width)
        y += 1
    draw_metrics_row(canvas, view, area.x, y, area.width)
    draw_strip(canvas, view, area.x, y + 1, area.width)
    if area.height > 3:
        draw_legend_row(canvas, view, area.x, y + 2, area.width)


def _wide_bottom(canvas: Canvas, view: PlayView, area: Rect) -> None:
    stages = view.scene.timeline.scenario.parallel.pp
    lanes = min(stages, 4) + 1
    panel = area.height - lanes - 2
    left = min(max(area.width * 3 // 10, 38), 60)
    draw_metrics_panel(canvas, view, Rect(area.x, area.y, left, panel))
    draw_primitive_panel(
        canvas, view, Rect(area.x + left + 1, area.y, area.width - left - 1, panel)
    )
    draw_strip(canvas, view, area.x, area.y + panel, area.width)
    draw_lanes(canvas, view, Rect(area.x, area.y + panel + 1, area.width, lanes))
    draw_legend_row(canvas, view, area.x, area.bottom - 1, area.width)
