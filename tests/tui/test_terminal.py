"""The player on a real pseudo-terminal: how it leaves, and what it sends."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from typing import Any

import pytest

from gpuflow.draw.ascii import to_ascii
from gpuflow.draw.play import draw_play
from gpuflow.scenario.spec import Language
from gpuflow.tui.app import PlayerApp

IDEAL = ("play", "--profile", "ideal")
Start = Callable[..., Any]

CRASH = """
import gpuflow.draw.play as play
drawn = play.draw_header
count = 0
def draw_header(*args):
    global count
    count += 1
    if count > 20:
        raise RuntimeError("a mistake in the middle of playing")
    return drawn(*args)
play.draw_header = draw_header
"""


def is_playing(screen: str) -> bool:
    return "÷" in screen and "2/8" in screen


# One of each kind: usual, of users, timer, of a fault that did not happen, real-time.
SENT = ("SIGTERM", "SIGHUP", "SIGQUIT", "SIGINT", "SIGUSR1", "SIGALRM", "SIGABRT", "SIGSEGV")


@pytest.mark.parametrize(
    "number", [*(signal.Signals[name] for name in SENT), signal.SIGRTMAX], ids=str
)
def test_a_signal_leaves_the_terminal_as_it_was(number: signal.Signals, on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL, "--at", "100us")
    terminal.until(is_playing)
    assert terminal.modes()[1049]
    os.kill(terminal.process.pid, number)
    assert terminal.status() == 128 + number
    assert terminal.is_as_it_was()


FAULT = "import ctypes\n" + CRASH.replace(
    'raise RuntimeError("a mistake in the middle of playing")', "ctypes.string_at(0)"
)


def test_a_real_fault_ends_the_player_at_once(on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL, "--at", "100us", before=FAULT)
    terminal.until(is_playing)
    assert terminal.status() == -signal.SIGSEGV


@pytest.mark.parametrize(("keys", "status"), [("\x03", 130), ("q", 0), ("b\x03", 130)])
def test_keys_that_leave(keys: str, status: int, on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL, "--at", "100us")
    terminal.until(is_playing)
    terminal.press(keys)
    assert terminal.status() == status
    assert terminal.is_as_it_was()


def test_the_end_of_input_leaves_the_terminal_as_it_was(on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL, "--at", "100us", splits_stdin=True)
    terminal.until(is_playing)
    os.close(terminal.input)
    assert terminal.status() == 128 + signal.SIGHUP
    assert terminal.is_as_it_was()


def test_a_hang_up_ends_the_player(on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL, "--at", "100us")
    terminal.until(is_playing)
    os.close(terminal.slave)
    os.close(terminal.master)
    assert terminal.process.wait(60) == 128 + signal.SIGHUP


def test_a_terminal_that_takes_no_output_cannot_hold_the_player(on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL, "--at", "100us", size=(200, 60))
    terminal.until(is_playing)
    for _ in range(60):
        terminal.press("T")
    os.kill(terminal.process.pid, signal.SIGTERM)
    assert terminal.process.wait(60) == 128 + signal.SIGTERM


def test_a_mistake_of_ours_is_told_after_the_terminal_is_restored(on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL, "--at", "100us", before=CRASH)
    assert terminal.status() == 1
    assert terminal.is_as_it_was()
    told = terminal.raw.rsplit(b"\x1b[?1049l", 1)[1]
    assert b"a mistake in the middle of playing" in told


def test_suspending_gives_the_terminal_back_for_a_while(on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL, "--at", "100us")
    terminal.until(is_playing)
    terminal.press(" \x1a")
    terminal.until_stopped()
    assert terminal.is_as_it_was()
    os.kill(terminal.process.pid, signal.SIGCONT)
    # Paused: nothing but a full repaint brings the edges of the screen back.
    terminal.until(lambda screen: is_playing(screen) and "q quit" in screen)
    assert terminal.modes()[1049]
    terminal.press("q")
    assert terminal.status() == 0
    assert terminal.is_as_it_was()


@pytest.mark.parametrize("number", [signal.SIGSTOP, signal.SIGTSTP])
def test_after_any_stop_the_screen_comes_back(number: signal.Signals, on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL, "--at", "100us")
    terminal.until(is_playing)
    terminal.press(" ?")
    terminal.until(lambda screen: "Keys" in screen)
    os.kill(terminal.process.pid, number)
    terminal.until_stopped()
    terminal.screen.reset()
    os.kill(terminal.process.pid, signal.SIGCONT)
    terminal.until(lambda screen: "Keys" in screen)
    terminal.press("?")
    terminal.until(lambda screen: is_playing(screen) and "q quit" in screen)
    terminal.press("q")
    assert terminal.status() == 0
    assert terminal.is_as_it_was()


# Whatever they interrupt may hold a lock that they would wait for.
INTERRUPT = """
import os, signal, threading
from textual.drivers._writer_thread import WriterThread
written = WriterThread.write
is_due = True
def write(self, text):
    global is_due
    written(self, text)
    if is_due and "{word}" in text:
        is_due = False
        with self._queue.mutex, threading._active_limbo_lock:
            os.kill(os.getpid(), signal.{name})
            sum(range(1000))
WriterThread.write = write
"""


@pytest.mark.parametrize("name", ["SIGTSTP", "SIGCONT", "SIGTERM", "SIGWINCH"])
def test_no_signal_waits_for_what_it_has_interrupted(name: str, on_terminal: Start) -> None:
    interrupt = INTERRUPT.format(word="Keys", name=name)
    terminal = on_terminal(*IDEAL, "--at", "100us", before=interrupt)
    terminal.until(is_playing)
    terminal.press(" ?")
    if name == "SIGTERM":
        assert terminal.status() == 128 + signal.SIGTERM
        assert terminal.is_as_it_was()
        return
    if name == "SIGTSTP":
        terminal.until_stopped()
        assert terminal.is_as_it_was()
        os.kill(terminal.process.pid, signal.SIGCONT)
    if name == "SIGCONT":
        terminal.until(lambda _: b"\x1b[?1049l" in terminal.raw)
    terminal.until(lambda screen: "Keys" in screen)
    terminal.press("q")
    assert terminal.status() == 0
    assert terminal.is_as_it_was()


def test_stops_in_the_middle_of_going_on_are_all_heard(on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL, "--at", "100us")
    terminal.until(is_playing)
    for pause_s in (0.0, 0.01, 0.1, 0.0, 0.03, 0.3):
        os.kill(terminal.process.pid, signal.SIGTSTP)
        terminal.until_stopped()
        os.kill(terminal.process.pid, signal.SIGCONT)
        terminal.read(pause_s)
    terminal.press("q")
    assert terminal.status() == 0
    assert terminal.is_as_it_was()


# ---------------------------------------------------------------- what is sent


def expected_rows(app: PlayerApp, size: tuple[int, int], language: Language) -> list[str]:
    """The start of step 3, paused."""
    app.playhead.seek(app.pace.step_start(2))
    app.language = language
    view = app.view(tab=0, page=0)
    frame = draw_play(type(view)(**{**vars(view), "width": size[0], "height": size[1]}))
    return ["".join(run.text for run in row) for row in frame.rows]


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40), (200, 60)])
def test_the_terminal_shows_the_drawn_frame_in_both_languages(
    size: tuple[int, int], on_terminal: Start, make_app: Callable[..., PlayerApp]
) -> None:
    terminal = on_terminal(*IDEAL, "--lang", "zh", size=size)
    terminal.until(lambda screen: "PREFILL" in screen)
    terminal.press(" 3")
    for language in ("zh", "en"):
        wanted = expected_rows(make_app(), size, language)
        terminal.until(lambda _, wanted=wanted: terminal.rows() == wanted)
        terminal.press("L")
    terminal.press("q")
    assert terminal.status() == 0


def test_a_paused_player_sends_nothing(on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL)
    terminal.until(lambda screen: "PREFILL" in screen)
    terminal.press(" 3")
    terminal.until(lambda screen: "3/8" in screen)
    while terminal.read(0.5):
        pass
    assert terminal.read(1.0) == b""


@pytest.mark.parametrize(
    "env",
    [
        {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"},
    ],
    ids=["LC_ALL=C", "ascii"],
)
def test_an_old_encoding_gets_ascii_in_english(
    env: dict[str, str], on_terminal: Start, make_app: Callable[..., PlayerApp]
) -> None:
    terminal = on_terminal(*IDEAL, "--lang", "zh", env=env)
    terminal.until(lambda screen: "PREFILL" in screen)
    terminal.press(" 3L")
    app = make_app()
    app.playhead.seek(app.pace.step_start(2))
    view = app.view(tab=0, page=0)
    shown = {"width": 80, "height": 24, "is_ascii": True}
    frame = to_ascii(draw_play(type(view)(**{**vars(view), **shown})))
    wanted = ["".join(run.text for run in row) for row in frame.rows]
    terminal.until(lambda _: terminal.rows() == wanted)
    assert terminal.raw.isascii()
    assert b"\\u" not in terminal.raw
    assert b"\\x" not in terminal.raw


def test_lang_c_alone_still_draws_lines(on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL, env={"LANG": "C"})
    screen = terminal.until(lambda screen: "q quit" in screen)
    assert "╭ Stage 1" in screen
    assert "\\u" not in screen


COLOURS = re.compile(rb"\x1b\[(?:[\d;]*;)?(?:[34][0-79]|9[0-7]|10[0-7]|[34]8;[\d;]+)(?:;[\d;]*)?m")


def test_no_colour_code_is_sent_under_no_color(on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL, env={"NO_COLOR": "1", "COLORTERM": "truecolor"})
    terminal.until(lambda screen: "q quit" in screen)
    for keys, word in (
        (" 2t", "Traffic"),
        ("tc", "NCCL"),
        ("b", "Inference basics"),
        ("?", "Keys"),
    ):
        terminal.press(keys)
        terminal.until(lambda screen, word=word: word in screen)
    terminal.press("\x10")
    terminal.until(lambda screen: "Search for a command" in screen)
    assert b"\x1b[1m" in terminal.raw
    assert COLOURS.findall(terminal.raw) == []


@pytest.mark.parametrize(
    ("env", "has", "has_not"),
    [
        ({"TERM": "xterm-256color"}, rb"38;5;", rb"38;2;"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, rb"38;2;", None),
        ({"TERM": "xterm"}, rb"\x1b\[[\d;]*3[0-7]", rb"38;[25];"),
    ],
    ids=["256", "truecolor", "16"],
)
def test_colours_are_no_finer_than_the_terminal_says(
    env: dict[str, str], has: bytes, has_not: bytes | None, on_terminal: Start
) -> None:
    terminal = on_terminal(*IDEAL, env=env)
    terminal.until(lambda screen: "PREFILL" in screen)
    assert re.search(has, terminal.raw)
    assert has_not is None or not re.search(has_not, terminal.raw)


def test_exported_sizes_do_not_override_the_real_one(on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL, env={"COLUMNS": "50", "LINES": "10"})
    screen = terminal.until(lambda screen: "q quit" in screen)
    assert "50×10" not in screen
    assert len(screen.splitlines()[1].rstrip()) == 80


@pytest.mark.parametrize(
    ("env", "ground"),
    [
        ({"COLORTERM": "truecolor", "COLORFGBG": "0;15"}, b"48;2;251;250;247"),
        ({"COLORTERM": "truecolor", "COLORFGBG": "15;0"}, b"48;2;17;21;28"),
        ({"TERM": "xterm"}, b"\x1b[37;40m"),
    ],
    ids=["light", "dark", "16"],
)
def test_the_theme_suits_the_terminal(
    env: dict[str, str], ground: bytes, on_terminal: Start
) -> None:
    terminal = on_terminal(*IDEAL, env=env)
    terminal.until(lambda screen: "PREFILL" in screen)
    assert ground in terminal.raw


# The shell's part: the player is a job in a group of its own, in the foreground until it stops.
SHELL = """
import os, signal, sys, time
job = os.fork()
if job:
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)
    os.setpgid(job, job)
    os.tcsetpgrp(0, job)
    os.waitpid(job, os.WUNTRACED)
    os.tcsetpgrp(0, os.getpgrp())
    for number in (signal.SIGTERM, signal.SIGCONT):
        os.kill(job, number)
    status = os.waitpid(job, os.WUNTRACED)[1]
    if os.WIFSTOPPED(status):
        os.kill(job, signal.SIGKILL)
        sys.exit("stopped again")
    os._exit(os.waitstatus_to_exitcode(status))
while os.tcgetpgrp(0) != os.getpid():
    time.sleep(0.01)
"""


def test_a_stopped_player_can_be_ended_from_the_shell(on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL, "--at", "100us", before=SHELL)
    terminal.until(is_playing)
    terminal.press("\x1a")
    assert terminal.status() == 128 + signal.SIGTERM
    assert terminal.is_as_it_was()


BACKGROUND = SHELL.replace("    os.tcsetpgrp(0, job)\n", "").partition("while os.tcget")[0]


def test_a_player_started_in_the_background_can_be_ended(on_terminal: Start) -> None:
    terminal = on_terminal(*IDEAL, "--at", "100us", before=BACKGROUND)
    assert terminal.status() == 128 + signal.SIGTERM
    assert b"\x1b[?1049h" not in terminal.raw
