"""--zoom and --follow on everything that draws the play."""

from __future__ import annotations

import json
from typing import Any

import pytest

BIG = ("--tp", "8", "--pp", "4", "--dp", "2")


def rows(text: str) -> list[str]:
    return text.splitlines()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "Stage 4"),
        (("--zoom", "cluster"), "Stage 4"),
        (("--zoom", "stage"), "stage 1 of 4"),
        (("--zoom", "group"), "node 0, stage 1 of 4"),
        (("--zoom", "gpu"), "GPU 0 of 0–63"),
        (("--follow", "37"), "GPU 37 · node 4 · Stage 1 · TP 6/8"),
        (("--follow", "37", "--zoom", "gpu"), "TP group of 8"),
    ],
    ids=" ".join,
)
def test_a_printed_screen_looks_where_it_is_told(
    options: tuple[str, ...], words: str, gpuflow: Any
) -> None:
    result = gpuflow("play", *BIG, "--print", "--size", "120x40", "--lang", "en", *options)
    assert result.code == 0
    assert words in result.out


def test_exports_and_recordings_look_there_too(gpuflow: Any) -> None:
    look = ("--follow", "3", "--lang", "en", "--size", "80x24")
    picture = gpuflow("export", "--to", "txt", "--step", "3", *look)
    assert picture.code == 0
    assert "GPU 3 · node 0" in picture.out
    film = gpuflow("record", "--from", "3", "--until", "3", "--fps", "2", *look)
    assert film.code == 0
    assert "GPU 3 · node 0" in "".join(json.loads(line)[2] for line in rows(film.out)[1:])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--zoom", "gpus"), "did you mean `gpu`?"),
        (("--follow", "4"), "ranks 0 to 3"),
        (("--follow", "-1"), "--follow"),
        (("--follow", "first"), "--follow"),
    ],
    ids=" ".join,
)
def test_what_is_not_there_is_said(options: tuple[str, ...], words: str, gpuflow: Any) -> None:
    result = gpuflow("play", "--print", "--lang", "en", *options)
    assert result.code == 2
    assert words in result.err
    assert "Traceback" not in result.err


def test_data_has_nowhere_to_look_from(gpuflow: Any) -> None:
    result = gpuflow("export", "--to", "json", "--follow", "0", "--lang", "en")
    assert result.code == 2
    assert "--follow" in result.err
