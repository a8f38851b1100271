"""The front against its definition, point by point."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuflow.engine.pareto import front


def brute_force(x: np.ndarray, y: np.ndarray) -> set[int]:
    """Points for which no other one is as good in both and better in one."""
    known = np.isfinite(x) & np.isfinite(y)
    as_good = (x[:, None] >= x) & (y[:, None] >= y) & known[:, None]
    better = (x[:, None] > x) | (y[:, None] > y)
    return set(np.flatnonzero(known & ~(as_good & better).any(axis=0)).tolist())


@pytest.mark.parametrize("kinds", [3, 10, 1000])
def test_front_is_that_of_brute_force(kinds: int) -> None:
    rng = np.random.default_rng(kinds)
    for _ in range(20):
        x, y = rng.integers(0, kinds, (2, 300)).astype(float)
        x[rng.random(300) < 0.1] = np.nan
        assert set(front(x, y).tolist()) == brute_force(x, y)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), max_size=12))
@settings(deadline=None, max_examples=200)
def test_front_of_any_few_points(points: list[tuple[int, int]]) -> None:
    x, y = np.array(points, dtype=float).reshape(-1, 2).T
    found = front(x, y)
    assert set(found.tolist()) == brute_force(x, y)
    assert len(set(found.tolist())) == len(found)
    assert (np.diff(x[found]) <= 0).all()


def test_of_equal_points_all_stand_on_it() -> None:
    assert front(np.array([1.0, 1.0]), np.array([2.0, 2.0])).tolist() == [0, 1]


def test_nothing_known_has_no_front() -> None:
    assert front(np.array([np.nan, 1.0]), np.array([1.0, np.nan])).tolist() == []
    assert front(np.zeros(0), np.zeros(0)).tolist() == []
