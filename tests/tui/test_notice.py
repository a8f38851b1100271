"""A warning shown at the start of the player."""

from __future__ import annotations

import asyncio

import pytest

from gpuflow.engine.simulate import simulate
from gpuflow.tui.app import PlayerApp
from gpuflow.tui.options import PlayerOptions


@pytest.mark.parametrize("notice", ["It does not fit: [b]tp 1[/b]", ""])
def test_a_notice_is_shown_as_it_is(load, notice: str) -> None:
    app = PlayerApp(simulate(load()), PlayerOptions(language="en", notice=notice, is_playing=False))
    shown: list[str] = []

    async def play() -> None:
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.pause()
            shown.extend(str(found.message) for found in app._notifications)

    asyncio.run(play())
    assert shown == ([notice] if notice else [])
