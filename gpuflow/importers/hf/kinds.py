"""How each layer mixes tokens: attention to all or to a window, a mixer, both, or not at all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from gpuflow.importers.hf.families import Family
from gpuflow.importers.hf.fields import Config, shown

Mixing = Literal["full", "sliding", "chunked", "mixer", "both", "none"]
Ffn = Literal["any", "dense", "sparse", "none"]


class Form(NamedTuple):
    """One layer."""

    mixing: Mixing
    ffn: Ffn = "any"
    """any: an MLP, as the rules for experts say."""


_WORDS: Mapping[str, Form] = {
    "full_attention": Form("full"),
    "attention": Form("full"),
    "global_attention": Form("full"),
    "indexed_attention": Form("full"),
    "sliding_attention": Form("sliding"),
    "local_attention": Form("sliding"),
    "chunked_attention": Form("chunked"),
    "linear_attention": Form("mixer"),
    "mamba": Form("mixer"),
    "conv": Form("mixer"),
    "hybrid": Form("both"),
}
_ALONE: Mapping[str, Form] = {
    "M": Form("mixer", "none"),
    "*": Form("full", "none"),
    "-": Form("none", "dense"),
    "E": Form("none", "sparse"),
    "mamba": Form("mixer", "none"),
    "linear_attention": Form("mixer", "none"),
    "attention": Form("full", "none"),
    "full_attention": Form("full", "none"),
    "mlp": Form("none", "dense"),
    "moe": Form("none", "sparse"),
}
"""Nemotron-H: every layer is one part only."""


def layer_forms(config: Config, family: Family) -> list[Form]:
    """The form of every layer, first to last."""
    alone = _one_part_layers(config, family)
    if alone is not None:
        return alone
    n_layers = config.whole("num_hidden_layers")
    listed = _listed(config, n_layers)
    forms = listed if listed is not None else _by_rule(config, family, n_layers)
    if family.mixers == "none" and any(form.mixing in {"mixer", "both"} for form in forms):
        config.problem("config_other_form", "layer_types", found="layer_types")
    if not family.has_mlp:
        forms = [Form(form.mixing, "none") for form in forms]
    return forms


def _one_part_layers(config: Config, family: Family) -> list[Form] | None:
    pattern = config.data.get("hybrid_override_pattern")
    if isinstance(pattern, str) and pattern:
        key, names = "hybrid_override_pattern", list(pattern.replace("|", ""))
    elif "nemotron_h" in family.types and isinstance(config.data.get("layers_block_type"), list):
        key = "layers_block_type"
        names = [shown(name) for name in _items(config.data[key])]
    else:
        return None
    forms = [_ALONE.get(name) for name in names]
    strange = next((name for name, form in zip(names, forms, strict=True) if form is None), None)
    if strange is not None:
        config.problem("config_layer_type", key, found=strange, known=list(_ALONE))
    said = config.get("num_hidden_layers")
    if isinstance(said, int) and said != len(names):
        config.problem("config_list_length", key, found=len(names), layers=said)
    return [form or Form("none", "none") for form in forms]


def _items(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else []


def _listed(config: Config, n_layers: int) -> list[Form] | None:
    """What a list of one word a layer says."""
    for key in ("layer_types", "layers_block_type"):
        words = config.names(key, n_layers)
        if words is None:
            continue
        strange = next((word for word in words if word not in _WORDS), None)
        if strange is not None:
            config.problem("config_layer_type", key, found=strange, known=list(_WORDS))
        return [_WORDS.get(word, Form("full")) for word in words]
    numbers = config.numbers("attn_type_list")
    if numbers:
        if len(numbers) != n_layers:
            config.problem(
                "config_list_length", "attn_type_list", found=len(numbers), layers=n_layers
            )
        return [Form("full" if number else "mixer") for number in numbers]
    return None


def _by_rule(config: Config, family: Family, n_layers: int) -> list[Form]:
    layers = range(n_layers)
    if family.mixers != "none":
        return [Form(mixing) for mixing in _mixed(config, family, n_layers)]
    slides = _sliding(config, family, n_layers)
    if family.windows == "chunked":
        return [Form("chunked" if i in slides else "full") for i in layers]
    return [Form("sliding" if i in slides else "full") for i in layers]


def _mixed(config: Config, family: Family, n_layers: int) -> list[Mixing]:
    """Families with mixers, where no list says which layers have one."""
    layers = range(n_layers)
    if not family.has_mlp:
        return ["mixer"] * n_layers
    if "falcon_h1" in family.types:
        return ["both"] * n_layers
    if family.mixers == "delta":
        every = config.whole_or("full_attention_interval", 4, "rule_default")
        return ["mixer" if (i + 1) % every else "full" for i in layers]
    if config.has("attn_layer_period"):
        period, offset = (
            config.whole("attn_layer_period"),
            config.count_or_none("attn_layer_offset"),
        )
        return ["full" if i % period == offset else "mixer" for i in layers]
    for key in ("attn_layer_indices", "full_attn_idxs"):
        if config.has(key):
            chosen = set(config.numbers(key))
            return ["full" if i in chosen else "mixer" for i in layers]
    config.problem("config_key_missing", "layer_types", found="layer_types")
    return ["full"] * n_layers


def _sliding(config: Config, family: Family, n_layers: int) -> set[int]:
    """Numbers of the layers with a window, from 0."""
    layers = range(n_layers)
    rule = family.windows
    if rule == "chunked":
        turning = config.numbers("no_rope_layers")
        if turning:
            return {i for i, has_rope in enumerate(turning[:n_layers]) if has_rope}
        every = config.whole_or("no_rope_layer_interval", 4, "rule_default")
        return {i for i in layers if (i + 1) % every}
    if rule == "none" or not (config.has("sliding_window") or "sliding_window" in config.defaults):
        return set()
    if rule == "always":
        # Unknown families may have the switch that Qwen's have.
        return set(layers) if config.flag("use_sliding_window", default=True) else set()
    if rule == "switched":
        if not config.flag("use_sliding_window"):
            return set()
        first = config.whole_or("max_window_layers", n_layers, "rule_default", least=0)
        return {i for i in layers if i >= first}
    if rule == "even":
        return {i for i in layers if i % 2 == 0}
    return _patterned(config, family, n_layers)


def _patterned(config: Config, family: Family, n_layers: int) -> set[int]:
    key = next(
        (k for k in ("sliding_window_pattern", "_sliding_window_pattern") if config.has(k)), None
    )
    pattern = config.data.get(key) if key else None
    if isinstance(pattern, str) and set(pattern) <= {"L", "G"} and pattern:
        return {i for i in range(n_layers) if pattern[i % len(pattern)] == "L"}
    if key:
        every = config.whole(key)
    else:
        every = family.window_pattern or 4
        config.assume("sliding_window_pattern", every, "rule_default")
    return {i for i in range(n_layers) if (i + 1) % every}
