"""`gpuflow probe`: the links of the machine it runs on."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import time
from contextlib import suppress

from gpuflow import words
from gpuflow.cli.failures import problem_records
from gpuflow.cli.output import Output
from gpuflow.errors import Problem

COMMANDS = (
    ("nvidia-smi", "topo", "-m"),
    ("rocm-smi", "--showtopo"),
    ("amd-smi", "topology"),
    ("mx-smi", "topo", "-n"),
    ("npu-smi", "info", "-t", "topo"),
)
"""What prints the matrix, by the maker of the GPUs."""
_LONGEST_S = 30
_MOST_BYTES = 2**20
_CHUNK_BYTES = 2**16
_LOOK_S = 0.1


def probe(output: Output) -> int:
    """Ask the machine's own tool and print what it says of the links; 1 where there is none."""
    from gpuflow.cli.import_topo import show_topology
    from gpuflow.importers.topo import parse_topology
    from gpuflow.scenario.source import source_of

    for name, *arguments in COMMANDS:
        text = _said(name, arguments)
        topology = parse_topology(source_of(name, text)) if text else None
        if topology is not None and not topology.refused:
            return show_topology(topology, output)
    problem = Problem(code="no_gpu", values={"tools": [name for name, *_ in COMMANDS]})
    if output.format == "json":
        output.document({"problems": problem_records([problem], output.language)})
    else:
        output.tell(words.report([problem], output.language))
    return 1


def _said(name: str, arguments: list[str]) -> str:
    """What a tool prints; empty where it is absent, fails or hangs."""
    from gpuflow.tui.lifecycle import leaving_on_signals

    path = shutil.which(name)
    if path is None:
        return ""
    # A signal is only noted: one that came while the tool is being started would leave it behind.
    told: list[int] = []
    with leaving_on_signals(told.append), suppress(OSError):
        tool = subprocess.Popen(
            [path, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            data = _read(tool, told)
        finally:
            _end(tool)
        if told:
            raise SystemExit(told[0])
        return data.decode("utf-8", "replace") if tool.returncode == 0 else ""
    return ""


def _read(tool: subprocess.Popen[bytes], told: list[int]) -> bytes:
    """What it writes until it ends, takes too long, writes too much, or we are told to end.

    A process that it has started and left behind may hold its stdout open for ever.
    """
    if tool.stdout is None:
        return b""
    descriptor = tool.stdout.fileno()
    found, end_s = b"", time.monotonic() + _LONGEST_S
    is_open = True
    while not told and len(found) < _MOST_BYTES and time.monotonic() < end_s:
        # In this order: what it wrote before it ended is there.
        has_ended = tool.poll() is not None
        watched = [descriptor] if is_open else []
        if select.select(watched, [], [], 0 if has_ended else _LOOK_S)[0]:
            data = os.read(descriptor, _CHUNK_BYTES)
            is_open = bool(data)
            found += data
        elif has_ended:
            break
    return found[:_MOST_BYTES]


def _end(tool: subprocess.Popen[bytes]) -> None:
    """Take it away with all that it has started; a driver that hangs may hold it all the same."""
    with suppress(OSError):
        os.killpg(tool.pid, signal.SIGKILL)
    with suppress(subprocess.TimeoutExpired):
        tool.wait(_LOOK_S)
    if tool.stdout is not None:
        tool.stdout.close()
