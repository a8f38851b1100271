"""The player over real ssh on loopback: bytes, CPU, keys on a slow line, first frame.

    python tests/benchmarks/run.py ssh

Starts an sshd of its own on a free port, with keys that are thrown away.
"""

from __future__ import annotations

import re
import statistics
import sys
import time
from collections.abc import Iterator
from subprocess import DEVNULL, PIPE, Popen

from measure import Measure
from terminals import DEADLINE_S, Server, Terminal, cpu_s, end, is_alive, ssh_server

FOUR: tuple[str, ...] = ("--at", "2")
MANY = ("--at", "2", "--tp", "8", "--pp", "8")
PLAYED_S = 12.0
PAUSED_S = 4.0
SLOW = 100_000
"""Bytes a second of a slow line."""
FIRST_FRAMES = 5
EMPTY_APP = "from textual.app import App\nApp().run(mouse=False)"


def is_drawn(raw: bytes) -> bool:
    """Whether the player's last row has come."""
    return b"quit" in raw


def is_live(raw: bytes) -> bool:
    """Whether the player itself has drawn its last row, and takes keys."""
    return b"quit" in raw.partition(b"\x1b[?1004h")[2]


def is_opened(raw: bytes) -> bool:
    """Whether there is anything to see."""
    return b"Reading the model" in raw


def is_blank_drawn(raw: bytes) -> bool:
    """Whether an empty app has drawn its rows."""
    return raw.count(b" " * 100) >= 38


def measure() -> Iterator[Measure]:
    """Every figure."""
    yield from first_frame()
    with ssh_server() as server:
        yield from play(server, "4_gpus", FOUR, 40.0)
        yield from play(server, "64_gpus", MANY, 60.0)
        yield quit_key(server)
        yield from killed_client(server)


def play(server: Server, name: str, arguments: tuple[str, ...], limit: float) -> Iterator[Measure]:
    """Bytes and CPU while it plays and while it is paused, at the rate that ssh gets."""
    terminal = Terminal(*server.client("play", *arguments, "--loop"))
    try:
        terminal.until(is_drawn)
        terminal.during(1.0)
        before_s, begin_s = cpu_s(server.pid), time.perf_counter()
        kib_per_s = terminal.during(PLAYED_S) / PLAYED_S / 1024
        used = (cpu_s(server.pid) - before_s) / (time.perf_counter() - begin_s)
        yield Measure(
            f"ssh_{name}_bytes", kib_per_s, "KiB/s", limit, "allowed at 8 frames a second"
        )
        yield Measure(f"ssh_{name}_cpu", used * 100, "%", 15.0, "of a core allowed, playing")
        terminal.press(" ")
        terminal.during(1.5)
        before_s, begin_s = cpu_s(server.pid), time.perf_counter()
        sent = terminal.during(PAUSED_S)
        used = (cpu_s(server.pid) - before_s) / (time.perf_counter() - begin_s)
        yield Measure(f"ssh_{name}_paused_bytes", sent, "B", 0.0, "allowed")
        yield Measure(f"ssh_{name}_paused_cpu", used * 100, "%", 3.0, "of a core allowed")
        fine = len(re.findall(rb"38;2;", terminal.raw))
        yield Measure(f"ssh_{name}_24_bit_colours", fine, "", 0.0, "allowed without COLORTERM")
        indexed = len(re.findall(rb"38;5;", terminal.raw))
        if not indexed:
            raise RuntimeError("no colour of the 256 was sent")
        terminal.press("q")
        terminal.until_end()
    finally:
        terminal.close()


def quit_key(server: Server) -> Measure:
    """From the quit key to the end of ssh, with a reader on a slow line."""
    terminal = Terminal(*server.client("play", *MANY, "--loop"), rate_bytes_per_s=SLOW)
    try:
        terminal.until(is_drawn)
        terminal.during(3.0)
        terminal.press("q")
        lasted_s = terminal.until_end()
        if terminal.process.returncode:
            raise RuntimeError(f"status {terminal.process.returncode}")
        return Measure("ssh_quit_at_100_kB/s", lasted_s, "s", 1.0, "allowed")
    finally:
        terminal.close()


def killed_client(server: Server) -> Iterator[Measure]:
    """Whether anything is left when the client is killed, with a terminal and without."""
    for name, has_terminal in (("terminal", True), ("pipe", False)):
        command = server.client("play", "--loop", has_terminal=has_terminal)
        if has_terminal:
            terminal = Terminal(*command)
            terminal.until(is_drawn)
            terminal.close()
        else:
            # A pipe gets the steps as text and an end; a client that dies is as good as that.
            with Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL) as client:
                assert client.stdout
                client.stdout.read(1)
                client.kill()
        pid, begin_s = server.pid, time.perf_counter()
        while is_alive(pid) and time.perf_counter() - begin_s < DEADLINE_S:
            time.sleep(0.05)
        left_s = time.perf_counter() - begin_s
        end(pid)
        yield Measure(f"ssh_killed_client_{name}", left_s, "s", 4.0, "allowed until no process")


def first_frame() -> Iterator[Measure]:
    """CPU and wall time to the first frame, in turn with an empty app of the same library.

    The opening is the first frame; the whole picture takes its place once all is simulated, and
    moves and takes keys once the library is loaded, too.
    """
    found: dict[str, list[tuple[float, float]]] = {
        name: [] for name in ("empty", "opening", "picture", "live")
    }
    for _ in range(FIRST_FRAMES):
        for name, argv, is_there in (
            ("empty", ("-c", EMPTY_APP), is_blank_drawn),
            ("opening", ("-m", "gpuflow", "play"), is_opened),
            ("picture", ("-m", "gpuflow", "play"), is_drawn),
            ("live", ("-m", "gpuflow", "play"), is_live),
        ):
            terminal = Terminal(sys.executable, *argv)
            lasted_s = terminal.until(is_there)
            found[name].append((cpu_s(terminal.process.pid), lasted_s))
            terminal.close()
    for name, limit in (("opening", 1.5), ("picture", 3.0), ("live", 4.5)):
        for index, kind in enumerate(("cpu", "wall")):
            ours, empty = (statistics.median(t[index] for t in found[n]) for n in (name, "empty"))
            about = "an empty Textual app"
            yield Measure(f"first_{name}_{kind}", ours, "s", empty, about, limit=limit)
