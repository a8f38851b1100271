"""The terms of the field and what each means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import yaml

from gpuflow.scenario.spec import Language, Text

_Loader: type[yaml.CSafeLoader] | type[yaml.SafeLoader] = getattr(
    yaml, "CSafeLoader", yaml.SafeLoader
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Term:
    """One entry of the glossary."""

    id: str
    group: str
    name: Text
    also: tuple[str, ...]
    """Other names, in either language."""
    tags: frozenset[str]
    """What a step must have of `step_terms.tags_of` for the term to be its own: any of them."""
    text: Text
    """What it means, in a sentence or two."""
    seen: Text
    """Where it is met in the program."""


@cache
def glossary() -> Mapping[str, Term]:
    """All terms by id, in the order of their groups."""
    return {
        name: Term(
            id=name,
            group=entry["group"],
            name=Text(**entry["name"]),
            also=tuple(entry["also"]),
            tags=frozenset(entry["tags"]),
            text=Text(**entry["text"]),
            seen=Text(**entry["seen"]),
        )
        for name, entry in _data()["terms"].items()
    }


@cache
def group_names() -> Mapping[str, Text]:
    """Names of the groups, in their order."""
    return {name: Text(**texts) for name, texts in _data()["groups"].items()}


@cache
def _data() -> Mapping[str, Mapping[str, Mapping[str, Any]]]:
    file = resources.files("gpuflow") / "data" / "glossary.yaml"
    loaded: Mapping[str, Mapping[str, Mapping[str, Any]]] = yaml.load(
        file.read_text("utf-8"), _Loader
    )
    return loaded


def names_of(term: Term) -> tuple[str, ...]:
    """Everything that a term may be asked for by."""
    return (term.id, term.name.en, term.name.zh, *term.also)


def find_term(text: str) -> Term | None:
    """The term of a name in either language, whatever its case and hyphens."""
    wanted = _plain(text)
    return next(
        (term for term in glossary().values() if wanted in map(_plain, names_of(term))), None
    )


def _plain(text: str) -> str:
    return "".join(text.casefold().replace("-", " ").replace("_", " ").split())


def in_both(term: Term, language: Language) -> tuple[str, str]:
    """(name in the language, name in the other; empty where they are the same)."""
    mine = term.name.in_language(language)
    other = term.name.en if language == "zh" else term.name.zh
    return mine, "" if other.casefold() == mine.casefold() else other
