"""Small curves beside the metrics: how a figure runs over the whole play, braille dots high."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from gpuflow.cells import cell_width
from gpuflow.draw.canvas import Canvas, Rect
from gpuflow.draw.expert_bars import FULL, example_forms, load_of
from gpuflow.draw.links import first_fit
from gpuflow.draw.sparkline import sparkline
from gpuflow.draw.view import PlayView

LEAST = 6
"""Cells of a curve worth drawing."""


def draw_trend(
    canvas: Canvas, view: PlayView, row: Rect, values: Sequence[float], role: str
) -> None:
    """A curve over the play; what is still ahead is dim."""
    if row.width < LEAST or not values:
        return
    curve = sparkline(resampled(values, row.width * 2))
    done = min(int(view.position * row.width) + 1, row.width)
    canvas.put(row.x, row.y, curve[:done], role)
    canvas.put(row.x + done, row.y, curve[done:], "dim")


def draw_trend_rows(canvas: Canvas, view: PlayView, area: Rect) -> None:
    """As many curves as there are rows, each with its name."""
    scene, y = view.scene, area.y
    rows = [
        (scene.t("trend.communication"), scene.communication_over, "tp"),
        (scene.t("trend.cache"), scene.cache_over, "kv"),
    ]
    # Where nothing is ever sent there is no curve to show.
    rows = [row for row in rows if any(row[1])]
    label = max((cell_width(name) for name, _, _ in rows), default=0) + 1
    for name, values, role in rows[: area.height]:
        canvas.put(area.x, y, name, "dim")
        draw_trend(canvas, view, Rect(area.x + label, y, area.width - label, 1), values, role)
        y += 1
    if area.bottom - y >= 2:
        _experts(canvas, view, Rect(area.x, y, area.width, 2))


def _experts(canvas: Canvas, view: PlayView, area: Rect) -> None:
    """All experts of a layer in a row, and what the bars are."""
    load = load_of(view)
    if load is None:
        return
    name = view.scene.t("trend.experts", experts=load.experts)
    x = canvas.put(area.x, area.y, name, "dim", width=area.width) + 1
    width = min((area.right - x) * 2, load.experts)
    full = FULL * load.mean_copies
    bars = resampled([copies / full for copies in load.copies], width)
    canvas.put(x, area.y, sparkline(bars), "ep", width=max(area.right - x, 0))
    example = first_fit(example_forms(view), area.width)
    canvas.put(area.x, area.y + 1, example, "dim", width=area.width)


def resampled(values: Sequence[float], size: int) -> list[float]:
    """The means of as many parts of the values as there is room for.

    Example:
        >>> resampled([0.0, 1.0, 1.0, 1.0], 2)
        [0.5, 1.0]
    """
    count = len(values)
    if size >= count:
        return [values[i * count // size] for i in range(size)]
    edges = [i * count // size for i in range(size + 1)]
    return [sum(values[a:b]) / (b - a) for a, b in pairwise(edges)]
