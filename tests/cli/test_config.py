"""The user's config file: where it is looked for, what it does, and what is wrong with it."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuflow.cli.config import config_file, read_config
from gpuflow.draw.bound import DEFAULT_KEYS
from gpuflow.errors import InputError
from gpuflow.words import problem_text

GOOD = """\
# my own
keys:
  next_step: [n, j]
  quit: [Q]
  table: PgDn
theme: light
lang: zh
fps: 8
ascii: false
profile: ideal
"""


@pytest.fixture
def written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Write a config file and name it in the environment."""

    def write(text: str) -> Path:
        path = tmp_path / "config.yaml"
        path.write_text(text, "utf-8")
        monkeypatch.setenv("GPUFLOW_CONFIG", str(path))
        return path

    return write


def problems_of(path: Path) -> list[tuple[str, int, int]]:
    """(code, line, column) of everything wrong with a file."""
    with pytest.raises(InputError) as caught:
        read_config({"GPUFLOW_CONFIG": str(path)})
    for problem in caught.value.problems:
        for language in ("zh", "en"):
            message, hint = problem_text(problem, language)
            assert message
            assert "scenario" not in hint
    return [
        (problem.code, problem.mark.line, problem.mark.column)
        for problem in caught.value.problems
        if problem.mark
    ]


# ---------------------------------------------------------------- where it is


def test_the_file_is_looked_for_where_others_look(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    for folder in (tmp_path / "xdg", tmp_path / "home" / ".config"):
        (folder / "gpuflow").mkdir(parents=True)
        (folder / "gpuflow" / "config.yaml").write_text("theme: light\n", "utf-8")
    home, xdg = {"HOME": str(tmp_path / "home")}, {"XDG_CONFIG_HOME": str(tmp_path / "xdg")}
    assert config_file({}) is None
    assert config_file(home) == tmp_path / "home/.config/gpuflow/config.yaml"
    assert config_file({**home, **xdg}) == tmp_path / "xdg/gpuflow/config.yaml"
    assert config_file({**home, "GPUFLOW_CONFIG": str(own)}) == own
    assert config_file({**home, "GPUFLOW_CONFIG": ""}) is None


@pytest.mark.parametrize("home", ["/nowhere", "/dev/null", "a\0b", ""])
def test_a_home_that_is_none_is_no_error(home: str) -> None:
    assert read_config({"HOME": home}).file == ""


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_home_that_cannot_be_read_is_no_error(tmp_path: Path) -> None:
    (tmp_path / ".config").mkdir(mode=0)
    assert read_config({"HOME": str(tmp_path)}).file == ""


def test_a_file_that_was_named_must_be_there(
    gpuflow: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GPUFLOW_CONFIG", str(tmp_path / "none.yaml"))
    result = gpuflow("estimate")
    assert result.code == 2
    assert "none.yaml" in result.err


# ---------------------------------------------------------------- what it does


def test_everything_is_read(written: Callable[[str], Path]) -> None:
    path = written(GOOD)
    config = read_config(os.environ)
    assert config.file == str(path)
    assert config.keys == {"next_step": ("n", "j"), "quit": ("Q",), "table": ("pagedown",)}
    assert (config.theme, config.lang, config.fps) == ("light", "zh", 8.0)
    assert (config.is_ascii, config.profile) == (False, "ideal")


@pytest.mark.parametrize("text", ["", "# nothing\n\n", "\n"])
def test_an_empty_file_says_nothing(text: str, written: Callable[[str], Path]) -> None:
    path = written(text)
    config = read_config(os.environ)
    assert config.file == str(path)
    assert not config.keys


def test_language_and_profile_are_defaults_and_no_more(
    written: Callable[[str], Path],
    gpuflow: Callable[..., Any],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    written("lang: zh\nprofile: ideal\n")
    assert "理想" in gpuflow("estimate").out
    assert "GPU" in gpuflow("estimate", "--lang", "en").out
    assert "理想" not in gpuflow("estimate", "--lang", "en").out
    assert "vllm" in gpuflow("estimate", "--profile", "vllm").out.lower()
    monkeypatch.setenv("GPUFLOW_LANG", "en")
    assert "理想" not in gpuflow("estimate").out
    own = tmp_path / "mine.yaml"
    source = gpuflow("show", "scenario", "tp2-pp2", "--source").out
    own.write_text(source, "utf-8")
    assert gpuflow("estimate", str(own), "--format", "json").json["inputs"]["profile"] == "vllm"
    assert gpuflow("estimate", "--format", "json").json["inputs"]["profile"] == "ideal"


def test_ascii_is_a_default_too(
    written: Callable[[str], Path], gpuflow: Callable[..., Any]
) -> None:
    written("ascii: true\n")
    assert gpuflow("play", "--print", "--size", "80x24").out.isascii()


def test_what_is_taken_away_looks_like_what_is_played(
    written: Callable[[str], Path], gpuflow: Callable[..., Any]
) -> None:
    light = gpuflow("export", "--step", "2", "--theme", "light").out
    slow = gpuflow("record", "--until", "1", "--theme", "light", "--fps", "2").out
    as_usual = gpuflow("record", "--until", "1").out
    written("theme: light\nfps: 2\n")
    assert gpuflow("export", "--step", "2").out == light
    assert gpuflow("record", "--until", "1").out == slow
    assert gpuflow("record", "--until", "1", "--theme", "dark", "--fps", "10").out == as_usual
    written("ascii: true\n")
    assert gpuflow("export", "--step", "2", "--to", "txt").out.isascii()
    assert gpuflow("play", "--collective", "all_reduce", "--print").out.isascii()


def test_a_kiosk_reads_nothing(written: Callable[[str], Path], gpuflow: Callable[..., Any]) -> None:
    written("lang: [\n")
    result = gpuflow("play", "--kiosk", "--plain")
    assert result.code == 0, result.err


def test_the_doctor_names_the_file_and_what_is_wrong_with_it(
    written: Callable[[str], Path], gpuflow: Callable[..., Any]
) -> None:
    path = written("theme: darkk\n")
    result = gpuflow("doctor")
    assert result.code == 0
    assert str(path) in result.out
    assert f"{path}:1:8: theme" in result.err
    written("")
    assert gpuflow("doctor", "--format", "json").json["use"]["config"] == str(path)


# ---------------------------------------------------------------- what is wrong with it


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("colour: red\n", [("unknown_key", 1, 1)]),
        ("theme: darkk\n", [("config_choice", 1, 8)]),
        ("lang: fr\n", [("config_choice", 1, 7)]),
        ("fps: 0\n", [("out_of_range", 1, 6)]),
        ("fps: fast\n", [("not_a_ratio", 1, 6)]),
        ("ascii: maybe\n", [("wrong_type", 1, 8)]),
        ("profile: vlm\n", [("config_choice", 1, 10)]),
        ("keys: {next_stp: n}\n", [("unknown_key", 1, 8)]),
        ("keys: {quit: pgdwn}\n", [("config_key", 1, 14)]),
        ("keys: {quit: [Q, ctrl+c]}\n", [("config_key_reserved", 1, 18)]),
        ("keys: {quit: Q, table: [k, Q]}\n", [("config_key_twice", 1, 28)]),
        ("keys: {quit: }\n", [("value_missing", 1, 8)]),
        ("keys: [quit]\n", [("wrong_type", 1, 7)]),
        ("theme: light\ntheme: dark\n", [("duplicate_key", 2, 1)]),
        ("- theme\n", [("top_not_mapping", 1, 1)]),
    ],
    ids=lambda value: value.strip() if isinstance(value, str) else "",
)
def test_every_mistake_has_its_place(
    text: str, expected: list[tuple[str, int, int]], written: Callable[[str], Path]
) -> None:
    assert problems_of(written(text)) == expected


def test_all_mistakes_are_told_at_once_with_hints(
    written: Callable[[str], Path], gpuflow: Callable[..., Any]
) -> None:
    path = written("theme: darkk\nkeys:\n  next_stp: [n]\n  quit: Q\n  table: Q\n")
    for arguments in (("estimate",), ("play", "--plain"), ("list",)):
        result = gpuflow(*arguments, "--lang", "en")
        assert result.code == 2
        assert not result.out
        for words in (
            f"{path}:1:8: theme",
            "did you mean `dark`?",
            f"{path}:3:3: keys.next_stp",
            "did you mean `next_step`?",
            "`Q` is bound to quit already",
        ):
            assert words in result.err
    assert gpuflow("--version").code == 0
    assert gpuflow("play", "--help").code == 0


def test_the_same_key_may_serve_screens_that_never_meet(written: Callable[[str], Path]) -> None:
    written("keys: {table: m, explore.nodes: m}\n")
    assert read_config(os.environ).keys == {"table": ("m",), "explore.nodes": ("m",)}


def test_every_command_can_be_bound(written: Callable[[str], Path]) -> None:
    lines = "".join(
        f"  {name}: f{number % 12 + 1}\n" for number, name in enumerate(["play", "quit"])
    )
    written(f"keys:\n{lines}")
    assert set(read_config(os.environ).keys) == {"play", "quit"}
    for name in DEFAULT_KEYS:
        written(f"keys: {{{name}: m}}\n")
        assert read_config(os.environ).keys == {name: ("m",)}


def test_a_missing_file_says_which_variable_names_it(
    gpuflow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUFLOW_CONFIG", "/nonexistent/own.yaml")
    done = gpuflow("table")
    assert done.code == 2
    assert "hint: GPUFLOW_CONFIG names this file" in done.err
