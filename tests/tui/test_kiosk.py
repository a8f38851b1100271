"""A player for strangers: what it refuses, and that it ends by itself."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuflow.tui.app import PlayerApp
from gpuflow.tui.kiosk import IdleWatch, seal
from gpuflow.tui.screens.play import PlayScreen
from gpuflow.tui.widgets.sheet import Sheet

Start = Callable[..., Any]
KIOSK = ("play", "--kiosk", "--profile", "ideal", "--lang", "en")


def test_keys_that_reach_a_shell_or_a_file_do_nothing(make_app: Callable[..., PlayerApp]) -> None:
    app = make_app(is_kiosk=True)

    async def session() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("ctrl+p", "ctrl+z", "ctrl+s")
            await pilot.pause()
            assert [type(screen) for screen in app.screen_stack] == [PlayScreen]
            await pilot.press("b")
            await pilot.pause()
            assert len(app.screen_stack) == 2

    asyncio.run(session())


@pytest.mark.parametrize(("is_kiosk", "is_named"), [(True, False), (False, True)])
def test_the_help_names_no_key_that_does_nothing(
    is_kiosk: bool, is_named: bool, make_app: Callable[..., PlayerApp]
) -> None:
    app = make_app(is_kiosk=is_kiosk)

    async def session() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("question_mark")
            await pilot.pause()
            shown = app.screen.query_one(Sheet).shown
            assert shown is not None
            text = shown.text()
            assert ("Ctrl+P" in text) is is_named
            assert ("Ctrl+Z" in text) is is_named
            assert "Ctrl+C" in text

    asyncio.run(session())


def test_elsewhere_the_palette_is_there(make_app: Callable[..., PlayerApp]) -> None:
    app = make_app()

    async def session() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press("ctrl+p")
            await pilot.pause()
            assert len(app.screen_stack) == 2

    asyncio.run(session())


def test_a_watch_runs_out_unless_somebody_stirs() -> None:
    now = [0.0]
    watch = IdleWatch(10.0, lambda: now[0])
    now[0] = 9.0
    assert watch.left_s == 1.0
    watch.stir()
    assert watch.left_s == 10.0
    now[0] = 19.0
    assert watch.left_s <= 0


def test_the_environment_is_sealed() -> None:
    environ = {
        "SSH_ORIGINAL_COMMAND": "sh",
        "TEXTUAL_SCREENSHOT": "1",
        "TEXTUAL_DRIVER": "os:system",
        "TEXTUAL_COLOR_SYSTEM": "256",
        "LANG": "C.UTF-8",
    }
    seal(environ)
    assert environ == {"TEXTUAL_COLOR_SYSTEM": "256", "LANG": "C.UTF-8"}


def test_what_a_client_asks_to_run_is_ignored(on_terminal: Start, tmp_path: Path) -> None:
    log = tmp_path / "log"
    env = {"SSH_ORIGINAL_COMMAND": "gpuflow table", "TEXTUAL_LOG": str(log)}
    terminal = on_terminal(*KIOSK, env=env)
    terminal.until(lambda screen: "PREFILL" in screen)
    terminal.press(" \x1a\x10")
    terminal.press("3")
    screen = terminal.until(lambda screen: "3/8" in screen)
    assert "Search" not in screen
    terminal.press("q")
    assert terminal.status() == 0
    assert terminal.is_as_it_was()
    assert not log.exists()


def test_nobody_there_is_an_end(on_terminal: Start) -> None:
    terminal = on_terminal(*KIOSK, "--idle", "2", "--loop")
    terminal.until(lambda screen: "PREFILL" in screen)
    assert terminal.status() == 0
    assert terminal.is_as_it_was()


@pytest.mark.parametrize("ending", ["input", "signal"])
def test_it_ends_with_its_client(ending: str, on_terminal: Start) -> None:
    terminal = on_terminal(*KIOSK, splits_stdin=ending == "input")
    terminal.until(lambda screen: "PREFILL" in screen)
    if ending == "input":
        os.close(terminal.input)
    else:
        os.kill(terminal.process.pid, signal.SIGHUP)
    assert terminal.status() == 128 + signal.SIGHUP
    assert terminal.is_as_it_was()
