"""The cards of the gallery: they play, but not where nothing is to move, nor out of sight."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from textual.pilot import Pilot

from gpuflow.tui.app import PlayerApp
from gpuflow.tui.screens.pages import PrimitivesPage


def watch(app: PlayerApp, then: Callable[[Pilot[None], PrimitivesPage], Awaitable[None]]) -> None:
    async def session() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("c")
            await pilot.pause()
            assert isinstance(app.screen, PrimitivesPage)
            await then(pilot, app.screen)

    asyncio.run(session())


@pytest.mark.parametrize("is_animated", [True, False])
def test_cards_play_by_themselves_only_where_pictures_move(
    is_animated: bool, make_app: Callable[..., PlayerApp]
) -> None:
    async def then(pilot: Pilot[None], page: PrimitivesPage) -> None:
        assert (page._timer is not None) is is_animated
        await pilot.press("space")
        assert (page._timer is None) is is_animated

    watch(make_app(is_animated=is_animated), then)


def test_cards_hold_while_another_screen_covers_them(make_app: Callable[..., PlayerApp]) -> None:
    async def then(pilot: Pilot[None], page: PrimitivesPage) -> None:
        await pilot.press("x")
        await pilot.pause()
        assert page._timer is None
        await pilot.press("escape")
        await pilot.pause()
        assert page.is_current
        assert page._timer is not None
        await pilot.press("space", "x", "escape")
        await pilot.pause()
        assert page._timer is None, "what was held stays held"

    watch(make_app(), then)
