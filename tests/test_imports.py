"""What a fresh interpreter loads: starting quickly is part of the design."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

SCRIPT = """
import json, sys
sys.argv = ["gpuflow", *json.loads(sys.argv[1])]
from gpuflow.__main__ import main
status = main()
loaded = sorted({name.partition(".")[0] for name in sys.modules})
print(json.dumps([status, loaded]), file=sys.stderr)
"""


def loaded_by(*arguments: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(arguments)],
        capture_output=True,
        check=True,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    status, names = json.loads(done.stderr.splitlines()[-1])
    assert status == 0
    return set(names)


@pytest.mark.parametrize(
    ("arguments", "absent"),
    [
        (("--version",), {"numpy", "textual", "rich", "typer", "yaml"}),
        (("--help",), {"numpy", "textual", "rich"}),
        (("table", "--help"), {"numpy", "textual", "rich"}),
        (("table",), {"textual", "rich"}),
        (("estimate",), {"textual", "rich"}),
        (("play", "--plain"), {"textual", "rich"}),
        (("play", "--print"), {"textual", "rich"}),
        (("list", "models"), {"numpy", "textual", "rich"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_verb_loads_no_more_than_it_needs(arguments: tuple[str, ...], absent: set[str]) -> None:
    assert loaded_by(*arguments) & absent == set()


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("gpuflow.engine.metrics", {"rich", "textual", "typer"}),
        ("gpuflow.engine.requirements", {"rich", "textual", "typer"}),
        ("gpuflow.scenario.load", {"rich", "textual", "typer", "numpy"}),
        ("gpuflow.exporters.tables", {"rich", "textual", "typer", "numpy"}),
        ("gpuflow.draw.play", {"rich", "textual", "typer"}),
        ("gpuflow.tui.player", {"textual", "typer"}),
    ],
)
def test_a_room_loads_nothing_from_above(module: str, absent: set[str]) -> None:
    code = f"import sys, {module}; print(*sorted(n.partition('.')[0] for n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert set(done.stdout.split()) & absent == set()
