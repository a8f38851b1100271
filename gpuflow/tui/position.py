"""Where a player is, in a file of the user's own that a second terminal follows.

The file is of one player: it is replaced whole, so that whoever reads it never sees half of it,
and gone when the player is. Nothing of another user is read, and what is read is taken for a
stranger's words: bounded, and shown literally.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gpuflow.cells import clip, sanitise
from gpuflow.draw.notes import StepNotes
from gpuflow.scenario.spec import Language
from gpuflow.words import LANGUAGES

FORMAT = "gpuflow/position/1"
MAX_BYTES = 2**19
"""A scenario's texts may be long; anything longer is no file of a player."""
MOST_STEPS = 64
MOST_CELLS = 4000
"""Of one line."""
MOST_LINES = 40
_NAME = re.compile(r"player-([1-9][0-9]{0,9})\.json", re.ASCII)
_DRAFT = re.compile(r"\.player-([1-9][0-9]{0,9})\.json\.new", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """Where a player is and what is to be said there."""

    pid: int
    scenario: str
    language: Language
    step: int
    """Index of the step, from 0."""
    moment_s: float
    """Screen second."""
    time_s: float
    """Simulated clock."""
    is_playing: bool
    speed: float
    began_s: float
    """When the player began, in seconds since 1970."""
    steps: Mapping[Language, tuple[StepNotes, ...]]


# ---------------------------------------------------------------- the folder


def runtime_folder(environ: Mapping[str, str]) -> Path | None:
    """The user's own folder for such files, made if need be; None where there can be none."""
    named = environ.get("XDG_RUNTIME_DIR", "")
    if Path(named).is_absolute():
        folder = Path(named) / "gpuflow"
        if _is_own(Path(named)) and _made(folder):
            return folder
    folder = Path(tempfile.gettempdir()) / f"gpuflow-{os.getuid()}"
    return folder if _made(folder) else None


def _made(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700)
    return _is_own(folder)


def _is_own(folder: Path) -> bool:
    """Whether it is a folder that nobody else can write to or read, and no link to one."""
    try:
        found = folder.lstat()
    except (OSError, ValueError):
        return False
    is_private = not found.st_mode & 0o077
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and is_private


def position_file(folder: Path, pid: int) -> Path:
    """The file of one player."""
    return folder / f"player-{pid}.json"


# ---------------------------------------------------------------- writing


def publish(folder: Path, position: Position) -> bool:
    """Write where a player is; whether that was possible."""
    file = position_file(folder, position.pid)
    draft = folder / f".{file.name}.new"
    content = {"format": FORMAT, **asdict(position)}
    data = json.dumps(content, ensure_ascii=True).encode()
    try:
        with contextlib.suppress(FileNotFoundError):
            draft.unlink()
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
        with os.fdopen(os.open(draft, flags, 0o600), "wb") as stream:
            stream.write(data)
        draft.replace(file)
    except OSError:
        return False
    return True


def withdraw(folder: Path, pid: int) -> None:
    """Take the file of a player away."""
    file = position_file(folder, pid)
    for path in (file, folder / f".{file.name}.new"):
        with contextlib.suppress(OSError):
            path.unlink()


# ---------------------------------------------------------------- reading


def players(folder: Path) -> list[Position]:
    """The players that are there, the newest first; files of players that are gone are removed."""
    clear_away(folder)
    found = [
        position for pid in _pids(folder) if (position := read_position(folder, pid)) is not None
    ]
    return sorted(found, key=lambda position: position.began_s, reverse=True)


def clear_away(folder: Path) -> None:
    """Remove the files of players that were killed before they could do so."""
    for pid in {*_pids(folder), *_pids(folder, _DRAFT)}:
        if not _is_alive(pid):
            withdraw(folder, pid)


def _pids(folder: Path, name: re.Pattern[str] = _NAME) -> list[int]:
    """Players that have, or had, a file in a folder of the user's own."""
    try:
        names = sorted(path.name for path in folder.iterdir()) if _is_own(folder) else []
    except OSError:
        return []
    return [int(match[1]) for match in map(name.fullmatch, names) if match]


def read_position(folder: Path, pid: int) -> Position | None:
    """Where a player is; None where there is none, or its file is not what it should be."""
    if not (_is_own(folder) and _is_alive(pid)):
        return None
    data = _own_bytes(position_file(folder, pid))
    try:
        content = json.loads(data) if data is not None else None
        return _position(content, pid) if isinstance(content, dict) else None
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return False  # somebody else's
    except (OSError, OverflowError):
        return False
    return True


def _own_bytes(file: Path) -> bytes | None:
    """What an ordinary file of the user's own holds, as far as it may be so long."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except (OSError, ValueError):
        return None
    with os.fdopen(descriptor, "rb") as stream:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
            return None
        try:
            data = stream.read(MAX_BYTES + 1)
        except OSError:
            return None
    return data if len(data) <= MAX_BYTES else None


def _position(content: Mapping[str, Any], pid: int) -> Position:
    """A position, every value checked.

    Raises:
        ValueError, KeyError, TypeError: It is none.
    """
    if content["format"] != FORMAT or content["pid"] != pid:
        raise ValueError(content["format"])
    if content["language"] not in LANGUAGES:
        raise ValueError(content["language"])
    steps: dict[Language, tuple[StepNotes, ...]] = {
        language: _steps(content["steps"][language]) for language in LANGUAGES
    }
    step = content["step"]
    if isinstance(step, bool) or not isinstance(step, int):
        raise TypeError(step)
    if not 0 <= step < min(map(len, steps.values())):
        raise ValueError(step)
    return Position(
        pid=pid,
        scenario=_line(content["scenario"]),
        language=content["language"],
        step=step,
        moment_s=_number(content["moment_s"]),
        time_s=_number(content["time_s"]),
        is_playing=content["is_playing"] is True,
        speed=_number(content["speed"]),
        began_s=_number(content["began_s"]),
        steps=steps,
    )


def _steps(content: Any) -> tuple[StepNotes, ...]:
    if not isinstance(content, list) or not 0 < len(content) <= MOST_STEPS:
        raise TypeError("steps")
    return tuple(
        StepNotes(
            title=_line(step["title"]),
            summary=_line(step["summary"]),
            takeaway=_line(step["takeaway"]),
            notes=_lines(step["notes"]),
        )
        for step in content
    )


def _line(text: Any) -> str:
    """One line that cannot steer the terminal."""
    if not isinstance(text, str):
        raise TypeError("text")
    return clip(sanitise(text[:MOST_CELLS]), MOST_CELLS)


def _lines(text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError("text")
    return "\n".join(map(_line, text.splitlines()[:MOST_LINES]))


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError("number")
    number = float(value)
    if not math.isfinite(number) or abs(number) > 1e15:
        raise ValueError(value)
    return number
