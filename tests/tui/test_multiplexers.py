"""The player in what people run it in: tmux in tmux, mosh, an xterm with wide lines."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pyte
import pytest

import gpuflow

PLAYER = f"{sys.executable} -m gpuflow play --profile ideal"
DEADLINE_S = 60.0
KEYMODE = re.compile(rb"\x1b\[([<>=?]?)[\d;]*u")


def needs(*programs: str) -> pytest.MarkDecorator:
    absent = [name for name in programs if shutil.which(name) is None]
    return pytest.mark.skipif(bool(absent), reason=f"needs {', '.join(absent)}")


def rows_of(raw: bytes, size: tuple[int, int]) -> list[str]:
    screen = pyte.Screen(*size)
    pyte.ByteStream(screen).feed(KEYMODE.sub(b"", raw))
    return [
        "".join(screen.buffer[y][x].data for x in range(size[0])).rstrip() for y in range(size[1])
    ]


@needs("tmux")
def test_in_tmux_within_tmux_nothing_is_cleared_and_little_is_sent(
    terminals: ModuleType, tmp_path: Path
) -> None:
    tmux = f"env -u TMUX TMUX_TMPDIR={tmp_path} tmux -f /dev/null"
    inner = f'{tmux} -L inner new-session "{PLAYER} --loop --at 2"'
    command = f"{tmux} -L outer new-session '{inner}'"
    terminal = terminals.Terminal("sh", "-c", command)
    try:
        terminal.until(lambda raw: b"quit" in raw)
        # Once it takes keys, nothing of its start is still to come.
        terminal.press(" ")
        terminal.until(lambda raw: "⏸".encode() in raw)
        terminal.press(" ")
        terminal.during(1.5)
        first = len(terminal.raw)
        sent = terminal.during(3.0)
        later = terminal.raw[first:]
        assert sent
        assert b"\x1b[2J" not in later
        assert b"\x1b[H\x1b[J" not in later
        # 36 frames of 120 by 40 cells, if each were drawn whole.
        assert sent < 36 * 120 * 40 / 3
        terminal.press("q")
        terminal.until_end()
    finally:
        terminal.close()
        for name in ("inner", "outer"):
            subprocess.run(f"{tmux} -L {name} kill-server", shell=True, capture_output=True)


@needs("tmux")
def test_keys_reach_it_through_tmux(tmp_path: Path) -> None:
    env = {k: v for k, v in os.environ.items() if k != "TMUX"}
    env |= {"TMUX_TMPDIR": str(tmp_path), "LC_ALL": "C.UTF-8"}
    env["PYTHONPATH"] = str(Path(gpuflow.__file__).parents[1])

    def tmux(*arguments: str) -> str:
        command = ["tmux", "-f", "/dev/null", "-L", "keys", *arguments]
        return subprocess.run(command, env=env, capture_output=True, text=True).stdout

    def until(is_there: Callable[[str], bool]) -> str:
        end_s = time.monotonic() + DEADLINE_S
        shown = ""
        while time.monotonic() < end_s:
            shown = tmux("capture-pane", "-p")
            if is_there(shown):
                return shown
            time.sleep(0.1)
        raise AssertionError(shown)

    tmux("new-session", "-d", "-x", "100", "-y", "30", f"{PLAYER} --lang en --no-autoplay")
    try:
        until(lambda shown: "q quit" in shown)
        for keys, seen in (("l", "2/8"), ("3", "3/8"), ("h", "2/8"), ("?", "Keys"), ("?", "2/8")):
            tmux("send-keys", keys)
            until(lambda shown, seen=seen: seen in shown)
        tmux("send-keys", "L")
        until(lambda shown: "退出" in shown)
        tmux("send-keys", "q")
        end_s = time.monotonic() + DEADLINE_S
        while tmux("list-sessions") and time.monotonic() < end_s:
            time.sleep(0.1)
        assert tmux("list-sessions") == ""
    finally:
        tmux("kill-server")


@needs("mosh-server", "mosh-client")
def test_over_mosh_the_same_picture_arrives(terminals: ModuleType, on_terminal: Any) -> None:
    asked = ("--at", "3", "--no-autoplay", "--lang", "en")
    env = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
    env["PYTHONPATH"] = str(Path(gpuflow.__file__).parents[1])
    env.pop("COLORTERM", None)
    server = subprocess.run(
        ["mosh-server", "new", "-i", "127.0.0.1", "-c", "256", "--", *PLAYER.split(), *asked],
        capture_output=True,
        text=True,
        env=env,
    )
    match = re.search(r"MOSH CONNECT (\d+) (\S+)", server.stdout)
    if match is None:
        pytest.skip("mosh-server does not start here")
    client = f"LC_ALL=C.UTF-8 MOSH_KEY={match[2]} exec mosh-client 127.0.0.1 {match[1]}"
    terminal = terminals.Terminal("sh", "-c", client, size=(100, 30))
    direct = on_terminal("play", "--profile", "ideal", *asked, size=(100, 30))
    direct.until(lambda screen: "q quit" in screen and "3/8" in screen)
    wanted = [row.rstrip() for row in direct.rows()]
    try:
        end_s = time.monotonic() + DEADLINE_S
        shown: list[str] = []
        while shown != wanted and time.monotonic() < end_s:
            terminal.during(0.3)
            shown = rows_of(terminal.raw, (100, 30))
        assert shown == wanted
        terminal.press("q")
        terminal.until_end()
    finally:
        terminal.close()


@needs("Xvfb", "xterm", "script")
@pytest.mark.parametrize(
    ("option", "has_lines"), [("-cjk_width", False), ("+cjk_width", True)], ids=["wide", "narrow"]
)
def test_an_xterm_with_wide_lines_gets_ascii(option: str, has_lines: bool, tmp_path: Path) -> None:
    env = {k: v for k, v in os.environ.items() if k not in {"TMUX", "COLORTERM"}}
    env |= {"LC_ALL": "C.UTF-8", "PYTHONPATH": str(Path(gpuflow.__file__).parents[1])}
    read, write = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(write), "-screen", "0", "1200x800x24", "-nolisten", "tcp"],
        pass_fds=[write],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(write)
    try:
        with os.fdopen(read) as told:
            env["DISPLAY"] = f":{told.readline().strip()}"
        written = tmp_path / "written"
        # Wide lines leave half as many to a row of the picture: without ASCII it would be torn.
        # `script` outlives its terminal, so that the player has to leave by itself.
        play = f"{PLAYER} --lang en --no-autoplay --idle 20"
        command = ["xterm", "-u8", option, "-geometry", "100x30", "-e"]
        terminal = subprocess.Popen(
            [*command, "script", "-qfc", play, str(written)], env=env, stderr=subprocess.DEVNULL
        )
        try:
            end_s = time.monotonic() + DEADLINE_S
            raw = b""
            while b"quit" not in raw and time.monotonic() < end_s:
                time.sleep(0.2)
                raw = written.read_bytes() if written.exists() else b""
            assert b"quit" in raw
            assert ("╭".encode() in raw) is has_lines
        finally:
            terminal.kill()
            terminal.wait()
    finally:
        server.kill()
        server.wait()
