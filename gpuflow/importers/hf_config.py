"""Hugging Face config.json: dense GQA and MHA models and mixtures of experts of the usual form.

Read: the families llama, mistral, qwen2, qwen3, mixtral and qwen3_moe, as Transformers' own
configuration classes mean their keys. Every other family, form of attention and stored precision
is refused by name rather than read wrongly.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gpuflow.cells import sanitise
from gpuflow.errors import ImportFormatError, Problem
from gpuflow.importers.json_file import JsonFile, in_file_order, read_json
from gpuflow.scenario.spec import Assumption, AttentionSpec, LayerSpec, MlpSpec, ModelSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class _Family:
    """What a family's configuration class leaves unsaid."""

    architecture: str
    qkv_bias: bool = False
    may_have_bias: bool = False
    """Whether `attention_bias` adds biases to all four projections."""
    qk_norm: bool = False
    head_size: int | None = None
    """The class's own default; None: hidden size over heads."""
    experts_key: str = ""
    expert_size_key: str = ""
    window_on_all_layers: bool = False
    """Whether `sliding_window` alone switches a window on, in every layer."""


FAMILIES: Mapping[str, _Family] = {
    "llama": _Family(architecture="LlamaForCausalLM", may_have_bias=True),
    "mistral": _Family(architecture="MistralForCausalLM", window_on_all_layers=True),
    "qwen2": _Family(architecture="Qwen2ForCausalLM", qkv_bias=True),
    "qwen3": _Family(
        architecture="Qwen3ForCausalLM", may_have_bias=True, qk_norm=True, head_size=128
    ),
    "mixtral": _Family(
        architecture="MixtralForCausalLM",
        experts_key="num_local_experts",
        expert_size_key="intermediate_size",
        window_on_all_layers=True,
    ),
    "qwen3_moe": _Family(
        architecture="Qwen3MoeForCausalLM",
        may_have_bias=True,
        qk_norm=True,
        experts_key="num_experts",
        expert_size_key="moe_intermediate_size",
    ),
}
"""Families that can be read, by `model_type`."""

PRECISIONS = {"bfloat16": "bf16", "float16": "fp16"}

_FOREIGN_KEYS = (
    "text_config",
    "llm_config",
    "kv_lora_rank",
    "n_routed_experts",
    "n_shared_experts",
    "shared_expert_intermediate_size",
    "hybrid_override_pattern",
    "ssm_cfg",
    "mamba_d_state",
    "attn_layer_period",
    "attention_chunk_size",
)
"""Keys of other forms; where one is set, a family's usual reading would be wrong."""
_EXPERT_KEYS = ("num_local_experts", "num_experts")
_IN_CATALOGUE = {"deepseek_v3": "deepseek-v3", "gpt_oss": "gpt-oss-120b"}
_LARGEST = {"num_hidden_layers": 10_000, "num_attention_heads": 100_000}
_LARGEST_SIZE = 100_000_000


def read_model(path: Path) -> ModelSpec:
    """The model that a config.json describes.

    Args:
        path: The file, or the folder that holds it.

    Raises:
        ImportFormatError: The file cannot be read, is of a form that cannot be read yet, or
            contradicts itself; every problem is named with its place.
    """
    file = path / "config.json" if path.is_dir() else path
    if path.is_dir() and not file.exists():
        raise ImportFormatError([Problem(code="config_missing", file=str(path))])
    side_file = file.with_name("hf_quant_config.json")
    if file.name == "config.json" and side_file.exists():
        problem = Problem(code="config_side_file", file=str(side_file), hint="config_quantised")
        raise ImportFormatError([problem])
    content = read_json(file)
    return _Reader(content, _title(path), list(content.problems)).model()


def _title(path: Path) -> str:
    """What to call a model that has no name of its own: its folder, or the file's stem."""
    absolute = path.absolute()
    stem = absolute.parent.name if absolute.name == "config.json" else absolute.stem
    return sanitise(absolute.name if path.is_dir() else stem)


@dataclass(slots=True)
class _Reader:
    file: JsonFile
    title: str
    problems: list[Problem]
    assumed: list[Assumption] = field(default_factory=list)

    def model(self) -> ModelSpec:
        family = self._family()
        self._refuse_other_forms(family)
        hidden_size = self._whole("hidden_size")
        vocab_size = self._whole("vocab_size")
        n_layers = self._whole("num_hidden_layers")
        attention = self._attention(family, hidden_size)
        mlps = self._mlps(family, n_layers)
        tied = self._flag("tie_word_embeddings", "embeddings_untied")
        precision = self._precision()
        if self.problems:
            raise ImportFormatError(in_file_order(self.problems))
        layers = {mlp: LayerSpec(attention=attention, mlp=mlp) for mlp in set(mlps)}
        return ModelSpec(
            name=self.file.source.file,
            title=self.title,
            hidden_size=hidden_size,
            vocab_size=vocab_size,
            layers=tuple(layers[mlp] for mlp in mlps),
            tied_embeddings=tied,
            precision=precision,
            source=f"config.json ({family.architecture})",
            assumed=tuple(self.assumed),
        )

    def _family(self) -> _Family:
        """The family by `model_type`, or by the architecture where there is no model type."""
        data = self.file.data
        model_type = data.get("model_type")
        named = data.get("architectures")
        architecture = named[0] if isinstance(named, list) and named else None
        if model_type is None:
            by_architecture = {family.architecture: name for name, family in FAMILIES.items()}
            model_type = by_architecture.get(str(architecture))
        if isinstance(model_type, str) and model_type in FAMILIES:
            return FAMILIES[model_type]
        known = list(FAMILIES)
        if model_type is None and architecture is None:
            self._problem("config_nameless", "", "config_readable", known=known)
            raise ImportFormatError(in_file_order(self.problems))
        key = "model_type" if model_type is not None else "architectures"
        found = str(model_type if model_type is not None else architecture)
        in_catalogue = _IN_CATALOGUE.get(found, "")
        self._problem(
            "config_unsupported",
            key,
            "config_in_catalogue" if in_catalogue else "config_readable",
            found=found,
            known=known,
            suggestion=in_catalogue,
        )
        raise ImportFormatError(in_file_order(self.problems))

    def _refuse_other_forms(self, family: _Family) -> None:
        """Stops at whatever would make the family's usual reading wrong."""
        data = self.file.data
        refused = [key for key in _FOREIGN_KEYS if data.get(key)]
        refused += [key for key in _EXPERT_KEYS if data.get(key) and key != family.experts_key]
        if data.get("use_sliding_window"):
            refused.append("use_sliding_window")
        types = data.get("layer_types")
        if isinstance(types, list) and set(map(str, types)) != {"full_attention"}:
            refused.append("layer_types")
        problems = [self.file.problem("config_other_form", key, found=key) for key in refused]
        for key in ("quantization_config", "compression_config"):
            quantisation = data.get(key)
            if quantisation:
                method = quantisation.get("quant_method") if isinstance(quantisation, dict) else ""
                problems.append(
                    self.file.problem(
                        "config_quantised", key, "config_quantised", found=str(method or key)
                    )
                )
        if problems:
            raise ImportFormatError(in_file_order([*self.problems, *problems]))

    def _attention(self, family: _Family, hidden_size: int) -> AttentionSpec:
        heads = self._whole("num_attention_heads")
        kv_heads = self._whole_or("num_key_value_heads", heads, "kv_heads_all")
        if heads % kv_heads and not self.problems:
            self._problem("config_kv_heads", "num_key_value_heads", found=kv_heads, heads=heads)
        head_size = self._head_size(family, hidden_size, heads)
        has_bias = family.may_have_bias and self._flag("attention_bias")
        window = self._whole_or("sliding_window", 0) if family.window_on_all_layers else 0
        return AttentionSpec(
            heads=heads,
            kv_heads=kv_heads,
            head_size=head_size,
            window=window or None,
            qkv_bias=family.qkv_bias or has_bias,
            output_bias=has_bias,
            qk_norm=family.qk_norm,
        )

    def _head_size(self, family: _Family, hidden_size: int, heads: int) -> int:
        if self.file.data.get("head_dim") is not None:
            return self._whole("head_dim")
        if family.head_size is not None:
            self._assume("head_dim", family.head_size, "head_size_default")
            return family.head_size
        if hidden_size % heads and not self.problems:
            self._problem(
                "config_head_size", "num_attention_heads", found=heads, hidden_size=hidden_size
            )
        self._assume("head_dim", hidden_size // heads, "head_size_derived")
        return hidden_size // heads

    def _mlps(self, family: _Family, n_layers: int) -> list[MlpSpec]:
        """The MLP of each layer; Qwen's mixtures may keep some layers dense."""
        has_bias = family.architecture == "LlamaForCausalLM" and self._flag("mlp_bias")
        if not family.experts_key:
            dense = MlpSpec(ffn_size=self._whole("intermediate_size"), bias=has_bias)
            return [dense] * n_layers
        sparse = MlpSpec(
            ffn_size=self._whole(family.expert_size_key),
            experts=self._whole(family.experts_key),
            experts_per_token=self._whole("num_experts_per_tok"),
        )
        if sparse.experts_per_token > sparse.experts:
            self._problem(
                "config_experts_per_token",
                "num_experts_per_tok",
                found=sparse.experts_per_token,
                experts=sparse.experts,
            )
        every = self._whole_or("decoder_sparse_step", 1)
        kept_dense = self.file.data.get("mlp_only_layers") or []
        numbers = kept_dense if isinstance(kept_dense, list) else []
        is_sparse = [n not in numbers and (n + 1) % every == 0 for n in range(n_layers)]
        if all(is_sparse):
            return [sparse] * n_layers
        dense = MlpSpec(ffn_size=self._whole("intermediate_size"))
        return [sparse if chosen else dense for chosen in is_sparse]

    def _precision(self) -> str:
        """`torch_dtype`, which newer files call `dtype`."""
        key = "torch_dtype" if "torch_dtype" in self.file.data else "dtype"
        found = self.file.data.get(key)
        if found is None:
            self._assume("torch_dtype", "bf16", "precision_absent")
            return "bf16"
        if found == "float32":
            self._assume(key, "bf16", "precision_halved")
            return "bf16"
        if isinstance(found, str) and found in PRECISIONS:
            return PRECISIONS[found]
        self._problem(
            "config_dtype", key, "config_quantised", found=_shown(found), allowed=list(PRECISIONS)
        )
        return "bf16"

    def _whole(self, key: str) -> int:
        """A whole number above zero; 1 stands in where it is missing or wrong."""
        value = self.file.data.get(key)
        most = _LARGEST.get(key, _LARGEST_SIZE)
        if value is None:
            self._problem("config_key_missing", key, found=key)
        elif isinstance(value, bool) or not isinstance(value, int):
            self._problem("config_not_whole", key, found=_shown(value))
        elif not 1 <= value <= most:
            self._problem("out_of_range", key, "in_range", found=value, least=1, most=most)
        else:
            return value
        return 1

    def _whole_or(self, key: str, default: int, reason: str = "") -> int:
        """A whole number that may be left out or null."""
        if self.file.data.get(key) is not None:
            return self._whole(key)
        if reason:
            self._assume(key, default, reason)
        return default

    def _flag(self, key: str, reason: str = "") -> bool:
        """A switch that is off where it is left out."""
        value = self.file.data.get(key)
        if value is None:
            if reason:
                self._assume(key, "false", reason)
            return False
        if not isinstance(value, bool):
            self._problem("config_not_switch", key, found=_shown(value))
        return value is True

    def _assume(self, key: str, value: object, reason: str) -> None:
        self.assumed.append(Assumption(key=key, value=str(value), reason=reason))

    def _problem(self, code: str, key: str, hint: str = "", **values: object) -> None:
        self.problems.append(self.file.problem(code, key, hint, **values))


def _shown(value: object) -> str:
    """A value as the file writes it."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
