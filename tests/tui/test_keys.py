"""What every key does, under Textual's pilot."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from textual.pilot import Pilot
from textual.widgets._footer import FooterKey

from gpuflow.cells import cell_width
from gpuflow.draw.frame import Frame
from gpuflow.draw.keys import KEYS
from gpuflow.draw.theme import THEMES, load_theme
from gpuflow.scenario.spec import Language
from gpuflow.tui.app import PlayerApp
from gpuflow.tui.commands import COMMANDS
from gpuflow.tui.screens.explore import ExploreScreen
from gpuflow.tui.screens.pages import BasicsPage, HelpPage, PrimitivesPage
from gpuflow.tui.screens.play import PlayScreen
from gpuflow.tui.terminal_app import INTERRUPTED
from gpuflow.tui.widgets.canvas import FrameCanvas
from gpuflow.tui.widgets.sheet import Sheet
from gpuflow.words import t

SIZE = (80, 24)


def play(app: PlayerApp) -> PlayScreen:
    screen = app.screen_stack[0]
    assert isinstance(screen, PlayScreen)
    return screen


def shown(app: PlayerApp) -> Frame:
    frame = play(app).query_one(FrameCanvas).shown
    assert frame is not None
    return frame


def moment(app: PlayerApp) -> float:
    return app.playhead.moment_s


def step(app: PlayerApp) -> int:
    return app.step_index + 1


def table_height(app: PlayerApp) -> int:
    sheet = play(app).query_one("#table", Sheet)
    return sheet.size.height if sheet.display else 0


def run(app: PlayerApp, keys: list[str], then: Callable[[PlayerApp], object]) -> object:
    """Press keys and look; the app is left by itself."""

    async def session() -> object:
        async with app.run_test(size=SIZE) as pilot:
            await press(pilot, keys)
            return then(app)

    return asyncio.run(session())


async def press(pilot: Pilot[None], keys: list[str]) -> None:
    for key in keys:
        await pilot.press(key)
    await pilot.pause()


EFFECTS: list[tuple[str, list[str], Callable[[PlayerApp], object], object]] = [
    ("right: next step", ["right"], step, 2),
    ("l: next step", ["l", "l"], step, 3),
    ("right at the end: stays", ["8", "right"], step, 8),
    ("left: previous step", ["4", "left"], step, 3),
    ("h: previous step", ["4", "h", "h"], step, 2),
    ("left at the start: stays", ["left"], step, 1),
    ("PgDn and j: next step", ["pagedown", "j"], step, 3),
    ("PgUp, k and Backspace: previous step", ["5", "pageup", "k", "backspace"], step, 2),
    ("Home: the first step", ["5", "home"], step, 1),
    ("End: the last step", ["end"], step, 8),
    ("G: the last step", ["G"], step, 8),
    ("p: play", ["p"], lambda app: app.playhead.is_playing, True),
    (
        "PgDn and j: scroll the unfolded table",
        ["t", "pagedown", "j"],
        lambda app: (step(app), play(app).query_one("#table", Sheet).scroll_y > 2),
        (1, True),
    ),
    ("space: play", ["space"], lambda app: app.playhead.is_playing, True),
    ("space: pause", ["space", "space"], lambda app: app.playhead.is_playing, False),
    ("plus: faster", ["plus"], lambda app: app.playhead.speed, 2.0),
    ("=: faster", ["equals_sign", "equals_sign"], lambda app: app.playhead.speed, 4.0),
    ("minus: slower", ["minus"], lambda app: app.playhead.speed, 0.5),
    *((f"{n}: jump", [str(n)], step, n) for n in range(1, 9)),
    ("full stop: next event", ["full_stop"], lambda app: moment(app) in app.pace.events[1:], True),
    ("comma: previous event", ["5", "full_stop", "comma"], step, 5),
    ("comma: back over a border", ["5", "comma"], step, 4),
    ("tab: next page", ["2", "tab"], lambda app: (play(app).tab, play(app).page), (0, 1)),
    ("tab: next text", ["2", *["tab"] * 4], lambda app: (play(app).tab, play(app).page), (1, 0)),
    ("r: restart", ["5", "r"], lambda app: (step(app), app.playhead.is_playing), (1, True)),
    ("t: unfolds", ["t"], lambda app: table_height(app) > 5, True),
    ("t: folds", ["t", "t"], table_height, 0),
    ("escape: folds", ["t", "escape"], table_height, 0),
    (
        "down: scrolls the table",
        ["t", "down", "down"],
        lambda app: play(app).query_one("#table", Sheet).scroll_y,
        2,
    ),
    ("c: primitives", ["c"], lambda app: type(app.screen), PrimitivesPage),
    ("c: back", ["c", "c"], lambda app: type(app.screen), PlayScreen),
    ("b: basics", ["b"], lambda app: type(app.screen), BasicsPage),
    ("escape: back", ["b", "escape"], lambda app: type(app.screen), PlayScreen),
    ("b over c: changes the page", ["c", "b"], lambda app: len(app.screen_stack), 2),
    ("?: help", ["question_mark"], lambda app: type(app.screen), HelpPage),
    ("?: back", ["question_mark", "question_mark"], lambda app: type(app.screen), PlayScreen),
    ("T: theme", ["T"], lambda app: app.look.name, "light"),
    ("T: round again", ["T"] * len(THEMES), lambda app: app.look.name, "dark"),
    ("L: language", ["L"], lambda app: app.language, "zh"),
    ("L: and back", ["L", "L"], lambda app: app.language, "en"),
    ("q: leaves", ["q"], lambda app: app.return_code, 0),
    ("Ctrl+C: leaves in one press", ["ctrl+c"], lambda app: app.return_code, INTERRUPTED),
    ("Ctrl+C on a page", ["c", "ctrl+c"], lambda app: app.return_code, INTERRUPTED),
]


LEAVING = [effect for effect in EFFECTS if "leave" in effect[0] or "Ctrl+C" in effect[0]]


async def reset(app: PlayerApp) -> None:
    """As it was at the start."""
    if app.touring.is_on:
        await app.touring.leave()
    while len(app.screen_stack) > 1:
        await app.pop_screen()
    screen = play(app)
    screen.action_fold()
    screen.tab = screen.page = 0
    app.focusing.focus = None
    if app.predicting.is_on:
        app.predicting.toggle()
    app.playhead.__init__(app.pace.duration_s, is_playing=False)  # type: ignore[misc]
    app.language, app.look = "en", load_theme("dark")
    screen.redraw()
    screen.keep_time()


def test_key_and_effect(make_app: Callable[..., PlayerApp]) -> None:
    """One player, brought back to its start for each line of the table."""
    app = make_app()

    async def session() -> dict[str, object]:
        found: dict[str, object] = {}
        async with app.run_test(size=SIZE) as pilot:
            for name, keys, look, _ in EFFECTS:
                if (name, keys) not in [effect[:2] for effect in LEAVING]:
                    await reset(app)
                    await press(pilot, keys)
                    found[name] = look(app)
        return found

    found = asyncio.run(session())
    expected = {name: value for name, _, _, value in EFFECTS if name in found}
    assert found == expected
    assert len(found) == len(EFFECTS) - len(LEAVING)


@pytest.mark.parametrize("effect", LEAVING, ids=[effect[0] for effect in LEAVING])
def test_keys_that_leave(
    effect: tuple[str, list[str], Callable[[PlayerApp], object], object],
    make_app: Callable[..., PlayerApp],
) -> None:
    _, keys, look, expected = effect
    assert run(make_app(), keys, look) == expected


def test_stepping_keeps_playing_and_events_pause(make_app: Callable[..., PlayerApp]) -> None:
    assert run(make_app(is_playing=True), ["right"], lambda app: app.playhead.is_playing) is True
    assert run(make_app(is_playing=True), ["."], lambda app: app.playhead.is_playing) is False


def test_a_paused_player_has_no_timer(make_app: Callable[..., PlayerApp]) -> None:
    def has_timer(app: PlayerApp) -> bool:
        return play(app)._timer is not None

    assert run(make_app(), ["right"], has_timer) is False
    assert run(make_app(), ["space"], has_timer) is True
    assert run(make_app(), ["space", "space"], has_timer) is False
    assert run(make_app(), ["space", "b"], has_timer) is False
    assert run(make_app(), ["space", "b", "b"], has_timer) is True


def test_cards_play_until_space_holds_them(make_app: Callable[..., PlayerApp]) -> None:
    def has_timer(app: PlayerApp) -> bool:
        page = app.screen
        assert isinstance(page, PrimitivesPage)
        return page._timer is not None

    assert run(make_app(), ["c"], has_timer) is True
    assert run(make_app(), ["c", "space"], has_timer) is False


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40), (200, 60)])
def test_the_footer_names_every_key_and_stands_where_the_frame_has_it(
    language: Language, size: tuple[int, int], make_app: Callable[..., PlayerApp]
) -> None:
    app = make_app(language=language)

    async def session() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await pilot.pause()
            hints = app.screen.query(FooterKey)
            named = {(hint.key_display, hint.description) for hint in hints}
            assert named == {(key.show, t(f"ui.key.{key.id}", language)) for key in KEYS}
            rows = shown(app).text().splitlines()
            for hint in hints:
                row = rows[hint.region.y]
                words = f"{hint.key_display} {hint.description}"
                before = row[: row.index(f" {words}") + 1]
                assert cell_width(before) == hint.region.x

    asyncio.run(session())


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_palette_holds_every_command_in_the_language_at_hand(
    language: Language, make_app: Callable[..., PlayerApp]
) -> None:
    app = make_app(language=language)

    def titles(app: PlayerApp) -> list[str]:
        return [command.title for command in app.get_system_commands(app.screen)]

    expected = [t(f"ui.command.{name}", language) for name, _ in COMMANDS]
    assert run(app, [], titles) == expected


EXPLORER_KEYS = {
    "next_collective": "down",
    "previous_collective": "up",
    "next_algorithm": "a",
    "previous_algorithm": "A",
    "more": "plus",
    "fewer": "minus",
    "nodes": "n",
    "next_round": "right",
    "previous_round": "left",
    "first": "home",
    "last": "end",
    "play": "space",
    "restart": "r",
}
COMMAND_KEYS = {
    "explore": "x",
    "tour": "n",
    **{f"explore.{name}": f"x {key}" for name, key in EXPLORER_KEYS.items()},
    "faster": "plus",
    "slower": "minus",
    "next_step": "right",
    "previous_step": "left",
    "first_step": "home",
    "last_step": "end",
    "play": "space",
    "next_event": "full_stop",
    "previous_event": "comma",
    "next_text": "tab",
    "restart": "r",
    "table": "t",
    "ask": "a",
    "big": "B",
    "zoom_in": "z",
    "zoom_out": "Z",
    "focus_next": "right_square_bracket",
    "focus_previous": "left_square_bracket",
    "follow": "f",
    "what_if": "w",
    "primitives": "c",
    "basics": "b",
    "glossary": "g",
    "theme": "T",
    "language": "L",
    "help": "question_mark",
    **{f"jump.{n}": str(n) for n in range(1, 9)},
}


def test_a_command_does_what_its_key_does(make_app: Callable[..., PlayerApp]) -> None:
    app = make_app()

    def state() -> tuple[object, ...]:
        screen, head = play(app), app.playhead
        place = head.moment_s if not head.is_playing else step(app)
        return (
            *(place, head.speed, head.is_playing, screen.tab, screen.page, app.focusing.focus),
            *(table_height(app) > 0, type(app.screen), app.look.name, app.language),
            *explored(app),
        )

    def explored(app: PlayerApp) -> tuple[object, ...]:
        screen = app.screen
        if not isinstance(screen, ExploreScreen):
            return ()
        return (screen.subject, screen.is_playing or screen.position, screen.is_playing)

    async def session() -> None:
        async with app.run_test(size=SIZE) as pilot:
            for name, action in COMMANDS:
                if name == "quit":
                    continue
                await reset(app)
                play(app).action_jump(4)
                await press(pilot, COMMAND_KEYS[name].split())
                by_key = state()
                await reset(app)
                play(app).action_jump(4)
                await app.run_command(action)
                await pilot.pause()
                assert state() == by_key, name

    asyncio.run(session())
    assert {name for name, _ in COMMANDS} == {*COMMAND_KEYS, "quit"}


def test_the_palette_opens_and_finds_a_command(make_app: Callable[..., PlayerApp]) -> None:
    app = make_app()

    async def session() -> None:
        async with app.run_test(size=SIZE) as pilot:
            await press(pilot, ["c", "ctrl+p"])
            for letter in "jump to step 6":
                await pilot.press("space" if letter == " " else letter)
            await app.workers.wait_for_complete()
            await pilot.pause(0.3)
            await pilot.press("down", "enter")
            await pilot.pause(0.3)
            assert step(app) == 6
            assert isinstance(app.screen, PlayScreen)

    asyncio.run(session())


def test_a_change_of_language_reaches_picture_footer_and_page(
    make_app: Callable[..., PlayerApp],
) -> None:
    app = make_app()

    async def session() -> None:
        async with app.run_test(size=SIZE) as pilot:
            await press(pilot, ["b", "L"])
            assert isinstance(app.screen, BasicsPage)
            page = app.screen.query_one(Sheet).shown
            assert page is not None
            assert t("basics.heading", "zh") in page.text()
            hints = {hint.description for hint in app.screen.query(FooterKey)}
            assert t("ui.key.back", "zh") in hints
            await press(pilot, ["escape"])
            assert t("ui.key.step", "zh") in shown(app).text()
            hints = {hint.description for hint in app.screen.query(FooterKey)}
            assert t("ui.key.step", "zh") in hints

    asyncio.run(session())
