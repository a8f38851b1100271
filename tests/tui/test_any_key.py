"""Three hundred keys and sizes at random, out of all that are bound: it stays alive and whole."""

from __future__ import annotations

import asyncio
import random

from textual import events
from textual.binding import Binding
from textual.pilot import Pilot
from textual.strip import Strip

from gpuflow.cells import cell_width
from gpuflow.cli.options import Request
from gpuflow.cli.request import scenario_of
from gpuflow.cli.whatif import locks_of, vary_of
from gpuflow.draw.play import fits
from gpuflow.draw.view import TABS
from gpuflow.engine.simulate import simulate
from gpuflow.engine.whatif import Settings
from gpuflow.scenario.spec import Scenario
from gpuflow.tui.app import PlayerApp
from gpuflow.tui.options import PlayerOptions
from gpuflow.tui.playhead import SPEEDS
from gpuflow.tui.screens.explore import ExploreScreen
from gpuflow.tui.screens.pages import PrimitivesPage, ReadingPage
from gpuflow.tui.screens.play import PlayScreen
from gpuflow.tui.widgets.canvas import FrameCanvas
from gpuflow.tui.widgets.keybar import KeyBar
from gpuflow.tui.widgets.sheet import Sheet

KEYS_PRESSED, AT_ONCE = 300, 6
SIZES = ((80, 24), (120, 40), (100, 30), (60, 20), (40, 10), (79, 50), (20, 5), (1, 1))
LEAVING = frozenset({"q", "ctrl+q", "ctrl+c", "ctrl+z"})
BOUND_BY = (PlayerApp, PlayScreen, ExploreScreen, ReadingPage, PrimitivesPage, Sheet)
OFTEN = ("w", "n", "a", "B", "t", "f", "z", "x", "c", "question_mark", *["escape"] * 4)
"""Keys that open something, and the one that leads back."""
UNBOUND = ("e", "0", "9", "enter", "f5", "shift+right")
MOST_GPUS = 32
"""Larger splits would be simulated in a thread for longer than the test should last."""
MOST_KEY_ROWS = 2
FPS = 3.0
"""So that the keys are what takes time."""
MOST_SCREENS = 4
"""The play, the primitives, the explorer, and a page about it."""


def keys_bound() -> list[str]:
    """Every key that any screen knows, without those that leave."""
    bindings = [binding for kind in BOUND_BY for binding in kind.BINDINGS]
    found = {
        key
        for binding in bindings
        if isinstance(binding, Binding)
        for key in binding.key.split(",")
    }
    return sorted((found | {*UNBOUND}) - LEAVING)


def app_to_change() -> PlayerApp:
    """A player whose scenario may be changed, up to a size."""
    asked = Request(profile="ideal")
    scenario = scenario_of(asked)
    vary = vary_of(asked, scenario)

    def vary_a_little(settings: Settings) -> Scenario:
        changed = vary(settings)
        return changed if changed.parallel.world <= MOST_GPUS else scenario

    options = PlayerOptions(
        language="en", is_playing=False, fps=FPS, vary=vary_a_little, locks=locks_of(asked)
    )
    return PlayerApp(simulate(scenario), options)


def rows_on(app: PlayerApp) -> list[str]:
    strips: list[Strip] = app.screen._compositor.render_strips(app.size)
    return ["".join(segment.text for segment in strip) for strip in strips]


def check_values(app: PlayerApp) -> None:
    """What the player holds can be held."""
    head, steps = app.playhead, app.timeline.steps
    assert 0 <= head.moment_s <= head.duration_s == app.pace.duration_s
    assert 0 <= head.first_s < head.last_s <= head.duration_s
    assert head.speed in SPEEDS
    assert 0 <= app.step_index < len(steps) == 8
    assert app.play_screen.tab in range(len(TABS))
    assert app.play_screen.page >= 0
    focus = app.focusing.within(app.scene.mesh)
    assert focus is None or 0 <= focus.rank < app.scene.mesh.n_ranks
    assert not app.touring.is_on or 0 <= app.touring.index < len(app.touring.stops)
    assert not (app.predicting.question and app.playhead.is_playing)
    assert app.screen_stack[0] is app.play_screen
    kinds = [type(screen) for screen in app.screen_stack]
    assert len(set(kinds)) == len(kinds)
    assert len(kinds) <= MOST_SCREENS
    if isinstance(app.screen, ExploreScreen):
        assert 0 <= app.screen.position <= app.screen.rounds


def check_screen(app: PlayerApp) -> None:
    """What is drawn fills the screen, and the hints leave room for it."""
    width, height = app.size
    assert [cell_width(row) for row in rows_on(app)] == [width] * height
    shown = app.screen.query(FrameCanvas)
    if shown:
        drawn = shown.first().shown
        assert drawn is not None
        assert (drawn.width, len(drawn.rows)) == (width, height)
        assert {sum(cell_width(run.text) for run in row) for row in drawn.rows} == {width}
    for bar in app.screen.query(KeyBar):
        if fits(width, height) and bar.display:
            assert 1 <= bar.size.height <= MOST_KEY_ROWS


async def press_about(pilot: Pilot[None], app: PlayerApp, luck: random.Random) -> set[str]:
    """Press, resize, look; returns the screens that were seen."""
    seen: set[str] = set()
    keys = [*keys_bound(), *OFTEN * 2]
    for count in range(KEYS_PRESSED // AT_ONCE):
        if luck.random() < 0.15:
            await pilot.resize_terminal(*luck.choice(SIZES))
        # All that wait are handled before the next look, so that none is waited for.
        for _ in range(AT_ONCE):
            app.post_message(events.Key(luck.choice(keys), None))
        await pilot.pause()
        check_values(app)
        seen |= {type(app.screen).__name__}
        seen |= {"tour"} if app.touring.is_on else set()
        seen |= {"question"} if app.predicting.question else set()
        seen |= {"panel"} if app.what_if.is_open else set()
        seen |= {"table"} if app.play_screen.is_unfolded else set()
        seen |= {"big"} if app.is_big else set()
        if count % 2:
            await pilot.pause()
            check_screen(app)
            assert app.is_running
    return seen


def test_300_random_keys_and_sizes_leave_it_alive_and_whole() -> None:
    app, luck = app_to_change(), random.Random(7)

    async def session() -> set[str]:
        async with app.run_test(size=(80, 24)) as pilot:
            return await press_about(pilot, app, luck)

    seen = asyncio.run(session())
    assert app.return_code in {None, 0}
    modes = {"tour", "question", "panel", "table", "big"}
    pages = {"PlayScreen", "ExploreScreen", "HelpPage", "PrimitivesPage"}
    # Which of them luck comes by changes with the keys that there are.
    assert len(seen & (modes | pages)) >= len(modes | pages) - 2
