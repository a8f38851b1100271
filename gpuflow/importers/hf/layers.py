"""All layers of a config.json put together."""

from __future__ import annotations

from gpuflow.importers.hf.attention import attentions
from gpuflow.importers.hf.blocks import block_layers, with_own_sizes
from gpuflow.importers.hf.families import Family
from gpuflow.importers.hf.fields import Config
from gpuflow.importers.hf.kinds import Form, layer_forms
from gpuflow.importers.hf.mixers import mixer
from gpuflow.importers.hf.mlps import mlps
from gpuflow.scenario.model_spec import LayerSpec, MlpSpec

_SHARED_ELSEWHERE = (
    "num_kv_shared_layers",
    "hidden_size_per_layer_input",
    "cross_attention_layers",
    "altup_num_inputs",
    "ssm_cfg",
    "add_cross_attention",
)
"""Keys of forms that no family here has; where one is set, the usual reading would be wrong."""
_MIXER_KEYS = (
    "hybrid_override_pattern",
    "mamba_d_state",
    "attn_layer_period",
    "linear_attn_config",
)
_BLOCKS_TYPE = "nemotron-nas"
"""The family whose files describe every layer by a block of its own."""
_GEMMA4_SPARSE_NORMS = 8
"""Four norms, three more around the experts, and the router's scale."""
_FALCON_SINGLE_NORM = 2


def layers_of(config: Config, family: Family, hidden_size: int) -> tuple[LayerSpec, ...]:
    """Every layer, first to last; equal ones share one object."""
    _refuse_other_forms(config, family)
    if _BLOCKS_TYPE in family.types:
        return _from_blocks(config, family, hidden_size)
    forms = layer_forms(config, family)
    own_attention = attentions(config, family, forms, hidden_size)
    own_mlps = mlps(config, family, forms, hidden_size)
    has_mixer = any(form.mixing in {"mixer", "both"} for form in forms)
    own_mixer = mixer(config, family, hidden_size) if has_mixer else None
    made: dict[tuple[Form, MlpSpec], LayerSpec] = {}
    for form, mlp in zip(forms, own_mlps, strict=True):
        made[form, mlp] = LayerSpec(
            attention=own_attention.get(form.mixing),
            mixer=own_mixer if form.mixing in {"mixer", "both"} else None,
            mlp=mlp,
            norm_vectors=_norms(config, family, mlp),
        )
    layers = [made[form, mlp] for form, mlp in zip(forms, own_mlps, strict=True)]
    return _sharing(with_own_sizes(config, layers))


def _sharing(layers: list[LayerSpec]) -> tuple[LayerSpec, ...]:
    """The layers with equal ones made one object."""
    shared: dict[LayerSpec, LayerSpec] = {}
    return tuple(shared.setdefault(layer, layer) for layer in layers)


def _from_blocks(config: Config, family: Family, hidden_size: int) -> tuple[LayerSpec, ...]:
    usual = [Form("full", "dense")]
    own = attentions(config, family, usual, hidden_size)["full"]
    if not config.has("intermediate_size"):
        config.defaults = {**config.defaults, "intermediate_size": hidden_size}
    layers = block_layers(config, own, mlps(config, family, usual, hidden_size)[0])
    return _sharing(layers)


def _norms(config: Config, family: Family, mlp: MlpSpec) -> int:
    if "gemma4_text" in family.types and mlp.experts:
        return _GEMMA4_SPARSE_NORMS
    if "falcon" in family.types:
        is_single = config.flag("parallel_attn") and not config.flag("new_decoder_architecture")
        return _FALCON_SINGLE_NORM if is_single else family.norm_vectors
    return family.norm_vectors


def _refuse_other_forms(config: Config, family: Family) -> None:
    """Names whatever would make the family's usual reading wrong."""
    refused = [key for key in _SHARED_ELSEWHERE if config.data.get(key)]
    if _BLOCKS_TYPE not in family.types and config.data.get("block_configs"):
        refused.append("block_configs")
    if family.mixers == "none":
        refused += [key for key in _MIXER_KEYS if config.data.get(key)]
    if not family.has_latent:
        refused += [key for key in ("kv_lora_rank", "v_head_dim") if config.data.get(key)]
    if config.has("word_embed_proj_dim") and config.get("word_embed_proj_dim") != config.get(
        "hidden_size"
    ):
        refused.append("word_embed_proj_dim")
    if family.has_latent and config.data.get("use_mla") is False:
        refused.append("use_mla")
    for key in refused:
        config.problem("config_other_form", key, found=key)
