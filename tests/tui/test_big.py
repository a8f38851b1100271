"""Big mode under Textual's pilot: big steps, and the way back."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from textual.pilot import Pilot

from gpuflow.tui.app import PlayerApp
from gpuflow.tui.screens.play import PlayScreen
from gpuflow.tui.widgets.canvas import FrameCanvas
from gpuflow.tui.widgets.keybar import KeyBar


def screen_of(app: PlayerApp) -> PlayScreen:
    screen = app.screen_stack[0]
    assert isinstance(screen, PlayScreen)
    return screen


def shown(app: PlayerApp) -> str:
    frame = screen_of(app).query_one(FrameCanvas).shown
    assert frame is not None
    return frame.text()


def watch(app: PlayerApp, then: Callable[[Pilot[None]], Awaitable[None]]) -> None:
    async def session() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            await then(pilot)

    asyncio.run(session())


@pytest.mark.parametrize("is_animated", [True, False], ids=["moving", "still"])
def test_every_step_is_held_at_its_end_until_space(
    make_app: Callable[..., PlayerApp], is_animated: bool
) -> None:
    app = make_app(is_big=True, is_playing=True, is_animated=is_animated)

    async def then(pilot: Pilot[None]) -> None:
        for step in range(7):
            for _ in range(2000):
                if not app.playhead.is_playing:
                    break
                screen_of(app).pass_time(0.2)
            assert app.step_index == step
            assert not app.playhead.is_playing
            if is_animated:
                assert app.playhead.moment_s == pytest.approx(app.pace.step_end(step), abs=1e-3)
            await pilot.press("space")
            assert app.step_index == step + 1
            assert app.playhead.is_playing

    watch(app, then)


def test_space_within_a_step_pauses_and_goes_on(make_app: Callable[..., PlayerApp]) -> None:
    app = make_app(is_big=True, start_s=3.0)

    async def then(pilot: Pilot[None]) -> None:
        await pilot.press("space")
        assert app.playhead.is_playing
        assert app.step_index == 1
        await pilot.press("space")
        assert not app.playhead.is_playing

    watch(app, then)


def test_the_key_switches_and_the_footer_goes_and_comes(
    make_app: Callable[..., PlayerApp],
) -> None:
    app = make_app()

    async def then(pilot: Pilot[None]) -> None:
        await pilot.press("B")
        await pilot.pause()
        assert "simulated time" in shown(app)
        assert screen_of(app).query_one(KeyBar).has_class("-hidden")
        await pilot.press("B")
        await pilot.pause()
        assert "simulated time" not in shown(app)
        assert not screen_of(app).query_one(KeyBar).has_class("-hidden")

    watch(app, then)
