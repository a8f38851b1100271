"""A user's text file in memory, with everything that is wrong with it as a file.

Nothing is read before its kind and size are known, so that a directory, a device or a huge file
costs nothing.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from dataclasses import dataclass
from pathlib import Path

from gpuflow.errors import Mark, Problem
from gpuflow.units import Quantity

MAX_BYTES = 2**20
"""A scenario of eight steps has some tens of kilobytes."""

_LINE_END = re.compile(r"\r\n|\n|\r")
_UNUSUAL = re.compile(
    "[^\t\n\r\x20-\x7e\xa1-\xac\xae-\u05ff\u2010-\u2027\u2030-\u205e\u2070-\u2fff\u3000-\ud7ff"
    "\uff01-\uffee]"
)
"""Whatever is outside blocks without a single hidden character; only that is looked up."""
_MAX_CHARACTER_PROBLEMS = 5


@dataclass(frozen=True, slots=True)
class Source:
    """The decoded text of one file."""

    file: str
    """The path as the user wrote it."""
    text: str
    """Without a byte order mark."""
    lines: tuple[str, ...]
    """Without their ends."""

    def mark(self, line: int, column: int) -> Mark:
        """The place of 0-based `line` and `column`, as a Mark counted from 1."""
        source_line = self.lines[line] if line < len(self.lines) else ""
        return Mark(file=self.file, line=line + 1, column=column + 1, source_line=source_line)


def source_of(file: str, text: str) -> Source:
    """A Source of text at hand."""
    text = text.removeprefix("\ufeff")
    return Source(file, text, tuple(_LINE_END.split(text)))


def read_source(
    path: Path, file: str, max_bytes: int = MAX_BYTES, *, refuse_hidden: bool = True
) -> Source | list[Problem]:
    """The text of a file, or what keeps it from being read.

    Args:
        path: Where it is.
        file: How reports name it.
        max_bytes: Files beyond that are refused unread.
        refuse_hidden: Whether characters that cannot be seen are problems.
    """
    data = _read_bytes(path, file, max_bytes)
    if isinstance(data, Problem):
        return [data]
    try:
        source = source_of(file, data.decode("utf-8"))
    except UnicodeDecodeError as error:
        return [_bad_byte(data, error, file)]
    return (_hidden_characters(source) if refuse_hidden else []) or source


def file_trouble(path: Path, file: str, max_bytes: int) -> Problem | None:
    """What keeps a file from being opened at all; its kind and size are looked at, nothing else.

    Args:
        path: Where it is.
        file: How reports name it.
        max_bytes: Files beyond that are refused.

    Raises:
        OSError: It cannot be looked at.
    """
    if not file:
        return Problem(code="file_name_empty")
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        return Problem(code="file_is_folder", file=file, hint="name_a_file")
    if not stat.S_ISREG(status.st_mode):
        return Problem(code="file_not_regular", file=file, hint="save_to_file")
    if status.st_size > max_bytes:
        values = {
            "size": Quantity(status.st_size, "bytes"),
            "limit": Quantity(max_bytes, "bytes"),
        }
        return Problem(code="file_too_large", file=file, values=values, hint="file_too_large")
    return None


def _read_bytes(path: Path, file: str, max_bytes: int) -> bytes | Problem:
    try:
        trouble = file_trouble(path, file, max_bytes)
        if trouble is not None:
            return trouble
        with path.open("rb") as stream:
            return stream.read(max_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return Problem(code="file_missing", file=file)
    except PermissionError:
        return Problem(code="file_unreadable", file=file, values={"reason": os.strerror(13)})
    except (OSError, ValueError) as error:
        # ValueError: a NUL in the path
        reason = getattr(error, "strerror", None) or str(error)
        return Problem(code="file_unreadable", file=file, values={"reason": reason})


def _bad_byte(data: bytes, error: UnicodeDecodeError, file: str) -> Problem:
    before = data[: error.start].decode("utf-8").removeprefix("\ufeff")
    lines = _LINE_END.split(before)
    rest = _LINE_END.split(data[error.start : error.start + 400].decode("utf-8", "replace"))[0]
    mark = Mark(
        file=file,
        line=len(lines),
        column=len(lines[-1]) + 1,
        source_line=lines[-1] + rest,
    )
    utf16 = data[:2] in (b"\xff\xfe", b"\xfe\xff")
    return Problem(
        code="not_utf8",
        file=file,
        mark=mark,
        values={"byte": f"0x{data[error.start]:02X}", "offset": error.start},
        hint="save_as_utf8" if not utf16 else "utf16_to_utf8",
    )


def _hidden_characters(source: Source) -> list[Problem]:
    """Characters that no one can see or that steer a terminal, where text was meant."""
    problems: list[Problem] = []
    if not _UNUSUAL.search(source.text):
        return problems
    for number, line in enumerate(source.lines):
        for match in _UNUSUAL.finditer(line):
            character, column = match[0], match.start()
            if not is_hidden(character):
                continue
            problems.append(
                Problem(
                    code="hidden_character",
                    file=source.file,
                    mark=source.mark(number, column),
                    values={"character": describe_character(character)},
                    hint="delete_character",
                )
            )
            if len(problems) == _MAX_CHARACTER_PROBLEMS:
                return problems
    return problems


def first_hidden(text: str) -> str | None:
    """The first character of a text that cannot be seen; line ends and tabs do not count."""
    return next((match[0] for match in _UNUSUAL.finditer(text) if is_hidden(match[0])), None)


def is_hidden(character: str) -> bool:
    """True for controls, format characters, variation selectors, surrogates and non-characters."""
    return (
        unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp"}
        or "\ufe00" <= character <= "\ufe0f"
        or ord(character) & 0xFFFE == 0xFFFE
    )


def describe_character(character: str) -> str:
    """Code point and, where it has one, the name of a character."""
    code = f"U+{ord(character):04X}"
    name = unicodedata.name(character, "")
    return f"{code} {name}" if name else code
