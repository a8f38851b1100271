"""`play --collective`: one frame, all rounds as text, or records."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gpuflow.cells import cell_width
from gpuflow.cli import explore as cli
from gpuflow.collectives.small import small_replay
from gpuflow.engine import explore as engine


def test_the_command_line_knows_the_engine_s_limits() -> None:
    assert (cli.FEWEST_RANKS, cli.MOST_RANKS) == (engine.FEWEST_RANKS, engine.MOST_RANKS)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_print_writes_one_frame_of_a_round(language: str, gpuflow: Any) -> None:
    arguments = ("--collective", "all_reduce", "--algorithm", "nvls", "--ranks", "4")
    result = gpuflow(
        "play", *arguments, "--at", "1", "--print", "--size", "80x24", "--lang", language
    )
    assert result.code == 0
    lines = result.out.splitlines()
    assert len(lines) == 24
    assert max(map(cell_width, lines)) <= 80
    assert "28✓" in result.out
    assert ("交换机" if language == "zh" else "switch") in result.out


def test_a_part_of_a_round_shows_numbers_on_their_way(gpuflow: Any) -> None:
    result = gpuflow("play", "--collective", "all_gather", "--ranks", "3", "--at", "0.3", "--print")
    assert "»" in result.out
    assert "round 1/2" in result.out


def test_without_a_terminal_all_rounds_are_text(gpuflow: Any) -> None:
    result = gpuflow("play", "--collective", "all_reduce", "--ranks", "4")
    assert result.code == 0
    assert len(result.err.splitlines()) == 1
    replay = small_replay("all_reduce", "ring", 4)
    assert result.out.count("GPU 0 [") == len(replay.rounds) + 1
    assert "0»1+  1»2+  2»3+  3»0+" in result.out
    assert result.out.rstrip().endswith("GPU 3 [28 32 36 40✓]")
    assert gpuflow("play", "--collective", "all_reduce", "--ranks", "4", "--plain").err == ""


def test_many_ranks_are_text_too(gpuflow: Any) -> None:
    result = gpuflow("play", "--collective", "all_reduce", "--ranks", "64", "--plain")
    assert result.code == 0
    assert "round 126/126" in result.out


def test_records_hold_every_number(gpuflow: Any) -> None:
    result = gpuflow("play", "--collective", "reduce_scatter", "--ranks", "3", "--format", "json")
    document = json.loads(result.out)
    replay = small_replay("reduce_scatter", "ring", 3)
    assert document["collective"] == "reduce_scatter"
    assert document["start"] == [list(row.values) for row in replay.before]
    assert [one["values"] for one in document["rounds"]] == [
        [list(row.values) for row in one.rows] for one in replay.rounds
    ]
    assert {one["op"] for one in document["rounds"][0]["transfers"]} == {"add"}
    assert document["algorithms"][0]["algorithm"] == "ring"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--ranks", "4"), "needs --collective"),
        (("--algorithm", "ring"), "needs --collective"),
        (("--nodes", "2"), "needs --collective"),
        (("--collective", "all_reduces"), "all_reduce"),
        (("--collective", "all_reduce", "--algorithm", "rings"), "ring"),
        (("--collective", "all_reduce", "--ranks", "4", "--at", "9", "--print"), "0 to 6"),
        (("--collective", "all_reduce", "--at", "x", "--print"), "not a round"),
        (("--collective", "all_reduce", "--ranks", "7", "--nodes", "2"), "7"),
        (("--collective", "all_reduce", "--ranks", "1"), "2"),
    ],
)
def test_what_does_not_go_together_is_said(
    arguments: tuple[str, ...], message: str, gpuflow: Any
) -> None:
    result = gpuflow("play", *arguments, "--lang", "en")
    assert result.code == 2
    assert message in result.err


def test_nodes_cut_the_ranks(gpuflow: Any) -> None:
    result = gpuflow(
        *("play", "--collective", "all_reduce", "--algorithm", "hierarchical"),
        *("--ranks", "8", "--nodes", "4", "--at", "1", "--print", "--size", "120x40"),
    )
    assert "4 nodes × 2" in result.out
    assert "node 3" in result.out


def test_ascii_frames_are_ascii(gpuflow: Any) -> None:
    result = gpuflow("play", "--collective", "all_reduce", "--at", "3", "--print", "--ascii")
    assert result.out.isascii()
