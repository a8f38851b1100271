from __future__ import annotations

import pytest

from gpuflow.tui.playhead import SPEEDS, Playhead

EVENTS = (0.0, 1.0, 2.5)


def test_time_passes_at_the_chosen_speed_and_stops_at_the_end() -> None:
    head = Playhead(10.0)
    head.change_speed(1)
    head.advance(2.0)
    assert head.moment_s == 4.0
    head.advance(100.0)
    assert (head.moment_s, head.is_playing, head.is_at_end) == (10.0, False, True)


def test_a_paused_head_stays() -> None:
    head = Playhead(10.0, 3.0, is_playing=False)
    head.advance(1.0)
    assert head.moment_s == 3.0


def test_play_at_the_end_starts_again() -> None:
    head = Playhead(10.0, 10.0, is_playing=False)
    head.toggle()
    assert (head.moment_s, head.is_playing) == (0.0, True)


def test_speed_stays_within_its_range() -> None:
    head = Playhead(10.0)
    head.change_speed(-100)
    assert head.speed == SPEEDS[0]
    head.change_speed(100)
    assert head.speed == SPEEDS[-1]


@pytest.mark.parametrize(
    ("moment_s", "way", "expected_s"),
    [
        (0.0, 1, 1.0),
        (0.5, 1, 1.0),
        (1.0, 1, 2.5),
        (3.0, 1, 4.0),
        (3.0, -1, 2.5),
        (2.5, -1, 1.0),
        (1.7, -1, 1.0),
        (0.0, -1, 0.0),
    ],
)
def test_events_are_gone_through_one_by_one(moment_s: float, way: int, expected_s: float) -> None:
    head = Playhead(4.0, moment_s)
    head.go_event(EVENTS, way)
    assert (head.moment_s, head.is_playing) == (expected_s, False)


def test_seeking_stays_within_the_play() -> None:
    head = Playhead(4.0)
    head.seek(-1.0)
    assert head.moment_s == 0.0
    head.seek(9.0)
    assert head.moment_s == 4.0


def test_a_loop_begins_again() -> None:
    head = Playhead(10.0, 9.5, loops=True)
    head.advance(1.0)
    assert (head.moment_s, head.is_playing) == (0.0, True)


def test_a_part_ends_where_it_ends_and_is_left_by_going_elsewhere() -> None:
    head = Playhead(10.0, 2.0, part=(2.0, 4.0))
    head.advance(5.0)
    assert (head.moment_s, head.is_playing) == (4.0, False)
    head.toggle()
    assert (head.moment_s, head.is_playing) == (2.0, True)
    head.seek(6.0)
    head.advance(9.0)
    assert head.moment_s == 10.0


def test_a_looping_part_goes_round_in_it() -> None:
    head = Playhead(10.0, 2.0, part=(2.0, 4.0), loops=True)
    head.advance(2.5)
    assert (head.moment_s, head.is_playing) == (2.0, True)
