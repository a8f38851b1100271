"""The play screen with the what-if panel: beside the stage, under it, or instead of it."""

from __future__ import annotations

from typing import NamedTuple

from gpuflow.draw.canvas import Canvas, Rect
from gpuflow.draw.compact import draw_too_small, form_of
from gpuflow.draw.figures import draw_legend_row, draw_metrics_row
from gpuflow.draw.header import draw_header
from gpuflow.draw.keys import draw_keys, key_rows
from gpuflow.draw.primitive import draw_primitive_row
from gpuflow.draw.strip import draw_strip
from gpuflow.draw.view import PlayView, WhatIfPanel
from gpuflow.draw.whatif import draw_panel, panel_pages, rows_needed
from gpuflow.draw.zoom import draw_picture

BESIDE_WIDTH = 100
"""From here on the panel stands beside the stage."""
LEAST_WIDTH, LEAST_HEIGHT = 80, 24
"""Below this it takes all of the screen but the header."""
LEAST_STAGE = 6
"""Rows that the stage keeps above the panel."""


class Place(NamedTuple):
    """Where the parts stand; a part without rows is not drawn."""

    header_rows: int
    stage: Rect
    panel: Rect
    bottom: Rect
    """Primitive, metrics, strip and legend, as many as it has rows; one row is the strip."""


def draw_with_panel(canvas: Canvas, view: PlayView, panel: WhatIfPanel) -> None:
    """All of the screen; where hardly a word fits, what an even smaller one would say."""
    if form_of(view.width, view.height) == "line":
        draw_too_small(canvas, view)
        return
    place = place_of(view, panel)
    draw_header(canvas, view, place.header_rows)
    if place.stage.height:
        draw_picture(canvas, view, place.stage)
    draw_panel(canvas, view.scene, panel, place.panel)
    _bottom(canvas, view, place.bottom)
    if place.stage.height:
        rows = key_rows(view)
        draw_keys(canvas, view, view.height - rows)


def panel_page_count(view: PlayView, panel: WhatIfPanel) -> int:
    """Pages of the panel's figures."""
    return panel_pages(view.scene, panel, place_of(view, panel).panel)


def place_of(view: PlayView, panel: WhatIfPanel) -> Place:
    """Divide the screen."""
    width, height = view.width, view.height
    if width < LEAST_WIDTH or height < LEAST_HEIGHT:
        return Place(
            1, Rect(0, 1, 0, 0), Rect(0, 1, width, height - 2), Rect(1, height - 1, width - 2, 1)
        )
    rows = height - key_rows(view)
    header = 2 if rows >= 25 else 1
    if width >= BESIDE_WIDTH:
        bottom = 3 if rows < 27 else 4
        room = rows - header - bottom
        right = min(max(width * 2 // 5, 44), 76)
        stage = Rect(1, header, width - right - 3, room)
        return Place(
            header,
            stage,
            Rect(stage.right + 1, header, right, room),
            Rect(1, stage.bottom, width - 2, bottom),
        )
    room = rows - header - 1
    used = min(max(rows_needed(panel), room * 3 // 5), room - LEAST_STAGE)
    stage = Rect(0, header, width, room - used)
    return Place(header, stage, Rect(0, stage.bottom, width, used), Rect(1, rows - 1, width - 2, 1))


def _bottom(canvas: Canvas, view: PlayView, area: Rect) -> None:
    y = area.y
    if area.height > 2:
        draw_primitive_row(canvas, view, area.x, y, area.width)
        draw_metrics_row(canvas, view, area.x, y + 1, area.width)
        y += 2
    draw_strip(canvas, view, area.x, y, area.width)
    if area.height > 3:
        draw_legend_row(canvas, view, area.x, y + 1, area.width)
