"""MLPs of a config.json: dense, experts, shared experts, and which layers have which."""

from __future__ import annotations

from collections.abc import Sequence

from gpuflow.importers.hf.attention import switch
from gpuflow.importers.hf.families import Family
from gpuflow.importers.hf.fields import Config, shown
from gpuflow.importers.hf.kinds import Form
from gpuflow.scenario.model_spec import NO_MLP, MlpSpec

_MOST_MULTIPLIER = 1000


def mlps(config: Config, family: Family, forms: Sequence[Form], hidden_size: int) -> list[MlpSpec]:
    """The MLP of every layer."""
    n_layers = len(forms)
    wanted = [form.ffn for form in forms]
    routes = _routes(config, family)
    if routes and "any" in wanted:
        sparse = _sparse_layers(config, n_layers)
        wanted = [
            ("sparse" if i in sparse else "dense") if ffn == "any" else ffn
            for i, ffn in enumerate(wanted)
        ]
    wanted = ["dense" if ffn == "any" else ffn for ffn in wanted]
    made = {"none": NO_MLP}
    if "dense" in wanted:
        made["dense"] = _dense(config, family, hidden_size)
    if "sparse" in wanted:
        made["sparse"] = _sparse(config, family, hidden_size)
    return [made[ffn] for ffn in wanted]


def _routes(config: Config, family: Family) -> bool:
    """Whether the model has experts at all."""
    if "enable_moe_block" in config.data:
        return config.flag("enable_moe_block")
    if not family.experts:
        if config.count_or_none("num_experts") > 1:
            key = config.find("num_experts") or "num_experts"
            config.problem("config_other_form", key, found=key)
        return False
    count = config.get("num_experts")
    if count is None:
        # Members without experts leave out the width of one too; without that the count is due.
        if family.types and config.has(family.expert_size_key):
            config.whole("num_experts")
        return False
    return isinstance(count, bool) or count not in (0, 1)


def _dense(config: Config, family: Family, hidden_size: int) -> MlpSpec:
    return MlpSpec(
        ffn_size=_dense_size(config, family, hidden_size),
        gated=family.gated,
        bias=switch(config, family.mlp_bias),
    )


def _dense_size(config: Config, family: Family, hidden_size: int) -> int:
    key = "intermediate_size"
    if config.has("intermediate_size_mlp"):
        key = "intermediate_size_mlp"
    elif "granitemoehybrid" in family.types and config.has("shared_intermediate_size"):
        key = "shared_intermediate_size"
    if not config.has(key) and family.ffn_multiple:
        multiple = config.whole_or("expansion_ratio", family.ffn_multiple)
        config.assume(key, multiple * hidden_size, "ffn_multiple")
        return multiple * hidden_size
    size = config.whole(key)
    if family.ffn_halved:
        config.assume(key, size // 2, "ffn_halved")
        return size // 2
    if config.has("block_auto_adjust_ff_dim") and config.flag("block_auto_adjust_ff_dim"):
        return _adjusted(config, size)
    return size


def _adjusted(config: Config, size: int) -> int:
    """LFM2: two thirds, times a multiplier, rounded up to a multiple."""
    factor = config.data.get("block_ffn_dim_multiplier")
    multiple = config.whole_or("block_multiple_of", 256)
    if factor is None:
        factor = 1.0
    elif isinstance(factor, bool) or not isinstance(factor, (int, float)):
        factor = 0.0
    # Infinity and NaN can stand in such a file, too.
    if not 0 < factor <= _MOST_MULTIPLIER:
        found = shown(config.data["block_ffn_dim_multiplier"])
        values = {"found": found, "least": 0, "most": _MOST_MULTIPLIER}
        config.problem("out_of_range", "block_ffn_dim_multiplier", "in_range", **values)
        return multiple
    width = int(factor * int(2 * size / 3))
    return -(-width // multiple) * multiple


def _sparse(config: Config, family: Family, hidden_size: int) -> MlpSpec:
    experts, chosen = config.whole("num_experts"), config.whole("num_experts_per_tok")
    if chosen > experts:
        key = config.find("num_experts_per_tok") or "num_experts_per_tok"
        config.problem("config_experts_per_token", key, found=chosen, experts=experts)
    size_key = family.expert_size_key
    if not config.has(size_key) and config.has("intermediate_size"):
        size_key = "intermediate_size"
    size = config.whole(size_key)
    shared = _shared_size(config, family, size)
    return MlpSpec(
        ffn_size=size,
        gated=family.gated,
        experts=experts,
        experts_per_token=chosen,
        shared_ffn_size=shared,
        shared_gate=family.shared_gate and shared > 0,
        latent_size=config.count_or_none("moe_latent_size"),
        bias=switch(config, family.mlp_bias),
        router_bias=switch(config, family.router_bias),
    )


def _shared_size(config: Config, family: Family, expert_size: int) -> int:
    """Shared experts together; Gemma-4's dense MLP beside the routed experts is counted as one."""
    if "enable_moe_block" in config.data:
        return config.whole("intermediate_size")
    if family.shared_size_key:
        return config.count_or_none(family.shared_size_key)
    return config.count_or_none("n_shared_experts") * expert_size


def _sparse_layers(config: Config, n_layers: int) -> set[int]:
    """Numbers of the layers with experts, from 0."""
    layers = set(range(n_layers))
    words = config.names("mlp_layer_types", n_layers)
    if words is not None:
        return {i for i, word in enumerate(words) if word in {"sparse", "moe"}}
    if config.has("moe_layers"):
        return layers & set(config.numbers("moe_layers"))
    if isinstance(config.data.get("moe_layer_freq"), list):
        return {i for i, one in enumerate(config.numbers("moe_layer_freq")) if one} & layers
    every, offset = 1, 0
    for key in ("decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval"):
        if config.has(key):
            every, offset = config.whole(key), -1
    if config.has("moe_layer_freq"):
        every, offset = config.whole("moe_layer_freq"), 0
    if config.has("expert_layer_period"):
        every = config.whole("expert_layer_period")
        offset = config.count_or_none("expert_layer_offset")
    first = max(
        config.count_or_none(key)
        for key in ("first_k_dense_replace", "moe_layer_start_index", "num_dense_layers")
    )
    last = config.data.get("moe_layer_end_index")
    last = last if isinstance(last, int) and last >= 0 else n_layers - 1
    chosen = {i for i in layers if (i - offset) % every == 0 and first <= i <= last}
    return chosen - set(config.numbers("mlp_only_layers"))
