"""`gpuflow probe` and tools that do not end, or leave something running: it waits for nothing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import gpuflow

LINKS = Path(__file__).parent.parent / "data" / "topo" / "bridged-pairs.txt"
DEADLINE_S = 60.0
"""Only so that a broken program does not hang the tests."""


def probing(folder: Path, script: str) -> subprocess.Popen[bytes]:
    """`gpuflow probe` where the only tool is a script."""
    tool = folder / "nvidia-smi"
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    env = {**os.environ, "PYTHONPATH": str(Path(gpuflow.__file__).parents[1])}
    return subprocess.Popen(
        [sys.executable, "-m", "gpuflow", "probe", "--format", "json"],
        env=env | {"PATH": f"{folder}:/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def pid_in(file: Path) -> int:
    """A process that has said its number, a line of its own."""
    end_s = time.monotonic() + DEADLINE_S
    while not (file.is_file() and file.read_text().endswith("\n")) and time.monotonic() < end_s:
        time.sleep(0.02)
    return int(file.read_text())


def is_gone(pid: int) -> bool:
    end_s = time.monotonic() + DEADLINE_S
    while is_alive(pid) and time.monotonic() < end_s:
        time.sleep(0.02)
    return not is_alive(pid)


@pytest.mark.skipif(not Path("/proc/self/stat").is_file(), reason="needs /proc")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT], ids=str)
def test_no_tool_outlives_the_probe(number: signal.Signals, tmp_path: Path) -> None:
    file = tmp_path / "pid"
    probe = probing(tmp_path, f'sleep 600 &\necho $! > "{file}"\nwait')
    pid = pid_in(file)
    probe.send_signal(number)
    probe.communicate(timeout=DEADLINE_S)
    assert probe.returncode == 128 + number
    assert is_gone(pid)


def test_what_a_tool_leaves_running_is_not_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    script = f'cat "{LINKS}"\nsleep 600 &\necho $! > "{file}"'
    probe = probing(tmp_path, script)
    said, _ = probe.communicate(timeout=DEADLINE_S)
    assert probe.returncode == 0
    assert b'"gpus": 4' in said
    assert is_gone(pid_in(file))


def test_a_tool_that_writes_for_ever_is_not_read_for_ever(tmp_path: Path) -> None:
    probe = probing(tmp_path, "exec yes")
    probe.communicate(timeout=DEADLINE_S)
    assert probe.returncode == 1
