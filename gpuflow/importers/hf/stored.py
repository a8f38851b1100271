"""What quantisation makes of each layer, in bytes a weight, and what a name lets one suspect."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from gpuflow.importers.hf.fields import Config
from gpuflow.importers.hf.modules import Module, Part, Patterns, modules_of
from gpuflow.importers.hf.quantisation import WIDE_BITS, Group, Quantisation
from gpuflow.scenario.model_spec import LayerSpec, ModelSpec, StoredSpec

_HINT = re.compile(
    r"(?<![A-Za-z0-9])(nvfp4|mxfp4|mxfp8|fp4|fp8|w4a16|w4a8|w8a8|w8a16|int4|int8|awq|gptq|gguf"
    r"|bnb|4bit|8bit|q4|q8)(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_EVERYTHING = {"Linear", "torch.nn.Linear"}


def name_hint(config: Config, title: str) -> None:
    """Notes a name that speaks of a quantisation where the file has none."""
    path = config.said_around("_name_or_path")
    for name in (title, path if isinstance(path, str) else ""):
        found = _HINT.search(name)
        if found:
            config.assume("quantization_config", found[1].upper(), "name_hints_quantised")
            return


def with_stored(model: ModelSpec, quantisation: Quantisation, config: Config) -> ModelSpec:
    """The model with each layer's bytes a weight, as the checkpoint stores them."""
    ignored = Patterns(quantisation.ignored)
    targets = [
        (group, None if set(group.targets) & _EVERYTHING else Patterns(group.targets))
        for group in quantisation.groups
    ]
    made: dict[tuple[LayerSpec, StoredSpec], LayerSpec] = {}
    known: dict[tuple[int, int], StoredSpec] = {}
    # Layers that no pattern names on its own are all stored like their equals.
    every = [ignored, *(p for _, p in targets if p is not None)]
    named = set().union(*(patterns.layers() for patterns in every))
    is_numbered = any(patterns.depends_on_number() for patterns in every)
    for pattern in (found for patterns in every for found in patterns.unreadable):
        config.problem("config_pattern", "quantization_config", found=pattern)
    layers: list[LayerSpec] = []
    for number, layer in enumerate(model.layers):
        key = (id(layer), number if number in named or is_numbered else -1)
        if key not in known:
            modules = tuple(modules_of(layer, model.hidden_size))
            known[key] = _stored(modules, number, quantisation, ignored, targets)
            if any(patterns.is_exhausted for patterns in every):
                config.problem("config_patterns", "quantization_config")
                break
        stored = known[key]
        made.setdefault((layer, stored), replace(layer, stored=stored))
        layers.append(made[layer, stored])
    config.assume("quantization_config", quantisation.method, "quantised_read")
    wide = WIDE_BITS / 8
    kept = [(s.attention, s.dense) for layer in layers if (s := layer.stored) is not None]
    is_experts_only = all(pair == (wide, wide) for pair in kept)
    return replace(
        model,
        layers=tuple(layers),
        quantised="experts" if is_experts_only and model.has_experts else "linear",
    )


def _stored(
    modules: Sequence[Module],
    number: int,
    quantisation: Quantisation,
    ignored: Patterns,
    targets: Sequence[tuple[Group, Patterns | None]],
) -> StoredSpec:
    bits: dict[Part, float] = {}
    weights: dict[Part, int] = {}
    for module in modules:
        own = _bits(module, number, quantisation, ignored, targets)
        bits[module.part] = bits.get(module.part, 0.0) + own * module.weights
        weights[module.part] = weights.get(module.part, 0) + module.weights
    mean = {part: bits[part] / max(weights[part], 1) / 8 for part in bits}
    wide = WIDE_BITS / 8
    return StoredSpec(
        attention=mean.get("attention", wide),
        experts=mean.get("experts", wide),
        dense=mean.get("dense", wide),
    )


def _bits(
    module: Module,
    number: int,
    quantisation: Quantisation,
    ignored: Patterns,
    targets: Sequence[tuple[Group, Patterns | None]],
) -> float:
    if quantisation.experts_only and module.part != "experts":
        return WIDE_BITS
    if ignored.match(module, number):
        return WIDE_BITS
    for group, patterns in targets:
        if patterns is None or patterns.match(module, number):
            return group.bits
    return WIDE_BITS
