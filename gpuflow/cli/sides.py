"""One side of a comparison as text: a scenario, options, or both.

tp=8,pp=1    moe-ep4    moe-ep4,gpu=h200    my.yaml,batch=32    "--tp 8 --pp 1"
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, get_args, get_type_hints

from gpuflow.cli.options import Changes, Request, bad_option, nearest
from gpuflow.errors import InputError, Problem

_COMMA = re.compile(r",(?=\s*(?:-{0,2}[a-z][a-z-]*=|-{0,2}(?:no-)?overlap\b))")
"""A comma behind which an option begins; `layers=31,30` has others."""
_OPTION = re.compile(r"-{0,2}([a-z][a-z_-]*)=(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Side:
    """What is compared."""

    text: str
    """As it was typed."""
    request: Request


@dataclass(frozen=True, slots=True)
class _Option:
    """A field of Request by one of its names."""

    field: str
    parse: Callable[[str], Any] | None


def side_of(place: str, text: str, shared: Changes) -> Side:
    """Read a side.

    Args:
        place: A or B, for what is said of a mistake.
        text: As typed.
        shared: Options that hold for both sides unless the side says otherwise.

    Raises:
        InputError: It cannot be read, or has a value that an option does not take.
    """
    found: dict[str, Any] = {one.name: getattr(shared, one.name) for one in fields(Changes)}
    scenario: str | None = None
    problems: list[Problem] = []
    for name, value in _items(place, text):
        try:
            if name is not None:
                field, read = _read(place, name, value)
                found[field] = read
            elif scenario is not None:
                raise bad_option(place, "side_two_scenarios", first=scenario, second=value)
            elif not value.strip():
                raise bad_option(place, "side_empty")
            else:
                scenario = value
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return Side(text.strip(), replace(Request(**found), scenario=scenario))


def _read(place: str, name: str, value: str) -> tuple[str, Any]:
    """The field that an option of a side sets, and its value."""
    option = _options().get(name)
    if option is None:
        near = nearest(name, list(_options()))
        hint = "did_you_mean" if near else ""
        raise bad_option(place, "side_unknown", hint=hint, found=name, suggestion=near)
    return option.field, value if option.parse is None else option.parse(value)


def _items(place: str, text: str) -> Iterator[tuple[str | None, str]]:
    """(option, value) pairs; None for a scenario."""
    try:
        tokens = shlex.split(_COMMA.sub(" ", text))
    except ValueError:
        raise bad_option(place, "side_quotes", found=text) from None
    if not tokens:
        raise bad_option(place, "side_empty")
    rest = iter(tokens)
    for token in rest:
        flag = token.lstrip("-")
        option = _OPTION.fullmatch(token)
        if flag in {"overlap", "no-overlap"}:
            yield "overlap", "yes" if flag == "overlap" else "no"
        elif option is not None:
            yield option[1].replace("_", "-"), option[2]
        elif token.startswith("--"):
            value = next(rest, None)
            if value is None:
                raise bad_option(place, "side_no_value", found=token)
            yield token[2:], value
        else:
            yield None, token


@cache
def _options() -> dict[str, _Option]:
    """Every option of a scenario by its names without dashes."""
    found: dict[str, _Option] = {}
    for name, hint in get_type_hints(Changes, include_extras=True).items():
        declared = get_args(hint)[1]
        if name == "overlap":
            found["overlap"] = _Option(name, _yes_or_no)
            continue
        # typer keeps the first name where the default stands until it reads the signature
        for spelling in (declared.default, *declared.param_decls):
            found[spelling.lstrip("-")] = _Option(name, declared.parser)
    return found


def _yes_or_no(text: str) -> bool:
    if text.lower() in {"yes", "true", "on", "1"}:
        return True
    if text.lower() in {"no", "false", "off", "0"}:
        return False
    raise bad_option("overlap", "option_choice", found=text, allowed=["yes", "no"])
