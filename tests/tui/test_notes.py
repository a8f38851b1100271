"""A second terminal follows the player: what the player tells, and what the notes show."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from gpuflow.tui import announcing
from gpuflow.tui.app import PlayerApp
from gpuflow.tui.notes import NotesApp
from gpuflow.tui.options import PlayerOptions
from gpuflow.tui.position import (
    Position,
    position_file,
    publish,
    read_position,
    withdraw,
)
from gpuflow.tui.widgets.sheet import Sheet

Make = Callable[..., PlayerApp]
Start = Callable[..., Any]
OWN = os.getpid()
OTHER = os.getppid()
"""Another process that is there as long as the test is."""
Place = Callable[..., Position]


# ---------------------------------------------------------------- the player


def run(app: Any, session: Callable[[Pilot[None]], Any], size: tuple[int, int] = (80, 24)) -> None:
    async def whole() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await session(pilot)

    asyncio.run(whole())


def test_a_player_that_can_tell_no_more_leaves_nothing_old_behind(
    make_app: Make, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcing, "GAP_S", 0.0)
    app = make_app()

    async def session(pilot: Pilot[None]) -> None:
        app.announcer.open(folder)
        await pilot.press("4")
        await pilot.pause()
        assert position_file(folder, OWN).exists()
        # As on a full disk.
        monkeypatch.setattr(announcing, "publish", lambda *_: False)
        await pilot.press("5")
        await pilot.pause()
        assert list(folder.iterdir()) == []

    run(app, session)


def test_the_player_tells_what_changes_and_is_silent_while_nothing_does(
    make_app: Make, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(announcing, "GAP_S", 0.0)
    app = make_app()

    killed = position_file(folder, 2**31 - 2)
    killed.write_text("{}")

    async def session(pilot: Pilot[None]) -> None:
        app.announcer.open(folder)
        assert not killed.exists()
        await pilot.press("4")
        found = read_position(folder, OWN)
        assert found is not None
        assert (found.step, found.language, found.is_playing) == (3, "en", False)
        assert found.time_s == pytest.approx(app.timeline.steps[3].start_s)
        assert found.steps["zh"][3].takeaway.startswith("PP 换来的是显存")
        writes = app.announcer.writes
        for _ in range(5):
            app.play_screen.redraw()
        await pilot.press("T", "tab")
        assert app.announcer.writes == writes
        await pilot.press("L", "plus", "space")
        found = read_position(folder, OWN)
        assert found is not None
        assert (found.language, found.speed, found.is_playing) == ("zh", 2.0, True)
        app.announcer.close()
        assert list(folder.iterdir()) == []

    run(app, session)


def test_it_does_not_tell_more_than_a_few_times_a_second(make_app: Make, folder: Path) -> None:
    app = make_app()

    async def session(pilot: Pilot[None]) -> None:
        app.announcer.open(folder)
        app.play_screen.redraw()
        for number in range(2, 9):
            await app.run_action(f"jump({number})", app.play_screen)
        assert app.announcer.writes == 1
        while app.announcer.writes == 1:
            await pilot.pause(0.05)
        found = read_position(folder, OWN)
        assert found is not None
        assert found.step == 7

    run(app, session)


def test_a_folder_that_vanishes_ends_the_telling_and_nothing_else(
    make_app: Make, folder: Path
) -> None:
    app = make_app()

    async def session(pilot: Pilot[None]) -> None:
        folder.rmdir()
        app.announcer.open(folder)
        await pilot.press("4", "5")
        assert app.step_index == 4

    run(app, session)


# ---------------------------------------------------------------- the notes


def notes_app(folder: Path | None, pid: int | None = None, **options: object) -> NotesApp:
    settings = {"language": "en", **options}
    return NotesApp(PlayerOptions(**settings), folder, pid)  # type: ignore[arg-type]


def text(app: NotesApp) -> str:
    frame = app.screen.query_one(Sheet).shown
    assert frame is not None
    return frame.text()


def test_notes_follow_step_and_language(folder: Path, position: Place) -> None:
    app = notes_app(folder)

    async def session(pilot: Pilot[None]) -> None:
        assert "Waiting for a player" in text(app)
        publish(folder, position())
        await app.look_again()
        assert "Step 2/8: Title 2" in text(app)
        assert "▸ Takeaway 2" in text(app)
        assert "Next, step 3: Title 3. Summary 3" in text(app)
        publish(folder, position(step=4, language="zh"))
        await app.look_again()
        assert "步骤 5/8：ZH Title 5" in text(app)
        await pilot.press("T")
        assert app.look.name == "light"
        await pilot.press("q")

    run(app, session)
    assert app.return_code == 0


def test_when_the_player_ends_it_says_so_and_takes_the_next(folder: Path, position: Place) -> None:
    app = notes_app(folder)

    async def session(_: Pilot[None]) -> None:
        publish(folder, position(OWN, began_s=5.0))
        await app.look_again()
        publish(folder, position(OTHER, began_s=9.0, step=6))
        await app.look_again()
        assert "Step 2/8" in text(app)
        withdraw(folder, OWN)
        await app.look_again()
        assert "Step 7/8" in text(app)
        withdraw(folder, OTHER)
        await app.look_again()
        assert f"The player (pid {OTHER}) has ended." in text(app)

    run(app, session)


def test_a_pid_that_was_asked_for_is_the_only_one_followed(folder: Path, position: Place) -> None:
    app = notes_app(folder, OTHER)

    async def session(_: Pilot[None]) -> None:
        publish(folder, position(OWN))
        await app.look_again()
        assert "Waiting for a player" in text(app)
        publish(folder, position(OTHER, step=2))
        await app.look_again()
        assert "Step 3/8" in text(app)

    run(app, session)


def test_long_notes_scroll_and_a_new_step_begins_at_its_top(folder: Path, position: Place) -> None:
    app = notes_app(folder)

    async def session(pilot: Pilot[None]) -> None:
        publish(folder, position())
        await app.look_again()
        await pilot.press("down", "down", "down")
        await pilot.pause()
        sheet = app.screen.query_one(Sheet)
        assert sheet.scroll_y == 3
        await app.look_again()
        await pilot.pause()
        assert sheet.scroll_y == 3
        publish(folder, position(step=2))
        await app.look_again()
        await pilot.pause()
        assert sheet.scroll_y == 0

    run(app, session, size=(40, 10))


@pytest.mark.parametrize("size", [(1, 1), (10, 4), (40, 10), (200, 60)])
def test_any_size_will_do(size: tuple[int, int], folder: Path, position: Place) -> None:
    publish(folder, position())
    app = notes_app(folder)

    async def session(pilot: Pilot[None]) -> None:
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        assert "Step 2/8" in text(app)

    run(app, session, size=size)


def test_without_a_folder_it_waits() -> None:
    app = notes_app(None, is_ascii=True)

    async def session(_: Pilot[None]) -> None:
        assert "Waiting for a player" in text(app)

    run(app, session)


# ---------------------------------------------------------------- two terminals


@pytest.fixture
def runtime(tmp_path: Path) -> dict[str, str]:
    """An environment with a runtime folder."""
    place = tmp_path / "run"
    place.mkdir(mode=0o700)
    return {"XDG_RUNTIME_DIR": str(place)}


def test_two_terminals(on_terminal: Start, runtime: dict[str, str]) -> None:
    notes = on_terminal("notes", "--lang", "en", env=runtime)
    notes.until(lambda screen: "Waiting for a player" in screen)
    player = on_terminal("play", "--profile", "ideal", "--lang", "zh", env=runtime)
    player.until(lambda screen: "1/8" in screen)
    notes.until(lambda screen: "步骤 1/8" in screen)
    player.press("3L")
    notes.until(lambda screen: "Step 3/8: Activations move" in screen)
    player.press("q")
    assert player.status() == 0
    assert list((Path(runtime["XDG_RUNTIME_DIR"]) / "gpuflow").iterdir()) == []
    notes.until(lambda screen: f"(pid {player.process.pid}) has ended" in screen)
    notes.press("\x03")
    assert notes.status() == 130
    assert notes.is_as_it_was()


@pytest.mark.parametrize("number", [signal.SIGTERM], ids=str)
def test_a_signal_leaves_the_terminal_as_it_was(
    number: signal.Signals, on_terminal: Start, runtime: dict[str, str]
) -> None:
    notes = on_terminal("notes", "--lang", "en", env=runtime)
    notes.until(lambda screen: "Waiting for a player" in screen)
    os.kill(notes.process.pid, number)
    assert notes.status() == 128 + number
    assert notes.is_as_it_was()


def test_the_end_of_input_ends_the_notes(on_terminal: Start, runtime: dict[str, str]) -> None:
    notes = on_terminal("notes", "--lang", "en", env=runtime, splits_stdin=True)
    notes.until(lambda screen: "Waiting for a player" in screen)
    os.close(notes.input)
    assert notes.status() == 129
    assert notes.is_as_it_was()


def test_a_kiosk_tells_nobody(on_terminal: Start, runtime: dict[str, str]) -> None:
    player = on_terminal("play", "--kiosk", "--profile", "ideal", "--lang", "en", env=runtime)
    player.until(lambda screen: "1/8" in screen)
    player.press("4")
    player.until(lambda screen: "4/8" in screen)
    assert list(Path(runtime["XDG_RUNTIME_DIR"]).iterdir()) == []
    player.press("q")
    assert player.status() == 0
