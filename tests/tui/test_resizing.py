"""A terminal whose size changes more quickly than anybody can draw."""

from __future__ import annotations

import subprocess
import sys

import pytest

DEADLINE_S = 60
"""A player that hears nothing any more cannot be ended from within."""
STORM = """
import asyncio
from textual import events
from textual.geometry import Size
from gpuflow.engine.simulate import simulate
from gpuflow.scenario.load import load_scenario
from gpuflow.tui.app import PlayerApp
from gpuflow.tui.options import PlayerOptions
from gpuflow.tui.player import settled

async def main() -> None:
    options = settled(PlayerOptions(language="en", has_color=False), {})
    app = PlayerApp(simulate(load_scenario("tp2-pp2")), options)
    laid_out = 0
    async with app.run_test(size=(80, 24)) as pilot:
        for key in KEYS:
            await pilot.press(key)
        screen = app.screen
        layout = screen._refresh_layout

        def counted(*given, **named):
            nonlocal laid_out
            laid_out += 1
            return layout(*given, **named)

        screen._refresh_layout = counted
        for _ in range(3):
            for size in (Size(80, 2), Size(10, 5)):
                screen.post_message(events.Resize(size, size, size))
                screen.call_after_refresh(screen.rebuild)
        await pilot.pause()
        await pilot.resize_terminal(120, 40)
        await pilot.pause()
        assert screen.size == Size(120, 40), screen.size
        await pilot.press("q")
    print("left", app.return_code, laid_out)

asyncio.run(main())
"""


@pytest.mark.parametrize("keys", ["", "?", "x"], ids=["play", "page", "explorer"])
def test_sizes_that_hold_no_more_do_not_chase_each_other(keys: str) -> None:
    command = [sys.executable, "-c", f"KEYS = {keys!r}\n{STORM}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    left, status, laid_out = done.stdout.split()
    assert (left, status) == ("left", "0")
    # The one size that counts, and what the picture in it asks for.
    assert int(laid_out) < 12
