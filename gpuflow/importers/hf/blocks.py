"""Layers that differ one by one: `block_configs` of Nemotron-NAS, `per_layer_config`.

In `block_configs` each layer has its own attention and MLP. Rules of the published model code
(DeciLM): `n_heads_in_group` query heads share a KV head; an MLP is 2/3 x multiplier x hidden size
wide, rounded up to a multiple of 256; `no_op` leaves a part out and `replace_with_linear` puts one
square matrix in its place.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from gpuflow.importers.hf.fields import Config, shown
from gpuflow.scenario.model_spec import (
    NO_MLP,
    AttentionSpec,
    LayerSpec,
    MixerSpec,
    MlpSpec,
)

_OWN_SIZES = ("num_attention_heads", "num_key_value_heads", "head_dim")
"""What `per_layer_config` may change of a layer's attention."""
_NUMBER = re.compile(r"[0-9]{1,6}", re.ASCII)
_ROUND_TO = 256
_MOST_MULTIPLE = 1000
_LINEAR = MixerSpec(kind="linear")


def block_layers(config: Config, attention: AttentionSpec, mlp: MlpSpec) -> list[LayerSpec]:
    """The layers that `block_configs` describes.

    Args:
        config: The block of the language model.
        attention: What a layer's attention is but for its KV heads.
        mlp: What its MLP is but for its width.
    """
    blocks = config.data.get("block_configs")
    n_layers = config.whole("num_hidden_layers")
    if not isinstance(blocks, list) or len(blocks) != n_layers:
        found = len(blocks) if isinstance(blocks, list) else shown(blocks)
        config.problem("config_list_length", "block_configs", found=found, layers=n_layers)
        return []
    hidden_size = config.whole("hidden_size")
    layers: list[LayerSpec] = []
    for block in blocks:
        parts = block if isinstance(block, Mapping) else {}
        layers.append(_layer(config, parts, attention, mlp, hidden_size))
    return layers


def _layer(
    config: Config,
    parts: Mapping[str, object],
    attention: AttentionSpec,
    mlp: MlpSpec,
    hidden_size: int,
) -> LayerSpec:
    mixing, ffn = (_part(parts.get(name)) for name in ("attention", "ffn"))
    has_attention, has_mlp = not mixing.get("no_op"), not ffn.get("no_op")
    is_linear = bool(mixing.get("replace_with_linear"))
    own = None
    if has_attention and not is_linear:
        sharing = mixing.get("n_heads_in_group")
        if isinstance(sharing, bool) or not isinstance(sharing, int) or sharing < 1:
            config.problem("config_block", "block_configs", found=shown(dict(parts)))
            sharing = 1
        own = replace(attention, kv_heads=max(attention.heads // sharing, 1))
    return LayerSpec(
        attention=own,
        mixer=_LINEAR if is_linear and has_attention else None,
        mlp=_mlp(config, ffn, mlp, hidden_size) if has_mlp else NO_MLP,
        norm_vectors=has_attention + has_mlp,
    )


def _part(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _mlp(config: Config, ffn: Mapping[str, object], mlp: MlpSpec, hidden_size: int) -> MlpSpec:
    if ffn.get("replace_with_linear"):
        # One h x h matrix is a plain MLP of half the width.
        return replace(mlp, ffn_size=hidden_size // 2, gated=False, bias=False)
    size = ffn.get("intermediate_size")
    if isinstance(size, int) and not isinstance(size, bool) and size > 0:
        return replace(mlp, ffn_size=size)
    multiple = ffn.get("ffn_mult")
    if isinstance(multiple, bool) or not isinstance(multiple, (int, float)):
        multiple = 0
    if not 0 < multiple <= _MOST_MULTIPLE:
        config.problem("config_block", "block_configs", found=shown(dict(ffn)))
        return mlp
    width = int(2 * multiple * hidden_size / 3)
    return replace(mlp, ffn_size=-(-width // _ROUND_TO) * _ROUND_TO)


def with_own_sizes(config: Config, layers: list[LayerSpec]) -> list[LayerSpec]:
    """The layers with what `per_layer_config` (Transformers 5) says of single ones."""
    by_number = config.data.get("per_layer_config")
    if not isinstance(by_number, Mapping):
        return layers
    changed = list(layers)
    for name, sizes in by_number.items():
        number = int(name) if _NUMBER.fullmatch(name) else -1
        if not 0 <= number < len(layers) or not isinstance(sizes, Mapping):
            config.problem("config_block", "per_layer_config", found=shown(name))
            continue
        changed[number] = _resized(config, changed[number], sizes)
    return changed


def _resized(config: Config, layer: LayerSpec, sizes: Mapping[str, object]) -> LayerSpec:
    own: dict[str, int] = {}
    for key, size in sizes.items():
        is_whole = isinstance(size, int) and not isinstance(size, bool)
        if key not in _OWN_SIZES or not is_whole or not isinstance(size, int) or size < 1:
            config.problem("config_block", "per_layer_config", found=shown({key: size}))
            return layer
        own[key] = size
    a = layer.attention
    if a is None or a.latent is not None:
        return layer
    heads = own.get("num_attention_heads", a.heads)
    kv_heads = own.get("num_key_value_heads", a.kv_heads)
    if heads % kv_heads:
        config.problem("config_kv_heads", "per_layer_config", found=kv_heads, heads=heads)
    size = own.get("head_dim", a.head_size)
    return replace(layer, attention=replace(a, heads=heads, kv_heads=kv_heads, head_size=size))
