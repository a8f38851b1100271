"""Scenario files: from a name or a path, with overrides, to a Scenario or all its problems."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

from gpuflow.errors import Problem, ScenarioError
from gpuflow.scenario.assembly import ResolveModel, assemble
from gpuflow.scenario.draft import Overrides, read_draft
from gpuflow.scenario.nodes import Problems, parse_document
from gpuflow.scenario.reader import Fields
from gpuflow.scenario.source import read_source
from gpuflow.scenario.spec import Scenario
from gpuflow.scenario.spelling import nearest

__all__ = ["DEFAULT_SCENARIO", "Overrides", "load_scenario", "scenario_names", "scenario_path"]

DEFAULT_SCENARIO = "tp2-pp2"

_SUFFIXES = (".yaml", ".yml")
_NO_OVERRIDES = Overrides()


def load_scenario(
    name_or_path: str | Path,
    overrides: Overrides = _NO_OVERRIDES,
    resolve_model: ResolveModel | None = None,
) -> Scenario:
    """The scenario of a shipped name or a file, options laid over it.

    Args:
        name_or_path: A name of `scenario_names`, or a path.
        overrides: What replaces the file's own values. A GPU brings its own fabrics; a model its
            own precision, unless one is given too.
        resolve_model: Reads a model that is named by a path.

    Raises:
        ScenarioError: Holds everything that is wrong, in the order of the file.
    """
    path = _locate(name_or_path)
    source = read_source(path, str(path))
    if isinstance(source, list):
        raise ScenarioError(source)
    problems = Problems(source)
    top = Fields(problems, parse_document(source, problems), "", None)
    draft = read_draft(top, overrides)
    scenario = assemble(draft, path.parent, resolve_model)
    if scenario is None or problems.found:
        raise ScenarioError(problems.in_order())
    return scenario


@cache
def scenario_names() -> tuple[str, ...]:
    """Names of the shipped scenarios, the default one first."""
    names = sorted(path.stem for path in _folder().glob("*.yaml"))
    return tuple(sorted(names, key=lambda name: name != DEFAULT_SCENARIO))


def scenario_path(name: str) -> Path:
    """The file of a shipped scenario.

    Raises:
        ScenarioError: There is none of that name.
    """
    if name not in scenario_names():
        raise ScenarioError([_unknown(name)])
    return _folder() / f"{name}.yaml"


def _folder() -> Path:
    """Shipped scenarios: inside the installed package, else beside it in a checkout."""
    package = Path(str(resources.files("gpuflow")))
    installed = package / "scenarios"
    return installed if installed.is_dir() else package.parent / "scenarios"


def _locate(name_or_path: str | Path) -> Path:
    if isinstance(name_or_path, Path):
        return name_or_path
    if name_or_path in scenario_names():
        return scenario_path(name_or_path)
    path = Path(name_or_path)
    if len(path.parts) == 1 and path.suffix not in _SUFFIXES and not _exists(path):
        raise ScenarioError([_unknown(name_or_path)])
    return path


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _unknown(name: str) -> Problem:
    names = scenario_names()
    near = nearest(name, names)
    return Problem(
        code="unknown_scenario",
        key="SCENARIO",
        values={"found": name, "suggestion": near, "known": list(names)},
        hint="did_you_mean" if near else "known_scenario",
    )
