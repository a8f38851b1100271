"""Which block of a config.json describes the language model, and of which family it is."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpuflow.errors import ImportFormatError
from gpuflow.importers.hf.families import (
    GENERIC,
    Family,
    family_of_architecture,
    family_of_type,
    type_names,
)
from gpuflow.importers.hf.fields import SPELLINGS, Config, shown
from gpuflow.importers.json_file import JsonFile, in_file_order
from gpuflow.scenario.model_spec import Assumption
from gpuflow.scenario.spelling import nearest

NESTED = ("text_config", "llm_config", "thinker_config", "language_config", "language_model")
"""Blocks that hold the language model of a multimodal one, outermost first."""
MAIN_TYPES = (
    "llama",
    "mistral",
    "mixtral",
    "qwen2",
    "qwen3",
    "qwen3_moe",
    "qwen3_next",
    "gemma3",
    "gpt_oss",
    "deepseek_v3",
    "glm4_moe",
    "minimax_m2",
    "nemotron_h",
)
"""Some of the families that can be read, to name in a hint."""
_NEEDED = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
_CAUSAL = ("ForCausalLM", "LMHeadModel", "ForConditionalGeneration")
_STRANGE = re.compile(
    r"mamba|ssm|conv_|linear_|rwkv|lru_|time_mix|hybrid|attn_layer|layer_group|block_types"
    r"|encoder_layers|decoder_layers|type_vocab_size|cross_attention_layers|full_attention_interval"
    r"|zero_expert|moe_latent|kda|short_conv|compress|index_|hash_|engram"
)
"""Keys of forms that an unknown family could not be guessed with."""
_DEFAULTS_AT_THE_TOP = ("sliding_window", "attention_chunk_size", "v_head_dim")
"""What a family's class adds even where the file is not a nested block."""


def language_part(file: JsonFile) -> tuple[Config, Family]:
    """The block of the language model and its family.

    Raises:
        ImportFormatError: There is none that can be read.
    """
    config = Config(file, file.data, problems=list(file.problems))
    outer_type = ""
    while (name := _inner(config)) is not None:
        inner = config.data[name]
        if not isinstance(inner, Mapping):
            config.problem("config_not_block", name, found=shown(inner))
            break
        outer_type = _word(config, "model_type") or outer_type
        config = Config(
            file,
            inner,
            config.dotted(name),
            outer={**config.outer, **config.data},
            problems=config.problems,
            assumed=config.assumed,
        )
    family = _family(config, outer_type)
    if config.path:
        config.defaults = family.defaults
        config.assumed.insert(0, _text_only(config))
    else:
        kept = {name: v for name, v in family.defaults.items() if name in _DEFAULTS_AT_THE_TOP}
        config.defaults = kept
    config.data = _flattened(config.data)
    return config, family


def _text_only(config: Config) -> Assumption:
    made = Config(config.file, {}, "")
    made.assume(config.path, config.path, "text_part")
    return made.assumed[0]


def _inner(config: Config) -> str | None:
    """The block inside that holds the language model; None where this one does itself."""
    found = next((name for name in NESTED if isinstance(config.data.get(name), Mapping)), None)
    if found is None:
        return next((name for name in NESTED[:2] if config.data.get(name) is not None), None)
    inner = config.data[found]
    is_whole = all(_has(config.data, name) for name in _NEEDED[:3])
    says_less = isinstance(inner, Mapping) and not _has(inner, "num_hidden_layers")
    # Some files repeat the text part's keys at the top; a block without layers is then a remnant.
    return None if is_whole and says_less else found


def _has(data: Mapping[str, object], name: str) -> bool:
    return any(data.get(key) is not None for key in SPELLINGS.get(name, (name,)))


def _word(config: Config, name: str) -> str:
    value = config.data.get(name)
    return value if isinstance(value, str) else ""


def _architecture(config: Config) -> str:
    named = config.data.get("architectures")
    first = named[0] if isinstance(named, list) and named else ""
    return first if isinstance(first, str) else ""


def _family(config: Config, outer_type: str) -> Family:
    """By `model_type`, else by the architecture, else by what the block stands in."""
    model_type, architecture = _word(config, "model_type"), _architecture(config)
    found = family_of_type(model_type) if model_type else None
    found = found or family_of_architecture(architecture)
    if found is None and not model_type and not architecture and outer_type:
        found = family_of_type(outer_type) or family_of_type(f"{outer_type}_text")
        model_type = outer_type
    if found is not None:
        return found
    if _is_usual(config, architecture):
        config.assume("model_type", model_type or architecture, "family_unknown")
        return GENERIC
    _refuse(config, model_type, architecture)
    raise ImportFormatError(in_file_order(config.problems))


def _is_usual(config: Config, architecture: str) -> bool:
    """Whether an unknown family's keys are all of the usual kind."""
    if not architecture.endswith(_CAUSAL) or not all(config.has(name) for name in _NEEDED):
        return False
    if not (config.has("intermediate_size") or config.has("moe_intermediate_size")):
        return False
    return not any(_STRANGE.search(key) for key, value in config.data.items() if value)


def _refuse(config: Config, model_type: str, architecture: str) -> None:
    named = model_type or architecture
    if not named:
        models = [
            key
            for key, value in config.data.items()
            if isinstance(value, Mapping) and any(_has(value, name) for name in _NEEDED)
        ]
        if len(models) > 1:
            config.problem(
                "config_table", models[0], "config_table", count=len(models), first=models[0]
            )
        else:
            config.problem("config_nameless", "", "config_readable", known=list(MAIN_TYPES))
        return
    near = nearest(model_type, type_names()) if model_type else ""
    config.problem(
        "config_unsupported",
        "model_type" if model_type else "architectures",
        "did_you_mean" if near else "config_readable",
        found=named,
        known=list(MAIN_TYPES),
        suggestion=near,
    )


def _flattened(data: Mapping[str, object]) -> Mapping[str, object]:
    """MPT and DBRX keep the sizes of attention and experts in blocks of their own."""
    flat: dict[str, object] = {}
    for name in ("attn_config", "ffn_config"):
        block = data.get(name)
        if isinstance(block, Mapping):
            flat.update(block)
    return {**flat, **data} if flat else data
