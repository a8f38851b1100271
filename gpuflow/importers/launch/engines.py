"""The flags of each engine: what they mean here, and how many values they take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal

import yaml

from gpuflow.importers.launch.reading import EngineId

Arity = Literal["switch", "value", "several"]
Grammar = Literal["argparse", "click"]


@dataclass(frozen=True, slots=True)
class FileKeys:
    """Keys of a YAML file that are not the command line's flags."""

    means: Mapping[str, str]
    """Meaning by key; a key inside another stands behind a dot."""
    changes: Mapping[str, str]
    known: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """One engine's command line."""

    id: EngineId
    title: str
    profile: str
    grammar: Grammar
    takes_underscores: bool
    """Whether `_` in a flag's name is read as `-`."""
    arity: Mapping[str, Arity]
    """Every flag that the engine has, or once had."""
    means: Mapping[str, str]
    """Meaning by flag."""
    changes: Mapping[str, str]
    """Why a flag would change the figures although it is not modelled."""
    secrets: frozenset[str]
    environment: Mapping[str, str]
    """Meaning by environment variable."""
    file: FileKeys | None
    """None where a file's keys are the flags' own names."""


ENGINES: tuple[EngineId, ...] = ("vllm", "sglang", "trtllm")


@cache
def engine(name: EngineId) -> Engine:
    """The tables of one engine."""
    path = resources.files("gpuflow") / "data" / "engines" / f"{name}.yaml"
    entry: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    arity: dict[str, Arity] = {}
    kinds: tuple[tuple[str, Arity], ...] = (
        ("switches", "switch"),
        ("values", "value"),
        ("several", "several"),
    )
    for key, kind in kinds:
        arity.update(dict.fromkeys(entry[key].split(), kind))
    keys = entry.get("file")
    return Engine(
        id=name,
        title=entry["title"],
        profile=entry["profile"],
        grammar=entry["grammar"],
        takes_underscores=entry.get("hyphens", False),
        arity=MappingProxyType(arity),
        means=_by_word(entry["means"]),
        changes=_by_word(entry["changes"]),
        secrets=frozenset(entry["secrets"].split()),
        environment=_by_word(entry["environment"]),
        file=_file_keys(keys) if keys else None,
    )


def _file_keys(entry: Mapping[str, Any]) -> FileKeys:
    means, changes = _by_word(entry["means"]), _by_word(entry["changes"])
    return FileKeys(means, changes, frozenset(entry["known"].split()))


def _by_word(listed: Mapping[str, str]) -> Mapping[str, str]:
    """Turns words by meaning into the meaning of each word."""
    return MappingProxyType(
        {word: meaning for meaning, words in listed.items() for word in words.split()}
    )
