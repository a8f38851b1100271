"""What is wrong where YAML stopped: the real place and a reason that the parser does not give.

YAML names the place where it could not go on, which for a missing colon is the line after. Both
of PyYAML's parsers are understood, the one in C and the one in Python.
"""

from __future__ import annotations

import re

import yaml

from gpuflow.errors import Problem
from gpuflow.scenario.source import Source

_KEY = r"^\s*(?:- +)?[\"']?[A-Za-z_][\w.-]*[\"']?"
_FULLWIDTH_COLON = re.compile(_KEY + r"\s*(：)", re.ASCII)
_COLON_WITHOUT_BLANK = re.compile(_KEY + r"(:)(?=[^\s:/])", re.ASCII)
_CONFLICT = re.compile(r"^(<{7}|={7}|>{7})(?: |$)")
_INDENT = re.compile(r"^[ \t\u00a0\u3000]*")
_LINES_BACK = 3
_MAX_TABS = 5


def explain(source: Source, error: yaml.MarkedYAMLError | None) -> list[Problem]:
    """Problems for a text that YAML cannot read, or (None) reads as one long sentence.

    Returns:
        At least one problem when there is an error; without one, none when the text is what it
        seems to be.
    """
    at = _place(error.problem_mark) if error else (len(source.lines) - 1, 0)
    context = _place(error.context_mark) if error else None
    message = (error.problem or "") if error else ""
    line = min(at[0], len(source.lines) - 1)
    return (
        _tabs(source, line)
        or _mistyped(source, line)
        or ([_by_message(source, message, at, context)] if error else [])
    )


def fullwidth_colon(source: Source, line: int, column: int) -> Problem | None:
    """The problem of a full-width colon at or after a place, if the line has one."""
    found = source.lines[line].find("：", column)
    return _problem(source, "fullwidth_colon", (line, found), "type_ascii") if found >= 0 else None


def _place(mark: yaml.Mark | None) -> tuple[int, int]:
    return (mark.line, mark.column) if mark else (0, 0)


def _problem(
    source: Source, code: str, at: tuple[int, int], hint: str = "", **values: object
) -> Problem:
    return Problem(code=code, file=source.file, mark=source.mark(*at), values=values, hint=hint)


def _tabs(source: Source, line: int) -> list[Problem]:
    """Every line that is indented with tabs, when one of them stopped YAML."""
    if "\t" not in _indent(source, line):
        return []
    places = [
        (number, indent.index("\t"))
        for number in range(line, len(source.lines))
        if "\t" in (indent := _indent(source, number))
    ]
    return [
        _problem(source, "tab_indentation", at, "indent_with_blanks") for at in places[:_MAX_TABS]
    ]


def _indent(source: Source, line: int) -> str:
    match = _INDENT.match(source.lines[line])
    return match[0] if match else ""


def _mistyped(source: Source, line: int) -> list[Problem]:
    """Slips of the keyboard at the place or just above it."""
    for number in range(line, max(line - _LINES_BACK, -1), -1):
        text = source.lines[number]
        if match := _FULLWIDTH_COLON.match(text):
            return [_problem(source, "fullwidth_colon", (number, match.start(1)), "type_ascii")]
        if match := _COLON_WITHOUT_BLANK.match(text):
            return [
                _problem(source, "colon_without_blank", (number, match.start(1)), "colon_blank")
            ]
        if match := _CONFLICT.match(text):
            return [
                _problem(source, "merge_conflict", (number, 0), "merge_conflict", found=match[1])
            ]
        indent = _indent(source, number)
        wide = next((i for i, c in enumerate(indent) if c in "\u00a0\u3000"), None)
        if wide is not None:
            return [_problem(source, "wide_blank", (number, wide), "indent_with_blanks")]
    return []


def _by_message(
    source: Source, message: str, at: tuple[int, int], context: tuple[int, int] | None
) -> Problem:
    started = context or at
    if "unexpected end of stream" in message or "unexpected document separator" in message:
        return _problem(source, "quote_not_closed", started, "quote_not_closed")
    if "',' or" in message:
        return _flow(source, at, started)
    if "cannot start any token" in message:
        return _problem(
            source, "reserved_character", at, "quote_text", found=_character(source, at)
        )
    if "could not find expected ':'" in message:
        return _problem(source, "colon_missing", started, "colon_missing")
    if "mapping values are not allowed" in message:
        return _second_colon(source, at)
    if "escape character" in message:
        backslash = source.lines[at[0]].rfind("\\", 0, at[1] + 1)
        return _problem(source, "unknown_escape", (at[0], backslash), "single_quotes")
    if "sequence entries are not allowed" in message:
        return _problem(source, "dash_inside_line", at, "dash_on_own_line")
    if "tag handle" in message:
        return _problem(source, "tag", at, "tag", found=source.lines[at[0]][at[1] :].split()[0])
    if at[0] < len(source.lines) and len(_indent(source, at[0])) == at[1]:
        return _problem(source, "indentation", at, "indentation")
    return _problem(source, "yaml_syntax", at, "quote_text", found=_character(source, at))


def _flow(source: Source, at: tuple[int, int], started: tuple[int, int]) -> Problem:
    """A bracket that is never closed, or a comma that is missing or full-width."""
    if at[0] > started[0] or at[1] >= len(source.lines[at[0]]):
        bracket = _character(source, started)
        return _problem(source, "bracket_not_closed", started, "bracket_not_closed", found=bracket)
    comma = source.lines[at[0]].find("，", started[1], at[1])
    if comma >= 0:
        return _problem(source, "fullwidth_comma", (at[0], comma), "type_ascii")
    return _problem(source, "comma_missing", at, "comma_missing")


def _second_colon(source: Source, at: tuple[int, int]) -> Problem:
    line = source.lines[at[0]]
    if ": " in line[: at[1]]:
        return _problem(source, "second_colon", at, "quote_text")
    return _problem(source, "indentation", (at[0], len(_indent(source, at[0]))), "indentation")


def _character(source: Source, at: tuple[int, int]) -> str:
    return source.lines[at[0]][at[1] : at[1] + 1] if at[0] < len(source.lines) else ""
