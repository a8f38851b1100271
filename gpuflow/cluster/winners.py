"""What wins at which sizes: by the library's rule, by schedules, by measurements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from gpuflow.cluster.curves import FloatArray
from gpuflow.cluster.engine_kernels import VLLM_CAP_BYTES
from gpuflow.cluster.gpu_scaling import LIBRARY_KERNELS
from gpuflow.cluster.points import runnable
from gpuflow.cluster.prediction import shipped_book
from gpuflow.cluster.selection import Case, chosen, plan, quickest, simulate


@dataclass(frozen=True, slots=True, kw_only=True)
class Winner:
    """What is chosen, or quickest, in a range of sizes."""

    label: str
    first_bytes: float
    """Smallest size it holds for."""
    end_bytes: float
    """First size of the next one; of the last one the largest size asked for."""


Labels = Callable[[FloatArray], Sequence[str]]
"""Names of the winners at sizes."""

_COARSE, _FINE = 96, 129


def winners(labels: Labels, low_bytes: float, high_bytes: float) -> tuple[Winner, ...]:
    """Ranges of sizes by winner: looked for on a grid, then on a finer one around each change.

    Args:
        labels: Evaluated on whole sizes, all at once.
        low_bytes: Smallest size, at least 1.
        high_bytes: Largest size.
    """
    coarse = grid(low_bytes, high_bytes, _COARSE)
    names = labels(coarse)
    starts = [(float(coarse[0]), names[0])]
    for i in range(len(coarse) - 1):
        if names[i] == names[i + 1]:
            continue
        fine = grid(float(coarse[i]), float(coarse[i + 1]), _FINE)
        inside = labels(fine)
        starts += [
            (float(size), name)
            for size, name, before in zip(fine[1:], inside[1:], inside, strict=False)
            if name != before
        ]
    ends = [start for start, _ in starts[1:]] + [float(high_bytes)]
    return tuple(
        Winner(label=name, first_bytes=start, end_bytes=end)
        for (start, name), end in zip(starts, ends, strict=True)
    )


def grid(low: float, high: float, count: int) -> FloatArray:
    """Whole sizes at equal ratios, both ends among them."""
    return np.unique(np.rint(np.geomspace(low, high, count)))


def choice_winners(case: Case, low_bytes: float, high_bytes: float) -> tuple[Winner, ...]:
    """Ranges by the rule of the library or the engine; labels are `algorithm protocol`."""

    def labels(at: FloatArray) -> Sequence[str]:
        names = runnable(case.collective, case.cluster, case.n_ranks)
        _, choices, index = chosen(case, at, plan(case, at), simulate(case, at, names))
        return [" ".join(choices[which]) for which in index.tolist()]

    return winners(labels, low_bytes, high_bytes)


def schedule_winners(
    case: Case, low_bytes: float, high_bytes: float, algorithm: str | None = None
) -> tuple[Winner, ...]:
    """Ranges by the quickest schedule, of all or of one algorithm; labels as `choice_winners`."""
    every = runnable(case.collective, case.cluster, case.n_ranks)
    names = (algorithm,) if algorithm else every

    def labels(at: FloatArray) -> Sequence[str]:
        _, choices, index = quickest(simulate(case, at, names))
        return [" ".join(choices[which]) for which in index.tolist()]

    return winners(labels, low_bytes, high_bytes)


def measured_winners(case: Case, low_bytes: float, high_bytes: float) -> tuple[Winner, ...]:
    """Ranges by the quickest measured kernel of these GPUs; labels are `kernel launch`.

    Only sizes within what was measured of every kernel compared, and below where engines leave
    their own kernels for NCCL; empty where none of an engine's or none of a library's is known.
    """
    if not case.is_usual:
        return ()
    book, key = shipped_book(), case.key
    curves = [
        curve
        for other in book.machines()
        if (other.gpu, other.collective, other.ranks, other.nodes, other.fabric)
        == (key.gpu, key.collective, key.ranks, key.nodes, key.fabric)
        and (curve := book.calibration(other)) is not None
        and curve.size_range[0] <= max(low_bytes, _SMALLEST_COMPARED)
        and curve.size_range[1] >= _LARGEST_COMPARED
    ]
    if len({curve.key.kernel in LIBRARY_KERNELS for curve in curves}) < 2:
        return ()
    low = max(low_bytes, *(curve.size_range[0] for curve in curves))
    high = min(high_bytes, _LARGEST_COMPARED)
    if low >= high:
        return ()
    names = [f"{curve.key.kernel} {curve.key.launch}" for curve in curves]

    def labels(at: FloatArray) -> Sequence[str]:
        times = np.stack([curve.seconds(at) for curve in curves])
        return [names[which] for which in times.argmin(axis=0).tolist()]

    return winners(labels, low, high)


_SMALLEST_COMPARED, _LARGEST_COMPARED = 64 * 1024.0, float(VLLM_CAP_BYTES)
"""Kernels measured over less than this range are not compared; above it they give way to NCCL."""
