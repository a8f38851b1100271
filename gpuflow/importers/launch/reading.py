"""What a launch line says, once it has been understood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

EngineId = Literal["vllm", "sglang", "trtllm"]
MemoryRule = Literal["all", "static", "free"]
"""What the memory fraction is of. all: weights, cache and working memory share that part of the
GPU's memory; static: weights and cache do; free: the cache takes that part of what is left."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A flag that was understood."""

    flag: str
    """As it was written; for a key of a file the key, for the environment the variable."""
    value: str
    """Empty for a switch."""
    meaning: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something to be said, without words: locale key `launch.note.<code>`."""

    code: str
    values: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One server of one engine."""

    engine: EngineId
    title: str
    """The engine, as people write it."""
    profile: str
    model: str
    """As it was written; empty where the line names none."""
    folder: str = ""
    """What paths in it are relative to."""
    tp: int = 1
    """Ranks that share attention."""
    pp: int = 1
    dp: int = 1
    """Replicas of attention: data-parallel attention inside a TP group counts here."""
    experts_over_all: bool = False
    """Whether all tp x dp ranks of a stage share the experts, where the model has any."""
    ep: int = 1
    """Otherwise: ranks that do."""
    stage_layers: tuple[int, ...] = ()
    nodes: int | None = None
    precision: str | None = None
    """Asked for by a flag; None: the checkpoint's own."""
    cache_bits: int | None = None
    memory_fraction: float
    is_memory_given: bool = False
    memory_rule: MemoryRule
    context_limit: int | None = None
    """Tokens of a request at most."""
    max_sequences: int | None = None
    """Requests at a time at most."""
    chunk_tokens: int | None = None
    overlap: bool = False
    library_all_reduce: bool = False
    """Whether the engine's own all_reduce kernel is switched off."""
    exchange: str = ""
    """Back end of expert parallelism, as it was written."""
    gpu: str = ""
    """A GPU that the line's image or device implies; empty: none."""
    understood: tuple[Taken, ...] = ()
    ignored: tuple[str, ...] = ()
    """Flags of the engine that change nothing here."""
    unknown: tuple[str, ...] = ()
    """Flags that the engine does not have, as far as is known."""
    assumed: tuple[Note, ...] = ()
    not_modelled: tuple[Note, ...] = ()
