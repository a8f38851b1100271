"""What the doctor says of a terminal, asked and unasked, and that it leaves it as it was."""

from __future__ import annotations

import json
import os
import signal
import termios
import time
from collections.abc import Callable
from typing import Any

import pytest

Start = Callable[..., Any]
PATIENT = """
import gpuflow.tui.asking as asking, os
asking.PATIENCE_S = 60.0
set_back = asking.termios.tcsetattr
def set_back_late(*settings):
    # A second signal comes into the cleaning up.
    os.kill(os.getpid(), NUMBER)
    set_back(*settings)
class Termios:
    def __getattr__(self, name):
        return getattr(TERMIOS, name)
TERMIOS, asking.termios = asking.termios, Termios()
asking.termios.tcsetattr = set_back_late
"""


def consult(terminal: Any, *columns: int) -> str:
    """What it prints, the questions answered with cursor columns in turn."""
    asked = 0
    deadline = time.monotonic() + 60
    while terminal.process.poll() is None and time.monotonic() < deadline:
        terminal.read()
        while asked < min(terminal.raw.count(b"\x1b[6n"), len(columns)):
            terminal.press(f"\x1b[1;{columns[asked]}R")
            asked += 1
    assert terminal.status() == 0
    assert termios.tcgetattr(terminal.slave) == terminal.attributes
    return terminal.raw.decode().replace("\r\n", "\n").rpartition("\x1b[K")[2]


def test_it_asks_for_widths_and_says_what_will_be_used(on_terminal: Start) -> None:
    env = {"COLORTERM": "truecolor", "COLORFGBG": "0;15", "TMUX": "/tmp/x,1,0"}
    terminal = on_terminal("doctor", "--format", "json", size=(120, 40), env=env)
    found = json.loads(consult(terminal, 2, 3))
    has, use = found["terminal"], found["use"]
    assert (has["columns"], has["rows"], has["colours"]) == (120, 40, 1 << 24)
    assert (has["line_cells"], has["wide_cells"], has["encoding"]) == (1, 2, "utf-8")
    assert (has["tmux"], has["ssh"]) == (True, False)
    assert use == {
        "mode": "player",
        "layout": "full",
        "language": "en",
        "signs": "unicode",
        "colour": True,
        "theme": "light",
        "fps": 12.0,
        "config": None,
        "advice": None,
    }


@pytest.mark.parametrize(("language", "hint"), [("zh", "请加 --ascii"), ("en", "use --ascii")])
def test_a_terminal_with_wide_lines_is_told_of_ascii(
    language: str, hint: str, on_terminal: Start
) -> None:
    text = consult(on_terminal("doctor", "--lang", language, size=(120, 40)), 3, 3)
    assert hint in text
    terminal = on_terminal("doctor", "--format", "json", size=(120, 40))
    use = json.loads(consult(terminal, 3, 3))["use"]
    assert (use["signs"], use["language"]) == ("ascii", "en")


@pytest.mark.parametrize(
    ("size", "layout"), [((60, 20), "stage"), ((40, 10), "words"), ((30, 5), "line")]
)
def test_it_names_the_layout_of_the_size(
    size: tuple[int, int], layout: str, on_terminal: Start
) -> None:
    terminal = on_terminal("doctor", "--format", "json", size=size)
    assert json.loads(consult(terminal, 2, 3))["use"]["layout"] == layout


def test_over_ssh_without_an_answer_it_still_ends(on_terminal: Start) -> None:
    env = {"SSH_CONNECTION": "127.0.0.1 1 127.0.0.1 22"}
    found = json.loads(consult(on_terminal("doctor", "--format", "json", env=env)))
    assert found["terminal"]["line_cells"] is None
    assert found["terminal"]["ssh"] is True
    assert found["use"]["fps"] == 8.0
    assert found["use"]["advice"] == "colorterm"


def test_an_encoding_without_lines_gets_ascii(on_terminal: Start) -> None:
    env = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    found = json.loads(consult(on_terminal("doctor", "--format", "json", env=env)))
    assert found["use"]["signs"] == "ascii"
    assert found["use"]["advice"] == "encoding"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=str)
def test_ended_while_it_waits_for_an_answer_it_leaves_the_terminal_as_it_was(
    number: signal.Signals, on_terminal: Start
) -> None:
    terminal = on_terminal("doctor", before=PATIENT.replace("NUMBER", str(int(number))))
    terminal.until(lambda _: b"\x1b[6n" in terminal.raw)
    assert termios.tcgetattr(terminal.slave) != terminal.attributes
    os.kill(terminal.process.pid, number)
    assert terminal.status() == 128 + number
    assert termios.tcgetattr(terminal.slave) == terminal.attributes
