"""The file in which a player says where it is: written whole, read with suspicion."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuflow.tui.position import (
    MAX_BYTES,
    Position,
    players,
    position_file,
    publish,
    read_position,
    runtime_folder,
    withdraw,
)

OWN = os.getpid()
STRANGER = os.getuid() + 1
OTHER = os.getppid()
"""Another process that is there as long as the test is."""
Place = Callable[..., Position]
Written = Callable[..., Any]


# ---------------------------------------------------------------- the folder


def test_the_folder_is_in_the_runtime_folder_of_the_user(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    found = runtime_folder({"XDG_RUNTIME_DIR": str(tmp_path)})
    assert found == tmp_path / "gpuflow"
    assert found.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("named", ["", "relative/path", "/no/such/folder", "\0"])
def test_without_one_it_is_a_private_one_under_the_temporary_folder(
    named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = runtime_folder({"XDG_RUNTIME_DIR": named} if named else {})
    assert found == tmp_path / f"gpuflow-{os.getuid()}"
    assert found.stat().st_mode & 0o777 == 0o700


def test_what_others_have_put_there_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    place = tmp_path / f"gpuflow-{os.getuid()}"
    place.mkdir(mode=0o777)
    place.chmod(0o777)
    assert runtime_folder({}) is None
    place.rmdir()
    place.symlink_to(tmp_path)
    assert runtime_folder({}) is None
    place.unlink()
    place.mkdir(mode=0o700)
    assert runtime_folder({}) == place
    monkeypatch.setattr(os, "getuid", lambda: STRANGER)
    place.rename(tmp_path / f"gpuflow-{os.getuid()}")
    assert runtime_folder({}) is None


# ---------------------------------------------------------------- the file


def test_what_is_written_is_read(folder: Path, position: Place) -> None:
    assert publish(folder, position())
    assert read_position(folder, OWN) == position()
    file = position_file(folder, OWN)
    assert file.stat().st_mode & 0o777 == 0o600
    assert [path.name for path in folder.iterdir()] == [file.name]
    withdraw(folder, OWN)
    assert list(folder.iterdir()) == []


def test_the_newest_player_comes_first_and_those_that_are_gone_are_cleared_away(
    folder: Path, position: Place
) -> None:
    publish(folder, position(OWN, began_s=1.0))
    publish(folder, position(OTHER, began_s=2.0))
    gone = position_file(folder, 2**31 - 2)
    gone.write_text("{}")
    # Killed between writing and renaming.
    half = folder / f".{gone.name}.new"
    half.write_text("{")
    (folder / "notes.txt").write_text("not ours")
    assert [found.pid for found in players(folder)] == [OTHER, OWN]
    assert not gone.exists()
    assert not half.exists()
    assert (folder / "notes.txt").exists()


def test_a_folder_that_takes_no_file_is_no_error(folder: Path, position: Place) -> None:
    folder.rmdir()
    assert not publish(folder, position())
    assert players(folder) == []
    withdraw(folder, OWN)


@pytest.fixture
def written(folder: Path, position: Place) -> Written:
    """Writes the file of a player, changes some of its values, and reads what is left."""

    def write(**changes: object) -> Position | None:
        publish(folder, position())
        file = position_file(folder, OWN)
        content = {**json.loads(file.read_text()), **changes}
        file.write_text(json.dumps(content))
        return read_position(folder, OWN)

    return write


STEPS = json.loads(json.dumps([{"title": "T", "summary": "S", "takeaway": "", "notes": ""}]))


@pytest.mark.parametrize(
    "changes",
    [
        {"format": "gpuflow/position/2"},
        {"pid": OTHER},
        {"language": "de"},
        {"step": 8},
        {"step": -1},
        {"step": "1"},
        {"step": True},
        {"moment_s": float("nan")},
        {"time_s": float("inf")},
        {"began_s": 1e300},
        {"speed": "fast"},
        {"scenario": 5},
        {"steps": []},
        {"steps": {"zh": STEPS, "en": []}},
        {"steps": {"zh": STEPS * 65, "en": STEPS * 65}},
        {"steps": {"zh": STEPS, "en": [{"title": "T"}]}},
        {"steps": {"zh": STEPS, "en": "TTTTTTTT"}},
    ],
    ids=str,
)
def test_a_file_that_is_not_as_it_should_be_is_no_player(
    changes: dict[str, object], written: Written
) -> None:
    assert written(**changes) is None
    assert written(step=0, steps={"zh": STEPS, "en": STEPS}) is not None


@pytest.mark.parametrize(
    "data", [b"", b"{", b"\xff\xfe", b"[1]", b"[" * 100_000, b" " * (MAX_BYTES + 1)]
)
def test_what_is_no_such_file_is_no_player(data: bytes, folder: Path) -> None:
    position_file(folder, OWN).write_bytes(data)
    assert read_position(folder, OWN) is None


def test_links_pipes_and_files_of_others_are_not_read(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, position: Place
) -> None:
    file = position_file(folder, OWN)
    publish(folder, position())
    file.rename(tmp_path / "elsewhere.json")
    file.symlink_to(tmp_path / "elsewhere.json")
    assert read_position(folder, OWN) is None
    file.unlink()
    os.mkfifo(file)
    assert read_position(folder, OWN) is None
    file.unlink()
    publish(folder, position())
    assert read_position(folder, OWN) is not None
    monkeypatch.setattr(os, "getuid", lambda: STRANGER)
    assert read_position(folder, OWN) is None


def test_texts_cannot_steer_the_terminal(written: Written) -> None:
    step = {
        "title": "a\x1b[2J\nb",
        "summary": "\u202eevil",
        "takeaway": "[red]x[/red]",
        "notes": "one\x07\ntwo\r" + "x" * 10_000,
    }
    found = written(step=0, scenario="\x9b31m", steps={"zh": [step], "en": [step]})
    assert found is not None
    read = found.steps["en"][0]
    assert read.title == "a␛[2J␊b"
    assert "\u202e" not in read.summary
    assert read.takeaway == "[red]x[/red]"
    assert read.notes.splitlines()[0] == "one␇"
    assert len(read.notes) < 5000
    assert "\x9b" not in found.scenario
