"""How often it draws: frames per second, no motion at all, one step alone, over and over."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from gpuflow.engine.pace import Pace
from gpuflow.engine.parts import still_moment
from gpuflow.tui.app import PlayerApp

Start = Callable[..., Any]
IDEAL = ("play", "--profile", "ideal", "--lang", "en")


def bytes_of_a_step(terminal: Any, number: int) -> int:
    """What a step played alone sends from its first picture until it stops."""
    terminal.until(lambda screen: f"{number}/8" in screen)
    terminal.until(lambda screen: "⏸" in screen)
    while terminal.read(0.3):
        pass
    sent = len(terminal.raw)
    assert terminal.read(1.0) == b""
    return sent


def test_fewer_frames_send_fewer_bytes_and_none_send_none(on_terminal: Start) -> None:
    sent = {
        fps: bytes_of_a_step(on_terminal(*IDEAL, "--step", "3", "--fps", str(fps)), 3)
        for fps in (12, 1)
    }
    still = on_terminal(*IDEAL, "--step", "3", "--no-animation")
    base = bytes_of_a_step(still, 3)
    assert base < sent[1] < sent[12]
    # A twelfth of the frames, each of which changes more; a busy machine skips some of the many.
    assert sent[1] - base < (sent[12] - base) * 0.75


def test_a_still_step_says_most_and_waits_for_keys(on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL, "--no-animation")
    terminal.until(lambda screen: "1/8" in screen)
    terminal.press("l")
    # rows of one frame may arrive in several reads
    terminal.until(lambda screen: "2/8" in screen and "4 MiB · 19.3 µs" in screen)
    terminal.until(lambda screen: "⏸" in screen)
    terminal.press("q")
    assert terminal.status() == 0


def test_without_motion_time_turns_pages(make_app: Callable[..., PlayerApp]) -> None:
    app = make_app(is_animated=False, is_playing=True)

    async def session() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            app.screen_stack[0].action_play()  # type: ignore[attr-defined]
            app.playhead.is_playing = True
            shown = set()
            for _ in range(2000):
                shown.add(app.playhead.moment_s)
                app.playing.let_pass(0.5)
                if not app.playhead.is_playing:
                    break
            stills = {still_moment(app.pace, step) for step in range(8)}
            assert shown == stills
            assert app.playhead.is_at_end

    asyncio.run(session())


def test_one_step_alone_comes_round_in_a_loop(make_app: Callable[..., PlayerApp]) -> None:
    for is_animated in (True, False):
        app = make_app(is_animated=is_animated, is_playing=True, only_step=2, loops=True)
        app.playhead.seek(app.pace.step_start(2))
        steps = set()
        for _ in range(200):
            app.playing.let_pass(0.5)
            steps.add(app.step_index)
        assert steps == {2}
        assert app.playhead.is_playing


@pytest.mark.parametrize("name", ["tp2-pp2", "moe-ep4"])
def test_a_still_moment_is_of_its_step(name: str, make_app: Callable[..., PlayerApp]) -> None:
    pace: Pace = make_app(name).pace
    for step in range(8):
        assert pace.stretch(still_moment(pace, step)).step == step
