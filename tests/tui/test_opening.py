"""What stands on the screen before the player: at once, and gone without a trace.

A first picture takes a terminal that says how wide its lines are; the others here do not answer.
"""

from __future__ import annotations

import signal
import subprocess
import sys

import pyte
import pytest

LATER = {
    "textual",
    "gpuflow.cli.import_",
    "gpuflow.engine.explore",
    "gpuflow.engine.metrics",
    "gpuflow.engine.requirements",
    "gpuflow.engine.whatif",
    "gpuflow.exporters.tables",
    "gpuflow.tui.app",
    "gpuflow.tui.position",
}
"""What the first picture does not show."""
ENTER = b"\x1b[?1049h"
LINE = "Reading the model"
SLOW = """
import time
import gpuflow.engine.simulate
gpuflow.engine.simulate.simulate = lambda *_: time.sleep(60)
"""
LISTING = """
import pathlib, sys
from gpuflow.tui.opening import Opening
def draw(*_):
    pathlib.Path(FILE).write_text(" ".join(sys.modules))
    raise SystemExit(0)
Opening.draw = draw
"""
BROKEN = """
import gpuflow.engine.simulate
def simulate(*_):
    raise RuntimeError("a mistake of ours")
gpuflow.engine.simulate.simulate = simulate
"""


def test_the_opening_comes_first_and_the_player_takes_its_screen_over(on_terminal):
    terminal = on_terminal("play")
    terminal.until(lambda screen: LINE in screen)
    terminal.until(lambda screen: "1/8" in screen and LINE not in screen)
    assert terminal.raw.count(ENTER) == 1
    terminal.press("q")
    assert terminal.status() == 0
    assert terminal.is_as_it_was()
    assert LINE not in "\n".join(terminal.rows())


def test_a_key_pressed_during_the_opening_is_not_lost(on_terminal):
    terminal = on_terminal("play", "moe-ep4", "--no-animation")
    terminal.until(lambda screen: LINE in screen)
    terminal.press("3")
    terminal.until(lambda screen: "3/8" in screen)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGINT])
def test_whatever_ends_the_opening_gives_the_terminal_back(on_terminal, number):
    terminal = on_terminal("play", before=SLOW)
    terminal.until(lambda screen: LINE in screen)
    terminal.process.send_signal(number)
    assert terminal.status() == 128 + number
    assert terminal.is_as_it_was()


def test_ctrl_c_ends_the_opening(on_terminal):
    terminal = on_terminal("play", before=SLOW)
    terminal.until(lambda screen: LINE in screen)
    terminal.press("\x03")
    assert terminal.status() == 130
    assert terminal.is_as_it_was()


def test_a_mistake_during_the_opening_is_told_on_the_main_screen(on_terminal):
    terminal = on_terminal("play", before=BROKEN)
    assert terminal.status() == 1
    assert terminal.is_as_it_was()
    assert "a mistake of ours" in "\n".join(terminal.rows())


@pytest.mark.parametrize(
    ("argv", "settings"),
    [
        (("play", "--tp", "4"), {}),
        (("play", "--at", "2"), {}),
        (("play",), {"size": (39, 24)}),
        (("play",), {"env": {"PYTHONIOENCODING": "ascii"}}),
    ],
    ids=["an option", "a moment", "a narrow screen", "an encoding without lines"],
)
def test_there_is_no_opening_where_a_mistake_may_have_to_be_told(on_terminal, argv, settings):
    terminal = on_terminal(*argv, **settings)
    terminal.until(lambda screen: "1/8" in screen or "2/8" in screen or "39" in screen)
    assert LINE.encode() not in terminal.raw


QUESTION = b"\x1b[6n"
TAKEN_OVER = b"\x1b[?1004h"
"""The first thing that the player itself asks of the terminal."""


@pytest.mark.parametrize(
    ("argv", "settings"),
    [
        ((), {"size": (120, 40)}),
        (("moe-ep4", "--theme", "light"), {"env": {"COLORTERM": "truecolor"}}),
        (("--big",), {"env": {"TERM": "xterm"}}),
        (("--ascii",), {"size": (40, 10), "env": {"NO_COLOR": "1"}}),
        (("--no-animation", "--lang", "zh"), {"size": (100, 30)}),
        (("--model", "mixtral-8x7b", "--tp", "4", "--pp", "1", "--at", "3"), {"size": (120, 40)}),
        (("--dp", "4", "--zoom", "gpu", "--step", "2"), {}),
        (("--follow", "2", "--at", "1ms", "--kiosk"), {"size": (100, 30)}),
    ],
    ids=[
        *("120x40", "24-bit colours", "16 colours, big", "small, no colours", "zh, no motion"),
        *("another model and moment", "near, one step", "following, in a kiosk"),
    ],
)
def test_the_first_picture_is_the_one_that_the_player_goes_on_with(on_terminal, argv, settings):
    terminal = on_terminal("play", *argv, "--no-autoplay", **settings)
    terminal.until(lambda _: QUESTION in terminal.raw)
    terminal.press("\x1b[1;2R")
    terminal.until(lambda _: TAKEN_OVER in terminal.raw)
    width, height = terminal.size
    before = pyte.Screen(width, height)
    pyte.ByteStream(before).feed(terminal.raw.partition(TAKEN_OVER)[0])
    terminal.until(lambda _: len(terminal.raw.rpartition(TAKEN_OVER)[2]) > 1000)
    while terminal.read(0.3):
        pass
    for y in range(height):
        first, taken = before.buffer[y], terminal.screen.buffer[y]
        assert [seen(first[x]) for x in range(width)] == [seen(taken[x]) for x in range(width)], y


def seen(cell):
    """A cell without the colour of what is not there."""
    return cell._replace(fg="") if cell.data == " " and not cell.reverse else cell


def test_the_first_picture_waits_for_nothing_that_it_does_not_show(on_terminal, tmp_path):
    found = tmp_path / "modules"
    terminal = on_terminal("play", before=LISTING.replace("FILE", repr(str(found))))
    terminal.until(lambda _: QUESTION in terminal.raw)
    terminal.press("\x1b[1;2R")
    assert terminal.status() == 0
    assert terminal.is_as_it_was()
    loaded = set(found.read_text().split())
    assert "gpuflow.engine.simulate" in loaded
    assert loaded & LATER == set()


NESTED = """
import signal
import subprocess
import sys
from gpuflow.tui.lifecycle import leaving_on_signals

told = []
with leaving_on_signals(lambda status: told.append(("opening", status))):
    signal.raise_signal(signal.SIGALRM)
    with leaving_on_signals(lambda status: told.append(("player", status))):
        for name in ("SIGTERM", "SIGALRM", "SIGABRT"):
            signal.raise_signal(signal.Signals[name])
    signal.raise_signal(signal.SIGTERM)
print(*(who for who, _ in told), *(status for _, status in told))
print(signal.getsignal(signal.SIGALRM) is signal.SIG_DFL)
"""


WRAPPED = """
import signal, sys
from gpuflow.tui.lifecycle import leaving_on_signals

class Named:
    def __set_name__(self, owner, name):
        signal.raise_signal(signal.SIGTERM)

with leaving_on_signals(sys.exit):
    class Owner:
        name = Named()
"""


def test_a_signal_while_a_class_is_made_is_no_mistake_of_ours():
    done = subprocess.run(
        [sys.executable, "-c", WRAPPED], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (128 + signal.SIGTERM, "")


def test_a_signal_ends_the_player_and_not_what_was_there_before_it():
    done = subprocess.run(
        [sys.executable, "-c", NESTED], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split("\n")[:2] == [
        "opening player player player opening 142 143 142 134 143",
        "True",
    ]
