"""Rules of the house that no linter knows."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from functools import cache
from importlib import resources
from pathlib import Path

import pytest

from gpuflow.scenario.load import scenario_names, scenario_path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "gpuflow"
IN_CHECKOUT = (ROOT / "pyproject.toml").is_file()

pytestmark = pytest.mark.skipif(not IN_CHECKOUT, reason="not run from a checkout")

TOP_LEVEL = {
    *(".ci", ".git", ".gitignore", ".pre-commit-config.yaml"),
    *("CHANGELOG.md", "CONTRIBUTING.md", "LICENSE", "README.md", "pyproject.toml"),
    *("gpuflow", "scenarios", "seeds", "tests"),
}
FORBIDDEN_MODULES = {"utils", "util", "helpers", "helper", "common", "core", "manager", "misc"}


@cache
def own_files() -> tuple[Path, ...]:
    """Files that git knows, or would know; all of them where there is no git.

    An environment that stands in the checkout under a name of its own is not ours.
    """
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, text=True)
    except (OSError, subprocess.CalledProcessError):
        found = (path for name in TOP_LEVEL - {".git"} for path in (ROOT / name).rglob("*"))
        return tuple(path for path in found if path.is_file() and "__pycache__" not in path.parts)
    names = listed.stdout.splitlines()
    homes = {name.split("/")[0] for name in names if name.endswith("/pyvenv.cfg")}
    own = (ROOT / name for name in names if name.split("/")[0] not in homes)
    return tuple(path for path in own if path.is_file())


def texts() -> list[tuple[str, str]]:
    """Every text file with its name."""
    found = []
    for path in own_files():
        content = path.read_bytes()
        if b"\0" not in content:
            found.append((str(path.relative_to(ROOT)), content.decode("utf-8", "replace")))
    return found


def test_no_source_file_has_outgrown_its_room() -> None:
    sizes = {path: len(path.read_text("utf-8").splitlines()) for path in PACKAGE.rglob("*.py")}
    assert [f"{path.name}: {lines}" for path, lines in sizes.items() if lines > 400] == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [path for path in PACKAGE.rglob("*.py") if path.stem in FORBIDDEN_MODULES] == []


def test_the_top_level_holds_what_belongs_there() -> None:
    names = {path.relative_to(ROOT).parts[0] for path in own_files()}
    assert names - TOP_LEVEL == set()


def test_no_path_of_a_machine_is_written_down() -> None:
    home = re.compile(r"(?<![\w.])/(?:home|root|Users|work|mnt|opt|var/folders)/[\w.-]+")
    found = [
        f"{name}: {match[0]}"
        for name, text in texts()
        if name.endswith((".py", ".yaml", ".toml", ".md", "run"))
        for match in home.finditer(text)
        if name != "tests/test_house.py"
    ]
    assert found == []


def test_no_package_registry_is_named() -> None:
    registry = re.compile(r"index-url|pypi\.org|registry *= *http|pythonhosted", re.I)
    own = "tests/test_house.py"
    assert [name for name, text in texts() if registry.search(text) and name != own] == []


def test_no_character_that_terminals_measure_differently() -> None:
    selectors = ("\ufe0f", "\u200d")
    shown = [(name, text) for name, text in texts() if not name.startswith("tests/data/")]
    assert [name for name, text in shown if any(sign in text for sign in selectors)] == []


def test_every_source_of_the_package_says_what_it_is() -> None:
    missing = [
        path.name
        for path in PACKAGE.rglob("*.py")
        if not path.read_text("utf-8").startswith(('"""', "#!", 'r"""'))
    ]
    assert missing == []


def test_what_the_program_reads_is_part_of_the_package() -> None:
    package = resources.files("gpuflow")
    for name in ("models", "devices", "fabrics", "profiles"):
        assert (package / "data" / f"{name}.yaml").is_file()
    for language in ("en", "zh"):
        assert (package / "data" / "locales" / language / "cli.yaml").is_file()
    assert (package / "data" / "truth" / "collectives.csv").is_file()
    assert {"tp2-pp2", "moe-ep4"} <= set(scenario_names())
    assert all(scenario_path(name).is_file() for name in scenario_names())


def test_the_built_package_ships_scenarios_and_data(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="building needs hatchling")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    wheel = next(tmp_path.glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    wanted = [path for path in own_files() if PACKAGE in path.parents]
    assert {str(path.relative_to(ROOT)) for path in wanted} <= names
    for path in (ROOT / "scenarios").glob("*.yaml"):
        assert f"gpuflow/scenarios/{path.name}" in names
    assert not [name for name in names if name.startswith("tests/")]


def test_the_checks_run_the_readme_s_own_command() -> None:
    readme = (ROOT / "README.md").read_text("utf-8")
    commands = re.findall(r"^python3 -m venv .*$", readme, re.M)
    assert [command.rsplit(" && ", 1)[1] for command in commands] == [
        ".venv/bin/gpuflow play",
        ".venv/bin/pytest",
    ]
    assert "README.md" in (ROOT / ".ci" / "run").read_text("utf-8")
