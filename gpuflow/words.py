"""Sentences: the only place that turns codes, keys and values into a language.

Locale files are flat YAML, one sentence a key, in gpuflow/data/locales/<language>/.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources

import yaml

from gpuflow.cells import cell_width, clip, sanitise
from gpuflow.errors import Mark, Problem
from gpuflow.scenario.spec import Language
from gpuflow.units import Quantity, format_quantity

LANGUAGES: tuple[Language, ...] = ("en", "zh")

_SOURCE_WIDTH = 100
"""Cells of a user's own line that a report shows."""

_VALUE_WIDTH = 80
"""Cells of a value that a sentence quotes."""

_Loader: type[yaml.CBaseLoader] | type[yaml.BaseLoader] = getattr(
    yaml, "CBaseLoader", yaml.BaseLoader
)


def t(key: str, language: Language, /, **values: object) -> str:
    """The sentence of `key`, its placeholders filled.

    Args:
        key: Dotted key of the locale files.
        language: Which language.
        values: A Quantity is written with its unit, a list with commas between its items;
            everything else by `str`, with control characters made visible.

    Raises:
        KeyError: The key, or a placeholder's value, is missing: a bug.
    """
    return sentences(language)[key].format_map(
        {name: _value_text(value, language) for name, value in values.items()}
    )


def joined(parts: Iterable[str], language: Language) -> str:
    """Sentences one behind the other; Chinese punctuation needs no blank behind it."""
    return ("" if language == "zh" else " ").join(parts)


def has(key: str, language: Language) -> bool:
    """Whether there is a sentence for `key`."""
    return key in sentences(language)


@cache
def sentences(language: Language) -> Mapping[str, str]:
    """All sentences of a language, the locale files merged in the order of their names."""
    merged: dict[str, str] = {}
    folder = resources.files("gpuflow") / "data" / "locales" / language
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".yaml"):
            merged |= _flat(file.read_text("utf-8"))
    return merged


def _flat(text: str) -> dict[str, str]:
    """One file's sentences: its nodes as they are, for there is nothing in them but text."""
    node = yaml.compose(text, _Loader)
    return {key.value: value.value for key, value in node.value} if node else {}


def language_of(option: str | None, environ: Mapping[str, str]) -> Language:
    """The language to speak: the option, else the first of the variables that is set, else en.

    Args:
        option: What `--lang` was given; None when it was not.
        environ: GPUFLOW_LANG, LC_ALL, LC_MESSAGES and LANG are looked at, in that order.

    Example:
        >>> language_of(None, {"LC_ALL": "", "LANG": "zh_CN.UTF-8"})
        'zh'
    """
    names = ("GPUFLOW_LANG", "LC_ALL", "LC_MESSAGES", "LANG")
    wanted = option or next((environ[name] for name in names if environ.get(name)), "en")
    return "zh" if wanted.lower().startswith("zh") else "en"


def problem_text(problem: Problem, language: Language) -> tuple[str, str]:
    """The message of a problem and its hint; the hint is empty when there is none.

    A value whose name ends in `_kind` is itself a key, `kind.<value>`: whole number, list ...
    """
    values = {
        name: t(f"kind.{value}", language) if name.endswith("_kind") else _shortened(value)
        for name, value in problem.values.items()
    }
    message = t(f"problem.{problem.code}", language, **values)
    return message, t(f"hint.{problem.hint}", language, **values) if problem.hint else ""


def report(problems: Iterable[Problem], language: Language) -> str:
    """What the user reads: per problem its place and message, the line with a caret, the hint.

    A hint that lists names is said once where it would follow itself.
    """
    lines: list[str] = []
    listed = ""
    for problem in problems:
        message, hint = problem_text(problem, language)
        lines += _problem_lines(problem, message)
        if hint and hint != listed:
            lines.append(t("report.hint", language, hint=hint))
        listed = hint if problem.hint.startswith("known_") else ""
    return "\n".join(lines)


def _problem_lines(problem: Problem, message: str) -> list[str]:
    mark = problem.mark
    place = f"{mark.file}:{mark.line}:{mark.column}" if mark else problem.file
    lines = [": ".join(part for part in (sanitise(place), sanitise(problem.key), message) if part)]
    if mark and mark.source_line.strip():
        lines += _excerpt(mark)
    return lines


def _excerpt(mark: Mark) -> tuple[str, str]:
    """The user's line, cut around the marked place, and a caret under that place."""
    column = mark.column - 1
    # One character more than can be shown on either side: that it is cut must be seen.
    first, last = max(column - _SOURCE_WIDTH - 1, 0), column + _SOURCE_WIDTH + 1
    before, after = (
        sanitise(part.replace("\t", " "))
        for part in (mark.source_line[first:column], mark.source_line[column:last])
    )
    # The place keeps at least a third of the width after it, where the line has that much.
    room = _SOURCE_WIDTH - min(cell_width(after), _SOURCE_WIDTH // 3)
    if cell_width(before) > room:
        before = clip(before[::-1], room)[::-1]
    shown = before + clip(after, _SOURCE_WIDTH - cell_width(before))
    return f"  {shown}", f"  {' ' * cell_width(before)}^"


def _shortened(value: object) -> object:
    """A value as long as a report can bear: what was found may be a whole file."""
    return clip(sanitise(value), _VALUE_WIDTH) if isinstance(value, str) else value


def _value_text(value: object, language: Language) -> str:
    if isinstance(value, Quantity):
        return format_quantity(value)
    if isinstance(value, (list, tuple)):
        separator = "、" if language == "zh" else ", "
        return separator.join(_value_text(item, language) for item in value)
    return sanitise(str(value))
