"""`play` where there is no terminal to play on, and its single frames."""

from __future__ import annotations

import re
import sys
from typing import Any

import pytest

from gpuflow.cells import cell_width
from gpuflow.cli.streams import Streams


def eight_steps(text: str) -> bool:
    return all(f"{number}/8" in text for number in range(1, 9))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("arguments", [(), ("play",), ("play", "moe-ep4")], ids=str)
def test_without_a_terminal_the_steps_are_text(
    arguments: tuple[str, ...], language: str, gpuflow: Any
) -> None:
    result = gpuflow(*arguments, "--lang", language)
    assert result.code == 0
    assert eight_steps(result.out)
    assert len(result.err.splitlines()) == 1


def test_asking_for_text_needs_no_excuse(gpuflow: Any) -> None:
    result = gpuflow("play", "--plain")
    assert eight_steps(result.out)
    assert result.err == ""


def test_without_a_verb_options_are_those_of_play(gpuflow: Any) -> None:
    assert "PP 1" in gpuflow("--pp", "1", "--plain").out
    assert gpuflow("--lang", "zh").out == gpuflow("play", "--lang", "zh").out


@pytest.mark.parametrize(
    ("stdin", "stdout", "stderr", "term", "is_terminal"),
    [
        (True, True, True, "xterm", True),
        (True, True, True, "", True),
        (True, True, True, "dumb", False),
        (False, True, True, "xterm", False),
        (True, False, True, "xterm", False),
        (True, True, False, "xterm", False),
    ],
)
def test_playing_takes_a_terminal_on_all_three_streams(
    stdin: bool,
    stdout: bool,
    stderr: bool,
    term: str,
    is_terminal: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Stream:
        def __init__(self, answer: bool) -> None:
            self.answer = answer

        def isatty(self) -> bool:
            return self.answer

    monkeypatch.setenv("TERM", term)
    streams: Any = [Stream(answer) for answer in (stdin, stdout, stderr)]
    assert Streams(*streams).is_terminal() is is_terminal
    assert not Streams(*streams, frozenset({"stdin"})).is_terminal()


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("at", ["1", "6", "decode-first", "1.5ms", "0 s", "100 s"])
def test_print_writes_one_frame(at: str, language: str, gpuflow: Any) -> None:
    result = gpuflow("play", "--print", "--at", at, "--size", "120x40", "--lang", language)
    assert result.code == 0
    lines = result.out.splitlines()
    assert len(lines) <= 40
    assert max(map(cell_width, lines)) <= 120
    assert "\x1b" not in result.out


def test_print_stands_at_the_step_that_was_asked_for(gpuflow: Any) -> None:
    for number in range(1, 9):
        text = gpuflow("play", "--print", "--at", str(number), "--size", "100x30").out
        assert re.search(rf"\b{number}/8\b", text)


def test_a_step_can_be_named_by_its_id(gpuflow: Any) -> None:
    by_number = gpuflow("play", "--print", "--at", "3").out
    assert gpuflow("play", "--print", "--at", "prefill-hop").out == by_number


def test_too_small_a_size_is_a_friendly_line(gpuflow: Any) -> None:
    result = gpuflow("play", "--print", "--size", "30x8", "--lang", "en")
    assert result.code == 0
    assert "30×8" in result.out
    assert "40×10" in result.out


def test_overrides_play_on_every_split(gpuflow: Any) -> None:
    for options in (("--pp", "1"), ("--tp", "8", "--pp", "4"), ("--tp", "1", "--pp", "1")):
        assert eight_steps(gpuflow("play", "--plain", *options).out)


def test_no_verb_without_terminal_loads_the_player(gpuflow: Any) -> None:
    before = "textual" in sys.modules
    gpuflow("play")
    assert ("textual" in sys.modules) is before
