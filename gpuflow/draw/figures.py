"""Metrics as far as they are known, and the legend of the three traffic classes."""

from __future__ import annotations

from gpuflow.draw.canvas import Canvas, Piece, Rect, width_of
from gpuflow.draw.kv import kv_metric
from gpuflow.draw.links import ACROSS, DOWN
from gpuflow.draw.trends import draw_trend, draw_trend_rows
from gpuflow.draw.view import PlayView
from gpuflow.units import format_count, format_share, format_time

UNKNOWN = "–"
BESIDE = 12
"""Cells of a curve beside its figure."""


def metric_values(view: PlayView) -> list[tuple[str, str, str]]:
    """(name, value, meaning) of TTFT, TPOT, TPS, communication and KV cache."""
    known, scene = view.state.known, view.scene
    share = known.communication_share
    tps = known.tokens_per_s
    return [
        (
            "TTFT",
            UNKNOWN if known.ttft_s is None else format_time(known.ttft_s),
            scene.word("basics.ttft.meaning"),
        ),
        (
            "TPOT",
            UNKNOWN if known.tpot_s is None else format_time(known.tpot_s),
            scene.word("basics.tpot.meaning"),
        ),
        (
            "TPS",
            UNKNOWN if tps is None else f"{format_count(round(tps))}/s",
            scene.word("basics.tps.meaning"),
        ),
        (
            scene.t("metric.share"),
            UNKNOWN if share is None else format_share(share),
            scene.t("metric.share_of"),
        ),
        ("KV", *kv_metric(scene, view.state)),
    ]


_ROW_FORMS = (
    (True, True, "   ", "  "),
    (False, True, "   ", "  "),
    (False, True, "  ", " "),
    (False, False, "   ", "  "),
    (False, False, "  ", " "),
)
"""What of the row may be said: meaning of the share, room of the KV cache, gaps, legend's gaps."""


def draw_metrics_row(canvas: Canvas, view: PlayView, x: int, y: int, width: int) -> None:
    """All metrics in one row, the legend at its right end, as much of both as fits."""
    values = metric_values(view)
    for says_share, says_room, gap, legend_gap in _ROW_FORMS:
        legend = short_legend(legend_gap)
        pieces: list[Piece] = []
        for index, (name, value, meaning) in enumerate(values):
            pieces += [Piece(f"{gap if index else ''}{name} ", "dim"), Piece(value, _role(value))]
            if (name == "KV" and says_room) or (index == 3 and says_share):
                pieces.append(Piece(f" {meaning}", "dim"))
        if width_of(pieces) + width_of(legend) + 2 <= width:
            break
    canvas.put_pieces(x, y, pieces, width=width - width_of(legend) - 2)
    canvas.put_right(x + width, y, legend, width=width)


def _role(value: str) -> str:
    return "dim" if value == UNKNOWN else "strong"


def short_legend(gap: str = "  ") -> list[Piece]:
    """The classes with their lines, as far apart as `gap` says."""
    inner = gap[1:]
    return [
        Piece(f"TP{inner}{ACROSS['tp']}", "tp"),
        Piece(f"{gap}PP{inner}{DOWN['pp']}", "pp"),
        Piece(f"{gap}EP{inner}{ACROSS['ep']}", "ep"),
    ]


def draw_metrics_panel(canvas: Canvas, view: PlayView, area: Rect) -> None:
    """A framed panel with a metric a row; in two columns where rows lack."""
    canvas.box(area, "border", title=(Piece(view.scene.word("basics.metrics.heading"), "title"),))
    inner = area.inner(1)
    if inner.height <= 0:
        return
    values = metric_values(view)
    columns = -(-len(values) // inner.height)
    scene = view.scene
    curves = {3: (scene.communication_over, "tp"), 4: (scene.cache_over, "kv")}
    has_rows = inner.height >= len(values) + len(curves)
    width = inner.width // columns
    name_width = max(width_of((Piece(name),)) for name, _, _ in values) + 1
    for i, (name, value, meaning) in enumerate(values):
        x = inner.x + (i // inner.height) * width
        y = inner.y + i % inner.height
        right = x + width - 1
        canvas.put(x, y, name, "dim", width=name_width)
        x = canvas.put(x + name_width, y, value, _role(value), width=right - x - name_width)
        if right - x - 2 >= width_of((Piece(meaning),)):
            x = canvas.put(x + 2, y, meaning, "dim")
        if curves.get(i) and not has_rows:
            beside = Rect(x + 2, y, min(right - x - 2, BESIDE), 1)
            draw_trend(canvas, view, beside._replace(x=right - beside.width), *curves[i])
    if has_rows:
        rows = inner._replace(y=inner.y + len(values), height=inner.height - len(values))
        draw_trend_rows(canvas, view, rows)


def draw_legend_row(canvas: Canvas, view: PlayView, x: int, y: int, width: int) -> None:
    """The classes with their lines and what they do, shorter where room lacks."""
    scene = view.scene
    lines = {"tp": ACROSS["tp"] * 3, "pp": f" {DOWN['pp']} ", "ep": ACROSS["ep"] * 3}
    long: list[Piece] = []
    medium: list[Piece] = []
    for name, line in lines.items():
        title = scene.word(f"legend.{name}.title")
        text = scene.word(f"legend.{name}.text")
        gap = "   " if long else ""
        medium += [Piece(f"{gap}{line} ", name), Piece(title, "text")]
        long += [Piece(f"{gap}{line} ", name), Piece(title, "text"), Piece(f" {text}", "dim")]
    for form in (long, medium, short_legend()):
        if width_of(form) <= width:
            canvas.put_pieces(x, y, form, width=width)
            return
