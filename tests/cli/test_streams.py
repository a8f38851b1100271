"""Streams as they really are: closed, cut off, full, or in an encoding of long ago."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuflow.cli.streams import ascii_likeness, put_file
from gpuflow.errors import InputError

EVERY_VERB = [
    ("--help",),
    ("table", "--help"),
    ("table",),
    ("estimate",),
    ("play", "--plain"),
    ("play", "--print"),
    ("list",),
    ("show", "model", "gpt-oss-120b"),
    ("collective", "all_reduce", "--sizes", "1MiB"),
    ("table", "--tp", "wrong"),
]


@pytest.mark.parametrize("encoding", ["ascii", "gbk", "latin-1", "cp437"])
@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("arguments", EVERY_VERB, ids=" ".join)
def test_no_encoding_raises_or_shows_an_escape(
    arguments: tuple[str, ...], language: str, encoding: str, gpuflow: Any
) -> None:
    result = gpuflow(*arguments, "--lang", language, encoding=encoding)
    assert result.code == (2 if "wrong" in arguments else 0)
    said = result.out + result.err
    assert said
    assert "\\u" not in said
    assert "\\x" not in said


def test_gbk_keeps_chinese(gpuflow: Any) -> None:
    assert "推理网络要求对比表" in gpuflow("table", "--lang", "zh", encoding="gbk").out


def test_json_loses_nothing_in_ascii(gpuflow: Any) -> None:
    plain = gpuflow("table", "--lang", "zh", "--format", "json", encoding="ascii")
    assert json.loads(plain.out) == gpuflow("table", "--lang", "zh", "--format", "json").json


def test_a_chinese_locale_without_chinese_characters_speaks_english(
    gpuflow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUFLOW_LANG", "zh")
    # The fixture clears the language when it is made, not when it is called.
    assert "Usage: " in gpuflow("--help", encoding="ascii").out
    assert "用法：" in gpuflow("--help").out


def test_asking_for_chinese_in_ascii_is_obeyed_and_explained(gpuflow: Any) -> None:
    result = gpuflow("table", "--lang", "zh", encoding="ascii")
    assert "PYTHONIOENCODING" in result.err
    assert "??" in result.out


@pytest.mark.parametrize(
    ("text", "likeness"),
    [
        ("4×H100 · 19.3 µs – 370", "4xH100 . 19.3 us - 370"),
        ("╭──╮│║", "+--+||"),
        ("✓ ok …", "+ ok ~"),
        ("全", "??"),
        ("①²", "12"),
        ("\udcff", "?"),
        ("🟦 TP", "[] TP"),
    ],
)
def test_characters_turn_into_their_ascii_likeness(text: str, likeness: str) -> None:
    import codecs

    codecs.register_error("gpuflow.test", ascii_likeness)
    assert text.encode("ascii", errors="gpuflow.test").decode() == likeness


# ---------------------------------------------------------------- real processes


def start(
    *arguments: str, before: Callable[[], None] | None = None, **options: Any
) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}
    return subprocess.Popen(
        [sys.executable, "-m", "gpuflow", *arguments],
        env=environment,
        preexec_fn=before,
        **options,
    )


def close(*descriptors: int) -> Callable[[], None]:
    def before() -> None:
        for descriptor in descriptors:
            os.close(descriptor)

    return before


@pytest.mark.parametrize("form", ["csv", "json", "perfetto"])
def test_a_reader_who_leaves_is_no_error(form: str) -> None:
    # Each is more than a pipe holds.
    process = start("export", "--to", form, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 0


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_is_said_in_one_line() -> None:
    with Path("/dev/full").open("wb") as full:
        process = start("list", stdout=full, stderr=subprocess.PIPE)
        _, err = process.communicate()
    assert process.returncode == 1
    assert len(err.splitlines()) == 1


def eight_steps(text: bytes) -> bool:
    return all(f"Step {number}/8".encode() in text for number in range(1, 9))


@pytest.mark.parametrize(
    ("closed", "out", "err"),
    [((0,), True, True), ((1,), False, True), ((2,), True, False), ((0, 1, 2), False, False)],
    ids=str,
)
def test_play_survives_closed_streams(closed: tuple[int, ...], out: bool, err: bool) -> None:
    process = start(
        "play",
        before=close(*closed),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    said, talked = process.communicate()
    assert process.returncode == 0
    assert eight_steps(said) is out
    assert len(talked.splitlines()) == (1 if err else 0)


def test_the_c_locale_keeps_lines_and_an_encoding_without_them_does_not() -> None:
    for encoding, has_lines in (("", True), ("ascii", False)):
        said = subprocess.run(
            [sys.executable, "-m", "gpuflow", "play", "--print"],
            env={"PATH": os.environ["PATH"], "LANG": "C", "PYTHONIOENCODING": encoding},
            capture_output=True,
            check=True,
        ).stdout.decode()
        assert ("─" in said) is has_lines
        assert said.isascii() is not has_lines


@pytest.mark.parametrize(
    "arguments",
    [("table",), ("list", "--format", "csv"), ("schema",), ("--version",), ("table", "--help")],
    ids=" ".join,
)
def test_data_for_a_closed_stdout_is_lost_and_that_is_said(arguments: tuple[str, ...]) -> None:
    process = start(*arguments, before=close(1), stderr=subprocess.PIPE)
    _, err = process.communicate()
    assert process.returncode == 1
    assert err.startswith(b"gpuflow: stdout: ")
    assert len(err.splitlines()) == 1


def test_a_file_is_written_without_stdout(tmp_path: Path) -> None:
    picture = tmp_path / "step.txt"
    process = start("export", "--step", "1", "--file", str(picture), before=close(1))
    assert process.wait() == 0
    assert picture.read_text("utf-8")


@pytest.mark.parametrize(
    ("trouble", "raised"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), InputError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
def test_no_half_of_a_new_file_is_left(
    trouble: BaseException,
    raised: type[BaseException],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def write_half(path: Path, data: bytes) -> int:
        with path.open("wb") as stream:
            stream.write(data[: len(data) // 2])
        raise trouble

    mine, new = tmp_path / "mine", tmp_path / "new"
    mine.touch()
    monkeypatch.setattr(Path, "write_bytes", write_half)
    for path in (mine, new):
        with pytest.raises(raised):
            put_file(str(path), bytes(100))
    # What was there is the user's.
    assert list(tmp_path.iterdir()) == [mine]
