"""A few hostile files for every reader; `run.py` beside this file tries many more."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import grammars
import pytest
from frames import STEERING, faults_of
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from measuring import Outcome, Program
from mutations import HOSTILE, mutated
from readers import Reader, readers
from run import Tally, fuzz

from gpuflow.draw.frame import Frame, Run

READERS = readers()
TEXTS = st.sampled_from(HOSTILE) | st.text(max_size=20)
"""What programs did not stand, and whatever else there is."""


@pytest.fixture(params=READERS.values(), ids=READERS)
def reader(request: pytest.FixtureRequest) -> Reader:
    found: Reader = request.param
    return found


@pytest.fixture(scope="module")
def program() -> Iterator[Program]:
    with Program().open() as opened:
        yield opened


def judged(reader: Reader, data: bytes, folder: Path, program: Program) -> list[Outcome]:
    """What reading and showing a file did; times are no business of a test."""
    # A name of its own: a program may keep what it has read by its name.
    path = reader.written(data, folder / str(len(list(folder.iterdir()))))
    found = [program.run(line) for line in reader.lines(path, Random(len(data)))]
    for one in found:
        faults = [fault for fault in one.faults if not fault.startswith("takes ")]
        assert faults == [], (one.arguments, data)
    return found


def test_examples_are_read(reader: Reader, tmp_path: Path, program: Program) -> None:
    results = [judged(reader, data, tmp_path, program)[0] for data in reader.examples()[:12]]
    results += [
        judged(reader, reader.grammar(grammars.Maker(str(n))), tmp_path, program)[0]
        for n in range(12)
    ]
    assert {outcome.code for outcome in results} <= {0, 1, 2}
    assert 0 in {outcome.code for outcome in results}


@settings(
    max_examples=12,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.integers(0, 2**32), st.lists(st.tuples(st.integers(0, 4000), TEXTS), max_size=4))
def test_whatever_stands_in_a_file_is_shown_or_refused(
    reader: Reader, tmp_path: Path, program: Program, seed: int, pieces: list[tuple[int, str]]
) -> None:
    data = reader.grammar(grammars.Maker(str(seed)))
    for place, text in pieces:
        at = place % (len(data) + 1)
        data = data[:at] + text.encode("utf-8", "surrogatepass") + data[at:]
    judged(reader, data, tmp_path, program)


@settings(
    max_examples=8,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.binary(max_size=300))
def test_bytes_are_shown_or_refused(
    reader: Reader, tmp_path: Path, program: Program, data: bytes
) -> None:
    judged(reader, data, tmp_path, program)


def test_a_batch_of_the_runner_finds_nothing(
    reader: Reader, tmp_path: Path, program: Program
) -> None:
    seeds = reader.examples()
    for number in range(15):
        random = Random(f"{reader.name}/test/{number}")
        judged(reader, reader.input(random, seeds), tmp_path, program)


def test_an_input_can_be_made_again() -> None:
    for one in READERS.values():
        seeds = one.examples()
        assert one.input(Random(7), seeds) == one.input(Random(7), seeds)
    assert mutated(b"a 1\n", Random(3), [b"b"]) == mutated(b"a 1\n", Random(3), [b"b"])


def test_what_steers_a_terminal_is_seen() -> None:
    assert [char for char in "a\n名\x1b\x9b\u202e\u2066\t\ud800" if STEERING.search(char)] == list(
        "\n\x1b\x9b\u202e\u2066\t\ud800"
    )


def test_the_runner_counts_and_keeps_what_it_finds(capfd: pytest.CaptureFixture[str]) -> None:
    tally = Tally()
    fuzz("topo", 0, 0, 3, tally)
    assert (tally.inputs, sum(tally.faults.values())) == (3, 0)
    assert tally.worst_s > 0
    tally.note(9, 3.0, 1e6, ["import takes 3.0 s: x"], is_read=False)
    assert (tally.worst_input, tally.faults["import takes 3.0 s"]) == (9, 1)
    assert "input 9" in capfd.readouterr().out


def test_every_screen_of_a_film_is_looked_at(tmp_path: Path, program: Program) -> None:
    small = (Path(__file__).parents[1] / "data" / "scenarios" / "small.yaml").read_text("utf-8")
    file = tmp_path / "s.yaml"
    file.write_text(small, "utf-8")
    found = program.run(["play", str(file), "--print", "--size", "80x24"])
    assert (found.code, found.faults) == (0, [])
    assert found.n_frames > 10


def test_what_is_wrong_in_a_frame_is_seen() -> None:
    def fault(text: str, role: str = "text") -> list[str]:
        found = faults_of("x", Frame(4, 1, ((Run(text, role),),)))
        return [one.partition(":")[0] for one in found]

    assert fault("ab名") == []
    assert fault("ab\x1bc ") == ["U+001B in the frame of x"]
    assert fault("ab\ncd") == ["U+000A in the frame of x"]
    assert fault("ab\u202ecd") == ["U+202E in the frame of x"]
    assert fault("abc") == ["a row of another width in x"]
    assert fault("abcd", "no-role") == ["an unknown role in x"]
