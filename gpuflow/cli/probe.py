"""`gpuflow probe`: the links of the machine it runs on."""

from __future__ import annotations

import shutil
import subprocess

from gpuflow import words
from gpuflow.cli.failures import problem_records
from gpuflow.cli.output import Output
from gpuflow.errors import Problem

COMMANDS = (
    ("nvidia-smi", "topo", "-m"),
    ("rocm-smi", "--showtopo"),
    ("mx-smi", "topo", "-n"),
)
"""What prints the matrix, by the maker of the GPUs."""
_LONGEST_S = 30
_MOST_BYTES = 2**20


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
    path = shutil.which(name)
    if path is None:
        return ""
    try:
        done = subprocess.run(
            [path, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=_LONGEST_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout[:_MOST_BYTES].decode("utf-8", "replace") if done.returncode == 0 else ""
