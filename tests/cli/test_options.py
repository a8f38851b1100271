"""From the text of an option to its value."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, get_args

import pytest

from gpuflow import words
from gpuflow.cli import options
from gpuflow.cli.config import read_config
from gpuflow.cli.options import Early, look_ahead, nearest, share, sizes, whole
from gpuflow.cli.screens import ScreenSize, number_up_to, screen_size
from gpuflow.errors import InputError
from gpuflow.scenario.spec import Language


@pytest.mark.parametrize(
    ("text", "size_bytes"),
    [
        ("16KiB", (16_384,)),
        ("0", (0,)),
        ("8..64", (8, 16, 32, 64)),
        ("8..100", (8, 16, 32, 64, 100)),
        ("1K..4K", (1024, 2048, 4096)),
        ("1 MiB..1 MiB", (2**20,)),
    ],
)
def test_sizes_are_one_or_the_doublings_of_a_range(text: str, size_bytes: tuple[int, ...]) -> None:
    assert sizes("--sizes")(text).size_bytes == size_bytes


@pytest.mark.parametrize("text", ["", "..", "8..", "..8", "64..8", "0..8", "-1", "1PiB..9PiB", "x"])
def test_a_range_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        sizes("--sizes")(text)


@pytest.mark.parametrize("text", ["1", " 12 ", "1000000000"])
def test_whole_numbers_are_read_plainly(text: str) -> None:
    assert whole("--tp")(text) == int(text)


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "1.0", "1e3", "0x10", "１２", "1_000", "²", "9" * 5000]
)
def test_what_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        whole("--tp")(text)


@pytest.mark.parametrize(("text", "value"), [("20%", 0.2), ("0.2", 0.2), ("99 %", 0.99)])
def test_a_share_is_a_percentage_or_a_fraction(text: str, value: float) -> None:
    assert share("--overhead")(text) == pytest.approx(value)


def test_a_screen_is_columns_by_rows() -> None:
    assert screen_size("120x40") == screen_size("120X40") == ScreenSize(120, 40)


@pytest.mark.parametrize(
    ("arguments", "early"),
    [
        ([], Early("", None, "table", False)),
        (["table"], Early("table", None, "table", False)),
        (["--lang", "zh", "table"], Early("table", "zh", "table", False)),
        (["table", "--lang=zh", "--format", "csv"], Early("table", "zh", "csv", False)),
        (["--no-color", "list"], Early("list", None, "table", True)),
        (["--tp", "4", "table"], Early("", None, "table", False)),
        (["table", "--lang", "fr", "--format", "xml"], Early("table", None, "table", False)),
        (["table", "--lang", "en", "--lang", "zh"], Early("table", "zh", "table", False)),
        (["table", "--", "--format", "json"], Early("table", None, "table", False)),
        (["table", "--format"], Early("table", None, "table", False)),
    ],
)
def test_verb_language_and_format_are_known_before_parsing(
    arguments: list[str], early: Early
) -> None:
    assert look_ahead(arguments) == early


def test_only_near_spellings_are_suggested() -> None:
    assert nearest("tabel", ["table", "list"]) == "table"
    assert nearest("banana", ["table", "list"]) == ""


@pytest.mark.parametrize("text", ["0.01", "0.25", "1", "1e3"])
def test_speeds_that_show_something_are_taken(text: str) -> None:
    assert number_up_to("--speed", 1000)(text) == float(text)


@pytest.mark.parametrize("text", ["", "0", "-1", "1e-308", "0.009", "1001", "inf", "nan", "fast"])
def test_speeds_that_show_nothing_are_refused(text: str) -> None:
    with pytest.raises(InputError):
        number_up_to("--speed", 1000)(text)


@pytest.mark.parametrize(
    ("option", "example"), [("--ttft", "500ms"), ("--overhead", "20%"), ("--tpot", "500ms")]
)
def test_a_quantity_that_cannot_be_read_brings_an_example(
    gpuflow: Any, option: str, example: str
) -> None:
    done = gpuflow("table", option, "5x")
    assert done.code == 2
    assert f"hint: a value such as `{example}`" in done.err


def test_a_language_is_one_everywhere(gpuflow: Any, tmp_path: Path, monkeypatch: Any) -> None:
    folders = {path.name for path in (Path(words.__file__).parent / "data" / "locales").iterdir()}
    assert set(options.LANGUAGES) == set(words.LANGUAGES) == set(get_args(Language)) == folders
    assert f"--lang {{{','.join(options.LANGUAGES)}}}" in gpuflow("table", "--help").out
    for language in options.LANGUAGES:
        (tmp_path / "config.yaml").write_text(f"lang: {language}\n", "utf-8")
        monkeypatch.setenv("GPUFLOW_CONFIG", str(tmp_path / "config.yaml"))
        assert read_config(os.environ).lang == language
