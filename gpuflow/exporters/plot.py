"""Curves over message size as lines of text: fine ones in braille dots, or an ASCII twin.

A picture of `width` x `height` cells, axes included. Sizes, or what else is drawn along, are on a
logarithmic axis; values are on a logarithmic or a linear one that begins at 0. Every curve carries
letters on its way; the curve in question is a thick line, measured points are single signs, a cloud
is dots behind it all. Nothing depends on colour.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpuflow.cells import cell_width, pad
from gpuflow.units import format_bytes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

Paint = Callable[[str, str], str]
"""(text, role) to the text in that role's colour."""

_BRAILLE = np.array([[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]])
"""Bits of a cell's dots, (rows, columns) (Unicode block Braille Patterns)."""
_TAGS = 3
"""Letters along a curve of dots."""
NARROWEST = 36
"""Cells below which there is no room for a picture beside its axis."""
SIGNS = {True: ("━", "●"), False: ("#", "*")}
"""The thick line and the measured points, in dots and in ASCII."""
_DOT = "."
"""A point of a cloud in ASCII."""
_FRAMES = {True: ("│", "┤", "└", "─", "┴"), False: ("|", "+", "+", "-", "+")}


@dataclass(frozen=True, slots=True)
class Curve:
    """One rival."""

    letter: str
    """One cell."""
    values: FloatArray
    """One for each size of the plot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plot:
    """What to draw."""

    title: str
    sizes: FloatArray
    """Bytes, rising, at least two."""
    curves: tuple[Curve, ...]
    thick: FloatArray
    """The curve in question; one value for each size."""
    points: tuple[tuple[float, float], ...]
    """Measured: size and value."""
    is_log: bool
    """Whether values are on a logarithmic axis."""
    label: Callable[[float], str]
    """Writes a value on the axis, with its unit."""
    along: Callable[[float], str] | None = None
    """Writes a place of the other axis; None: a size in bytes."""
    cloud: FloatArray | None = None
    """Many points of no name, shape (N, 2): size and value."""


@dataclass(frozen=True, slots=True)
class _Scale:
    """Where values lie between the lowest and the highest one of an axis, as 0 to 1."""

    low: float
    high: float
    is_log: bool

    def at(self, values: FloatArray) -> FloatArray:
        if self.is_log:
            span = np.log(self.high / self.low)
            return np.asarray(np.log(np.maximum(values, self.low * 1e-6) / self.low) / span)
        return np.asarray((values - self.low) / (self.high - self.low))


def plot_text(plot: Plot, width: int, height: int, paint: Paint, *, is_fine: bool) -> str:
    """The picture as lines.

    Args:
        plot: What to draw.
        width: Cells of a line, at least `NARROWEST`.
        height: Lines of the picture itself; title and axis add three.
        paint: Colours by role.
        is_fine: Whether braille dots and lines can be shown; else ASCII.
    """
    scale = _scale_of(plot)
    ticks = [(value, plot.label(value)) for value in _ticks(scale)]
    margin = max(cell_width(text) for _, text in ticks)
    columns = width - margin - 2
    sides = _Scale(float(plot.sizes[0]), float(plot.sizes[-1]), is_log=True)
    area = _Area(plot.sizes, scale, sides, columns, height)
    cells = _cells(plot, area, is_fine=is_fine)
    upright, tick, corner, level, mark = _FRAMES[is_fine]
    labels = {area.row(value): text for value, text in ticks}
    lines = [paint(plot.title, "title")]
    for row in range(height):
        axis = (
            pad(labels.get(row, ""), margin, "right") + " " + (tick if row in labels else upright)
        )
        lines.append(paint(axis, "dim") + _painted(cells[row], paint, is_fine=is_fine))
    under, names = _size_axis(area, level, mark, plot.along)
    lines.append(paint(" " * (margin + 1) + corner + under, "dim"))
    lines.append(paint(" " * (margin + 2) + names, "dim"))
    return "\n".join(line.rstrip() for line in lines)


def _scale_of(plot: Plot) -> _Scale:
    """An axis that holds every value drawn."""
    values = np.concatenate(
        [plot.thick, *(c.values for c in plot.curves), [value for _, value in plot.points]]
    )
    values = values[values > 0]
    if not len(values):
        return _Scale(1.0, 10.0, plot.is_log)
    low, high = float(values.min()), float(values.max())
    if plot.is_log:
        return _Scale(low, high if high > 1.5 * low else 1.5 * low, is_log=True)
    return _Scale(0.0, high, is_log=False)


def _step(high: float) -> float:
    """1, 2 or 5 times a power of ten, at most five of which fit into an axis."""
    raw = high / 5
    power = 10.0 ** np.floor(np.log10(raw))
    return float(power * next(f for f in (1, 2, 5, 10) if f * power >= raw * 0.999))


def _ticks(scale: _Scale) -> list[float]:
    """Values to write at the axis."""
    if not scale.is_log:
        step = _step(scale.high)
        return [step * k for k in range(int(scale.high / step) + 1)]
    powers = range(int(np.floor(np.log10(scale.low))), int(np.ceil(np.log10(scale.high))) + 1)
    span = np.log10(scale.high / scale.low)
    factors = (1,) if span > 3 else (1, 3) if span > 1.5 else (1, 2, 5)
    found = [factor * 10.0**power for power in powers for factor in factors]
    inside = [value for value in found if 0.999 * scale.low <= value <= 1.001 * scale.high]
    return inside or [scale.low, scale.high]


@dataclass(frozen=True, slots=True)
class _Area:
    """Where sizes and values lie in the picture."""

    sizes: FloatArray
    scale: _Scale
    sides: _Scale
    columns: int
    height: int

    def rows(self, values: FloatArray, *, is_fine: bool = False) -> IntArray:
        """Row of a curve in every column, top first; in rows and columns of dots if fine.

        Beyond the picture where the curve is out of it.
        """
        columns, height = (
            (2 * self.columns, 4 * self.height) if is_fine else (self.columns, self.height)
        )
        across = np.interp(
            np.linspace(0, 1, columns), self.sides.at(self.sizes), self.scale.at(values)
        )
        return np.rint((1 - across) * (height - 1)).astype(np.int64)

    def cells(self, points: FloatArray, *, is_fine: bool = False) -> IntArray:
        """Rows and columns that points fall into, each once; of dots if fine; shape (N, 2)."""
        columns, height = (
            (2 * self.columns, 4 * self.height) if is_fine else (self.columns, self.height)
        )
        across = np.rint(self.sides.at(points[:, 0]) * (columns - 1))
        down = np.rint((1 - self.scale.at(points[:, 1])) * (height - 1))
        inside = (across >= 0) & (across < columns) & (down >= 0) & (down < height)
        return np.unique(np.stack([down[inside], across[inside]], axis=1).astype(np.int64), axis=0)

    def row(self, value: float) -> int:
        """Row of a single value."""
        place = 1 - float(self.scale.at(np.asarray(value)))
        return int(np.clip(np.rint(place * (self.height - 1)), 0, self.height - 1))

    def column(self, size: float) -> int:
        """Column of a size."""
        place = float(self.sides.at(np.asarray(size)))
        return int(np.clip(np.rint(place * (self.columns - 1)), 0, self.columns - 1))


def _cells(plot: Plot, area: _Area, *, is_fine: bool) -> list[list[str]]:
    """The picture without its axes, one sign a cell."""
    cells = [[" "] * area.columns for _ in range(area.height)]
    line, point = SIGNS[is_fine]
    rows = [area.rows(curve.values) for curve in plot.curves]
    if plot.cloud is not None and not is_fine:
        for row, column in area.cells(plot.cloud):
            cells[row][column] = _DOT
    if is_fine:
        cloud = None if plot.cloud is None else area.cells(plot.cloud, is_fine=True)
        _dots(cells, [area.rows(curve.values, is_fine=True) for curve in plot.curves], cloud)
    else:
        # the first ones stand above the last
        for curve, at in reversed([*zip(plot.curves, rows, strict=True)]):
            for column, row in enumerate(np.clip(at, 0, area.height - 1).tolist()):
                cells[row][column] = curve.letter
    for column, (top, bottom) in enumerate(_strokes(area.rows(plot.thick))):
        for row in range(max(top, 0), min(bottom, area.height - 1) + 1):
            cells[row][column] = line
    spots = [(area.row(value), area.column(size)) for size, value in plot.points]
    if is_fine:
        _tag(cells, plot.curves, rows, set(spots))
    for row, column in spots:
        cells[row][column] = point
    return cells


def _strokes(rows: IntArray) -> list[tuple[int, int]]:
    """First and last row of a line in every column, without gaps where it is steep.

    A step up or down is filled in the column it comes from.
    """
    after = np.append(rows[1:], rows[-1])
    top = np.where(after > rows, rows, np.minimum(rows, after + 1))
    bottom = np.where(after > rows, np.maximum(rows, after - 1), rows)
    return [*zip(top.tolist(), bottom.tolist(), strict=True)]


def _dots(
    cells: list[list[str]], curves: Sequence[IntArray], cloud: IntArray | None = None
) -> None:
    """Draw curves as braille dots, without gaps where they are steep, and a cloud of dots."""
    height, columns = len(cells), len(cells[0])
    is_set = np.zeros((4 * height, 2 * columns), dtype=bool)
    if cloud is not None and len(cloud):
        is_set[cloud[:, 0], cloud[:, 1]] = True
    upright = np.arange(4 * height)[:, np.newaxis]
    for rows in curves:
        top, bottom = np.array(_strokes(rows)).T
        is_set |= (upright >= top) & (upright <= bottom)
    bits = (is_set.reshape(height, 4, columns, 2) * _BRAILLE[:, np.newaxis, :]).sum(axis=(1, 3))
    for row, column in np.argwhere(bits).tolist():
        cells[row][column] = chr(0x2800 + int(bits[row, column]))


def _tag(
    cells: list[list[str]],
    curves: Sequence[Curve],
    rows: Sequence[IntArray],
    taken: set[tuple[int, int]],
) -> None:
    """Write a few letters on every curve, best where it runs alone."""
    height, columns = len(cells), len(cells[0])
    thick = SIGNS[True][0]
    for which, (curve, at) in enumerate(zip(curves, rows, strict=True)):
        others = [other for k, other in enumerate(rows) if k != which]
        alone = np.all([np.abs(at - other) > 0 for other in others] or [at >= 0], axis=0)
        for part in range(_TAGS):
            wish = (part + 0.5 + 0.4 * (which / max(len(curves), 1) - 0.5)) * columns / _TAGS
            free = [
                column
                for column in range(columns)
                if 0 <= at[column] < height
                and abs(column - wish) < columns / _TAGS / 2
                and cells[at[column]][column] != thick
                and not _is_letter(cells[at[column]][column])
                and (int(at[column]), column) not in taken
            ]
            best = min(
                free,
                key=lambda column: abs(column - wish) + (0 if alone[column] else columns),
                default=None,
            )
            if best is not None:
                cells[at[best]][best] = curve.letter


def _is_letter(sign: str) -> bool:
    return sign.isascii() and sign.isalnum()


def _painted(row: Sequence[str], paint: Paint, *, is_fine: bool) -> str:
    """A row with the thick line and the measured points in their colours."""
    line, point = SIGNS[is_fine]
    roles = {line: "ok", point: "tight"}
    text, run, role = "", "", ""
    for sign in [*row, ""]:
        new = roles.get(sign, "")
        if sign and new == role:
            run += sign
            continue
        text += paint(run, role)
        run, role = sign, new
    return text


def _size_axis(
    area: _Area, level: str, mark: str, along: Callable[[float], str] | None
) -> tuple[str, str]:
    """The line below the picture, and what stands under it: powers of two, or round numbers."""
    sides, columns = area.sides, area.columns
    places = _powers(area) if along is None else _ticks(sides)
    line, names = [level] * columns, ""
    for place in places:
        column = area.column(place)
        text = format_bytes(place) if along is None else along(place)
        start = min(max(column - cell_width(text) // 2, 0), columns - cell_width(text))
        if start < cell_width(names) + (1 if names else 0):
            continue
        names += " " * (start - cell_width(names)) + text
        line[column] = mark
    return "".join(line), names


def _powers(area: _Area) -> list[float]:
    """Powers of two, as many as have room."""
    sides = area.sides
    low, high = int(np.ceil(np.log2(sides.low))), int(np.floor(np.log2(sides.high)))
    widest = max(cell_width(format_bytes(2.0**power)) for power in range(low, high + 1) or [low])
    octaves = max(float(np.log2(sides.high / sides.low)), 1e-9)
    step = max(1, int(np.ceil((widest + 2) * octaves / area.columns)))
    return [2.0**power for power in range(low, high + 1, step)]
