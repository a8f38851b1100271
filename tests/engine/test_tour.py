"""The guided tour finds its moments on any timeline, and only where they are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpuflow.collectives.algorithms import ALGORITHMS
from gpuflow.engine.facts import NONE
from gpuflow.engine.moment import Moments
from gpuflow.engine.pace import Pace
from gpuflow.engine.simulate import simulate
from gpuflow.engine.tour import Stop, approach, stop_values, tour_stops
from gpuflow.scenario.spec import Scenario

Load = Callable[..., Scenario]
SPLITS: dict[str, tuple[str, dict[str, object]]] = {
    "as shipped": ("tp2-pp2", {}),
    "experts": ("moe-ep4", {}),
    "tensor parallelism alone": ("tp2-pp2", {"tp": 8, "pp": 1}),
    "one GPU": ("tp2-pp2", {"tp": 1, "pp": 1}),
    "four stages": ("tp2-pp2", {"pp": 4}),
    "one token": ("tp2-pp2", {"output": 1}),
    "many ranks": ("tp2-pp2", {"tp": 32, "pp": 4, "dp": 8}),
}


def tour_of(load: Load, name: str) -> tuple[Pace, tuple[Stop, ...]]:
    scenario, overrides = SPLITS[name]
    pace = Pace(simulate(load(scenario, **overrides)))
    return pace, tour_stops(pace)


def by_id(stops: tuple[Stop, ...]) -> dict[str, Stop]:
    return {stop.id: stop for stop in stops}


@pytest.mark.parametrize("name", SPLITS)
def test_every_primitive_has_a_stop(name: str, load: Load) -> None:
    pace, stops = tour_of(load, name)
    shown = {stop.subject.collective for stop in stops if stop.subject}
    shown |= {stop.span.collective for stop in stops if stop.span and stop.span.collective}
    if by_id(stops)["hand_over"].span is not None:
        shown.add("send_recv")
    assert shown >= set(ALGORITHMS)
    assert 18 <= len(stops) <= 26
    assert len(by_id(stops)) == len(stops)
    assert all(0 <= stop.screen_s <= pace.duration_s for stop in stops)


@pytest.mark.parametrize("name", SPLITS)
def test_the_play_runs_forward_and_never_for_long(name: str, load: Load) -> None:
    _, stops = tour_of(load, name)
    moments = [stop.screen_s for stop in stops]
    assert moments == sorted(moments)
    for index, stop in enumerate(stops):
        way_s = stop.screen_s - approach(stops, index)
        assert 0 <= way_s <= 4.0
        if stop.subject is not None:
            assert way_s == 0


@pytest.mark.parametrize("name", ["as shipped", "experts"])
def test_at_its_moment_a_stop_shows_what_it_tells_of(name: str, load: Load) -> None:
    pace, stops = tour_of(load, name)
    moments = Moments(pace)
    for stop in stops:
        if stop.span is not None:
            state = moments.at(stop.screen_s)
            assert state.span is stop.span
            assert 0 < state.span_progress < 1
    found = by_id(stops)
    assert moments.at(found["ttft"].screen_s).known.ttft_s == pace.timeline.ttft_s
    assert moments.at(found["layers"].screen_s).is_compressed
    assert moments.at(found["laps"].screen_s).span.fold == "laps"  # type: ignore[union-attr]
    assert moments.at(found["end"].screen_s).is_end


def test_what_the_split_lacks_is_explored_or_left_out(load: Load) -> None:
    _, stops = tour_of(load, "tensor parallelism alone")
    found = by_id(stops)
    assert found["hand_over"].is_away
    assert found["all_to_all"].is_away
    assert not found["all_reduce"].is_away
    assert {"waiting", "combine"}.isdisjoint(found)
    _, stops = tour_of(load, "experts")
    found = by_id(stops)
    assert found["all_reduce"].is_away
    assert not found["all_to_all"].is_away
    assert "combine" in found
    _, stops = tour_of(load, "one token")
    assert {"decode", "small", "kv_read", "laps", "network"}.isdisjoint(by_id(stops))


def test_a_stop_tells_the_figures_of_its_own_message(load: Load) -> None:
    pace, stops = tour_of(load, "as shipped")
    found = by_id(stops)
    values = stop_values(pace, found["token"])
    assert values["message_size"].value == 4
    assert stop_values(pace, found["all_reduce"])["message_size"].value == 4 * 2**20
    assert stop_values(pace, found["small"])["message_size"].value == 8 * 2**10
    network = stop_values(pace, found["network"])
    assert network["prefill_size"].value == 4 * 2**20
    assert network["decode_size"].value == 8 * 2**10
    ring = stop_values(pace, found["ring"])
    assert (ring["ranks"].value, ring["rounds"].value) == (4, 6)
    assert values["ranks"] == NONE
