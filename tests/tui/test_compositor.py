"""What a change on the screen costs in bytes, and that the cut loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pyte
import pytest
from textual._compositor import ChopsUpdate
from textual.geometry import Region

from gpuflow.draw.changes import changed_span
from gpuflow.tui.app import PlayerApp
from gpuflow.tui.compositor import CuttingCompositor, CutUpdate
from gpuflow.tui.widgets.canvas import FrameCanvas

SIZE = (200, 60)
N_FRAMES = 80
"""Ten seconds over ssh: a layer with its all_reduces, then layers skipped through."""


def update_of(app: PlayerApp, *regions: Region) -> CutUpdate:
    compositor = app.screen._compositor
    assert isinstance(compositor, CuttingCompositor)
    compositor._dirty_regions = set(regions)
    update = compositor.render_partial_update()
    assert isinstance(update, CutUpdate)
    return update


def sent(update: ChopsUpdate, app: PlayerApp) -> str:
    return update.render_segments(app.console)


@pytest.mark.parametrize("x", [0, 60, 190])
def test_one_changed_cell_costs_little_wherever_it_is(
    x: int, make_app: Callable[..., PlayerApp]
) -> None:
    app = make_app()

    async def session() -> None:
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause()
            assert len(sent(update_of(app, Region(x, 5, 1, 1)), app)) < 100

    asyncio.run(session())


def test_the_cut_update_leaves_the_same_screen(make_app: Callable[..., PlayerApp]) -> None:
    app = make_app(language="zh")
    regions = [Region(3, 2, 40, 1), Region(100, 7, 60, 1), Region(0, 30, 200, 1)]

    async def session() -> None:
        async with app.run_test(size=SIZE) as pilot:
            await pilot.press("2")
            await pilot.pause()
            cut = update_of(app, *regions)
            whole = ChopsUpdate(cut.chops, cut.spans, cut.chop_ends)
            full = app.screen._compositor.render_strips(app.size)
            rows = ["".join(segment.text for segment in strip) for strip in full]
            shown = {}
            for name, update in (("cut", cut), ("whole", whole)):
                screen = pyte.Screen(*SIZE)
                pyte.Stream(screen).feed(sent(update, app))
                shown[name] = screen.display
            for region in regions:
                y = region.y
                part = shown["cut"][y][region.x : region.right].rstrip()
                assert part
                assert part in rows[y]
                assert part in shown["whole"][y]
            assert len(sent(cut, app)) < len(sent(whole, app))

    asyncio.run(session())


def test_a_frame_of_the_play_sends_no_more_than_what_changed(
    make_app: Callable[..., PlayerApp],
) -> None:
    app = make_app()

    async def session() -> int:
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("2")
            await pilot.pause()
            canvas = app.screen.query_one(FrameCanvas)
            total = 0
            for _ in range(N_FRAMES):
                before = canvas.shown
                app.playhead.seek(app.playhead.moment_s + 1 / 8)
                canvas.show(app.frame(tab=0, page=0), app.look)
                after = canvas.shown
                assert before is not None
                assert after is not None
                spans = [
                    (y, changed_span(old, new))
                    for y, (old, new) in enumerate(zip(before.rows, after.rows, strict=True))
                ]
                regions = [Region(s[0], y, s[1] - s[0], 1) for y, s in spans if s is not None]
                total += len(sent(update_of(app, *regions), app))
            return total // N_FRAMES

    # 8 frames a second over ssh stay well below 40 KiB/s.
    assert 100 < asyncio.run(session()) < 3000
