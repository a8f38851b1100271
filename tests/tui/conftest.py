"""An app on a small screen of its own, and a program on a terminal of its own."""

from __future__ import annotations

import contextlib
import fcntl
import importlib.util
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType

import pyte
import pytest

import gpuflow
from gpuflow.draw.notes import StepNotes
from gpuflow.engine.simulate import simulate
from gpuflow.engine.timeline import Timeline
from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.tui.app import PlayerApp
from gpuflow.tui.options import PlayerOptions
from gpuflow.tui.position import Position


@cache
def _timeline(name: str, overrides: tuple[tuple[str, object], ...]) -> Timeline:
    return simulate(load_scenario(name, Overrides(profile="ideal", **dict(overrides))))  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def make_app() -> Callable[..., PlayerApp]:
    """A paused player of the default scenario; keywords go to its options."""

    def make(name: str = "tp2-pp2", **settings: object) -> PlayerApp:
        overrides = settings.pop("overrides", {})
        assert isinstance(overrides, dict)
        timeline = _timeline(name, tuple(sorted(overrides.items())))
        chosen = {"language": "en", "is_playing": False, **settings}
        return PlayerApp(timeline, PlayerOptions(**chosen))  # type: ignore[arg-type]

    return make


_CLAIM = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
_PLAY = """
import sys
sys.argv = ["gpuflow", *ARGV]
from gpuflow.__main__ import main
sys.exit(main())
"""
_MODE = re.compile(rb"\x1b\[\?([\d;]+)([hl])")
_KITTY = re.compile(rb"\x1b\[([<>=?]?)[\d;]*u")
DEADLINE_S = 60.0
"""Only so that a broken player does not hang the tests."""


class Screen(pyte.Screen):
    """A screen whose alternate screen is blank whenever it is entered, as is the main one."""

    def set_mode(self, *modes: int, **settings: bool) -> None:
        """Switch modes on."""
        super().set_mode(*modes, **settings)
        self._blank(modes)

    def reset_mode(self, *modes: int, **settings: bool) -> None:
        """Switch modes off."""
        super().reset_mode(*modes, **settings)
        self._blank(modes)

    def _blank(self, modes: tuple[int, ...]) -> None:
        if 1049 in modes:
            self.erase_in_display(2)


class Terminal:
    """A player on a pseudo-terminal, and what it has written there."""

    def __init__(
        self,
        *argv: str,
        size: tuple[int, int] = (80, 24),
        env: Mapping[str, str] | None = None,
        before: str = "",
        splits_stdin: bool = False,
        is_full: bool = False,
    ) -> None:
        self.size = size
        self.raw = b""
        self.screen = Screen(*size)
        self.stream = pyte.ByteStream(self.screen)
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        self.attributes = termios.tcgetattr(self.slave)
        if is_full:
            self.take_no_more()
        stdin = self.slave
        self.input = self.master
        if splits_stdin:
            self.input, stdin = pty.openpty()
        code = ("" if splits_stdin else _CLAIM) + before + _PLAY.replace("ARGV", repr(argv))
        self.process = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=stdin,
            stdout=self.slave,
            stderr=self.slave,
            env=_environment(env or {}),
            start_new_session=True,
        )
        if splits_stdin:
            os.close(stdin)

    def read(self, wait_s: float = 0.05) -> bytes:
        """What has come within that time."""
        ready, _, _ = select.select([self.master], [], [], wait_s)
        data = os.read(self.master, 65536) if ready else b""
        self.raw += data
        # pyte takes the key mode for a cursor position.
        self.stream.feed(_KITTY.sub(b"", data))
        return data

    def until(self, is_there: Callable[[str], bool]) -> str:
        """Read until the screen shows something; returns the screen."""
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            screen = "\n".join(self.rows())
            if is_there(screen):
                return screen
            self.read(0.1)
            if self.process.poll() is not None:
                break
        raise AssertionError(f"not seen; status {self.process.poll()}, screen:\n{screen}")

    def take_no_more(self) -> None:
        """Fill it up: whoever writes waits until somebody reads."""
        # Opened once more: the player's own descriptors have to wait.
        flags = os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK
        descriptor = os.open(os.ttyname(self.slave), flags)
        for _ in range(10):
            # The kernel passes on what it has a moment later, and has room again.
            with contextlib.suppress(BlockingIOError):
                while True:
                    os.write(descriptor, b" " * 1024)
            time.sleep(0.02)
        os.close(descriptor)

    def press(self, keys: str) -> None:
        """Keys as a terminal sends them."""
        os.write(self.input, keys.encode())

    def status(self) -> int:
        """Exit status, once it has ended."""
        deadline = time.monotonic() + DEADLINE_S
        while self.process.poll() is None and time.monotonic() < deadline:
            self.read()
        while self.read(0.2):
            pass
        assert self.process.poll() is not None, "still running"
        return self.process.returncode

    def until_stopped(self) -> None:
        """Read until the process has stopped, which it cannot while nobody takes its output.

        What it has written last is read too.
        """
        deadline = time.monotonic() + DEADLINE_S
        while time.monotonic() < deadline:
            self.read()
            found, status = os.waitpid(self.process.pid, os.WUNTRACED | os.WNOHANG)
            if found:
                assert os.WIFSTOPPED(status), f"ended with {status}"
                while self.read(0.2):
                    pass
                return
        raise AssertionError("not stopped")

    def rows(self) -> list[str]:
        """The screen as a terminal shows it."""
        # Not pyte's own display: it stumbles over half-overwritten wide characters.
        width, height = self.size
        lines = (self.screen.buffer[y] for y in range(height))
        return ["".join(line[x].data for x in range(width)) for line in lines]

    def modes(self) -> dict[int, bool]:
        """Private modes that were ever switched, with their last state."""
        found: dict[int, bool] = {}
        for numbers, state in _MODE.findall(self.raw):
            for number in numbers.split(b";"):
                found[int(number)] = state == b"h"
        return found

    def is_as_it_was(self) -> bool:
        """Main screen, cursor, line wrap and echo on; nothing reports, no key mode is pushed."""
        on = {mode for mode, state in self.modes().items() if state}
        pushed = sum({b">": 1, b"<": -1}.get(sign, 0) for sign in _KITTY.findall(self.raw))
        is_quiet = on <= {7, 25} and self.modes().get(25) is True
        return is_quiet and not pushed and termios.tcgetattr(self.slave) == self.attributes

    def close(self) -> None:
        """End whatever still runs."""
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        for descriptor in {self.master, self.slave, self.input}:
            with contextlib.suppress(OSError):
                os.close(descriptor)


def _environment(changes: Mapping[str, str]) -> dict[str, str]:
    kept = ("PATH", "HOME", "VIRTUAL_ENV")
    env = {name: os.environ[name] for name in kept if name in os.environ}
    env["PYTHONPATH"] = str(Path(gpuflow.__file__).parents[1])
    env |= {"TERM": "xterm-256color", "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    env["XDG_CONFIG_HOME"] = os.devnull
    return {name: value for name, value in {**env, **changes}.items() if value}


@pytest.fixture
def on_terminal() -> Iterator[Callable[..., Terminal]]:
    """Start a player on a terminal; it is ended with the test."""
    started: list[Terminal] = []

    def start(*argv: str, **settings: object) -> Terminal:
        started.append(Terminal(*argv, **settings))  # type: ignore[arg-type]
        return started[-1]

    yield start
    for terminal in started:
        terminal.close()


@pytest.fixture(scope="session")
def terminals() -> ModuleType:
    """Terminals for any program, and an ssh server: those of the benchmarks."""
    harness = Path(__file__).parents[1] / "benchmarks" / "terminals.py"
    spec = importlib.util.spec_from_file_location("terminals", harness)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# ---------------------------------------------------------------- a player and its notes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """As a runtime folder is: the user's own, and nobody else's."""
    made = tmp_path / "gpuflow"
    made.mkdir(mode=0o700)
    return made


@pytest.fixture(scope="session")
def position() -> Callable[..., Position]:
    """Makes a place in a talk: the process that is there, then what else differs."""

    def make(pid: int = os.getpid(), **changes: object) -> Position:
        notes = tuple(
            StepNotes(
                title=f"Title {n}",
                summary=f"Summary {n}",
                takeaway=f"Takeaway {n}",
                notes=f"Say: {n}\nAsk: {n}",
            )
            for n in range(1, 9)
        )
        chinese = tuple(replace(step, title=f"ZH {step.title}") for step in notes)
        made = Position(
            pid=pid,
            scenario="tp2-pp2",
            language="en",
            step=1,
            moment_s=2.5,
            time_s=0.001,
            is_playing=True,
            speed=1.0,
            began_s=1000.0,
            steps={"zh": chinese, "en": notes},
        )
        return replace(made, **changes)  # type: ignore[arg-type]

    return make
