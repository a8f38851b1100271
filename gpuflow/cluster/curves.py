"""Curves of time against message size, and how each is fitted to measured points.

S  size (bytes)    t  time (s)    f  bus factor of the collective

- knots: the measured points, joined by a monotone cubic in log S and log(t - c), c being half the
  shortest time; left of them the shortest time holds, right of them the last two give a line.
- curve: t = (alpha^(1/q) + (f S / B)^(1/q))^q; q > 1 draws the slow knee that kernels show.
- two_regime: one straight line for small sizes, another for large ones.

Errors are relative, |predicted / measured - 1|, and so are the weights of every fit.
Sources: Fritsch and Carlson 1980 for slopes that keep a cubic monotone; the curve is the project's
own domain note, section 1.5.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
BoolArray = NDArray[np.bool_]

FLOOR_SHARE = 0.5
"""Part of the shortest time taken off before logarithms: what is left follows the bytes."""
EXPONENTS = np.linspace(1.0, 2.5, 16)
"""Values of q that are tried."""


# ---------------------------------------------------------------- knots


def interpolate(sizes: FloatArray, times: FloatArray, at: FloatArray) -> FloatArray:
    """Times at sizes `at`, through every knot.

    Args:
        sizes: Knots, rising, at least one; shape (K,).
        times: Their times, all positive.
        at: Where to evaluate; any shape.
    """
    at = np.asarray(at, dtype=float)
    flat = _interpolate_many(sizes[None], times[None], at.reshape(1, -1))
    return np.asarray(flat.reshape(at.shape))


def _interpolate_many(sizes: FloatArray, times: FloatArray, at: FloatArray) -> FloatArray:
    """Evaluate several curves of as many knots; sizes, times (M, K) and at, result (M, P)."""
    if sizes.shape[1] == 1:
        return np.asarray(np.broadcast_to(times, at.shape).copy())
    shift = FLOOR_SHARE * times.min(axis=1, keepdims=True)
    x, y = np.log(sizes), np.log(times - shift)
    inside = np.log(np.minimum(np.maximum(at, sizes[:, :1]), sizes[:, -1:]))
    found = shift + np.exp(_hermite(x, y, _slopes(x, y), inside))
    last_size, last_time = sizes[:, -1:], times[:, -1:]
    rate = (last_time - times[:, -2:-1]) / (last_size - sizes[:, -2:-1])
    # a box that was slower on its last but one size must not make larger sizes free
    rate = np.maximum(rate, 0.25 * last_time / last_size)
    result = np.where(at > last_size, last_time + rate * (at - last_size), found)
    result = np.where(at < sizes[:, :1], np.minimum(result, times[:, :1]), result)
    return np.asarray(result)


def _slopes(x: FloatArray, y: FloatArray) -> FloatArray:
    """Slopes at the knots, limited so that the cubic overshoots nowhere; shape (M, K)."""
    step = np.diff(x, axis=1)
    secant = np.diff(y, axis=1) / step
    slopes = np.empty_like(x)
    slopes[:, 0], slopes[:, -1] = secant[:, 0], secant[:, -1]
    left, right = secant[:, :-1], secant[:, 1:]
    mean = (step[:, 1:] * left + step[:, :-1] * right) / (step[:, 1:] + step[:, :-1])
    limit = 3 * np.minimum(np.abs(left), np.abs(right))
    limited = np.minimum(np.maximum(mean, -limit), limit)
    slopes[:, 1:-1] = np.where(left * right > 0, limited, 0.0)
    return slopes


def _hermite(x: FloatArray, y: FloatArray, slopes: FloatArray, at: FloatArray) -> FloatArray:
    found = (x[:, None, :] <= at[:, :, None]).sum(axis=2) - 1
    i = np.minimum(np.maximum(found, 0), x.shape[1] - 2)
    row = np.arange(len(x))[:, None]
    x0, y0, y1 = x[row, i], y[row, i], y[row, i + 1]
    step = x[row, i + 1] - x0
    u = (at - x0) / step
    return np.asarray(
        (1 + 2 * u) * (1 - u) ** 2 * y0
        + u * (1 - u) ** 2 * step * slopes[row, i]
        + u * u * (3 - 2 * u) * y1
        + u * u * (u - 1) * step * slopes[row, i + 1]
    )


def interpolate_left_out(sizes: FloatArray, times: FloatArray, tolerance: float) -> FloatArray:
    """What settled knots say of each point when it is left out; nan with fewer than three."""
    count = len(sizes)
    if count < 3:
        return np.full(count, np.nan)
    by_length: dict[int, list[tuple[int, FloatArray, FloatArray]]] = {}
    for i, keep in enumerate(~np.eye(count, dtype=bool)):
        s, t, _ = settle(sizes[keep], times[keep], tolerance)
        by_length.setdefault(len(s), []).append((i, s, t))
    guess = np.empty(count)
    for alike in by_length.values():
        where = [i for i, _, _ in alike]
        s, t = np.stack([s for _, s, _ in alike]), np.stack([t for _, _, t in alike])
        guess[where] = _interpolate_many(s, t, sizes[where, None])[:, 0]
    return guess


# ---------------------------------------------------------------- the curve with a knee


def curve(alpha_s: float, bandwidth: float, q: float, wire_bytes: FloatArray) -> FloatArray:
    """Time of (alpha^(1/q) + (f S / B)^(1/q))^q, `wire_bytes` being f S."""
    return np.asarray((alpha_s ** (1 / q) + (wire_bytes / bandwidth) ** (1 / q)) ** q)


def fit_curves(
    wire_bytes: FloatArray, times: FloatArray, keep: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Fit the curve to several subsets of the points at once.

    For a given q it is linear in alpha^(1/q) and B^(-1/q); q is the one of `EXPONENTS` with the
    least mean error on the subset, and 1 (a straight line) for three points or fewer.

    Args:
        wire_bytes: f S of every point; shape (K,).
        times: Their times.
        keep: Which points each fit may see; shape (M, K).

    Returns:
        alpha (s), B (bytes/s) and q of each fit; shape (M,).
    """
    exponents = EXPONENTS if len(times) > 3 else EXPONENTS[:1]
    root = 1 / exponents[:, None]
    y = times[None, :] ** root
    u, v = 1 / y, wire_bytes[None, :] ** root / y
    use = keep.astype(float)
    sums = [use @ (product).T for product in (u * u, u * v, v * v, u, v)]
    constant, slope = _two_unknowns(*sums)
    fitted = constant[:, :, None] * u[None] + slope[:, :, None] * v[None]
    errors = np.abs(fitted ** exponents[None, :, None] - 1)
    mean = np.einsum("mqk,mk->mq", errors, use) / np.maximum(use.sum(axis=1), 1.0)[:, None]
    best = np.argmin(mean, axis=1)
    row = np.arange(len(keep))
    q = exponents[best]
    alpha = constant[row, best] ** q
    bandwidth = slope[row, best] ** -q
    return alpha, bandwidth, q


def _two_unknowns(
    uu: FloatArray, uv: FloatArray, vv: FloatArray, u: FloatArray, v: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Least squares of a u + b v = 1 with a and b not below (nearly) nothing."""
    determinant = uu * vv - uv * uv
    safe = np.where(determinant > 1e-12 * uu * vv, determinant, np.inf)
    a = (vv * u - uv * v) / safe
    b = (uu * v - uv * u) / safe
    tiny_a, tiny_b = 1e-3 * u / uu, 1e-6 * v / vv
    flat = b <= tiny_b
    steep = ~flat & (a <= tiny_a)
    a, b = np.where(flat, u / uu, a), np.where(flat, tiny_b, b)
    return np.where(steep, tiny_a, a), np.where(steep, v / vv, b)


def curve_left_out(wire_bytes: FloatArray, times: FloatArray) -> FloatArray:
    """What the curve says of each point when it is left out; nan with fewer than three points."""
    count = len(times)
    if count < 3:
        return np.full(count, np.nan)
    alpha, bandwidth, q = fit_curves(wire_bytes, times, ~np.eye(count, dtype=bool))
    return np.asarray((alpha ** (1 / q) + (wire_bytes / bandwidth) ** (1 / q)) ** q)


# ---------------------------------------------------------------- two straight lines


def fit_lines(
    sizes: FloatArray, times: FloatArray, keep: BoolArray
) -> tuple[FloatArray, FloatArray]:
    """Fit two lines, meeting between two points, to several subsets at once.

    Args:
        sizes: Points, rising; shape (K,).
        times: Their times.
        keep: Which points each fit may see; shape (M, K).

    Returns:
        Size from which the upper line holds, shape (M,); and constant and slope of the lower and
        the upper line, shape (M, 4). nan where no split leaves two points on both sides.
    """
    count = len(sizes)
    lower = np.tri(count, k=-1, dtype=bool)[2 : count - 1]
    both = keep[:, None, :] & np.stack([lower, ~lower])[:, None]
    u, v = 1 / times, sizes / times
    use = both.astype(float)
    sums = [use @ product for product in (u * u, u * v, v * v, u, v)]
    constant, slope = _two_unknowns(*sums)
    fitted = constant[..., None] * u + slope[..., None] * v
    errors = np.where(both, np.abs(fitted - 1), 0.0).sum(axis=(0, 3))
    errors = np.where((use.sum(axis=3) >= 2).all(axis=0), errors, np.inf)
    best = np.argmin(errors, axis=1)
    row = np.arange(len(keep))
    lines = np.stack(
        [
            constant[0, row, best],
            slope[0, row, best],
            constant[1, row, best],
            slope[1, row, best],
        ],
        axis=1,
    )
    lines[~np.isfinite(errors[row, best])] = np.nan
    return np.sqrt(sizes[best + 1] * sizes[best + 2]), lines


def two_lines(split: float, lines: FloatArray, at: FloatArray) -> FloatArray:
    """Times by the two lines of `fit_lines`, never falling at the split."""
    low = lines[0] + lines[1] * np.minimum(at, split)
    high = np.maximum(lines[2] + lines[3] * at, lines[0] + lines[1] * split)
    return np.asarray(np.where(at < split, low, high))


def lines_left_out(sizes: FloatArray, times: FloatArray) -> FloatArray:
    """What two lines say of each point when it is left out; nan with fewer than six points."""
    count = len(sizes)
    if count < 6:
        return np.full(count, np.nan)
    split, lines = fit_lines(sizes, times, ~np.eye(count, dtype=bool))
    return np.array([float(two_lines(split[i], lines[i], sizes[i])) for i in range(count)])


# ---------------------------------------------------------------- points that contradict each other


def settle(
    sizes: FloatArray, times: FloatArray, tolerance: float
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Make times rise with size: drop outliers, share what is left of a contradiction.

    Where a larger message was faster by more than `tolerance` (a difference of logarithms), the
    slower of the two was disturbed, for a disturbance only adds time: it is dropped. Smaller
    contradictions are noise; the points concerned take their common geometric mean.

    Returns:
        Sizes and times that are kept, and which of the given points were dropped.
    """
    if (times[1:] >= times[:-1]).all():
        return sizes, times, np.zeros(len(sizes), dtype=bool)
    logs = np.log(times).tolist()  # a few dozen numbers, many times over: lists are quicker
    left = list(range(len(logs)))
    while len(left) > 2:
        falls = [logs[i] - logs[j] for i, j in pairwise(left)]
        worst = max(falls)
        if worst <= tolerance:
            break
        del left[falls.index(worst)]
    kept = np.zeros(len(sizes), dtype=bool)
    kept[left] = True
    return sizes[kept], np.exp(_pooled([logs[i] for i in left])), ~kept


def _pooled(values: Sequence[float]) -> FloatArray:
    """The non-decreasing sequence nearest in least squares (pool adjacent violators)."""
    blocks: list[tuple[float, int]] = []
    for value in values:
        mean, weight = float(value), 1
        while blocks and blocks[-1][0] > mean:
            before, size = blocks.pop()
            mean = (before * size + mean * weight) / (size + weight)
            weight += size
        blocks.append((mean, weight))
    return np.repeat([mean for mean, _ in blocks], [weight for _, weight in blocks])
