"""Keys bound anew: what they do, what the old ones no longer do, and what is written of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from textual.binding import Binding
from textual.pilot import Pilot

from gpuflow.draw.bound import DEFAULT_KEYS, is_key, keys_of, keys_shown
from gpuflow.draw.help import draw_help
from gpuflow.draw.keys import HELP_KEYS, hints
from gpuflow.tui.app import PlayerApp
from gpuflow.tui.commands import COMMANDS
from gpuflow.tui.keymap import Keymap, textual_key
from gpuflow.tui.screens.explore import ExploreScreen
from gpuflow.tui.screens.pages import HelpPage
from gpuflow.tui.screens.play import PlayScreen
from gpuflow.tui.terminal_app import TerminalApp

BOUND = {"next_step": ("m", "j"), "quit": ("Q",), "help": ("F",), "explore.next_round": ("m",)}


def watch(app: PlayerApp, then: Callable[[Pilot[None]], Awaitable[None]]) -> None:
    async def session() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            await then(pilot)

    asyncio.run(session())


def test_the_table_of_keys_is_what_the_screens_bind() -> None:
    kinds = (PlayScreen, ExploreScreen, PlayerApp, TerminalApp)
    for name, action in COMMANDS:
        plain = action.removeprefix("play.").removeprefix("explore.")
        scope = PlayScreen if action.startswith("play.") else ExploreScreen
        found = set()
        for kind in kinds if action == plain else (scope,):
            for binding in Binding.make_bindings(kind.BINDINGS):
                aliases = {"turn(1, 1)": "step(1)", "turn(-1, 1)": "step(-1)"}
                aliases |= {"turn(1, 8)": "step(1)", "turn(-1, 8)": "step(-1)"}
                if aliases.get(binding.action, binding.action) == plain:
                    found.add(binding.key)
        assert found == set(map(textual_key, DEFAULT_KEYS[name])), name
    assert set(DEFAULT_KEYS) == {name for name, _ in COMMANDS}


def test_every_default_key_can_be_written() -> None:
    assert all(is_key(key) for keys in DEFAULT_KEYS.values() for key in keys)
    assert not any(map(is_key, ("", " ", "nn", "f13", "ctrl+1", "\n", "中")))


def test_new_keys_work_and_old_ones_no_longer_do(make_app: Callable[..., PlayerApp]) -> None:
    app = make_app(keys=BOUND)

    async def then(pilot: Pilot[None]) -> None:
        await pilot.press("m", "j")
        assert app.step_index == 2
        await pilot.press("right", "l", "pagedown", "q", "question_mark")
        assert app.step_index == 2
        assert isinstance(app.screen, PlayScreen)
        await pilot.press("left")
        assert app.step_index == 1
        await pilot.press("F")
        assert isinstance(app.screen, HelpPage)
        await pilot.press("m", "F")
        assert isinstance(app.screen, PlayScreen)
        assert app.step_index == 1
        await pilot.press("Q")

    watch(app, then)
    assert app.return_code == 0


def test_a_key_that_lost_its_command_does_nothing_beside_a_tour_or_the_panel(
    make_app: Callable[..., PlayerApp],
) -> None:
    app = make_app(keys={"table": ("F",), "basics": ("D",), "next_step": ("m",)})

    async def then(pilot: Pilot[None]) -> None:
        await pilot.press("n")
        await pilot.press("t", "b")
        await pilot.pause()
        assert app.screen is app.play_screen
        assert not app.play_screen.is_unfolded
        first = app.touring.index
        await pilot.press("right", "right", "right")
        assert app.touring.is_on
        assert app.touring.index > first, "arrows are the tour's own"
        await pilot.press("escape")
        app.what_if.is_open = True
        await pilot.press("t", "b")
        await pilot.pause()
        assert app.screen is app.play_screen
        assert not app.play_screen.is_unfolded

    watch(app, then)


def test_the_explorer_has_keys_of_its_own(make_app: Callable[..., PlayerApp]) -> None:
    app = make_app(keys=BOUND)

    async def then(pilot: Pilot[None]) -> None:
        await pilot.press("2", "x")
        screen = app.screen
        assert isinstance(screen, ExploreScreen)
        keymap = app.keymap
        assert keymap.meant("m", "explore") == "right"
        assert keymap.meant("right", "explore") is None
        assert keymap.meant("j", "explore") == "j"

    watch(app, then)


def test_a_key_that_was_taken_is_no_longer_its_owner_s() -> None:
    bound = {"next_step": ("n", "space")}
    assert keys_of("tour", bound) == ()
    assert keys_of("play", bound) == ("p",)
    assert keys_of("explore.play", bound) == ("space",)
    keymap = Keymap(bound)
    assert keymap.meant("n", "play") == "l"
    assert keymap.meant("n", "explore") == "n"
    assert keymap.meant("space", "play") == "l"
    assert keymap.meant("p", "play") == "p"


def test_nothing_bound_changes_nothing() -> None:
    keymap = Keymap({})
    for keys in DEFAULT_KEYS.values():
        for key in map(textual_key, keys):
            assert keymap.meant(key, "play") == key
    assert keymap.meant("f7", "page") == "f7"


def test_words_typed_into_the_palette_are_words(make_app: Callable[..., PlayerApp]) -> None:
    app = make_app(keys=BOUND)

    async def then(pilot: Pilot[None]) -> None:
        await pilot.press("ctrl+p")
        await pilot.pause()
        for letter in "quit":
            await pilot.press(letter)
        typed = app.screen.query_one("CommandInput")
        assert getattr(typed, "value", "") == "quit"
        keys = {command.title: command.help for command in app.get_system_commands(app.screen)}
        assert keys["Quit"] == "Q"
        assert keys["Next step"] == "m j"
        assert keys["Help"] == "F"

    watch(app, then)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_hints_and_help_show_the_keys_as_bound(
    make_app: Callable[..., PlayerApp], language: str
) -> None:
    app = make_app(keys=BOUND, language=language)
    scene = app.scene
    keys = [key for key, _ in hints(scene.language, scene.bound)]
    assert "←m" in keys
    assert "F" in keys
    assert "Q" in keys
    assert "?" not in keys
    text = draw_help(scene, 79).text()
    assert "← h k PgUp Backspace m j" in text
    assert "│ Q " in text
    taken = {"next_step": ("n",)}
    assert keys_shown("tour", "n", taken, is_short=False) == "–"
    for key in HELP_KEYS:
        assert keys_shown(key.id, key.show, {}, is_short=False) == key.show
