"""What the player does where the terminal draws line pieces two cells wide, and what it asks."""

from __future__ import annotations

import os
import signal
import termios
import time
from collections.abc import Callable
from typing import Any

import pytest

Start = Callable[..., Any]
QUESTION = b"\x1b[6n"
IDEAL = ("play", "--profile", "ideal", "--no-autoplay")

SLOW_LIBRARY = "import gpuflow.tui.player as player\nplayer.PATIENCE_S = 5.0\n"
"""A busy machine may be late with its answer."""
NEVER_READY = """
import sys, time
class Finder:
    def find_spec(self, name, path, target=None):
        if name == "gpuflow.tui.app":
            time.sleep(30)
sys.meta_path.insert(0, Finder())
"""


def asked(terminal: Any) -> None:
    deadline = time.monotonic() + 60
    while QUESTION not in terminal.raw and time.monotonic() < deadline:
        if not terminal.read() and terminal.process.poll() is not None:
            break
    assert QUESTION in terminal.raw


@pytest.mark.parametrize(("column", "is_ascii"), [(2, False), (3, True)])
def test_wide_lines_are_drawn_in_ascii(column: int, is_ascii: bool, on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL, "--lang", "zh", before=SLOW_LIBRARY)
    asked(terminal)
    terminal.press(f"\x1b[1;{column}R")
    screen = terminal.until(lambda screen: "L English" in screen or "q quit" in screen)
    assert ("╭ Stage 1" in screen, "+ Stage 1" in screen) == (not is_ascii, is_ascii)
    assert f"{column}R" not in screen
    terminal.press("q")
    assert terminal.status() == 0
    assert terminal.is_as_it_was()


def test_a_mute_terminal_is_not_waited_for(on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL)
    terminal.until(lambda screen: "PREFILL" in screen and "╭" in screen)


def test_keys_around_the_answer_are_not_lost(on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL, before=SLOW_LIBRARY)
    asked(terminal)
    terminal.press("3\x1b[1;2Rt")
    terminal.until(lambda screen: "3/8" in screen and "Traffic" in screen)
    terminal.press("q")
    assert terminal.status() == 0


def test_nothing_is_asked_where_it_is_ascii_anyway(on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL, "--ascii")
    terminal.until(lambda screen: "PREFILL" in screen)
    assert QUESTION not in terminal.raw


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_before_the_first_frame_leaves_the_terminal_as_it_was(
    number: signal.Signals, on_terminal: Start
) -> None:
    terminal = on_terminal(*IDEAL, before=NEVER_READY)
    asked(terminal)
    os.kill(terminal.process.pid, number)
    assert terminal.status() == 128 + number
    assert termios.tcgetattr(terminal.slave) == terminal.attributes
