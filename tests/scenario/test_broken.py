"""Broken scenario files and the exact report each of them gives."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from gpuflow.errors import Problem, ScenarioError
from gpuflow.scenario import nodes
from gpuflow.scenario.catalog import device_names
from gpuflow.scenario.load import load_scenario
from gpuflow.scenario.spec import Language
from gpuflow.words import LANGUAGES, report

BROKEN = Path(__file__).parent.parent / "data" / "broken"
SMALL = Path(__file__).parent.parent / "data" / "scenarios" / "small.yaml"
NAMES = sorted(path.stem for path in BROKEN.glob("*.yaml"))


def problems_of(path: str | Path) -> tuple[Problem, ...]:
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path)
    return caught.value.problems


def expected(name: str, language: Language) -> str:
    """The report of a file; `{gpus}` in it are those of the catalogue, however many."""
    text = (BROKEN / f"{name}.{language}.txt").read_text("utf-8")
    gpus = ("、" if language == "zh" else ", ").join(device_names())
    return text.replace("{gpus}", gpus) if name == "unknown-gpu" else text


def test_there_are_files_of_every_kind() -> None:
    assert len(NAMES) >= 60


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", NAMES)
def test_the_report_is_exact(
    monkeypatch: pytest.MonkeyPatch, name: str, language: Language
) -> None:
    monkeypatch.chdir(BROKEN)
    assert report(problems_of(f"{name}.yaml"), language) + "\n" == expected(name, language)


@pytest.mark.parametrize("name", NAMES)
def test_pure_python_yaml_reports_the_same(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Where PyYAML was built without its C library, the words and places are those of the files."""
    monkeypatch.setattr(nodes, "_Loader", yaml.SafeLoader)
    monkeypatch.chdir(BROKEN)
    assert report(problems_of(f"{name}.yaml"), "en") + "\n" == expected(name, "en")


@pytest.mark.parametrize("name", NAMES)
def test_every_place_exists_and_every_problem_of_a_place_has_a_hint(name: str) -> None:
    for problem in problems_of(BROKEN / f"{name}.yaml"):
        mark = problem.mark
        if mark is None:
            continue
        assert problem.hint
        assert 1 <= mark.column <= len(mark.source_line) + 1


def folder(path: Path) -> None:
    path.mkdir()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def huge(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(100 * 10**6)


def locked(path: Path) -> None:
    path.write_text("gpuflow: scenario/1\n")
    path.chmod(0)


def just_too_large(path: Path) -> None:
    path.write_text(SMALL.read_text("utf-8") + "#" * 2**20)


@pytest.mark.parametrize(
    ("make", "english", "chinese"),
    [
        (
            folder,
            "x.yaml: this is a folder, not a file\nhint: name a file inside it, or another one",
            "x.yaml: 这是目录，不是文件\n提示：请写其中的某个文件，或另一个文件",
        ),
        (
            pipe,
            "x.yaml: this is a pipe or a device, not a file\nhint: save its text to a file first",
            "x.yaml: 这是管道或设备，不是普通文件\n提示：请先把内容存成文件",
        ),
        (
            huge,
            "x.yaml: 95.4 MiB is more than such a file may have (1 MiB); it was not read\n"
            "hint: a scenario is some tens of KiB; is this the right file?",
            "x.yaml: 文件有 95.4 MiB，超过上限 1 MiB，没有读取\n"
            "提示：场景文件一般只有几十 KiB，是不是选错了文件？",
        ),
        (lambda path: None, "x.yaml: there is no such file", "x.yaml: 文件不存在"),
    ],
)
def test_what_is_no_ordinary_file_is_refused_unread(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    make: Callable[[Path], None],
    english: str,
    chinese: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "x.yaml")
    problems = problems_of("x.yaml")
    assert report(problems, "en") == english
    assert report(problems, "zh") == chinese


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_named(tmp_path: Path) -> None:
    locked(tmp_path / "x.yaml")
    assert problems_of(tmp_path / "x.yaml")[0].code == "file_unreadable"


def test_a_file_just_above_the_limit_is_refused(tmp_path: Path) -> None:
    just_too_large(tmp_path / "x.yaml")
    assert problems_of(tmp_path / "x.yaml")[0].code == "file_too_large"


@pytest.mark.parametrize("path", ["x\0.yaml", "a/" * 3000 + "x.yaml", "x" * 5000 + ".yaml"])
def test_impossible_paths_are_problems(path: str) -> None:
    assert problems_of(path)[0].code == "file_unreadable"


def test_a_path_below_a_file_is_missing() -> None:
    assert problems_of(SMALL / "x.yaml")[0].code == "file_missing"


def test_a_name_that_is_no_path_gets_the_nearest_scenario() -> None:
    (problem,) = problems_of("tp2-pp")
    assert (problem.code, problem.hint) == ("unknown_scenario", "did_you_mean")
    assert problem.values["suggestion"] == "tp2-pp2"


PIECES = (
    *"：\t{}[]'\"\n:#|>@`?~🙂\r\x85\u2028\u200d\x00",
    *("- ", "&a ", "*a", "!!x ", "<<: ", "---\n", "%YAML 9\n", "1e3", "null", "{x}", "4 MiB", "\\"),
)


@pytest.mark.parametrize("seed", range(100))
def test_no_slip_of_the_keyboard_is_a_crash(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    text = SMALL.read_text("utf-8")
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(text))
        cut = chance.choice((0, 0, chance.randrange(40)))
        text = text[:at] + chance.choice(PIECES) + text[at + cut :]
    path = tmp_path / "x.yaml"
    path.write_bytes(text.encode())
    problems: tuple[Problem, ...] = ()
    try:
        load_scenario(path)
    except ScenarioError as error:
        problems = error.problems
    for language in LANGUAGES:
        assert bool(report(problems, language)) == bool(problems)


BOMBS = {
    "aliases": "a: &a [x, x]\n" + "".join(f"b{i}: &b{i} [*a, *a]\n" for i in range(20_000)),
    "braces": "a: " + "{a: " * 200_000,
    "brackets": "[" * 1_000_000,
    "dashes": "- " * 500_000,
    "keys": "".join(f"k{i}: {i}\n" for i in range(80_000)),
    "questions": "? " * 500_000,
    "quoted": 'a: "' + "\\x41" * 250_000 + '"\n',
    "anchors": "&a " * 300_000,
    "one line": "x" * 1_000_000,
    "tabs": "a:\n" + "\t" * 1_000_000,
    "placeholders": "title: {zh: '" + "{x}" * 300_000 + "', en: a}\n",
    "digits of a text": "title: {zh: '" + "1" * 900_000 + "', en: a}\n",
    "comments": "#\n" * 500_000,
    "digits": "parallel: {tp: " + "9" * 1_000_000 + "}\n",
    "colons": "a：\n" * 200_000 + "a: b: c\n",
}

RUN = """
import resource, sys
from gpuflow.errors import ScenarioError
from gpuflow.scenario.load import load_scenario
from gpuflow.words import report
for path in sys.argv[1:]:
    try:
        load_scenario(path)
    except ScenarioError as error:
        text = report(error.problems, "en")
        assert len(text) < 50_000, path
    else:
        raise SystemExit(f"{path} was taken")
try:
    # Linux lets a child inherit the peak of the process it was forked from; this one is its own
    status = open("/proc/self/status").read()
    print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
except OSError:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_bombs_are_refused_in_little_memory(tmp_path: Path) -> None:
    paths = []
    for name, text in BOMBS.items():
        path = tmp_path / f"{name}.yaml"
        path.write_bytes(text.encode()[: 2**20 - 1])
        paths.append(str(path))
    huge(tmp_path / "huge.yaml")
    paths.append(str(tmp_path / "huge.yaml"))
    ended = subprocess.run(
        [sys.executable, "-c", RUN, *paths], capture_output=True, text=True, check=False
    )
    assert ended.stderr == ""
    used_kib = int(ended.stdout)
    # macOS counts bytes where Linux counts KiB
    assert used_kib / (1024 if sys.platform == "darwin" else 1) < 200 * 1024
