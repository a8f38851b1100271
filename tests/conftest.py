"""Scenarios that many rooms test against."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.scenario.spec import Scenario

Load = Callable[..., Scenario]

collect_ignore = ["benchmarks"]
"""Programs that find one another as neighbours; they hold no tests, not even in docstrings."""
os.environ["GPUFLOW_CONFIG"] = ""
"""Whoever runs the tests may have defaults of their own; here nobody has."""


def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores, up to four: players on terminals mostly wait."""
    return min((os.cpu_count() or 1) + 1, 4)


@pytest.fixture(scope="session")
def load() -> Load:
    """Load a shipped scenario with overrides given as keywords."""

    def _load(name: str = "tp2-pp2", **overrides: Any) -> Scenario:
        return load_scenario(name, Overrides(profile="ideal", **overrides))

    return _load


@pytest.fixture(scope="session")
def inputs() -> Path:
    """The folder of real files; tests that need it are skipped without it."""
    folder = os.environ.get("GPUFLOW_INPUTS")
    if not folder or not Path(folder).is_dir():
        pytest.skip("GPUFLOW_INPUTS names no folder of real files")
    return Path(folder)
