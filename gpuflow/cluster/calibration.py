"""Times of collectives as curves through measurements, each with its rows, source and error.

A calibration belongs to one machine: GPU, collective, kernel, launch mode, ranks, nodes, source.
Its form is the one whose left-out points are predicted best: knots, the curve with a knee, two
straight lines, or the shape of a denser ladder of the same kind scaled to the rows at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from gpuflow.cluster.curves import (
    BoolArray,
    FloatArray,
    curve,
    curve_left_out,
    fit_curves,
    fit_lines,
    interpolate,
    interpolate_left_out,
    lines_left_out,
    settle,
    two_lines,
)
from gpuflow.cluster.measurements import Key, Row
from gpuflow.collectives.oracle import bus_factor

Form = Literal["knots", "curve", "two_regime", "scaled"]

NOISE = 0.2
"""A larger message measured as faster by less than this (difference of logarithms) is noise, by
more an outlier. Repeated runs differ by up to 11 % (truth/README.md)."""
DENSE_ROWS = 10
"""Rows that make a ladder: dense enough to lend its shape, to borrow knots, to be best as knots."""
KNOTS_ADVANTAGE = 0.5
"""With so many rows another form must miss by less than this part of what knots miss by: leaving a
point out doubles the gap that knots have to cross, so in use they miss by half of it or less."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver:
    """A size from which an engine leaves its own kernel to another one."""

    size_bytes: float
    """The first size of the other kernel."""
    next_kernel: Calibration | None = None
    """Shape of the times from there on, where it is known; scaled to the rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Time of one collective on one machine as a function of its size."""

    key: Key
    source: str
    form: Form
    sizes: FloatArray
    """Knots, or the sizes fitted; rising, shape (K,)."""
    times: FloatArray
    """Their times in seconds, settled to rise with size."""
    size_range: tuple[float, float]
    """Smallest and largest size measured, in bytes."""
    constants: tuple[float, ...] = ()
    """curve: alpha_s, B, q. two_regime: the split, then constant and slope of both lines."""
    hand_overs: tuple[HandOver, ...] = ()
    rows: tuple[str, ...] = ()
    """Rows it was fitted on, as file and line."""
    dropped: tuple[float, ...] = ()
    """Sizes measured but left out as outliers."""
    borrowed: tuple[float, ...] = ()
    """Knots at sizes not measured here, shaped as other groups are."""
    left_out_error: float = float("nan")
    """Mean relative error of each row predicted from the others; nan with too few rows."""
    forms_tried: dict[Form, float] = field(default_factory=dict)
    """That error of every form that the rows sufficed for."""

    @property
    def floor_s(self) -> float:
        """The shortest time: what an empty message costs."""
        return float(self.seconds(self.size_range[0]))

    def extrapolates(self, size_bytes: FloatArray | float) -> BoolArray:
        """Which sizes lie outside the fitted range."""
        low, high = self.size_range
        at = np.asarray(size_bytes, dtype=float)
        return np.asarray((at < low) | (at > high))

    def seconds(self, size_bytes: FloatArray | float) -> FloatArray:
        """Times at sizes in bytes; any shape. Left of the range the floor, right of it a line."""
        at = np.asarray(size_bytes, dtype=float)
        if self.form == "curve":
            alpha, bandwidth, q = self.constants
            factor = bus_factor(self.key.collective, self.key.ranks)
            return curve(alpha, bandwidth, q, factor * at)
        if self.form == "two_regime":
            return two_lines(self.constants[0], np.array(self.constants[1:]), at)
        found = interpolate(self.sizes, self.times, at)
        return self._handed_over(at, found) if self.hand_overs else found

    def _handed_over(self, at: FloatArray, found: FloatArray) -> FloatArray:
        """Split the gap between two knots where the kernel changes inside it.

        Below the change the line through the last two knots of the first kernel goes on; from it
        on the other kernel's shape leads back from its first knot. Neither leaves the gap's times,
        and the change makes nothing faster.
        """
        starts = [hand.size_bytes for hand in self.hand_overs]
        for i in range(len(self.sizes) - 1):
            low, high = self.sizes[i], self.sizes[i + 1]
            inside = [h for h in self.hand_overs if low < h.size_bytes <= high]
            if len(inside) != 1 or self.times[i] > self.times[i + 1]:
                continue
            change = inside[0]
            begins = max((s for s in starts if s <= low), default=0.0)
            first = np.flatnonzero((self.sizes >= begins) & (self.sizes < change.size_bytes))
            gap = (at > low) & (at < high)
            least = self.times[i]
            if len(first) >= 2:
                s, t = self.sizes[first[-2:]], self.times[first[-2:]]
                slope = (t[1] - t[0]) / (s[1] - s[0])
                line = t[1] + slope * (at - s[1])
                found = np.where(gap & (at < change.size_bytes), line, found)
                least = t[1] + slope * (change.size_bytes - s[1])
            if change.next_kernel is not None and change.size_bytes < high:
                other = change.next_kernel
                ratio = self.times[i + 1] / float(other.seconds(high))
                back = other.seconds(at) * ratio
                found = np.where(gap & (at >= change.size_bytes), back, found)
            found = np.where(gap & (at >= change.size_bytes), np.maximum(found, least), found)
            limited = np.clip(found, self.times[i], self.times[i + 1])
            found = np.where(gap, limited, found)
        return found


# ---------------------------------------------------------------- fitting


def fit(
    rows: Sequence[Row],
    *,
    sisters: Sequence[tuple[float, Calibration]] = (),
    shapes: Sequence[Calibration] = (),
    hand_overs: tuple[HandOver, ...] = (),
) -> Calibration:
    """Fit one calibration to rows of one machine, in the form that predicts left-out rows best.

    Args:
        rows: At least one; sizes measured twice count by their geometric mean.
        sisters: Ladders that are known to bend where this one does, with a weight each; sizes that
            only they have become knots here.
        shapes: Denser ladders of the same collective and ranks, for the form `scaled`.
        hand_overs: Where an engine's kernel gives way to another.

    Raises:
        ValueError: There are no rows.
    """
    if not rows:
        raise ValueError("no rows to fit")
    key, source = rows[0].key, rows[0].source
    sizes, times = _merged(rows)
    factor = bus_factor(key.collective, key.ranks)
    candidates: dict[Form, FloatArray] = {
        "knots": interpolate_left_out(sizes, times, NOISE),
        "curve": curve_left_out(factor * sizes, times),
        "two_regime": lines_left_out(sizes, times),
    }
    shape = _nearest_shape(sizes, times, shapes)
    if shape is not None:
        candidates["scaled"] = _scaled_left_out(sizes, times, shape)
    tried: dict[Form, float] = {
        name: _mean_error(guess, times)
        for name, guess in candidates.items()
        if not np.isnan(guess).any()
    }
    fixed = _Fixed(key, source, tuple(row.place for row in rows), tried)
    form = (
        "knots"
        if _wanted(sizes, sisters)
        else _choose(tried, len(sizes), has_shape=shape is not None)
    )
    error = tried.get(form, float("nan"))
    constants: tuple[float, ...] = ()
    every = np.ones((1, len(sizes)), dtype=bool)
    if form == "knots":
        return _knots(fixed, sizes, times, error, sisters, hand_overs)
    measured = (float(sizes[0]), float(sizes[-1]))
    borrowed: tuple[float, ...] = ()
    if form == "curve":
        constants = tuple(float(part[0]) for part in fit_curves(factor * sizes, times, every))
    elif form == "two_regime":
        split, lines = fit_lines(sizes, times, every)
        constants = (float(split[0]), *map(float, lines[0]))
    elif shape is not None:
        borrowed = tuple(map(float, np.setdiff1d(shape.sizes, sizes)))
        dense = np.union1d(shape.sizes, sizes)
        sizes, times = dense, _scaled(sizes, times, shape, dense)
    return Calibration(
        key=key,
        source=source,
        form=form,
        sizes=sizes,
        times=times,
        size_range=measured,
        constants=constants,
        rows=fixed.rows,
        borrowed=borrowed,
        left_out_error=error,
        forms_tried=tried,
    )


def ladder(
    rows: Sequence[Row],
    hand_overs: tuple[HandOver, ...] = (),
    sisters: Sequence[tuple[float, Calibration]] = (),
) -> Calibration:
    """Knots through rows of one machine, without asking whether another form were better.

    Args:
        rows: As for `fit`, as all else is.
        hand_overs: Where an engine's kernel gives way to another.
        sisters: Ladders to borrow knots from.

    Raises:
        ValueError: There are no rows.
    """
    if not rows:
        raise ValueError("no rows to fit")
    sizes, times = _merged(rows)
    fixed = _Fixed(rows[0].key, rows[0].source, tuple(row.place for row in rows), {})
    return _knots(fixed, sizes, times, float("nan"), sisters, hand_overs)


@dataclass(frozen=True, slots=True)
class _Fixed:
    """What a calibration knows before its form is chosen."""

    key: Key
    source: str
    rows: tuple[str, ...]
    tried: dict[Form, float]


def _mean_error(guess: FloatArray, times: FloatArray) -> float:
    return float(np.mean(np.abs(guess / times - 1)))


def _nearest_shape(
    sizes: FloatArray, times: FloatArray, shapes: Sequence[Calibration]
) -> Calibration | None:
    """The ladder whose scaling predicts left-out rows best; with one row, the first."""
    if not shapes or len(sizes) == 1:
        return shapes[0] if shapes else None
    errors = [_mean_error(_scaled_left_out(sizes, times, shape), times) for shape in shapes]
    return shapes[int(np.argmin(errors))]


def _choose(tried: dict[Form, float], count: int, *, has_shape: bool) -> Form:
    """The form with the least left-out error, with many rows knots if in doubt.

    Rows too few to leave any out follow the shape of others, or two of them a straight line.
    """
    if not tried:
        alone: Form = "curve" if count > 1 else "knots"
        return "scaled" if has_shape else alone
    best = min(tried, key=lambda name: tried[name])
    if count < DENSE_ROWS or "knots" not in tried:
        return best
    return best if tried[best] < KNOTS_ADVANTAGE * tried["knots"] else "knots"


def _merged(rows: Sequence[Row]) -> tuple[FloatArray, FloatArray]:
    """Sizes, rising, and times; a size measured more than once by its geometric mean."""
    by_size: dict[float, list[float]] = {}
    for row in rows:
        by_size.setdefault(row.size_bytes, []).append(np.log(row.time_s))
    sizes = sorted(by_size)
    return np.array(sizes), np.exp([float(np.mean(by_size[size])) for size in sizes])


def _scaled(sizes: FloatArray, times: FloatArray, shape: Calibration, at: FloatArray) -> FloatArray:
    """A ladder times its ratio to the rows, which is straight in logarithms between them."""
    ratio = np.log(times / shape.seconds(sizes))
    scaled = np.log(shape.seconds(at)) + np.interp(np.log(at), np.log(sizes), ratio)
    return np.exp(_rising(scaled))


def _scaled_left_out(sizes: FloatArray, times: FloatArray, shape: Calibration) -> FloatArray:
    count = len(sizes)
    if count < 2:
        return np.full(count, np.nan)
    rest = ~np.eye(count, dtype=bool)
    guess = [_scaled(sizes[k], times[k], shape, sizes[i : i + 1])[0] for i, k in enumerate(rest)]
    return np.array(guess)


def _knots(
    fixed: _Fixed,
    sizes: FloatArray,
    times: FloatArray,
    error: float,
    sisters: Sequence[tuple[float, Calibration]],
    hand_overs: tuple[HandOver, ...],
) -> Calibration:
    """Knots, each stretch between two hand-overs settled by itself."""
    edges = np.array(sorted(hand.size_bytes for hand in hand_overs))
    stretch = np.searchsorted(edges, sizes, side="right")
    # Not numpy's unique, which loads masked arrays: 30 ms that every play would wait for.
    kinds = sorted({*stretch.tolist()})
    parts = [settle(sizes[stretch == k], times[stretch == k], NOISE) for k in kinds]
    kept = np.concatenate([part[0] for part in parts])
    settled = np.concatenate([part[1] for part in parts])
    dropped = tuple(map(float, sizes[~np.isin(sizes, kept)]))
    borrowed: tuple[float, ...] = ()
    if sisters:
        kept, settled, borrowed = _with_borrowed(kept, settled, sisters)
    return Calibration(
        key=fixed.key,
        source=fixed.source,
        form="knots",
        sizes=kept,
        times=settled,
        size_range=(float(sizes[0]), float(sizes[-1])),
        hand_overs=hand_overs,
        rows=fixed.rows,
        dropped=dropped,
        borrowed=borrowed,
        left_out_error=error,
        forms_tried=fixed.tried,
    )


SISTER_DOUBT = 0.2
"""Weight of the guess that the own curve is smooth, beside the weights of the sisters."""


def _wanted(sizes: FloatArray, sisters: Sequence[tuple[float, Calibration]]) -> list[float]:
    """Sizes inside the range that sisters were measured at and these rows were not."""
    low, high = sizes[0], sizes[-1]
    candidates = {float(size) for _, sister in sisters for size in sister.sizes}
    # a size close to an own one tells nothing new
    return sorted(
        size
        for size in candidates
        if low < size < high and np.abs(np.log(sizes / size)).min() > np.log(1.9)
    )


def _with_borrowed(
    sizes: FloatArray, times: FloatArray, sisters: Sequence[tuple[float, Calibration]]
) -> tuple[FloatArray, FloatArray, tuple[float, ...]]:
    """Add knots at sizes that sisters have and this group lacks.

    How far a sister's point lies from a smooth curve through its own times at this group's sizes is
    the bend that smoothness misses; the weighted mean of the sisters' bends is added to the smooth
    guess here.
    """
    wanted = _wanted(sizes, sisters)
    if not wanted:
        return sizes, times, ()
    at = np.array(wanted)
    weight, bend = np.full(len(at), SISTER_DOUBT), np.zeros(len(at))
    for share, sister in sisters:
        has = np.isin(at, sister.sizes)
        smooth = interpolate(sizes, sister.seconds(sizes), at)
        bend += np.where(has, share * np.log(sister.seconds(at) / smooth), 0.0)
        weight += np.where(has, share, 0.0)
    guess = interpolate(sizes, times, at) * np.exp(bend / weight)
    every = np.concatenate([sizes, at])
    order = np.argsort(every)
    together = np.concatenate([times, guess])[order]
    return every[order], np.exp(_rising(np.log(together))), tuple(wanted)


def _rising(values: FloatArray) -> FloatArray:
    """Values raised where needed so that none is below one before it."""
    return np.asarray(np.maximum.accumulate(values))
