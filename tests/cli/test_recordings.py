"""Recordings as the program they are made for takes them, and screens that change their size."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyte
import pytest

from gpuflow.draw.frame import Frame
from gpuflow.draw.theme import load_theme
from gpuflow.engine.pace import Pace
from gpuflow.engine.simulate import simulate
from gpuflow.exporters.cast import recording
from gpuflow.exporters.film import Film
from gpuflow.scenario.load import Overrides, load_scenario

SIZES = [(2.0, 80, 24), (1.0, 60, 20)]


@pytest.fixture(scope="module")
def film() -> Film:
    scenario = load_scenario("tp2-pp2", Overrides(profile="ideal"))
    return Film(Pace(simulate(scenario)), "zh", 100, 30)


@pytest.fixture(scope="module")
def lines(film: Film) -> list[str]:
    """Four seconds at five frames, in three sizes."""
    shots = {"first_s": 1.0, "last_s": 5.0, "fps": 5.0}
    return list(recording(film, load_theme("dark"), sizes=SIZES, **shots))


def rows_of(frame: Frame) -> list[str]:
    return ["".join(run.text for run in row) for row in frame.rows]


def shown_on(screen: pyte.Screen) -> list[str]:
    return [
        "".join(screen.buffer[y][x].data for x in range(screen.columns))
        for y in range(screen.lines)
    ]


def test_sizes_change_when_they_should_and_each_is_drawn_whole(
    lines: list[str], film: Film
) -> None:
    header, *events = map(json.loads, lines)
    assert (header["width"], header["height"]) == (100, 30)
    assert [event for event in events if event[1] == "r"] == [
        [1.5, "r", "60x20"],
        [2.5, "r", "80x24"],
    ]
    screen = pyte.Screen(100, 30)
    stream = pyte.Stream(screen)
    for index, (time_s, kind, data) in enumerate(events[:-1]):
        if kind == "r":
            columns, rows = map(int, data.split("x"))
            screen.resize(rows, columns)
            continue
        stream.feed(data)
        size = (screen.columns, screen.lines)
        is_edge = index in {0, len(events) - 2}
        moment_s = 1.0 + max(time_s - 0.5, 0.0) if index < len(events) - 2 else 5.0
        frame = film.frame(moment_s, is_playing=not is_edge, size=size)
        assert shown_on(screen) == rows_of(frame)


def test_sizes_of_the_command_line(gpuflow: Any) -> None:
    asked = ("--resize", "2s:80x24", "--resize", "1 s:60x20", "--until", "1", "--fps", "2")
    events = [json.loads(line) for line in gpuflow("record", *asked).out.splitlines()[1:]]
    assert [event[2] for event in events if event[1] == "r"] == ["60x20", "80x24"]
    for wrong in ("60x20", "1:60x20", "1s:60", "1s"):
        result = gpuflow("record", "--resize", wrong, "--lang", "en")
        assert result.code == 2
        assert "such as 10s:80x24" in result.err


def run_asciinema(tmp_path: Path, lines: list[str], *arguments: str) -> bytes:
    """What it writes on a terminal."""
    pytest.importorskip("asciinema")
    file = tmp_path / "play.cast"
    file.write_text("\n".join(lines) + "\n", "utf-8")
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "asciinema", *arguments, str(file)],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "ASCIINEMA_CONFIG_HOME": str(tmp_path), "LC_ALL": "C.UTF-8"},
        start_new_session=True,
    )
    os.close(slave)
    written = b""
    while select.select([master], [], [], 60)[0]:
        try:
            written += os.read(master, 65536)
        except OSError:
            break
    os.close(master)
    assert process.wait(60) == 0
    return written


@pytest.mark.parametrize(
    "arguments", [("cat",), ("play", "--speed", "1000", "--idle-time-limit", "0.01")], ids=" ".join
)
def test_asciinema_shows_what_is_drawn(
    arguments: tuple[str, ...], film: Film, tmp_path: Path
) -> None:
    shots = {"first_s": 1.0, "last_s": 4.0, "fps": 5.0}
    lines = list(recording(film, load_theme("dark"), **shots))
    screen = pyte.Screen(100, 30)
    pyte.ByteStream(screen).feed(run_asciinema(tmp_path, lines, *arguments))
    # The player ends the line it stands in, which is the last one.
    wanted = rows_of(film.frame(4.0))
    shown = shown_on(screen)
    assert wanted in (shown, shown[: len(wanted)]) or shown[:-1] == wanted[1:]


def test_asciinema_takes_changing_sizes(lines: list[str], tmp_path: Path) -> None:
    written = run_asciinema(tmp_path, lines, "play", "--speed", "1000")
    assert written.count(b"\x1b[2J") == 3
