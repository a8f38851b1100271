"""The two pictures of a collective: size against time, and against bus bandwidth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gpuflow.cells import cell_width
from gpuflow.cluster.selection import Selection
from gpuflow.collectives.oracle import bus_factor
from gpuflow.exporters.collective_tables import tier_of
from gpuflow.exporters.collectives import is_same_way, measured_rows
from gpuflow.exporters.plot import SIGNS, Curve, Paint, Plot, plot_text
from gpuflow.scenario.spec import Language
from gpuflow.units import format_bit_rate, format_rate, format_time
from gpuflow.words import t

HEIGHT = 16
"""Lines of one picture."""


def letters(names: Iterable[str]) -> dict[str, str]:
    """One capital letter for each algorithm, if possible the first of one of its words.

    Example:
        >>> letters(["ring", "recursive_doubling", "one_shot", "two_shot", "tree"])
        {'ring': 'R', 'recursive_doubling': 'D', 'one_shot': 'O', 'two_shot': 'T', 'tree': 'E'}
    """
    found: dict[str, str] = {}
    for name in names:
        words = name.split("_")
        wishes = "".join(word[0] for word in words) + "".join(words) + "abcdefghijklmnopqrstuvwxyz"
        found[name] = next(w for w in wishes.upper() if w not in found.values())
    return found


def plots_text(
    selection: Selection,
    names: dict[str, str],
    language: Language,
    width: int,
    paint: Paint,
    *,
    is_fine: bool,
) -> str:
    """Both pictures and their legend.

    Args:
        selection: Times at many sizes, rising.
        names: Letter of each algorithm.
        language: Of title and legend.
        width: Cells of a line.
        paint: Colours by role.
        is_fine: Whether the stream shows braille dots; else ASCII.
    """
    case, sizes = selection.case, selection.sizes
    factor = bus_factor(case.collective, case.n_ranks)
    times = selection.simulated.time_s
    rivals = [*zip(names.values(), times, strict=True)] if len(names) > 1 else []
    alike = [row for row in measured_rows(selection) if is_same_way(row, case)]
    is_network = tier_of(selection).tier == "scale_out"
    time = Plot(
        title=t("plot.time", language),
        sizes=sizes,
        curves=tuple(Curve(letter, values) for letter, values in rivals),
        thick=selection.time_s,
        points=tuple((row.size_bytes, row.time_s) for row in alike),
        is_log=True,
        label=format_time,
    )
    rate = Plot(
        title=t("plot.rate", language),
        sizes=sizes,
        curves=tuple(Curve(letter, factor * sizes / values) for letter, values in rivals),
        thick=factor * sizes / selection.time_s,
        points=tuple((row.size_bytes, factor * row.size_bytes / row.time_s) for row in alike),
        is_log=False,
        label=format_bit_rate if is_network else format_rate,
    )
    legend = _legend(names if rivals else {}, bool(alike), language, is_fine=is_fine)
    pictures = [plot_text(one, width, HEIGHT, paint, is_fine=is_fine) for one in (time, rate)]
    return "\n\n".join([*pictures, "\n".join(_packed(legend, width))])


def _legend(
    names: dict[str, str], has_points: bool, language: Language, *, is_fine: bool
) -> list[str]:
    line, point = SIGNS[is_fine]
    parts = [t("plot.thick", language, sign=line * 2)]
    parts += [t("plot.points", language, sign=point)] if has_points else []
    parts += [t("plot.simulated", language)] if names else []
    return parts + [f"{letter} {name}" for name, letter in names.items()]


def _packed(parts: list[str], width: int) -> Iterator[str]:
    """As many parts in a line as fit, none of them broken."""
    line = ""
    for part in parts:
        joined = f"{line}  {part}" if line else part
        if cell_width(joined) > width and line:
            yield line
            joined = part
        line = joined
    yield line
