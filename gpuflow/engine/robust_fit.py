"""Fits a few positive constants to relative errors, with outliers counted less.

Gauss-Newton steps on the logarithms of the constants, damped where they fail (Levenberg 1944,
Marquardt 1963). Errors beyond `KNEE` count by their size, not their square (Huber 1964), so that
the result is close to the least mean absolute error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Errors = Callable[[FloatArray], FloatArray]
"""From the constants to the relative error of every row."""

KNEE = 0.03
MOST_STEPS = 40
MOST_TRIES = 8
STEP = 1e-3
"""Change of a logarithm for derivatives."""


@dataclass(frozen=True, slots=True)
class Fit:
    """The constants found."""

    constants: FloatArray
    loss: float


def loss_of(errors: FloatArray) -> float:
    """Sum of Huber's function of the errors."""
    size = np.abs(errors)
    return float(np.sum(np.where(size < KNEE, size * size / 2, KNEE * (size - KNEE / 2))))


def robust_fit(
    errors: Errors, start: Sequence[float], bounds: Sequence[tuple[float, float]]
) -> Fit:
    """The constants with the least loss near a start.

    Args:
        errors: What is to become small.
        start: First guess of each constant, all positive.
        bounds: Least and greatest value of each, all positive.
    """
    low = np.log([bound[0] for bound in bounds])
    high = np.log([bound[1] for bound in bounds])
    at = np.clip(np.log(start), low, high)
    found = errors(np.exp(at))
    loss, damping = loss_of(found), 1e-2
    for _ in range(MOST_STEPS):
        slopes = np.stack(
            [(errors(np.exp(at + shift)) - found) / STEP for shift in STEP * np.eye(len(at))],
            axis=1,
        )
        weights = np.minimum(1.0, KNEE / np.maximum(np.abs(found), 1e-12))
        curvature = slopes.T @ (weights[:, None] * slopes)
        slope = slopes.T @ (weights * found)
        better = math.inf
        for _ in range(MOST_TRIES):
            diagonal = np.diag(np.diag(curvature) + 1e-4)
            step = np.clip(-np.linalg.solve(curvature + damping * diagonal, slope), -1.0, 1.0)
            tried = np.clip(at + step, low, high)
            new = errors(np.exp(tried))
            better = loss_of(new)
            if better < loss:
                break
            damping *= 4
        if better >= loss:
            break
        is_done = loss - better < 1e-5 * loss
        at, found, loss, damping = tried, new, better, max(damping / 4, 1e-6)
        if is_done:
            break
    return Fit(np.exp(at), loss)
