"""What a reader of traces was not sure of, and why it gave a file up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

_NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something to be wary of; `code` is the locale key `doubt.trace.<code>`."""

    code: str
    values: Mapping[str, object] = field(default_factory=lambda: _NOTHING)
