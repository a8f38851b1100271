"""A terminal that takes no output: whatever ends the player ends it, and nothing is left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuflow.tui import driver
from gpuflow.tui.app import PlayerApp
from gpuflow.tui.driver import PlayerDriver

IDEAL = ("play", "--profile", "ideal", "--at", "100us")
Start = Callable[..., Any]


def stuck_player(on_terminal: Start, folder: Path) -> Any:
    """A player that has told where it is, paused, on a terminal that takes nothing any more."""
    terminal = on_terminal(*IDEAL, env={"XDG_RUNTIME_DIR": str(folder.parent)})
    terminal.until(lambda screen: "÷" in screen and "2/8" in screen)
    terminal.press(" ")
    terminal.until(lambda screen: "⏸" in screen and any(folder.iterdir()))
    while terminal.read(0.3):
        pass
    terminal.take_no_more()
    return terminal


@pytest.mark.parametrize(("keys", "status"), [("q", 0), ("T" * 60 + "\x03", 130)])
def test_a_key_that_leaves_is_heard(
    keys: str, status: int, on_terminal: Start, folder: Path
) -> None:
    terminal = stuck_player(on_terminal, folder)
    terminal.press(keys)
    assert terminal.process.wait(60) == status
    assert list(folder.iterdir()) == []


def test_a_signal_leaves_nothing_behind(on_terminal: Start, folder: Path) -> None:
    terminal = stuck_player(on_terminal, folder)
    os.kill(terminal.process.pid, signal.SIGTERM)
    assert terminal.process.wait(60) == 128 + signal.SIGTERM
    assert list(folder.iterdir()) == []
    # The shell has the same open terminal, and does not expect it to refuse.
    assert os.get_blocking(terminal.slave)


OPENING = """
import os, signal, threading
from gpuflow.tui.opening import Opening
show = Opening.show
def interrupted(*args, **more):
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
    show(*args, **more)
Opening.show = interrupted
"""


def test_a_terminal_that_was_full_before_cannot_hold_the_opening(on_terminal: Start) -> None:
    terminal = on_terminal("play", before=OPENING, is_full=True)
    assert terminal.process.wait(60) == 128 + signal.SIGTERM


class LeftError(Exception):
    """The player has gone."""


@pytest.mark.parametrize("n_pieces", [0, 1, 9])
def test_a_slow_terminal_is_given_its_time(n_pieces: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes a piece a second, then nothing more."""
    now_s = 0.0

    class Screen:
        @property
        def n_taken(self) -> int:
            return min(int(now_s), n_pieces)

    def sleep(time_s: float) -> None:
        nonlocal now_s
        now_s += time_s

    def leave(status: int) -> None:
        raise LeftError(status)

    monkeypatch.setattr(time, "sleep", sleep)
    monkeypatch.setattr(time, "monotonic", lambda: now_s)
    monkeypatch.setattr(driver, "leave_now", leave)
    monkeypatch.setattr(PlayerDriver, "is_behind", property(lambda _: True))
    player = object.__new__(PlayerDriver)
    player._screen = Screen()  # type: ignore[assignment]
    with pytest.raises(LeftError):
        player._end_where_stuck(130)
    assert n_pieces + 1.5 < now_s < n_pieces + 3.5


def test_a_signal_before_there_is_a_loop_is_not_forgotten(
    make_app: Callable[..., PlayerApp],
) -> None:
    app = make_app()
    app.leave(128 + signal.SIGTERM)

    async def run() -> None:
        async with app.run_test():
            pass

    asyncio.run(run())
    assert app.return_code == 128 + signal.SIGTERM
