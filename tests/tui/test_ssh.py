"""The player at the other end of a real ssh connection on loopback; skipped without sshd."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

DEADLINE_S = 60.0

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture(scope="module")
def server(terminals: ModuleType) -> Iterator[Any]:
    """An sshd with keys that are thrown away."""
    try:
        with terminals.ssh_server() as running:
            yield running
    except terminals.LackingError as lacking:
        pytest.skip(str(lacking))


def ends(terminals: ModuleType, pid: int) -> bool:
    deadline = time.monotonic() + DEADLINE_S
    while terminals.is_alive(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not terminals.is_alive(pid)


def test_a_killed_client_leaves_no_player(terminals: ModuleType, server: Any) -> None:
    terminal = terminals.Terminal(*server.client("play", "--loop"))
    try:
        terminal.until(lambda raw: b"quit" in raw)
        assert terminals.is_alive(server.pid)
        terminal.process.kill()
        assert ends(terminals, server.pid)
    finally:
        terminal.close()


def test_without_a_terminal_the_steps_are_told_and_nothing_stays(
    terminals: ModuleType, server: Any
) -> None:
    command = server.client("play", "--lang", "en", has_terminal=False)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as client:
        assert client.stdout is not None
        told = client.stdout.readline()
        client.kill()
    assert told.strip()
    assert b"\x1b" not in told
    assert ends(terminals, server.pid)


def test_ssh_gets_256_colours_and_a_slow_line_still_quits(
    terminals: ModuleType, server: Any
) -> None:
    terminal = terminals.Terminal(*server.client("play", "--loop"), rate_bytes_per_s=100_000)
    try:
        terminal.until(lambda raw: b"quit" in raw)
        terminal.press("q")
        terminal.until_end()
        assert terminal.process.returncode == 0
        assert re.search(rb"38;5;", terminal.raw)
        assert not re.search(rb"38;2;", terminal.raw)
        assert terminal.raw.count(b"\x1b[?1049l") == 1
    finally:
        terminal.close()


def test_a_paused_player_sends_nothing_over_ssh(terminals: ModuleType, server: Any) -> None:
    terminal = terminals.Terminal(*server.client("play", "--no-autoplay"))
    try:
        # The first picture comes before the player itself, which begins with its modes.
        terminal.until(lambda raw: b"quit" in raw.partition(b"\x1b[?1004h")[2])
        deadline = time.monotonic() + DEADLINE_S
        while terminal.during(1.0) and time.monotonic() < deadline:
            pass
        assert terminal.during(1.0) == 0
    finally:
        terminal.close()
