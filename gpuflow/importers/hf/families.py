"""What the configuration class and the model code of a family fix, and its config.json does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import Any, Literal

import yaml

Switch = bool | tuple[str, bool]
"""Fixed, or a key and what it means where it is left out."""
Windows = Literal["none", "always", "switched", "even", "pattern", "chunked"]
"""Which layers slide where no list of layer types says so.

always: all, where a window is set; switched: those from `max_window_layers`, where
`use_sliding_window` is on; even: every second from the first; pattern: all but every nth;
chunked: all with rotary positions, in chunks."""
Mixers = Literal["none", "delta", "lightning", "mamba", "mamba2", "conv"]

_LOADER: type[yaml.CSafeLoader] | type[yaml.SafeLoader] = getattr(
    yaml, "CSafeLoader", yaml.SafeLoader
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """One family of models."""

    types: tuple[str, ...]
    """Its spellings of `model_type`."""
    architectures: tuple[str, ...] = ()
    defaults: Mapping[str, object] = field(default_factory=dict)
    """Sizes that its class takes where a nested block leaves them out."""
    tied: bool = False
    """Whether the head shares the embedding where the file does not say."""

    qkv_bias: Switch = False
    output_bias: Switch = False
    mlp_bias: Switch = False
    head_bias: Switch = False
    qk_norm: Switch = False
    qk_norm_across_heads: bool = False
    sinks: bool = False
    has_gate: bool = False
    head_size: int | None = None
    """The class's own default; None: hidden size over heads."""
    has_latent: bool = False
    windows: Windows = "none"
    window_pattern: int = 0

    gated: bool = True
    ffn_multiple: int = 0
    """FFN width over hidden size where the file does not say."""
    ffn_halved: bool = False
    """`intermediate_size` counts gate and up together."""
    experts: bool = False
    expert_size_key: str = "moe_intermediate_size"
    shared_size_key: str = ""
    shared_gate: bool = False
    router_bias: Switch = False

    norm_vectors: int = 2
    """Vectors of norm weights in a layer; a LayerNorm with bias counts two."""
    final_norm_vectors: int = 1
    embedding_norm_vectors: int = 0
    position_rows: tuple[str, int] | None = None
    """Key of the longest sequence and rows beyond it, where positions are learned."""
    mixers: Mixers = "none"
    has_mlp: bool = True
    """False: mixers alone, one a layer."""


_BY_ATTENTION_BIAS: Switch = ("attention_bias", False)
GENERIC = Family(
    types=(),
    qkv_bias=_BY_ATTENTION_BIAS,
    output_bias=_BY_ATTENTION_BIAS,
    mlp_bias=("mlp_bias", False),
    windows="always",
    experts=True,
)
"""What an unknown family is read as where all its keys are of the usual kind: Llama's form, and
that of the common mixtures of experts."""


@cache
def families() -> tuple[Family, ...]:
    """All families, in the order of the data file."""
    text = (resources.files("gpuflow") / "data" / "hf_families.yaml").read_text("utf-8")
    return tuple(_family(entry) for entry in yaml.load(text, _LOADER))


def family_of_type(model_type: str) -> Family | None:
    """The family with that `model_type`."""
    return next((family for family in families() if model_type in family.types), None)


def family_of_architecture(architecture: str) -> Family | None:
    """The family with that entry in `architectures`."""
    return next((family for family in families() if architecture in family.architectures), None)


def type_names() -> list[str]:
    """Every `model_type` that can be read, in alphabetical order."""
    return sorted(name for family in families() for name in family.types)


def _family(entry: Mapping[str, Any]) -> Family:
    values = {name: _value(name, value) for name, value in entry.items()}
    return Family(**values)


def _value(name: str, value: Any) -> Any:
    """A field's value: lists as tuples, switches as a key and its default."""
    if name in _SWITCHES and not isinstance(value, bool):
        return (value, False) if isinstance(value, str) else next(iter(value.items()))
    if name == "position_rows":
        return next(iter(value.items()))
    if isinstance(value, list):
        return tuple(value)
    return MappingProxyType(value) if isinstance(value, dict) else value


_SWITCHES = {"qkv_bias", "output_bias", "mlp_bias", "head_bias", "qk_norm", "router_bias"}
