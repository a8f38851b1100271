"""Attention of a config.json: heads, their size, windows, latents."""

from __future__ import annotations

from dataclasses import replace

from gpuflow.importers.hf.families import Family, Switch
from gpuflow.importers.hf.fields import Config
from gpuflow.importers.hf.kinds import Form, Mixing
from gpuflow.scenario.model_spec import AttentionSpec, LatentSpec

KNOWN_KV_HEADS = {(8192, 60, 128): 8, (4544, 32, 71): 1, (14848, 80, 232): 8}
"""KV heads of Falcon-40B, 7B and 180B by hidden size, layers and heads: the first files of the
family do not say."""


def switch(config: Config, value: Switch) -> bool:
    """What a family's switch is in this file."""
    return value if isinstance(value, bool) else config.flag(value[0], default=value[1])


def attentions(
    config: Config, family: Family, forms: list[Form], hidden_size: int
) -> dict[Mixing, AttentionSpec]:
    """Attention by how a layer mixes tokens; nothing for those that have none."""
    wanted = {form.mixing for form in forms} - {"mixer", "none"}
    if not wanted:
        return {}
    if family.has_latent:
        spec = _latent_attention(config, family)
        return dict.fromkeys(wanted, spec)
    usual = _attention(config, family, len(forms), hidden_size)
    return {mixing: _variant(config, family, usual, mixing) for mixing in wanted}


def _variant(config: Config, family: Family, usual: AttentionSpec, mixing: Mixing) -> AttentionSpec:
    """The usual attention with the window of a kind of layer, or Gemma-4's wider full one."""
    if mixing == "sliding":
        window = config.whole_or("sliding_window", 0, least=0)
        return replace(usual, window=window if window > 1 else None)
    if mixing == "chunked":
        chunk = config.whole_or("attention_chunk_size", 8192, "class_default")
        config.assume("attention_chunk_size", chunk, "chunk_as_window")
        return replace(usual, window=chunk)
    return _gemma4_full(config, usual) if "gemma4_text" in family.types else usual


def _gemma4_full(config: Config, usual: AttentionSpec) -> AttentionSpec:
    """Full attention of Gemma-4: wider heads and, where values are keys, fewer KV heads."""
    is_shared = config.flag("attention_k_eq_v")
    size, kv_heads = usual.head_size, usual.kv_heads
    if not config.has("per_layer_config"):
        size = config.whole_or("global_head_dim", 512, "class_default")
    if is_shared:
        kv_heads = config.whole_or("num_global_key_value_heads", usual.kv_heads)
        _check_kv_heads(config, "num_global_key_value_heads", kv_heads, usual.heads)
    return replace(usual, head_size=size, kv_heads=kv_heads, value_is_key=is_shared)


def _attention(config: Config, family: Family, n_layers: int, hidden_size: int) -> AttentionSpec:
    heads = config.whole("num_attention_heads")
    return AttentionSpec(
        heads=heads,
        kv_heads=_kv_heads(config, family, heads, n_layers, hidden_size),
        head_size=_head_size(config, family, hidden_size, heads),
        qkv_bias=switch(config, family.qkv_bias),
        output_bias=switch(config, family.output_bias),
        qk_norm=switch(config, family.qk_norm),
        qk_norm_across_heads=family.qk_norm_across_heads,
        sinks=family.sinks,
        has_gate=family.has_gate and config.flag("attn_output_gate", default=True),
    )


def _kv_heads(config: Config, family: Family, heads: int, n_layers: int, hidden_size: int) -> int:
    if "falcon" in family.types or "gpt_bigcode" in family.types:
        return _old_kv_heads(config, family, heads, (hidden_size, n_layers, heads))
    if config.data.get("multi_query_attention") is False:
        return heads
    kv_heads = config.whole_or("num_key_value_heads", heads, "kv_heads_all")
    key = config.find("num_key_value_heads") or "num_key_value_heads"
    return _check_kv_heads(config, key, kv_heads, heads)


def _check_kv_heads(config: Config, key: str, kv_heads: int, heads: int) -> int:
    if heads % kv_heads and not config.problems:
        config.problem("config_kv_heads", key, found=kv_heads, heads=heads)
    return kv_heads


def _old_kv_heads(config: Config, family: Family, heads: int, shape: tuple[int, int, int]) -> int:
    """Falcon and StarCoder: a switch for one KV head, a number in Falcon's later form."""
    if "gpt_bigcode" in family.types:
        return 1 if config.flag("multi_query", default=True) else heads
    is_new = config.flag("new_decoder_architecture")
    if config.has("num_key_value_heads") and (is_new or not config.has("multi_query")):
        return config.whole("num_key_value_heads")
    if config.has("multi_query") or is_new:
        return 1 if config.flag("multi_query") and not is_new else heads
    known = KNOWN_KV_HEADS.get(shape)
    if known is not None:
        config.assume("num_kv_heads", known, "kv_heads_known_shape")
        return known
    config.assume("num_kv_heads", heads, "kv_heads_all")
    return heads


def _head_size(config: Config, family: Family, hidden_size: int, heads: int) -> int:
    if config.has("head_dim"):
        return config.whole("head_dim")
    if family.head_size is not None:
        config.assume("head_dim", family.head_size, "head_size_default")
        return family.head_size
    if hidden_size % heads and not config.problems:
        key = config.find("num_attention_heads") or "num_attention_heads"
        config.problem("config_head_size", key, found=heads, hidden_size=hidden_size)
    config.assume("head_dim", hidden_size // heads, "head_size_derived")
    return hidden_size // heads


def _latent_attention(config: Config, family: Family) -> AttentionSpec:
    heads = config.whole("num_attention_heads")
    nope, rope = config.whole("qk_nope_head_dim"), config.whole("qk_rope_head_dim")
    latent = LatentSpec(
        query_rank=config.count_or_none("q_lora_rank"),
        kv_rank=config.whole("kv_lora_rank"),
        rope_size=rope,
        nope_size=nope,
        value_size=_value_size(config, family, heads),
        index_heads=config.count_or_none("index_n_heads"),
        index_size=config.count_or_none("index_head_dim"),
        index_tokens=config.count_or_none("index_topk"),
    )
    if latent.index_heads:
        config.assume("index_topk", latent.index_tokens, "sparse_timed_dense")
    return AttentionSpec(
        heads=heads,
        kv_heads=heads,
        head_size=nope,
        qkv_bias=switch(config, family.qkv_bias),
        output_bias=switch(config, family.output_bias),
        latent=latent,
    )


def _value_size(config: Config, family: Family, heads: int) -> int:
    """`v_head_dim`; MiniCPM3's files leave it out and mean hidden size over heads."""
    if config.has("v_head_dim") or "v_head_dim" in config.defaults:
        return config.whole("v_head_dim")
    size = config.whole("hidden_size") // heads
    config.assume("v_head_dim", size, "head_size_derived")
    return size
