"""The four forms of output: whole in a pipe, folded on a narrow terminal, coloured when wanted."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pytest

from gpuflow.cells import cell_width

TRUTH = Path(__file__).parents[1] / "data" / "truth"
TABULAR = [
    ("table",),
    ("estimate",),
    ("collective", "all_reduce", "--sizes", "1MiB"),
    ("accuracy", "--truth", str(TRUTH)),
    ("list",),
    ("show", "model", "llama-3-8b"),
]
COLOR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("arguments", TABULAR, ids=lambda arguments: arguments[0])
def test_every_table_is_whole_in_a_pipe(
    arguments: tuple[str, ...], language: str, gpuflow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    result = gpuflow(*arguments, "--lang", language)
    assert (result.code, result.err) == (0, "")
    assert "…" not in result.out
    assert "\x1b" not in result.out
    wide = gpuflow(*arguments, "--lang", language, width=100_000)
    assert COLOR.sub("", wide.out) == result.out


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [40, 80, 100, 120, 200])
@pytest.mark.parametrize("arguments", TABULAR, ids=lambda arguments: arguments[0])
def test_no_line_is_wider_than_the_terminal_and_nothing_is_cut(
    arguments: tuple[str, ...], width: int, language: str, gpuflow: Any
) -> None:
    narrow = COLOR.sub("", gpuflow(*arguments, "--lang", language, width=width).out)
    too_wide = [line for line in narrow.splitlines() if cell_width(line) > width]
    assert too_wide == []
    assert "…" not in narrow


@pytest.mark.parametrize("arguments", TABULAR, ids=lambda arguments: arguments[0])
def test_markdown_rows_have_as_many_cells_as_their_heading(
    arguments: tuple[str, ...], gpuflow: Any
) -> None:
    result = gpuflow(*arguments, "--format", "markdown")
    assert result.code == 0
    tables = re.findall(r"(?:^\|.*\n?)+", result.out, re.M)
    assert tables
    for table in tables:
        counts = {
            len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines() if line.strip()
        }
        assert len(counts) == 1


@pytest.mark.parametrize("arguments", TABULAR, ids=lambda arguments: arguments[0])
def test_csv_is_rectangular_and_the_same_in_both_languages(
    arguments: tuple[str, ...], gpuflow: Any
) -> None:
    result = gpuflow(*arguments, "--format", "csv")
    rows = list(csv.reader(io.StringIO(result.out)))
    assert result.code == 0
    assert len({len(row) for row in rows}) == 1
    other = list(
        csv.reader(io.StringIO(gpuflow(*arguments, "--format", "csv", "--lang", "zh").out))
    )
    assert rows[0] == other[0]
    assert len(rows) == len(other)


def test_csv_of_the_table_holds_the_same_figures_as_json(gpuflow: Any) -> None:
    rows = list(csv.DictReader(io.StringIO(gpuflow("table", "--format", "csv").out)))
    document = gpuflow("table", "--format", "json").json["rows"]
    for row, record in zip(rows, document, strict=True):
        for name, value in record.items():
            assert row[name] == ("" if value is None else str(value))


@pytest.mark.parametrize(
    ("environment", "arguments", "width", "is_colored"),
    [
        ({}, (), 120, True),
        ({}, (), None, False),
        ({"NO_COLOR": "1"}, (), 120, False),
        ({"NO_COLOR": ""}, (), 120, True),
        ({}, ("--no-color",), 120, False),
        ({"TERM": "dumb"}, (), 120, False),
        ({"FORCE_COLOR": "1"}, (), None, True),
        ({"FORCE_COLOR": "0"}, (), None, False),
        ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, (), None, False),
        ({"FORCE_COLOR": "1"}, ("--no-color",), None, False),
    ],
)
def test_colours_are_there_when_somebody_wants_them(
    environment: dict[str, str],
    arguments: tuple[str, ...],
    width: int | None,
    is_colored: bool,
    gpuflow: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result = [gpuflow("table", *arguments, width=width)]
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    plain = gpuflow("table", "--format", "json", width=width).out

    def call() -> str:
        # The fixture has cleared the environment once; what is set after it stays.
        return str(gpuflow("table", *arguments, width=width).out)

    assert ("\x1b[" in call()) is is_colored
    assert "\x1b" not in plain
    assert result[0].code == 0


def test_verdicts_read_without_colour(gpuflow: Any) -> None:
    text = gpuflow("table", "--profile", "ideal", "--no-color", "--lang", "en").out
    assert re.search(r"✓ ok \d", text)
    assert re.search(r"! tight \d|✗ short \d", text)


def test_scale_out_reads_in_bits_first_and_scale_up_in_bytes_first(gpuflow: Any) -> None:
    lines = gpuflow("table", "--tp", "8", "--pp", "2", "--lang", "en").out.splitlines()
    inside = next(line for line in lines if "TP Prefill" in line)
    between = next(line for line in lines if "PP Prefill" in line)
    assert re.search(r"\d GB/s \([\d.]+ Tb/s\)", inside)
    assert re.search(r"\d Gb/s \([\d.]+ GB/s\)", between)
