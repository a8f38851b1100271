"""A calibration of a run of nccl-tests, and how far it misses rows that it has not seen.

S size (bytes)    f bus factor    t time (s)

Three descriptions of the same rows: the straight line t = alpha + f S / B, the curve with a knee
of `gpuflow.cluster.curves`, and the calibration in whichever form predicts left-out rows best.
Outliers stay out of the calibration.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpuflow.cluster.calibration import Calibration, fit
from gpuflow.cluster.curves import FloatArray, fit_curves
from gpuflow.cluster.measurements import Key, Row
from gpuflow.collectives.oracle import bus_factor
from gpuflow.importers.nccl_reading import Doubt, Measured, Reading

FEWEST_ROWS = 8
LEAST_RANGE = 1000.0
"""Of the largest to the smallest size; below it latency and bandwidth cannot be told apart."""
ROWS_TO_TEST = 16
"""Rows from which on half of them can be kept back."""
MOST_FITTED = 96
"""Rows that a fit looks at; two lines are tried at every split, for every row left out."""
NOISY = 0.10
"""Mean error above which the run itself is at fault."""
REPEATED = 0.05
"""Mean difference of both columns up to which jumps from size to size are the machine's own: the
two were measured one after the other, and noise does not strike the same sizes twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogFit:
    """What was fitted to a run."""

    calibration: Calibration
    alpha_s: float
    """Of the curve: the time of an empty message."""
    bandwidth_bytes_per_s: float
    """Of the curve: bus bandwidth of an endless message."""
    q: float
    """Of the curve: how slow its knee is; 1 is a straight line."""
    curve_error: float
    """Mean relative error of the curve on the rows it was fitted on."""
    line_alpha_s: float
    line_bandwidth_bytes_per_s: float
    """The straight line, weighted by 1/t^2, through all rows, outliers among them."""
    mean_abs_error: float
    """Mean relative error of the calibration's form on every second row, fitted on the others; with
    fewer than 16 rows, of each row predicted from the rest."""


def fit_log(reading: Reading) -> LogFit | Doubt:
    """Fit a run, or say why it cannot be fitted."""
    if any(doubt.code == "gpu_shared" for doubt in reading.doubts):
        return Doubt("no_fit_shared")
    if reading.ranks == 1:
        return Doubt("no_fit_alone")
    if reading.collective is None or reading.ranks is None:
        return Doubt("no_fit_unknown")
    rows = thinned(reading.usable)
    sizes = {row.size_bytes for row in rows}
    if len(sizes) < FEWEST_ROWS:
        return Doubt("no_fit_few", {"count": len(sizes), "least": FEWEST_ROWS})
    if max(sizes) < LEAST_RANGE * min(sizes):
        values = {"factor": f"{max(sizes) / min(sizes):.3g}"}
        return Doubt("no_fit_narrow", values)
    factor = bus_factor(reading.collective, reading.ranks)
    at, times = _arrays(rows)
    every = np.ones((1, len(at)), dtype=bool)
    alpha, bandwidth, q = (float(part[0]) for part in fit_curves(factor * at, times, every))
    guess = (alpha ** (1 / q) + (factor * at / bandwidth) ** (1 / q)) ** q
    line_alpha, slope = straight_line(*_arrays(thinned(reading.rows)))
    calibration = fit(rows_of(reading, rows))
    held_out = _held_out(reading, rows)
    return LogFit(
        calibration=calibration,
        alpha_s=alpha,
        bandwidth_bytes_per_s=bandwidth,
        q=q,
        curve_error=float(np.mean(np.abs(guess / times - 1))),
        line_alpha_s=line_alpha,
        line_bandwidth_bytes_per_s=factor / slope if slope > 0 else math.inf,
        mean_abs_error=calibration.left_out_error if held_out is None else held_out,
    )


def between_columns(reading: Reading) -> float | None:
    """Mean relative difference between times out of place and in place; None without the latter."""
    pairs = [(row.time_s, row.in_place_time_s) for row in reading.usable]
    apart = [abs(math.log(out / inside)) for out, inside in pairs if inside]
    return sum(apart) / len(apart) if apart else None


def thinned(rows: Sequence[Measured]) -> Sequence[Measured]:
    """Rows evenly spread over a run that has more of them than any fit needs."""
    return rows[:: -(-len(rows) // MOST_FITTED)] if rows else rows


def key_of(reading: Reading) -> Key:
    """What the run is a measurement of; a GPU that is not known goes by its printed name."""
    is_amd = reading.raw.is_amd or reading.gpu == "mi300x" or "AMD" in (reading.gpu_name or "")
    library = "rccl" if is_amd else "nccl"
    return Key(
        gpu=reading.gpu or reading.gpu_name or "unknown",
        collective=reading.collective or "",
        kernel=library,
        launch=f"{library}-tests" if library == "rccl" else "nccl-tests",
        ranks=reading.ranks or 0,
        nodes=reading.nodes or 1,
        fabric="",
    )


def rows_of(reading: Reading, rows: Sequence[Measured]) -> list[Row]:
    """Rows as the calibrations take them."""
    key, file = key_of(reading), reading.raw.file
    return [
        Row(key, float(row.size_bytes), row.time_s, file, f"{file}:{number}")
        for number, row in enumerate(rows, 1)
    ]


def straight_line(sizes: FloatArray, times: FloatArray) -> tuple[float, float]:
    """Constant and slope of t = a + b S, least squares of relative errors."""
    weights = 1 / times
    design = np.stack([weights, sizes * weights], axis=1)
    found, *_ = np.linalg.lstsq(design, np.ones(len(times)), rcond=None)
    return float(found[0]), float(found[1])


def _arrays(rows: Sequence[Measured]) -> tuple[FloatArray, FloatArray]:
    sizes = np.array([row.size_bytes for row in rows], dtype=float)
    return sizes, np.array([row.time_s for row in rows])


def _held_out(reading: Reading, rows: Sequence[Measured]) -> float | None:
    """Mean error on the even rows of the form chosen on the odd ones; None with few rows."""
    if len(rows) < ROWS_TO_TEST:
        return None
    ordered = sorted(rows, key=lambda row: row.size_bytes)
    odd, even = ordered[::2], ordered[1::2]
    learned = fit(rows_of(reading, odd))
    sizes, times = _arrays(even)
    return float(np.mean(np.abs(learned.seconds(sizes) / times - 1)))
