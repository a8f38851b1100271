"""What can go wrong, without words.

GpuflowError                      exit status 1
├── InputError                    2   something the user can mend; holds Problems
│   ├── ScenarioError
│   └── ImportFormatError
└── MissingExtra                  3   an optional dependency is absent

A `Problem` names what is wrong by a code and values; `gpuflow.words` turns it into a sentence.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

_NO_VALUES: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A place in a text file; never invented, absent where it is not known."""

    file: str
    """The path as the user wrote it."""
    line: int
    """1 for the first line."""
    column: int
    """1 for the first code point of the line."""
    source_line: str = ""
    """That line, without its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that is wrong with what the user gave."""

    code: str
    """Stable name, the same in every language: the locale key is `problem.<code>`."""
    key: str = ""
    """Dotted key or option it concerns, such as `parallel.tp` or `--tp`; empty for a whole file."""
    file: str = ""
    """The path as the user wrote it; empty for a command-line option."""
    mark: Mark | None = None
    values: Mapping[str, object] = field(default_factory=lambda: _NO_VALUES)
    """What the sentences of `code` and `hint` are filled with."""
    hint: str = ""
    """Locale key `hint.<hint>`; empty when there is nothing useful to add."""


class GpuflowError(Exception):
    """Base of everything gpuflow raises on purpose."""

    exit_code = 1


class InputError(GpuflowError):
    """The user's input cannot be used; carries every problem found, in file order."""

    exit_code = 2

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        super().__init__("; ".join(f"{p.file}:{p.key}:{p.code}" for p in self.problems))


class ScenarioError(InputError):
    """A scenario, catalogue entry or option is wrong."""


class ImportFormatError(InputError):
    """A file from outside (config.json, log, trace) cannot be read as what it should be."""


class MissingExtra(GpuflowError):
    """An optional dependency is absent."""

    exit_code = 3

    def __init__(self, extra: str) -> None:
        self.extra = extra
        super().__init__(extra)
