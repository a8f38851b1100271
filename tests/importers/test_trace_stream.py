"""Events out of files of any form: the same as Python's own reader finds, and nothing of hostile
files that would cost memory or time."""

from __future__ import annotations

import gzip
import json
import re
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuflow.errors import ImportFormatError
from gpuflow.importers.trace import blocks as blocks_module
from gpuflow.importers.trace.blocks import Blocks, line_and_column
from gpuflow.importers.trace.kernels import UNWANTED
from gpuflow.importers.trace.stream import TraceStream

EVERYTHING = re.compile(rb"(?!)")
"""No event is unwanted."""


def read(
    path: str | Path, unwanted: re.Pattern[bytes] = EVERYTHING
) -> tuple[list[Any], TraceStream]:
    blocks = Blocks(str(path))
    stream = TraceStream(blocks, unwanted)
    found = list(stream)
    blocks.close()
    return found, stream


EVENTS = [
    {"name": "process_name", "ph": "M", "ts": 1.5, "pid": 1, "args": {"name": "python"}},
    *(
        {
            "ph": "X",
            "cat": ("kernel", "cpu_op", "python_function", "ac2g")[n % 4],
            "name": f'k{n} {{lambda()#2}} "}},{{\\"ph\\":" 算子',
            "pid": 0,
            "ts": n / 3,
            "dur": n,
            "args": {"list": [{"ph": 1}, {"ph": 2}], "grid": [n, 1, 1], "text": "}], {["},
        }
        for n in range(40)
    ),
    {"name": "Iteration Start", "ph": "i", "s": "g", "pid": "", "tid": "", "ts": 3},
]
DOCUMENT = {"schemaVersion": 1, "deviceProperties": [{"id": 0}], "traceEvents": EVENTS, "end": [1]}
FORMS = {
    "compact": lambda: json.dumps(DOCUMENT, separators=(",", ":")),
    "spaced": lambda: json.dumps(DOCUMENT),
    "indented": lambda: json.dumps(DOCUMENT, indent=2),
    "escaped": lambda: json.dumps(DOCUMENT, ensure_ascii=False, indent=1),
    "list": lambda: json.dumps(EVENTS),
    "events first": lambda: json.dumps({"traceEvents": EVENTS, "schemaVersion": 1}),
    "other order": lambda: json.dumps({"traceEvents": [dict(reversed(e.items())) for e in EVENTS]}),
}


@pytest.mark.parametrize("size", [37, 256, 1000, 10**6])
@pytest.mark.parametrize("form", FORMS)
def test_events_are_those_of_the_json_module(
    form: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks_module, "BLOCK_BYTES", size)
    path = tmp_path / "trace.json"
    path.write_text(FORMS[form](), "utf-8")
    found, stream = read(path)
    assert found == EVENTS
    assert (stream.faults.cut_at_byte, stream.faults.broken, stream.faults.refused) == (
        None,
        0,
        None,
    )
    packed = tmp_path / "trace.json.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert read(packed)[0] == EVENTS


@pytest.mark.parametrize("size", [97, 10**6])
@pytest.mark.parametrize("form", ["compact", "spaced", "indented"])
def test_what_is_not_wanted_is_left_out_and_nothing_else(
    form: str, size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks_module, "BLOCK_BYTES", size)
    path = tmp_path / "trace.json"
    path.write_text(FORMS[form](), "utf-8")
    found, _ = read(path, UNWANTED)
    kept = [event for event in found if event.get("cat") in {None, "kernel"}]
    assert kept == [event for event in EVENTS if event.get("cat") in {None, "kernel"}]


def test_events_of_no_interest_are_not_decoded(tmp_path: Path) -> None:
    frame = {"ph": "X", "cat": "python_function", "name": "f", "ts": 1, "dur": 1, "args": {}}
    kernel = {**frame, "cat": "kernel"}
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [kernel, *[frame] * 50, kernel]}))
    assert read(path, UNWANTED)[0] == [kernel, kernel]


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_a_file_cut_anywhere_is_read_up_to_there(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = json.dumps(DOCUMENT, separators=(",", ":")).encode()
    begin, end = text.index(b'"traceEvents":[') + 15, text.index(b'],"end"')
    at = data.draw(st.integers(begin, end))
    path = tmp_path_factory.mktemp("cut") / "trace.json"
    path.write_bytes(text[:at])
    found, stream = read(path)
    assert found == EVENTS[: len(found)]
    assert len(found) >= text[begin:at].count(b'},{"ph":"X"') - 1
    assert stream.faults.cut_at_byte == at
    assert (stream.faults.broken, stream.faults.refused) == (0, None)


def test_a_packed_file_that_breaks_off_is_read_up_to_there(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps(DOCUMENT).encode())[:-200])
    found, stream = read(path)
    assert found == EVENTS[: len(found)]
    assert found
    assert stream.faults.cut_at_byte is not None


def test_packed_files_behind_each_other_are_one(tmp_path: Path) -> None:
    text = json.dumps(DOCUMENT).encode()
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(text[:900]) + gzip.compress(text[900:]) + b"rubbish behind")
    assert read(path)[0] == EVENTS


def test_broken_events_are_left_out_and_counted(tmp_path: Path) -> None:
    good = ['{"ph":"X","cat":"kernel","name":"a","ts":1}', '{"ph":"X","cat":"kernel","name":"b"}']
    bad = '{"ph":"X","cat":"kernel","name":oops,"ts":2}'
    path = tmp_path / "trace.json"
    path.write_text('{"traceEvents":[' + ",".join([good[0], bad, good[1], bad]) + "]}")
    found, stream = read(path)
    assert [event["name"] for event in found] == ["a", "b"]
    assert stream.faults.broken >= 1


@pytest.mark.parametrize("size", [1000, 10**6])
def test_an_event_too_deep_or_without_end_costs_nothing(
    size: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks_module, "BLOCK_BYTES", size)
    monkeypatch.setattr("gpuflow.importers.trace.stream.MOST_EVENT_BYTES", 50_000)
    deep = '{"ph":"X","cat":"kernel","name":"deep","args":' + "[" * 60_000 + "]" * 60_000 + "}"
    good = '{"ph":"X","cat":"kernel","name":"good","ts":1}'
    path = tmp_path / "trace.json"
    path.write_text(f'{{"traceEvents":[{good},{deep},{good},{good}]}}')
    found, stream = read(path)
    assert {event["name"] for event in found} == {"good"}
    assert len(found) >= 2
    assert stream.faults.broken >= 1


def test_long_numbers_and_odd_bytes_are_no_error(tmp_path: Path) -> None:
    number = b'{"ph":"X","cat":"kernel","name":"n","ts":' + b"9" * 5000 + b"}"
    odd = b'{"ph":"X","cat":"kernel","name":"\xff\xfe odd","ts":1}'
    path = tmp_path / "trace.json"
    path.write_bytes(b'\xef\xbb\xbf{"traceEvents":[' + odd + b"," + number + b"," + odd + b"]}")
    found, stream = read(path)
    assert [event["name"] for event in found] == ["\udcff\udcfe odd"] * 2
    assert stream.faults.broken == 1


@pytest.mark.parametrize("opening", [b"", b'{"traceEvents":[', b'{"schemaVersion":'])
def test_a_file_that_unpacks_without_end_is_refused(
    opening: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blocks_module, "FREE_BYTES", 2**21)
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    parts = [packer.compress(opening)]
    blanks = b" " * 2**20
    parts += [packer.compress(blanks) for _ in range(40)]
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(b"".join(parts) + packer.flush())
    found, stream = read(path)
    assert not found
    assert stream.faults.refused is not None
    assert stream.faults.refused.code == "bomb"
    assert stream.faults.cut_at_byte is None
    assert stream.blocks.n_out < 2**25


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "not_json"),
        (b"plain text", "not_json"),
        (b"<html></html>", "not_json"),
        (b'{"model_type": "llama"}', "no_events"),
        (b'{"traceEvents": 5}', "no_events"),
        (b'{"traceEvents', "no_events"),
        (b"{" + b'"a":1,' * 2000 + b'"traceEvents":[]}', "head_too_many"),
        (b"{" + b'"traceEvents":[],' * 2000 + b'"a":1}', "head_too_many"),
        (b"\x1f\x8b\x08\x00 rubbish", "not_json"),
    ],
)
def test_what_is_no_trace_is_refused(content: bytes, code: str, tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(content)
    _, stream = read(path)
    assert stream.faults.refused is not None
    assert stream.faults.refused.code == code


def test_many_commas_are_blanks(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_bytes(b"{" + b"," * 3 * 2**20 + b'"traceEvents":[{"ph":"X"},{"ph":"i"}]}')
    found, stream = read(path)
    assert found == [{"ph": "X"}, {"ph": "i"}]
    assert stream.faults.cut_at_byte is None


def test_each_of_many_broken_events_is_counted(tmp_path: Path) -> None:
    good, bad = '{"ph":"X","cat":"kernel","name":"a"}', '{"ph":"X","cat":"kernel","name":oops}'
    path = tmp_path / "trace.json"
    path.write_text(f'{{"traceEvents":[\n{good},\n  ' + ",".join([bad] * 20_000 + [good]) + "]}")
    found, stream = read(path)
    assert (len(found), stream.faults.broken) == (2, 20_000)
    assert stream.faults.broken_at_byte is not None
    assert line_and_column(str(path), stream.faults.broken_at_byte) == (3, 3)


def test_places_are_counted_in_characters_of_what_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress("算子\n算子x\n".encode()))
    assert line_and_column(str(path), 0) == (1, 1)
    assert line_and_column(str(path), 7) == (2, 1)
    assert line_and_column(str(path), 13) == (2, 3)


@pytest.mark.parametrize("form", ["compact", "list"])
@pytest.mark.parametrize("behind", [" rubbish", "\n{}", "\0"])
def test_what_follows_the_trace_is_told_of(form: str, behind: str, tmp_path: Path) -> None:
    path, text = tmp_path / "trace.json", FORMS[form]()
    path.write_text(text + behind, "utf-8")
    found, stream = read(path)
    assert found == EVENTS
    place = len((text + behind).encode()) - len(behind.strip().encode())
    assert stream.faults.goes_on_at_byte == place
    path.write_text(text + " \n", "utf-8")
    assert read(path)[1].faults.goes_on_at_byte is None


def test_a_head_without_end_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuflow.importers.trace.stream.MOST_HEAD_BYTES", 10_000)
    monkeypatch.setattr(blocks_module, "BLOCK_BYTES", 1000)
    path = tmp_path / "trace.json"
    path.write_text('{"comment": "' + "x" * 100_000 + '", "traceEvents": []}')
    _, stream = read(path)
    assert stream.faults.refused is not None
    assert stream.faults.refused.code == "head_too_long"


@pytest.mark.parametrize("name", ["missing.json", "", "a\0b"])
def test_a_file_that_cannot_be_opened_is_the_users_error(name: str, tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError) as caught:
        read(f"{tmp_path}/{name}")
    assert caught.value.problems[0].code in {"file_missing", "file_is_folder", "file_unreadable"}


def test_reading_tells_how_far_it_is(tmp_path: Path) -> None:
    path = tmp_path / "trace.json.gz"
    path.write_bytes(gzip.compress(json.dumps(DOCUMENT).encode()))
    told: list[int] = []
    blocks = Blocks(str(path), told.append)
    list(TraceStream(blocks, EVERYTHING))
    blocks.close()
    assert told == sorted(told)
    assert told[-1] == path.stat().st_size
