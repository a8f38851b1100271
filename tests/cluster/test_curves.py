from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuflow.cluster.curves import (
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

LADDER = 2.0 ** np.arange(9, 30, 2)

rising = st.lists(st.floats(0.0, 2.0), min_size=2, max_size=12).map(
    lambda steps: 1e-5 * np.exp(np.cumsum(steps))
)


@given(rising, st.floats(1.5, 8.0))
@settings(max_examples=60, deadline=None)
def test_knots_are_met_and_times_never_fall(times: np.ndarray, ratio: float) -> None:
    sizes = 512.0 * ratio ** np.arange(len(times))
    assert interpolate(sizes, times, sizes) == pytest.approx(times, rel=1e-9)
    at = np.geomspace(sizes[0] / 10, sizes[-1] * 100, 400)
    found = interpolate(sizes, times, at)
    assert (found > 0).all()
    assert (np.diff(found) >= -1e-12 * found[1:]).all()
    assert found[0] == pytest.approx(times[0])


def test_knots_keep_the_shape_of_what_is_asked() -> None:
    times = curve(1e-5, 3e11, 1.5, LADDER)
    assert interpolate(LADDER, times, np.array(4096.0)).shape == ()
    assert interpolate(LADDER, times, np.ones((2, 3)) * 4096).shape == (2, 3)
    assert interpolate(LADDER[:1], times[:1], np.array([1.0, 1e9])) == pytest.approx(times[0])


def test_between_knots_a_smooth_knee_is_followed() -> None:
    times = curve(1.5e-5, 3e11, 1.8, LADDER)
    between = np.sqrt(LADDER[:-1] * LADDER[1:])
    found = interpolate(LADDER, times, between)
    assert found == pytest.approx(curve(1.5e-5, 3e11, 1.8, between), rel=0.02)


@pytest.mark.parametrize("q", [1.0, 1.5, 2.0])
def test_a_curve_is_found_again(q: float) -> None:
    times = curve(1.2e-5, 4e11, q, LADDER)
    keep = np.ones((1, len(LADDER)), dtype=bool)
    alpha, bandwidth, found = fit_curves(LADDER, times, keep)
    assert (alpha[0], bandwidth[0], found[0]) == pytest.approx((1.2e-5, 4e11, q), rel=1e-6)
    assert curve_left_out(LADDER, times) == pytest.approx(times, rel=1e-6)


def test_two_lines_are_found_again() -> None:
    times = np.where(LADDER < 3e6, 1e-5 + LADDER / 1e11, 4e-5 + LADDER / 2e11)
    split, lines = fit_lines(LADDER, times, np.ones((1, len(LADDER)), dtype=bool))
    assert 2**21 < split[0] < 2**23
    assert two_lines(float(split[0]), lines[0], LADDER) == pytest.approx(times, rel=1e-6)
    inner = slice(1, -1)
    assert np.isfinite(lines_left_out(LADDER, times)[inner]).all()


def test_leaving_out_needs_enough_points() -> None:
    times = curve(1e-5, 3e11, 1.0, LADDER)
    assert np.isnan(interpolate_left_out(LADDER[:2], times[:2], 0.2)).all()
    assert np.isnan(curve_left_out(LADDER[:2], times[:2])).all()
    assert np.isnan(lines_left_out(LADDER[:5], times[:5])).all()
    assert interpolate_left_out(LADDER, times, 0.2) == pytest.approx(times, rel=0.25)


def test_a_point_left_out_is_predicted_as_if_it_were_not_there() -> None:
    times = curve(1e-5, 3e11, 1.5, LADDER)
    guess = interpolate_left_out(LADDER, times, 0.2)
    keep = np.arange(len(LADDER)) != 4
    assert guess[4] == pytest.approx(float(interpolate(LADDER[keep], times[keep], LADDER[4])))


def test_a_disturbed_point_is_dropped_and_noise_is_shared() -> None:
    sizes = LADDER[:6]
    times = np.array([5.0, 5.1, 15.0, 6.5, 6.3, 9.0])
    kept, settled, dropped = settle(sizes, times, 0.2)
    assert dropped.tolist() == [False, False, True, False, False, False]
    assert kept.tolist() == sizes[~dropped].tolist()
    assert settled == pytest.approx([5.0, 5.1, 6.3992, 6.3992, 9.0], rel=1e-4)


@given(st.lists(st.floats(1e-6, 1e-2), min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_settled_times_rise_and_stay_among_the_measured(times: list[float]) -> None:
    sizes = LADDER[0] * 2.0 ** np.arange(len(times))
    kept, settled, dropped = settle(sizes, np.array(times), 0.2)
    assert len(kept) == len(settled) == len(times) - dropped.sum()
    assert (np.diff(settled) >= -1e-12).all() or len(kept) == 2
    assert settled.min() >= min(times) * (1 - 1e-9)
    assert settled.max() <= max(times) * (1 + 1e-9)
