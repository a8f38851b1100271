"""What the experts of a layer get, as bars: an example of uniform random routing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuflow.draw.canvas import Canvas, Piece, Rect, width_of
from gpuflow.draw.sparkline import sparkline
from gpuflow.draw.view import PlayView

if TYPE_CHECKING:
    from gpuflow.engine.expert_load import ExpertLoad


FULL = 2.0
"""Of the mean: what a full bar stands for, so that an even load stands at half height."""


def load_of(view: PlayView) -> ExpertLoad | None:
    """The example for the phase at hand; None for a model without experts."""
    return view.scene.expert_loads.get(view.state.step.phase)


def expert_row(canvas: Canvas, view: PlayView, row: Rect, first: int, size: int) -> None:
    """The experts of some GPUs of a stage, and how many tokens each GPU (or expert) gets.

    Args:
        canvas: Where to draw.
        view: The moment.
        row: One row.
        first: Position in the stage of the first GPU.
        size: GPUs.
    """
    load = load_of(view)
    if load is None:
        return
    forms = row_forms(view, load, first, size)
    fitting = [form for form in forms if width_of(form) <= row.width]
    if fitting:
        canvas.put_pieces(row.x, row.y, fitting[0], width=row.width)


def row_forms(view: PlayView, load: ExpertLoad, first: int, size: int) -> list[list[Piece]]:
    """Names of the experts, their bars, their tokens; longest form first."""
    places = [place % load.holders for place in range(first, first + min(size, load.holders))]
    held = [load.held(place) for place in places]
    if size == 1 or load.holders == 1:
        bars = expert_bars(load, held[0])
    else:
        full = FULL * load.tokens * load.experts_per_token / load.holders
        bars = sparkline([load.rank_copies(place) / full for place in places])
    tokens = sum(load.rank_copies(place) for place in dict.fromkeys(places))
    start, stop = held[0].start, held[-1].stop - 1
    is_one, is_whole = start == stop, load.holders == 1
    name = "experts.one" if is_one else "experts.slices" if is_whole else "experts.some"
    long = view.scene.t(name, first=start, last=stop, experts=load.experts)
    short = f"E{start}" if is_one else f"E{start}–{stop}"
    count = view.scene.t("experts.tokens", tokens=f"{tokens:,}")
    bar = Piece(bars, "ep")
    return [
        [Piece(f"{long} ", "dim"), bar, Piece(f" {count}", "dim")],
        [Piece(f"{short} ", "dim"), bar, Piece(f" {count}", "dim")],
        [Piece(f"{short} ", "dim"), bar, Piece(f" {tokens:,}", "dim")],
        [Piece(f"{short} ", "dim"), bar],
        [Piece(f"{short}", "dim")],
    ]


def expert_bars(load: ExpertLoad, experts: range) -> str:
    """A bar an expert."""
    full = FULL * load.mean_copies
    return sparkline([load.copies[expert] / full for expert in experts])


def example_forms(view: PlayView) -> list[str]:
    """What the bars are, and how far they are from even; longest form first."""
    load = load_of(view)
    if load is None:
        return []
    is_spread = load.holders > 1
    values = {
        "peak": f"{load.rank_peak if is_spread else load.peak:.2f}",
        "mean": f"{load.mean_copies:,.0f}" if load.mean_copies >= 10 else f"{load.mean_copies:.1f}",
        "seed": load.seed,
    }
    who = "gpu" if is_spread else "expert"
    return [view.scene.t(f"experts.example.{who}.{form}", **values) for form in ("long", "short")]
