"""The guided tour in the player: its keys, its way from stop to stop, and its end."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from gpuflow.engine.tour import tour_stops
from gpuflow.tui import touring
from gpuflow.tui.app import PlayerApp
from gpuflow.tui.screens.explore import ExploreScreen
from gpuflow.tui.screens.explore_stop import ExploreStop
from gpuflow.tui.screens.pages import HelpPage
from gpuflow.tui.screens.play import PlayScreen
from gpuflow.tui.widgets.canvas import FrameCanvas

Make = Callable[..., PlayerApp]
Start = Callable[..., Any]
WIDE = (140, 44)
"""Room for all words of a stop at once."""


def shown(app: PlayerApp) -> str:
    frame = app.screen.query_one(FrameCanvas).shown
    assert frame is not None
    return frame.text()


async def to_stop(app: PlayerApp, pilot: Pilot[None], name: str) -> None:
    """Straight to a stop."""
    await app.touring.go([stop.id for stop in app.touring.stops].index(name))
    await pilot.pause()
    if app.touring.is_travelling:
        await pilot.press("right")
    await pilot.pause()


def run(
    app: PlayerApp, session: Callable[[Pilot[None]], Any], size: tuple[int, int] = WIDE
) -> None:
    async def whole() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await session(pilot)

    asyncio.run(whole())


def test_n_begins_at_the_first_stop_and_right_goes_on(make_app: Make) -> None:
    app = make_app()

    async def session(pilot: Pilot[None]) -> None:
        await pilot.press("n")
        await pilot.pause()
        assert "tour 1/23 · From a prompt to its answer" in shown(app)
        assert not app.playhead.is_playing
        await pilot.press("right")
        assert app.touring.is_travelling
        assert app.playhead.is_playing
        await pilot.press("right")
        await pilot.pause()
        assert not app.touring.is_travelling
        assert not app.playhead.is_playing
        assert app.playhead.moment_s == tour_stops(app.pace)[1].screen_s
        assert "tour 2/23" in shown(app)
        assert "A broadcast turns the root's one copy" in shown(app)

    run(app, session)


def test_the_play_itself_comes_to_the_stop_and_waits(make_app: Make) -> None:
    app = make_app(is_touring=True)

    async def session(pilot: Pilot[None]) -> None:
        await pilot.press("space")
        assert app.touring.is_travelling
        app.play_screen.pass_time(0.5)
        assert app.touring.is_travelling
        app.play_screen.pass_time(60.0)
        assert not app.touring.is_travelling
        assert app.playhead.moment_s == app.touring.stop.screen_s
        assert not app.playhead.is_playing

    run(app, session)


def test_back_goes_straight_there(make_app: Make) -> None:
    app = make_app(is_touring=True)

    async def session(pilot: Pilot[None]) -> None:
        await to_stop(app, pilot, "hand_over")
        before = app.touring.index
        await pilot.press("left")
        await pilot.pause()
        assert app.touring.index == before - 1
        assert not app.touring.is_travelling
        assert app.playhead.moment_s == app.touring.stop.screen_s
        for _ in range(30):
            app.post_message(events.Key("left", None))
        await pilot.pause()
        assert app.touring.index == 0

    run(app, session)


def test_the_keys_of_a_remote_control_turn_stops_unless_a_table_is_open(make_app: Make) -> None:
    app = make_app(is_touring=True, is_animated=False)

    async def session(pilot: Pilot[None]) -> None:
        await pilot.press("pagedown", "pagedown", "pageup")
        assert app.touring.index == 1
        await pilot.press("t", "pagedown")
        await pilot.pause()
        assert app.touring.index == 1
        await pilot.press("escape")
        assert app.touring.is_on
        await pilot.press("B", "pagedown")
        assert app.is_big
        assert app.touring.index == 2

    run(app, session)


def test_primitives_that_the_play_lacks_open_the_explorer(make_app: Make) -> None:
    app = make_app(is_touring=True)

    async def session(pilot: Pilot[None]) -> None:
        await to_stop(app, pilot, "all_to_all")
        assert isinstance(app.screen, ExploreStop)
        assert app.screen.subject.collective == "all_to_all"
        assert "This scenario does without it" in shown(app)
        rounds = app.screen.rounds
        app.screen.pass_time(1000.0)
        assert app.screen.position == rounds
        app.screen.pass_time(1000.0)
        assert app.screen.position == 0
        await pilot.press("right")
        await pilot.pause()
        assert isinstance(app.screen, PlayScreen)
        await to_stop(app, pilot, "reduce")
        assert len(app.screen_stack) == 2
        await pilot.press("L")
        await pilot.pause()
        assert "导览 21/23" in shown(app)

    run(app, session)


def test_escape_leaves_and_the_play_goes_on(make_app: Make) -> None:
    app = make_app(is_touring=True)

    async def session(pilot: Pilot[None]) -> None:
        await to_stop(app, pilot, "ring")
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(app.screen, PlayScreen)
        assert not app.touring.is_on
        assert app.playhead.is_playing
        assert "tour" not in shown(app)
        before = app.step_index
        await pilot.press("right")
        assert app.step_index == before + 1

    run(app, session)


@pytest.mark.parametrize("key", ["4", "full_stop", "r"])
def test_a_key_that_moves_the_play_ends_the_tour_and_does_its_work(
    key: str, make_app: Make
) -> None:
    app = make_app(is_touring=True)

    async def session(pilot: Pilot[None]) -> None:
        await to_stop(app, pilot, "all_reduce")
        before = app.playhead.moment_s
        await pilot.press(key)
        await pilot.pause()
        assert not app.touring.is_on
        assert app.playhead.moment_s != before

    run(app, session)


def test_pages_and_the_explorer_may_be_looked_at_on_the_way(make_app: Make) -> None:
    app = make_app(is_touring=True)

    async def session(pilot: Pilot[None]) -> None:
        await to_stop(app, pilot, "all_reduce")
        await pilot.press("question_mark")
        assert isinstance(app.screen, HelpPage)
        await pilot.press("right", "escape")
        await pilot.press("x")
        assert isinstance(app.screen, ExploreScreen)
        assert not isinstance(app.screen, ExploreStop)
        await pilot.press("right", "escape")
        await pilot.pause()
        assert app.touring.is_on
        assert app.touring.stop.id == "all_reduce"
        assert "tour 4/23" in shown(app)

    run(app, session)


def test_a_small_screen_turns_pages_before_it_goes_on(make_app: Make) -> None:
    app = make_app(is_touring=True)

    async def session(pilot: Pilot[None]) -> None:
        first = shown(app)
        assert "[⇥ 1/" in first
        pages = int(first.split("[⇥ 1/")[1][0])
        assert pages > 1
        for _ in range(pages - 1):
            await pilot.press("space")
            assert app.touring.index == 0
        await pilot.pause()
        assert f"[⇥ {pages}/{pages}]" in shown(app)
        await pilot.press("space")
        assert app.touring.index == 1

    run(app, session, size=(80, 24))


@pytest.mark.parametrize("size", [(40, 10), (80, 24)])
def test_it_can_be_gone_through_on_any_screen(size: tuple[int, int], make_app: Make) -> None:
    app = make_app("moe-ep4", is_touring=True, is_animated=False)

    async def session(pilot: Pilot[None]) -> None:
        seen = []
        while app.touring.stop.id != "end":
            seen.append(app.touring.stop.id)
            await app.touring.onward()
        assert list(dict.fromkeys(seen)) == [stop.id for stop in app.touring.stops][:-1]
        await pilot.press("right", "right", "right", "right", "right", "right")
        assert app.touring.is_on
        assert isinstance(app.screen, PlayScreen)

    run(app, session, size=size)


def test_by_itself_it_goes_on_after_the_time_to_read(
    make_app: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(touring, "READING_S", 0.01)
    app = make_app(is_touring=True, tours_by_itself=True, is_animated=False)

    async def session(pilot: Pilot[None]) -> None:
        while app.touring.stop.id != "end":
            await pilot.pause(0.02)
        assert isinstance(app.screen, PlayScreen)

    run(app, session)


def test_asking_rests_while_the_tour_speaks(make_app: Make) -> None:
    app = make_app(is_asking=True)

    async def session(pilot: Pilot[None]) -> None:
        await app.action_tour()
        await pilot.pause()
        assert app.touring.is_on
        assert not app.predicting.is_on
        await to_stop(app, pilot, "all_reduce")
        await pilot.press("n")
        assert not app.touring.is_on

    run(app, session)


def test_it_is_a_verb_and_leaves_the_terminal_as_it_was(on_terminal: Start) -> None:
    terminal = on_terminal("tour", "--profile", "ideal", "--lang", "en", size=(100, 30))
    terminal.until(lambda screen: "tour 1/23" in screen)
    terminal.press("\x03")
    assert terminal.status() == 130
    assert terminal.is_as_it_was()
