"""Pictures of curves: every sign where its value says, in dots and in ASCII."""

from __future__ import annotations

import re

import numpy as np
import pytest

from gpuflow.cells import cell_width
from gpuflow.cluster.selection import Case, select
from gpuflow.exporters.collective_plots import letters, plots_text
from gpuflow.exporters.grid import painter
from gpuflow.exporters.plot import NARROWEST, Curve, Plot, plot_text
from gpuflow.scenario.machines import machines
from gpuflow.units import format_rate, format_time

PLAIN = painter(False)
SIZES = np.geomspace(1024, 2**20, 200)
BRAILLE = re.compile("[\u2801-\u28ff]")


def line_plot(*, is_log: bool = True) -> Plot:
    """Time in proportion to size, a rival ten times slower, and two measured points."""
    return Plot(
        title="time",
        sizes=SIZES,
        curves=(Curve("R", SIZES * 1e-8),),
        thick=SIZES * 1e-9,
        points=((1024.0, 1024e-9), (float(2**20), 2**20 * 1e-8)),
        is_log=is_log,
        label=format_time,
    )


def picture(plot: Plot, width: int = 60, height: int = 12, *, is_fine: bool) -> list[str]:
    """Rows of the picture, without axis and labels."""
    lines = plot_text(plot, width, height, PLAIN, is_fine=is_fine).splitlines()[1 : 1 + height]
    return [re.split(r"[│┤|+]", line, maxsplit=1)[1].ljust(width) for line in lines]


@pytest.mark.parametrize("is_fine", [True, False])
@pytest.mark.parametrize("width", [NARROWEST, 60, 80, 120])
def test_no_line_is_wider_than_asked(width: int, is_fine: bool) -> None:
    for plot in (line_plot(), line_plot(is_log=False)):
        lines = plot_text(plot, width, 12, PLAIN, is_fine=is_fine).splitlines()
        assert len(lines) == 15
        assert max(map(cell_width, lines)) <= width


def test_a_straight_line_in_logarithms_runs_from_corner_to_corner() -> None:
    rows = picture(line_plot(), is_fine=False)
    columns = [row.index("#") for row in rows if "#" in row]
    assert columns == sorted(columns, reverse=True)
    assert len(columns) > 6
    assert rows[-1][0] == "*"
    assert rows[0].rstrip()[-1] == "*"


def test_the_ascii_twin_is_ascii_but_for_its_units() -> None:
    text = plot_text(line_plot(), 60, 12, PLAIN, is_fine=False)
    assert text.replace("µ", "u").isascii()
    assert not BRAILLE.search(text)


def test_dots_and_ascii_put_the_thick_line_into_the_same_cells() -> None:
    fine, plain = (picture(line_plot(), is_fine=is_fine) for is_fine in (True, False))
    for fine_row, plain_row in zip(fine, plain, strict=True):
        assert [s == "━" for s in fine_row] == [s == "#" for s in plain_row]
        assert [s == "●" for s in fine_row] == [s == "*" for s in plain_row]


def test_every_curve_is_dotted_and_carries_its_letter() -> None:
    rows = picture(line_plot(), is_fine=True)
    assert any(BRAILLE.search(row) for row in rows)
    assert 1 <= sum(row.count("R") for row in rows) <= 3


def test_a_steep_curve_has_no_gaps() -> None:
    step = np.where(SIZES < 32_000, 1e-6, 1e-3)
    plot = Plot(
        title="",
        sizes=SIZES,
        curves=(Curve("A", step),),
        thick=np.full(len(SIZES), 1e-3),
        points=(),
        is_log=True,
        label=format_time,
    )
    rows = picture(plot, is_fine=True)
    assert all(row.strip() for row in rows)


def test_a_linear_axis_begins_at_nothing_and_is_labelled_in_units() -> None:
    plot = Plot(
        title="",
        sizes=SIZES,
        curves=(),
        thick=np.linspace(0, 450e9, len(SIZES)),
        points=(),
        is_log=False,
        label=format_rate,
    )
    text = plot_text(plot, 70, 12, PLAIN, is_fine=True)
    labels = re.findall(r"^ *(\S+ \S+) ┤", text, re.M)
    assert labels == ["400 GB/s", "300 GB/s", "200 GB/s", "100 GB/s", "0 B/s"]
    assert "1 KiB" in text.splitlines()[-1]
    assert "1 MiB" in text.splitlines()[-1]


@pytest.mark.parametrize("value", [0.0, 1e-6])
def test_a_flat_or_empty_curve_is_still_a_picture(value: float) -> None:
    for is_log in (True, False):
        plot = Plot(
            title="",
            sizes=np.array([1024.0, 2048.0]),
            curves=(),
            thick=np.full(2, value),
            points=(),
            is_log=is_log,
            label=format_time,
        )
        assert plot_text(plot, 40, 8, PLAIN, is_fine=True)


def test_colour_adds_nothing_but_colour() -> None:
    colored = plot_text(line_plot(), 60, 12, painter(True), is_fine=True)
    plain = plot_text(line_plot(), 60, 12, PLAIN, is_fine=True)
    assert "\x1b[32m━" in colored
    assert re.sub(r"\x1b\[[0-9;]*m", "", colored) == plain


def test_letters_are_single_and_each_algorithm_has_its_own() -> None:
    names = [f"ring_{k}" for k in range(20)]
    found = letters(names)
    assert sorted(map(len, found.values())) == [1] * 20
    assert len(set(found.values())) == 20


@pytest.mark.parametrize("language", ["en", "zh"])
def test_pictures_of_a_collective_name_every_rival_and_the_measured_points(language: str) -> None:
    case = Case(collective="all_reduce", cluster=machines("h100", 8), n_ranks=8)
    selection = select(case, np.geomspace(1024, 2**30, 160))
    names = letters(selection.simulated.algorithms)
    text = plots_text(selection, names, language, 80, PLAIN, is_fine=True)  # type: ignore[arg-type]
    assert max(map(cell_width, text.splitlines())) <= 80
    assert all(f"{letter} {name}" in text for name, letter in names.items())
    # one point for each of the ten sizes measured between 1 KiB and 1 GiB, twice, and the legend
    assert text.count("●") == 21
