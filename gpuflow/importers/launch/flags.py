"""From an engine's words to its flags with their values, as the engine's own parser takes them.

argparse (vLLM, SGLang): `--flag value`, `--flag=value`, unambiguous beginnings of a flag, `-n4` for
flags of one letter; vLLM also takes `_` for `-`, `-O3`, and `--json-flag.key value`.
click (TensorRT-LLM): `--flag value` and `--flag=value` only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from gpuflow.errors import ImportFormatError, Problem
from gpuflow.importers.launch.engines import Arity, Engine

_NUMBER = re.compile(r"-\d+(\.\d+)?")
_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no")


@dataclass(frozen=True, slots=True)
class Given:
    """A flag of the engine that stands in the line."""

    name: str
    """As the engine's table has it."""
    written: str
    """As it was written, without a value."""
    values: tuple[str, ...]
    """Nothing for a secret."""
    is_on: bool = True
    """False for a switch that was turned off."""

    @property
    def value(self) -> str:
        """The only value, or the first one."""
        return self.values[0] if self.values else ""


@dataclass(slots=True)
class Flags:
    """Everything an engine was told."""

    given: list[Given] = field(default_factory=list)
    words: list[str] = field(default_factory=list)
    """What is no flag: the model, where the engine takes it so."""
    unknown: list[str] = field(default_factory=list)
    swallowed: list[str] = field(default_factory=list)
    """Words taken for values of unknown flags."""


def read_flags(words: Sequence[str], engine: Engine) -> Flags:
    """The flags of a command line.

    Raises:
        ImportFormatError: A flag that needs a value has none.
    """
    flags = Flags()
    index = 0
    while index < len(words):
        word = words[index]
        index += 1
        if word == "--":
            flags.words.extend(words[index:])
            break
        if not _is_flag(word):
            flags.words.append(word)
            continue
        written, equals, text = word.partition("=")
        name, attached, is_on = _find(written, engine)
        attached = [text] if equals else attached
        if name is None:
            flags.unknown.append(written)
            if not equals and index < len(words) and not _is_flag(words[index]):
                flags.swallowed.append(words[index])
                index += 1
            continue
        arity = engine.arity[name]
        taken = attached or _following(words, index, arity)
        index += 0 if attached else len(taken)
        if arity == "switch":
            is_on = is_on == (not taken or taken[0].lower() not in _FALSE)
            taken = []
        elif not taken:
            raise ImportFormatError([Problem(code="launch_needs_value", key=written)])
        kept = () if name in engine.secrets else tuple(taken)
        flags.given.append(Given(name, written, kept, is_on))
    return flags


def _is_flag(word: str) -> bool:
    return len(word) > 1 and word.startswith("-") and not _NUMBER.fullmatch(word)


def _following(words: Sequence[str], index: int, arity: Arity) -> list[str]:
    """The words behind a flag that are its values."""
    if arity == "switch":
        is_said = index < len(words) and words[index].lower() in (_TRUE[0], _FALSE[0])
        return list(words[index : index + 1]) if is_said else []
    found: list[str] = []
    for word in words[index:]:
        if _is_flag(word) or (arity == "value" and found):
            break
        found.append(word)
    return found


def _find(written: str, engine: Engine) -> tuple[str | None, list[str], bool]:
    """The engine's flag for a written one, a value that is attached to it, and whether it is on."""
    name = written
    if engine.takes_underscores and written.startswith("--"):
        head, dot, inner = written.partition(".")
        name = head.replace("_", "-") + dot + inner
    if name in engine.arity:
        return name, [], True
    if engine.grammar == "click":
        return None, [], True
    positive = "--" + name.removeprefix("--no-")
    if name.startswith("--no-") and engine.arity.get(positive) == "switch":
        return positive, [], False
    head, dot, inner = name.partition(".")
    if dot and engine.takes_underscores and engine.arity.get(head) == "value":
        return head, [inner], True
    short = name[:2]
    if not name.startswith("--") and engine.arity.get(short) == "value":
        return short, [name[2:]], True
    return _beginning(name, engine), [], True


def _beginning(name: str, engine: Engine) -> str | None:
    """The one flag that begins like this; several of one meaning are one."""
    found = [flag for flag in engine.arity if flag.startswith(name)]
    if len({engine.means.get(flag, flag) for flag in found}) == 1:
        return found[0]
    return None
