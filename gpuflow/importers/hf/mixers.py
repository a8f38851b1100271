"""Mixers of a config.json: Mamba, gated delta nets, lightning attention, short convolutions."""

from __future__ import annotations

from gpuflow.importers.hf.families import Family
from gpuflow.importers.hf.fields import Config
from gpuflow.scenario.model_spec import MixerSpec

_WIDE_STATE = 4.0
"""Bytes of a 32-bit state value."""


def mixer(config: Config, family: Family, hidden_size: int) -> MixerSpec:
    """The mixer that all layers of a family with mixers share."""
    if family.mixers == "mamba2":
        return _mamba2(config, hidden_size)
    if family.mixers == "mamba":
        return _mamba(config, family, hidden_size)
    if family.mixers == "delta":
        return MixerSpec(
            kind="delta",
            heads=config.whole("linear_num_value_heads"),
            head_size=config.whole("linear_value_head_dim"),
            key_heads=config.whole("linear_num_key_heads"),
            key_size=config.whole("linear_key_head_dim"),
            kernel=config.whole_or("linear_conv_kernel_dim", 4, "class_default"),
            state_value_bytes=_state_value_bytes(config),
        )
    if family.mixers == "lightning":
        heads = config.whole("num_attention_heads")
        size = config.whole_or("head_dim", hidden_size // heads)
        return MixerSpec(
            kind="lightning", heads=heads, head_size=size, key_heads=heads, key_size=size
        )
    has_bias = config.flag("conv_bias")
    return MixerSpec(
        kind="conv",
        heads=hidden_size,
        kernel=config.whole_or("conv_L_cache", 3, "class_default"),
        bias=has_bias,
        conv_bias=has_bias,
    )


def _first(config: Config, *names: str) -> str:
    """Of several names of one value the one that is set, else the first."""
    return next((name for name in names if config.has(name)), names[0])


def _state_value_bytes(config: Config) -> float:
    name = _first(config, "mamba_ssm_dtype", "mamba_ssm_cache_dtype")
    return _WIDE_STATE if config.data.get(name) == "float32" else 2.0


def _inner_size(config: Config, hidden_size: int) -> int:
    if config.has("mamba_d_ssm"):
        return config.whole("mamba_d_ssm")
    return config.whole_or(_first(config, "mamba_expand", "expand"), 2) * hidden_size


def _mamba2(config: Config, hidden_size: int) -> MixerSpec:
    heads = config.whole(_first(config, "mamba_num_heads", "mamba_n_heads", "num_heads"))
    name = _first(config, "mamba_head_dim", "mamba_d_head", "head_dim")
    if config.data.get(name) in (None, "auto"):
        size = max(_inner_size(config, hidden_size) // heads, 1)
        config.assume(name, size, "mixer_head_derived")
    else:
        size = config.whole(name)
    return MixerSpec(
        kind="mamba2",
        heads=heads,
        head_size=size,
        key_heads=config.whole_or(_first(config, "n_groups", "mamba_n_groups"), 1),
        key_size=config.whole(_first(config, "ssm_state_size", "mamba_d_state", "state_size")),
        kernel=config.whole_or(_first(config, "conv_kernel", "mamba_d_conv"), 4),
        bias=config.flag(_first(config, "mamba_proj_bias", "use_bias")),
        conv_bias=config.flag(_first(config, "use_conv_bias", "mamba_conv_bias"), default=True),
        state_value_bytes=_state_value_bytes(config),
    )


def _mamba(config: Config, family: Family, hidden_size: int) -> MixerSpec:
    is_jamba = "jamba" in family.types
    if config.has("intermediate_size") and not is_jamba:
        width = config.whole("intermediate_size")
    else:
        width = _inner_size(config, hidden_size)
    name = _first(config, "mamba_dt_rank", "time_step_rank")
    is_derived = config.data.get(name) in (None, "auto")
    rank = -(-hidden_size // 16) if is_derived else config.whole(name)
    return MixerSpec(
        kind="mamba",
        heads=width,
        key_size=config.whole(_first(config, "mamba_d_state", "state_size")),
        kernel=config.whole_or(_first(config, "mamba_d_conv", "conv_kernel"), 4),
        rank=rank,
        bias=config.flag(_first(config, "mamba_proj_bias", "use_bias")),
        conv_bias=config.flag(_first(config, "mamba_conv_bias", "use_conv_bias"), default=True),
        inner_norms=is_jamba,
        state_value_bytes=_state_value_bytes(config),
    )
