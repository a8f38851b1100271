"""What a change on the screen costs in bytes, and that the cut loses nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from random import Random

import pyte
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.segment import Segment
from textual._compositor import ChopsUpdate, CompositorUpdate
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from gpuflow.draw.changes import changed_span
from gpuflow.draw.play import draw_play
from gpuflow.tui.app import PlayerApp
from gpuflow.tui.compositor import CuttingCompositor, CutUpdate, whole_characters
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
                canvas.show(draw_play(app.view(tab=0, page=0)), app.look)
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


@given(st.text("ab层─", min_size=1, max_size=12), st.data())
def test_a_cut_never_goes_through_a_wide_character(text: str, data: st.DataObject) -> None:
    strip = Strip([Segment(text)])
    first = data.draw(st.integers(0, strip.cell_length - 1))
    last = data.draw(st.integers(first + 1, strip.cell_length))
    start, stop = whole_characters(strip, first, last)
    assert first - 1 <= start <= first
    assert last <= stop <= last + 1
    assert strip.crop(start, stop).text in text


def written(app: PlayerApp, *, full: bool) -> str:
    """What would be sent for all that is dirty, or for the whole screen."""
    compositor = app.screen._compositor
    update = compositor.render_update(full=full, screen_stack=[])
    return update.render_segments(app.console) if isinstance(update, CompositorUpdate) else ""


def cells_of(screen: pyte.Screen) -> list[list[str]]:
    return [[screen.buffer[y][x].data for x in range(screen.columns)] for y in range(screen.lines)]


@pytest.mark.parametrize(
    ("size", "keys"), [((80, 24), ("t", "down")), ((101, 30), ()), ((150, 40), ("t",))]
)
def test_after_any_changes_the_terminal_shows_what_a_fresh_draw_shows(
    size: tuple[int, int], keys: tuple[str, ...], make_app: Callable[..., PlayerApp]
) -> None:
    app = make_app(language="zh", overrides={"tp": 4})
    chance = Random(7)

    async def session() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.press("2", *keys)
            await pilot.pause()
            terminal, changed = pyte.Screen(*size), 0
            stream = pyte.Stream(terminal)
            stream.feed(written(app, full=True))
            for _ in range(16):
                app.playhead.seek(chance.random() * app.pace.duration_s)
                app._play_screen.redraw()
                app.screen._compositor.update_widgets(set(app.screen.query(Widget)))
                sent = written(app, full=False)
                changed += bool(sent)
                stream.feed(sent)
                fresh = pyte.Screen(*size)
                pyte.Stream(fresh).feed(written(app, full=True))
                assert cells_of(terminal) == cells_of(fresh)
            assert changed > 8

    asyncio.run(session())
