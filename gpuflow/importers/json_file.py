"""JSON files from outside: their objects, where each top-level key stands, what is wrong with them.

Python's own reader takes equal keys and names no place for a value, so a second pass over the
tokens finds both. Infinity and NaN, which are no JSON, are read as the numbers they mean: files of
the field have them where nobody looks, and where a number is due they are refused there.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gpuflow.errors import ImportFormatError, Mark, Problem
from gpuflow.scenario.source import Source, read_source

MAX_BYTES = 2**20
"""A config.json with a long list of excluded modules has some hundred kilobytes."""
MAX_DEPTH = 64

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:]', re.DOTALL)
_BLANKS = re.compile(r"\s*")
_LONGEST_NUMBER = 18
_CONSTANTS = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}
_MAX_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class JsonFile:
    """One object and its place on disk."""

    source: Source
    data: Mapping[str, object]
    offsets: Mapping[str, int]
    """Where the value of each key begins, in code points, by its dotted path through objects."""
    problems: tuple[Problem, ...]
    """Equal keys; its reader got past them."""

    def mark(self, key: str) -> Mark | None:
        """The place of the value of a dotted key; None for one that is not there."""
        offset = self.offsets.get(key)
        return _mark(self.source, offset) if offset is not None else None

    def problem(self, code: str, key: str = "", hint: str = "", **values: object) -> Problem:
        """A problem of this file, at a dotted key where there is one."""
        return Problem(
            code=code,
            key=key,
            file=self.source.file,
            mark=self.mark(key),
            values=values,
            hint=hint,
        )


def read_json(path: Path) -> JsonFile:
    """The object that a JSON file holds.

    Raises:
        ImportFormatError: It cannot be read, is no JSON, or holds no object at the top.
    """
    source = read_source(path, str(path), MAX_BYTES, refuse_hidden=False)
    if isinstance(source, list):
        raise ImportFormatError(source)
    if not source.text.strip():
        raise ImportFormatError([Problem(code="file_empty", file=source.file)])
    try:
        data = json.loads(source.text, parse_int=_whole, parse_constant=_CONSTANTS.get)
    except json.JSONDecodeError as error:
        raise ImportFormatError([_syntax(source, error)]) from None
    except RecursionError:
        raise ImportFormatError([_too_deep(source, None)]) from None
    # Only now: the tokens of what is no JSON could take any amount of time to find.
    offsets, problems = _scan(source)
    if not isinstance(data, dict):
        raise ImportFormatError([Problem(code="json_not_object", file=source.file)])
    return JsonFile(source, data, offsets, tuple(problems))


def in_file_order(problems: Iterable[Problem]) -> list[Problem]:
    """Problems of one file by their place; those without one last."""
    return sorted(
        problems,
        key=lambda p: (0, p.mark.line, p.mark.column) if p.mark else (1, 0, 0),
    )


def _whole(digits: str) -> int | float:
    """Numbers longer than any real one stay a float, which no whole number is taken from."""
    return int(digits) if len(digits) <= _LONGEST_NUMBER else float(digits)


def _mark(source: Source, offset: int) -> Mark:
    before = source.text[:offset]
    line_start = max(before.rfind("\n"), before.rfind("\r")) + 1
    line = len(re.findall(r"\r\n|\n|\r", before))
    return source.mark(line, offset - line_start)


def _problem(source: Source, code: str, offset: int, hint: str, **values: object) -> Problem:
    mark = _mark(source, offset)
    return Problem(code=code, file=source.file, mark=mark, values=values, hint=hint)


def _too_deep(source: Source, offset: int | None) -> Problem:
    mark = _mark(source, offset) if offset is not None else None
    return Problem(code="too_deep", file=source.file, mark=mark, values={"limit": MAX_DEPTH})


def _syntax(source: Source, error: json.JSONDecodeError) -> Problem:
    mark = _mark(source, error.pos)
    conflict = re.match(r"<{7}|={7}|>{7}", mark.source_line)
    if conflict:
        mark = source.mark(mark.line - 1, 0)
        return Problem(
            code="merge_conflict",
            file=source.file,
            mark=mark,
            values={"found": conflict[0]},
            hint="merge_conflict",
        )
    before = source.text[: error.pos].rstrip()
    found = source.text[error.pos : error.pos + 1]
    if error.pos >= len(source.text.rstrip()):
        return Problem(code="json_cut_short", file=source.file, mark=mark)
    if found in "}]," and (before.endswith(",") or "trailing comma" in error.msg):
        comma = error.pos if found == "," and not before.endswith(",") else len(before) - 1
        return _problem(source, "json_trailing_comma", comma, "json_trailing_comma")
    hint = next((hint for text, hint in _REASONS.items() if text in error.msg), "")
    return _problem(source, "json_syntax", error.pos, hint, found=found)


_REASONS = {
    "property name": "json_key",
    "delimiter": "json_delimiter",
    "Extra data": "json_one_object",
    "control character": "json_control",
    "Unterminated": "json_quote",
}
"""Hints by what Python's reader says."""


def _scan(source: Source) -> tuple[dict[str, int], list[Problem]]:
    """Offsets of values by dotted key, and equal keys and depth that JSON does not have."""
    offsets: dict[str, int] = {}
    problems: list[Problem] = []
    levels: list[_Level] = []
    text, last_string = source.text, ""
    last_start = 0
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in "{[":
            levels.append(_inside(levels[-1] if levels else None, is_object=token == "{"))
            if len(levels) > MAX_DEPTH:
                return offsets, [*problems, _too_deep(source, match.start())]
        elif token in "}]":
            if levels:
                levels.pop()
        elif token == ":":
            level = levels[-1] if levels else None
            if level is not None and level.keys is not None:
                if last_string in level.keys:
                    problems.append(_twice(source, last_string, last_start, level.keys))
                level.keys.setdefault(last_string, last_start)
                level.key = last_string
                if level.path is not None:
                    offsets.setdefault(level.path + last_string, _value_start(text, match.end()))
        else:
            last_string, last_start = token[1:-1], match.start()
        if len(problems) == _MAX_PROBLEMS:
            break
    return offsets, problems


@dataclass(slots=True)
class _Level:
    """An object or list that is open."""

    keys: dict[str, int] | None
    """Where its keys stand; None for a list."""
    path: str | None
    """Dotted keys that lead to it, with the dot; None inside a list."""
    key: str = ""
    """The key whose value comes next."""


def _inside(outer: _Level | None, *, is_object: bool) -> _Level:
    if outer is None:
        path: str | None = ""
    elif outer.path is None or outer.keys is None:
        path = None
    else:
        path = f"{outer.path}{outer.key}."
    return _Level({} if is_object else None, path)


def _twice(source: Source, name: str, start: int, keys: Mapping[str, int]) -> Problem:
    first = _mark(source, keys[name]).line
    return _problem(source, "duplicate_key", start, "duplicate_key", name=name, first=first)


def _value_start(text: str, offset: int) -> int:
    match = _BLANKS.match(text, offset)
    return match.end() if match else offset
