"""The what-if panel under Textual's pilot: its keys, what follows them, and that nothing breaks."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from textual import events
from textual.pilot import Pilot

from gpuflow.cli.options import Request
from gpuflow.cli.request import scenario_of
from gpuflow.cli.whatif import locks_of, vary_of
from gpuflow.draw.frame import Frame
from gpuflow.draw.play import draw_play
from gpuflow.engine.explore import outlook
from gpuflow.engine.requirements import requirement_table
from gpuflow.engine.simulate import simulate
from gpuflow.engine.timeline import Timeline
from gpuflow.engine.tour import tour_stops
from gpuflow.engine.whatif import Knob
from gpuflow.scenario.spec import Scenario
from gpuflow.tui import whatif
from gpuflow.tui.app import PlayerApp
from gpuflow.tui.options import PlayerOptions
from gpuflow.tui.screens.explore import ExploreScreen
from gpuflow.tui.screens.play import PlayScreen
from gpuflow.tui.tables import table_frame
from gpuflow.tui.widgets.canvas import FrameCanvas
from gpuflow.tui.widgets.sheet import Sheet

DATA = Path(__file__).parents[1] / "data"


@cache
def _played(request: Request) -> tuple[Scenario, Timeline]:
    scenario = scenario_of(request)
    return scenario, simulate(scenario)


def app_of(request: Request | None = None, **settings: Any) -> PlayerApp:
    """A paused player of a request whose scenario may be changed."""
    asked = request or Request()
    scenario, timeline = _played(asked)
    chosen = {"language": "en", "is_playing": False, **settings}
    options = PlayerOptions(vary=vary_of(asked, scenario), locks=locks_of(asked), **chosen)
    return PlayerApp(timeline, options)


def in_session(
    app: PlayerApp,
    look: Callable[[Pilot[None]], Awaitable[None]],
    size: tuple[int, int] = (120, 40),
) -> None:
    async def session() -> None:
        async with app.run_test(size=size) as pilot:
            await look(pilot)

    asyncio.run(session())


async def press(pilot: Pilot[None], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()


def shown(app: PlayerApp) -> Frame:
    frame = app.screen_stack[0].query_one(FrameCanvas).shown
    assert frame is not None
    return frame


def knob(app: PlayerApp, name: str) -> Knob:
    return next(one for one in app.what_if.knobs if one.id == name)


async def choose(pilot: Pilot[None], app: PlayerApp, name: str) -> None:
    names = [one.id for one in app.what_if.knobs]
    while app.what_if.row != names.index(name):  # type: ignore[arg-type]
        await pilot.press("down")


def test_a_change_reaches_picture_header_figures_steps_and_table() -> None:
    app = app_of()

    async def look(pilot: Pilot[None]) -> None:
        before = app.timeline
        await press(pilot, "2", "w")
        assert "What if" in shown(app).text()
        assert "TP 2→4" not in shown(app).text()
        await press(pilot, "right")
        after = app.timeline
        assert after.scenario == scenario_of(Request(tp=4))
        text = shown(app).text()
        assert "TP 2→4" in text.splitlines()[1]
        assert "GPU 7" in text
        assert app.step_index == 1
        panel = app.view(tab=0, page=0).panel
        assert panel is not None
        figures = panel.difference.figures
        assert (figures["ttft_s"].before, figures["ttft_s"].after) == (before.ttft_s, after.ttft_s)
        steps = [(pair.before, pair.after) for pair in panel.difference.steps]
        assert steps == [
            (a.duration_s, b.duration_s) for a, b in zip(before.steps, after.steps, strict=True)
        ]
        await press(pilot, "t")
        table = app.screen.query_one("#table", Sheet).shown
        assert table is not None
        tables = requirement_table(after.scenario), requirement_table(before.scenario)
        assert table == table_frame(tables[0], "en", 119, tables[1])
        assert "● was ✓ ok" in table.text()
        assert "● was" not in table_frame(tables[0], "en", 119).text()
        await press(pilot, "down")
        assert (app.what_if.row, app.screen.query_one("#table", Sheet).scroll_y) == (0, 1)
        await press(pilot, "t", "down")
        assert app.what_if.row == 1, "up and down are for the table while it is unfolded"
        await press(pilot, "w")
        text = shown(app).text()
        assert "What if" not in text
        assert "TP 2→4" in text, "closing keeps the change, and says so"

    in_session(app, look)


def test_values_that_do_not_go_are_skipped_and_it_says_why() -> None:
    app = app_of(Request(scenario="moe-ep4"))

    async def look(pilot: Pilot[None]) -> None:
        await press(pilot, "w")
        await choose(pilot, app, "dp")
        await press(pilot, "left")
        assert knob(app, "dp").value == 4
        assert "DP 2 skipped: " in shown(app).text()
        await choose(pilot, app, "ep")
        await press(pilot, "left")
        assert knob(app, "ep").value == 2
        await choose(pilot, app, "dp")
        await press(pilot, "left")
        assert (knob(app, "dp").value, app.timeline.scenario.parallel.dp) == (2, 2)
        assert "skipped" not in shown(app).text()

    in_session(app, look)


def test_backspace_puts_one_back_and_r_all() -> None:
    app = app_of()

    async def look(pilot: Pilot[None]) -> None:
        original = app.timeline
        await press(pilot, "5", "w", "right", "down", "down", "right", "right")
        assert dict(app.what_if.settings) == {"tp": 4, "batch": 4}
        await press(pilot, "backspace")
        assert dict(app.what_if.settings) == {"tp": 4}
        assert app.timeline.scenario.workload.batch == 1
        await press(pilot, "right", "r")
        assert dict(app.what_if.settings) == {}
        assert app.timeline is original
        assert app.step_index == 4, "r puts back; it does not begin again while the panel is open"
        await press(pilot, "escape", "r")
        assert app.step_index == 0

    in_session(app, look)


def test_names_go_round_and_numbers_end() -> None:
    app = app_of()

    async def look(pilot: Pilot[None]) -> None:
        await press(pilot, "w", "left", "left", "left")
        assert knob(app, "tp").value == 1
        await choose(pilot, app, "all_reduce")
        await press(pilot, "right")
        assert knob(app, "all_reduce").lock == "without_tp"
        assert "at TP 1 there is no all_reduce" in shown(app).text()
        await choose(pilot, app, "profile")
        values = knob(app, "profile").values
        for _ in values:
            await press(pilot, "right")
        assert dict(app.what_if.settings) == {"tp": 1}

    in_session(app, look)


def test_the_play_goes_on_as_far_into_the_step() -> None:
    app = app_of(speed=2.0, is_playing=True)

    async def look(pilot: Pilot[None]) -> None:
        start_s, end_s = app.pace.step_start(3), app.pace.step_end(3)
        app.playhead.seek(start_s + 0.5 * (end_s - start_s))
        app.playhead.is_playing = False
        await press(pilot, "w", "right")
        start_s, end_s = app.pace.step_start(3), app.pace.step_end(3)
        assert app.playhead.moment_s == pytest.approx(start_s + 0.5 * (end_s - start_s))
        assert app.playhead.speed == 2.0
        app.playhead.is_playing = True
        await press(pilot, "left")
        assert app.playhead.is_playing

    in_session(app, look)


def test_large_clusters_are_simulated_beside_the_player(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whatif, "QUICK_GPUS", 4)
    app = app_of()

    async def look(pilot: Pilot[None]) -> None:
        before = app.timeline
        await pilot.press("w", "right", "right")
        assert knob(app, "tp").value == 8, "keys count from what was asked for"
        await press(pilot)
        assert app.timeline is not before
        assert app.timeline.scenario.parallel.tp == 8
        assert not app.what_if.is_busy
        await pilot.press("right")
        await press(pilot, "r")
        assert app.timeline is before, "what comes too late is not shown"

    in_session(app, look)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set once a change that is simulated beside the player may come to its end."""
    monkeypatch.setattr(whatif, "QUICK_GPUS", 1)
    may_end = threading.Event()
    play = whatif.WhatIf.play

    def late(*arguments: Any) -> Any:
        may_end.wait(60)
        return play(*arguments)

    monkeypatch.setattr(whatif.WhatIf, "play", late)
    return may_end


def test_a_tour_begins_anew_when_a_late_change_replaces_what_it_is_of(
    held: threading.Event,
) -> None:
    app = app_of()

    async def look(pilot: Pilot[None]) -> None:
        await pilot.press("w", "right", "n", "right")
        before = app.touring.stops
        held.set()
        await press(pilot)
        await pilot.pause()
        assert app.timeline.scenario.parallel.tp == 4
        assert app.touring.is_on
        assert app.touring.index == 0
        assert app.touring.stops == tour_stops(app.pace)
        assert app.touring.stops != before

    in_session(app, look)


def test_an_open_explorer_shows_a_late_change_at_once(held: threading.Event) -> None:
    app = app_of()

    async def look(pilot: Pilot[None]) -> None:
        await pilot.press("2", "w")
        await choose(pilot, app, "prompt")
        await pilot.press("right", "x")
        screen = app.screen
        assert isinstance(screen, ExploreScreen)
        subject, before = screen.subject, screen.outlook
        held.set()
        await press(pilot)
        assert app.timeline.scenario.workload.prompt_tokens == 1024
        assert screen.subject == subject
        assert screen.outlook != before
        assert screen.outlook == outlook(subject, app.timeline, app.step_index)

    in_session(app, look)


def test_a_launch_line_and_a_machine_may_be_changed(tmp_path: Path) -> None:
    from gpuflow.cli.options import launch_line

    line = launch_line("vllm serve meta-llama/Llama-3.1-8B --tensor-parallel-size 2")
    app = app_of(Request(launch=line))

    async def change(pilot: Pilot[None]) -> None:
        await press(pilot, "w", "right")
        assert app.timeline.scenario.parallel.tp == 4
        assert app.timeline.scenario.name == "vllm"

    in_session(app, change)


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
def test_a_real_machine_keeps_its_gpus_and_links(size: tuple[int, int]) -> None:
    file = next(path for path in sorted((DATA / "topo").iterdir()) if path.suffix == ".txt")
    app = app_of(Request(topo=str(file), tp=2))

    async def look(pilot: Pilot[None]) -> None:
        await press(pilot, "w")
        await choose(pilot, app, "gpu")
        await press(pilot, "right")
        assert dict(app.what_if.settings) == {}
        assert "--topo" in shown(app).text()
        await choose(pilot, app, "tp")
        await press(pilot, "left")
        assert app.timeline.scenario.parallel.tp == 1

    in_session(app, look, size)


def test_where_nothing_can_be_changed_it_says_so(make_app: Callable[..., PlayerApp]) -> None:
    app = make_app()

    async def look(pilot: Pilot[None]) -> None:
        await press(pilot, "w")
        assert not app.what_if.is_open
        assert [note.message for note in app._notifications] == [
            "There is nothing to change in what is played here."
        ]

    in_session(app, look)


def test_an_open_question_comes_before_the_panel() -> None:
    app = app_of(is_asking=True, is_playing=True)

    async def look(pilot: Pilot[None]) -> None:
        await press(pilot, "w")
        while app.predicting.question is None:
            app.playing.let_pass(0.2)
            app.predicting.look()
        assert app.view(tab=0, page=0).panel is None
        while app.predicting.question is not None:
            await press(pilot, "right")
        assert app.view(tab=0, page=0).panel is not None
        await press(pilot, "right")
        assert app.timeline.scenario.parallel.tp == 4
        assert app.predicting.is_on

    in_session(app, look)


KEYS = (
    *("w", "w", "up", "down", "down", "left", "right", "right", "left", "backspace", "r"),
    *("escape", "tab", "t", "space", "plus", "1", "4", "8", "full_stop", "L", "T", "a"),
    *("x", "c", "b", "h", "l", "pagedown"),
)
SIZES = ((120, 40), (80, 24), (200, 60), (60, 20), (40, 10), (30, 8), (100, 30))


async def play_about(pilot: Pilot[None], app: PlayerApp, keys: Sequence[str]) -> None:
    choice = random.Random(4)
    for start in range(0, len(keys), 15):
        await pilot.resize_terminal(*choice.choice(SIZES))
        # All that wait are handled before the next look, so that none is waited for.
        for key in keys[start : start + 15]:
            app.post_message(events.Key(key, None))
        await pilot.pause()
        if isinstance(app.screen, PlayScreen):
            draw_play(app.view(tab=0, page=0))
    await press(pilot)
    assert app.is_running


@pytest.mark.parametrize(
    ("request_", "is_kiosk"),
    [(Request(profile="ideal"), False), (Request(scenario="moe-ep4"), True)],
    ids=["tp2-pp2", "moe-ep4-kiosk"],
)
def test_random_keys_and_sizes_leave_it_alive(request_: Request, is_kiosk: bool) -> None:
    app = app_of(request_, is_kiosk=is_kiosk)
    choice = random.Random(20)
    keys = ["w", *(choice.choice(KEYS) for _ in range(75))]
    in_session(app, lambda pilot: play_about(pilot, app, keys))
