"""What every key of the explorer does, and what then stands on the screen."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import pytest
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets._footer import FooterKey

from gpuflow.cells import cell_width
from gpuflow.collectives.algorithms import ALGORITHMS
from gpuflow.draw.explore import draw_explore
from gpuflow.draw.keys import explore_hints
from gpuflow.draw.theme import load_theme
from gpuflow.engine.explore import Subject, subject_of
from gpuflow.scenario.spec import Language
from gpuflow.tui.app import PlayerApp
from gpuflow.tui.screens.explore import LONGEST_S, ROUND_S, ExploreScreen
from gpuflow.tui.screens.pages import HelpPage, PrimitivesPage
from gpuflow.tui.screens.play import PlayScreen
from gpuflow.tui.widgets.canvas import FrameCanvas

SIZE = (80, 24)


def explorer(app: PlayerApp) -> ExploreScreen:
    screen = app.screen
    assert isinstance(screen, ExploreScreen)
    return screen


def subject(app: PlayerApp) -> tuple[str, str, int, int]:
    chosen = explorer(app).subject
    return chosen.collective, chosen.algorithm, chosen.n_ranks, chosen.ranks_per_node


async def press(pilot: Pilot[None], keys: list[str]) -> None:
    for key in keys:
        await pilot.press(key)
    await pilot.pause()


def rows_on(app: PlayerApp) -> list[str]:
    strips: list[Strip] = app.screen._compositor.render_strips(app.size)
    return ["".join(segment.text for segment in strip) for strip in strips]


def rows_of(app: PlayerApp) -> list[str]:
    frame = draw_explore(explorer(app).view())
    return ["".join(run.text for run in row) for row in frame.rows]


def position(app: PlayerApp) -> float:
    return explorer(app).position


ALL_REDUCE = ALGORITHMS["all_reduce"]
RING = subject_of("all_reduce", "ring", 2)
NODES = subject_of("all_reduce", "hierarchical", 8)
Effect = tuple[str, list[str], Callable[[PlayerApp], object], object]
EFFECTS: dict[Subject, list[Effect]] = {
    RING: [
        ("x: back", ["x"], lambda app: type(app.screen), PlayScreen),
        ("Esc: back", ["escape"], lambda app: type(app.screen), PlayScreen),
        ("down: next collective", ["down"], lambda app: subject(app)[:2], ("all_gather", "ring")),
        ("]: next collective", ["]"], lambda app: subject(app)[0], "all_gather"),
        ("up: previous collective", ["up"], lambda app: subject(app)[0], "send_recv"),
        ("[: previous collective", ["[", "["], lambda app: subject(app)[0], "gather"),
        ("a: next algorithm", ["a"], lambda app: subject(app)[1], ALL_REDUCE[1]),
        ("A: previous algorithm", ["A"], lambda app: subject(app)[1], ALL_REDUCE[-1]),
        ("+, =: more ranks", ["plus", "equals_sign"], lambda app: subject(app)[2], 4),
        ("-: fewer ranks", ["plus", "minus"], lambda app: subject(app)[2], 2),
        ("-: not below two", ["minus"], lambda app: subject(app)[2], 2),
        ("n: nothing without levels", ["n"], lambda app: subject(app)[3], 1),
        ("right: a round on", ["right"], position, 1.0),
        (".: a round on", ["full_stop", "full_stop"], position, 2.0),
        ("right: not past the end", ["right", "right", "right"], position, 2.0),
        ("left: a round back", ["end", "left"], position, 1.0),
        (",: not before the start", ["comma"], position, 0.0),
        ("end: to the end", ["end"], position, 2.0),
        ("home: to the start", ["end", "home"], position, 0.0),
        ("another algorithm begins anew", ["right", "a"], position, 0.0),
        ("space: play", ["space"], lambda app: explorer(app).is_playing, True),
        ("space: pause", ["space", "space"], lambda app: explorer(app).is_playing, False),
        ("space: from the start again", ["end", "space"], lambda app: position(app) < 1, True),
        ("right: pauses", ["space", "right"], lambda app: explorer(app).is_playing, False),
        ("r: from the start", ["end", "r"], lambda app: explorer(app).is_playing, True),
        ("T: theme", ["T"], lambda app: app.look.name, "light"),
        ("L: language", ["L"], lambda app: app.language, "zh"),
        ("?: help", ["question_mark"], lambda app: type(app.screen), HelpPage),
        ("?: and back", ["a", "question_mark", "x"], lambda app: subject(app)[1], ALL_REDUCE[1]),
    ],
    NODES: [
        ("n: node size", ["n"], lambda app: subject(app)[3], 2),
        ("n: round again", ["n", "n"], lambda app: subject(app)[3], 4),
        ("+: nodes follow the ranks", ["plus"], lambda app: subject(app)[2:], (9, 3)),
    ],
    subject_of("all_reduce", "ring", 16): [
        ("+: in leaps from sixteen", ["plus", "plus"], lambda app: subject(app)[2], 64),
    ],
}
OPENING: list[Effect] = [
    ("x: the step's own", ["2", "x"], subject, ("all_reduce", "ring", 2, 1)),
    ("x: that of another step", ["3", "x"], subject, ("send_recv", "direct", 2, 1)),
    ("x on the gallery", ["2", "c", "x"], subject, ("all_reduce", "ring", 2, 1)),
    ("Enter on the gallery", ["2", "c", "enter"], subject, ("all_reduce", "ring", 2, 1)),
    ("Esc: back to it", ["c", "x", "escape"], lambda app: type(app.screen), PrimitivesPage),
    ("c: back to it", ["c", "x", "c"], lambda app: len(app.screen_stack), 2),
]


async def reset(app: PlayerApp) -> None:
    while len(app.screen_stack) > 1:
        await app.pop_screen()
    app.playhead.__init__(app.pace.duration_s, is_playing=False)  # type: ignore[misc]
    app.language, app.look = "en", load_theme("dark")


def test_key_and_effect(make_app: Callable[..., PlayerApp]) -> None:
    """One player, brought back to its start for each line of the tables."""
    app = make_app()
    found: dict[str, object] = {}

    async def session() -> None:
        async with app.run_test(size=SIZE) as pilot:
            for name, keys, look, _ in OPENING:
                await reset(app)
                await press(pilot, keys)
                found[name] = look(app)
            for chosen, effects in EFFECTS.items():
                for name, keys, look, _ in effects:
                    await reset(app)
                    await app.push_screen(ExploreScreen(chosen))
                    await press(pilot, keys)
                    found[name] = look(app)

    asyncio.run(session())
    every = [*OPENING, *(effect for effects in EFFECTS.values() for effect in effects)]
    assert found == {name: value for name, _, _, value in every}


def test_60_random_keys_leave_what_a_fresh_drawing_shows(
    make_app: Callable[..., PlayerApp],
) -> None:
    luck = random.Random(7)
    app = make_app()
    keys = ("down", "up", "a", "A", "plus", "minus", "n", "right", "left", "end", "home", "L", "T")

    async def session() -> None:
        async with app.run_test(size=SIZE) as pilot:
            await press(pilot, ["2", "x"])
            for count in range(60):
                await pilot.press(luck.choice(keys))
                screen = explorer(app)
                screen.position = min(screen.position + luck.random(), float(screen.rounds))
                screen.redraw()
                if count % 10 == 9:
                    await pilot.pause()
                    assert rows_on(app) == rows_of(app)

    asyncio.run(session())


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_the_footer_names_every_key(
    language: Language, size: tuple[int, int], make_app: Callable[..., PlayerApp]
) -> None:
    app = make_app(language=language)

    async def session() -> None:
        async with app.run_test(size=size) as pilot:
            await press(pilot, ["x"])
            await pilot.pause()
            hints = app.screen.query(FooterKey)
            named = [(hint.key_display, hint.description) for hint in hints]
            assert named == list(explore_hints(language))
            assert rows_on(app) == rows_of(app)

    asyncio.run(session())


@pytest.mark.parametrize("size", [(1, 1), (20, 5), (45, 11), (60, 18), (200, 60)])
def test_any_size_and_back(size: tuple[int, int], make_app: Callable[..., PlayerApp]) -> None:
    app = make_app()

    async def session() -> None:
        async with app.run_test(size=SIZE) as pilot:
            await press(pilot, ["2", "x", "plus", "right"])
            for now in (size, SIZE):
                await pilot.resize_terminal(*now)
                await pilot.pause()
                await pilot.pause()
                assert {cell_width(row) for row in rows_on(app)} == {now[0]}
                assert rows_on(app) == rows_of(app)

    asyncio.run(session())


def test_time_moves_it_on_and_the_end_stops_it(make_app: Callable[..., PlayerApp]) -> None:
    app = make_app()

    async def session() -> None:
        async with app.run_test(size=SIZE) as pilot:
            await press(pilot, ["2", "x"])
            screen = explorer(app)
            screen.is_playing = True
            screen.advance(ROUND_S / 2)
            assert (screen.position, screen.view().round) == (0.5, 1)
            assert screen.view().is_in_flight
            screen.advance(ROUND_S)
            assert (screen.position, screen.is_playing) == (1.5, True)
            screen.advance(10 * ROUND_S)
            assert (screen.position, screen.is_playing) == (2.0, False)
            await press(pilot, ["plus"] * 16)
            assert screen.rounds == 126
            screen.is_playing = True
            screen.advance(LONGEST_S + 1)
            assert (screen.position, screen.is_playing) == (126.0, False)

    asyncio.run(session())


def test_a_paused_explorer_has_no_timer(make_app: Callable[..., PlayerApp]) -> None:
    app = make_app()

    async def session() -> None:
        async with app.run_test(size=SIZE) as pilot:
            for keys, has_timer in (
                (["x"], False),
                (["space"], True),
                (["question_mark"], False),
                (["escape"], True),
                (["right"], False),
            ):
                await press(pilot, keys)
                screen = next(s for s in app.screen_stack if isinstance(s, ExploreScreen))
                assert (screen._timer is not None) is has_timer, keys

    asyncio.run(session())


def test_the_play_stands_still_meanwhile_and_goes_on_after(
    make_app: Callable[..., PlayerApp],
) -> None:
    app = make_app(is_playing=True)

    async def session() -> None:
        async with app.run_test(size=SIZE) as pilot:
            await press(pilot, ["2", "x"])
            assert explorer(app).is_playing
            before = app.playhead.moment_s
            await pilot.pause(0.3)
            assert app.playhead.moment_s == before
            await press(pilot, ["escape"])
            await pilot.pause(0.3)
            assert app.playhead.moment_s > before

    asyncio.run(session())


@pytest.mark.parametrize("number", [0, 2])
def test_a_player_can_start_with_a_collective(
    number: int, make_app: Callable[..., PlayerApp]
) -> None:
    chosen = subject_of("all_reduce", "nvls", 4)
    app = make_app(explore=chosen, explore_round=number)

    async def session() -> None:
        async with app.run_test(size=SIZE) as pilot:
            await pilot.pause()
            await pilot.pause()
            assert explorer(app).subject == chosen
            assert position(app) == number
            await press(pilot, ["escape"])
            assert isinstance(app.screen, PlayScreen)

    asyncio.run(session())


def test_no_flight_without_animation(make_app: Callable[..., PlayerApp]) -> None:
    app = make_app(is_animated=False)

    async def session() -> None:
        async with app.run_test(size=SIZE) as pilot:
            await press(pilot, ["2", "x"])
            screen = explorer(app)
            screen.position = 0.4
            assert not screen.view().is_in_flight

    asyncio.run(session())


def test_no_colour_and_ascii(
    make_app: Callable[..., PlayerApp], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = make_app(has_color=False, is_ascii=True)

    async def session() -> None:
        async with app.run_test(size=(100, 30)) as pilot:
            await press(pilot, ["2", "x", "plus", "plus", "A", "right"])
            strips = app.screen._compositor.render_strips(app.size)
            segments = [segment for strip in strips for segment in strip]
            assert all(segment.text.isascii() for segment in segments)
            styles = [segment.style for segment in segments if segment.style is not None]
            assert not [s for s in styles if s.color is not None or s.bgcolor is not None]
            shown = app.screen.query_one(FrameCanvas).shown
            assert shown is not None
            assert "node 0" in "\n".join(rows_on(app))

    asyncio.run(session())
