"""Layers and steps in sequences of kernels: plain, of several kinds, of one step, and none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from gpuflow.importers.trace.steps import Floats, Ints, Repeat, find_layers, find_steps

PLAIN = list(range(10, 24))
FULL = [*range(10, 12), *range(40, 44), *range(16, 24)]
OTHER_ATTENTION = [*PLAIN[:3], 50, *PLAIN[4:]]


def sequence(
    steps: int, layers: int, kinds: Sequence[Sequence[int]], head: int = 3, tail: int = 4
) -> tuple[Ints, Floats, Floats]:
    """Names and times: heads and tails of their own kernels, and the host between steps."""
    names: list[int] = []
    start: list[float] = []
    clock = 0.0
    for _ in range(steps):
        clock += 300
        parts = [range(head), *(kinds[n % len(kinds)] for n in range(layers)), range(5, 5 + tail)]
        for name in (name for part in parts for name in part):
            names.append(name)
            start.append(clock)
            clock += 10
    times = np.array(start)
    return np.array(names), times, times + 8


def both(*shape: object) -> tuple[Repeat | None, Repeat | None]:
    names, start, end = sequence(*shape)  # type: ignore[arg-type]
    layers = find_layers(names)
    return layers, find_steps(names, start, end, layers)


CASES = {
    "plain": ((10, 24, [PLAIN]), 240, 1, 10),
    "two kinds of attention": ((10, 24, [PLAIN, OTHER_ATTENTION]), 240, 2, 10),
    "one full layer in four": ((10, 48, [PLAIN, PLAIN, PLAIN, FULL]), 480, 2, 10),
    "one step of that": ((1, 48, [PLAIN, PLAIN, PLAIN, FULL]), 48, 2, None),
    "two steps": ((2, 32, [PLAIN]), 64, 1, 2),
    "one step": ((1, 32, [PLAIN]), 32, 1, None),
    "no head and no tail": ((1, 30, [PLAIN], 0, 0), 30, 1, None),
}


@pytest.mark.parametrize("case", CASES)
def test_layers_and_steps_are_found(case: str) -> None:
    shape, n_layers, n_kinds, n_steps = CASES[case]
    layers, steps = both(*shape)
    assert layers is not None
    assert (layers.count, len(set(layers.kinds))) == (n_layers, n_kinds)
    lengths = {b - a for a, b in zip(layers.first, layers.last, strict=True)}
    assert lengths <= {len(PLAIN), len(FULL)}
    assert (steps.count if steps else None) == n_steps


def test_steps_begin_where_the_gpu_waited() -> None:
    _, steps = both(3, 24, [PLAIN])
    assert steps is not None
    assert steps.first == (0, 343, 686)
    assert steps.last == (343, 686, 1029)


def test_training_repeats_without_layers() -> None:
    rng = np.random.default_rng(0)
    iteration = [*rng.permutation(200), *rng.integers(0, 200, 300)]
    names = np.array([*iteration[430:], *iteration, *iteration, *iteration[:60]])
    start = np.arange(len(names), dtype=float)
    steps = find_steps(names, start, start + 0.5, find_layers(names))
    assert steps is not None
    assert steps.count == 2
    assert {b - a for a, b in zip(steps.first, steps.last, strict=True)} == {500}


@pytest.mark.parametrize("n", [0, 1, 5, 300])
def test_noise_repeats_nothing(n: int) -> None:
    names = np.random.default_rng(1).integers(0, 60, n)
    start = np.arange(n, dtype=float)
    layers = find_layers(names)
    assert layers is None
    assert find_steps(names, start, start + 0.5, layers) is None


def test_steps_without_a_pause_between_them_begin_where_their_head_does() -> None:
    names, start, _ = sequence(8, 16, [PLAIN])
    close: Floats = 10.0 * np.arange(len(start), dtype=np.float64)
    layers = find_layers(names)
    steps = find_steps(names, close, close + 8, layers)
    assert steps is not None
    assert steps.count == 8
    assert [int(names[first]) for first in steps.first] == [0] * 8
    assert [int(names[last - 1]) for last in steps.last] == [8] * 8
