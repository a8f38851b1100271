"""How many parameters a model has, part by part, and in how many bytes they are stored.

h hidden size    n_q query heads    n_kv KV heads    d head size    f FFN width    E experts
Formulas: Llama, Mixtral, Qwen3, gpt-oss and DeepSeek-V3 reference code in Transformers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from gpuflow.scenario.spec import AttentionSpec, LayerSpec, MlpSpec, ModelSpec, Scenario

BITS = {"bf16": 16.0, "fp16": 16.0, "fp8": 8.0, "int8": 8.0, "fp4": 4.5, "int4": 4.25}
"""Stored bits a weight, block scales included (NVFP4: 8 bits of scale per 16 weights; int4: 16 bits
of scale and 16 of zero point per 128)."""
MXFP4_BITS = 4.25
"""MXFP4 (8 bits of scale per 32): the form of models that quantise their experts only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionWeights:
    """Weights of one attention block, by how tensor parallelism treats them."""

    split: int
    """Divided among the ranks by head."""
    kv_split: int
    """Key and value projections: divided among at most n_kv ranks."""
    replicated: int
    """Held whole by every rank: latent down-projections, norms, output bias."""

    @property
    def total(self) -> int:
        """All of them."""
        return self.split + self.kv_split + self.replicated


@lru_cache(maxsize=256)
def attention_weights(attention: AttentionSpec, hidden_size: int) -> AttentionWeights:
    """GQA: h d (2 n_q + 2 n_kv); MLA: the six matrices of DeepSeek-V3."""
    a, h = attention, hidden_size
    if a.latent is not None:
        lat = a.latent
        query_size = lat.nope_size + lat.rope_size
        query_up = (lat.query_rank or h) * a.heads * query_size
        query_down = h * lat.query_rank + lat.query_rank
        kv_down = h * (lat.kv_rank + lat.rope_size) + lat.kv_rank
        kv_up = lat.kv_rank * a.heads * (lat.nope_size + lat.value_size)
        output = a.heads * lat.value_size * h
        return AttentionWeights(
            split=query_up + kv_up + output, kv_split=0, replicated=query_down + kv_down
        )
    query_bias = a.heads * a.head_size if a.qkv_bias else 0
    kv_bias = 2 * a.kv_heads * a.head_size if a.qkv_bias else 0
    return AttentionWeights(
        split=2 * h * a.heads * a.head_size + query_bias + (a.heads if a.sinks else 0),
        kv_split=2 * h * a.kv_heads * a.head_size + kv_bias,
        replicated=(2 * a.head_size if a.qk_norm else 0) + (h if a.output_bias else 0),
    )


def expert_weights(mlp: MlpSpec, hidden_size: int) -> int:
    """One routed expert, or the dense MLP: 3 h f gated, 2 h f plain, biases where there are."""
    matrices = 3 if mlp.gated else 2
    bias = (matrices - 1) * mlp.ffn_size + hidden_size if mlp.bias else 0
    return matrices * hidden_size * mlp.ffn_size + bias


def shared_weights(mlp: MlpSpec, hidden_size: int) -> int:
    """The shared experts together."""
    return (3 if mlp.gated else 2) * hidden_size * mlp.shared_ffn_size


def router_weights(mlp: MlpSpec, hidden_size: int) -> int:
    """The router: h E, and a bias an expert where there is one."""
    return mlp.experts * (hidden_size + (1 if mlp.router_bias else 0))


def _norm_weights(hidden_size: int) -> int:
    return 2 * hidden_size


def layer_parameters(layer: LayerSpec, hidden_size: int) -> int:
    """All parameters of one block."""
    mlp = layer.mlp
    ffn = expert_weights(mlp, hidden_size) * max(mlp.experts, 1)
    return (
        attention_weights(layer.attention, hidden_size).total
        + ffn
        + shared_weights(mlp, hidden_size)
        + router_weights(mlp, hidden_size)
        + _norm_weights(hidden_size)
    )


def _active_layer_parameters(layer: LayerSpec, hidden_size: int) -> int:
    mlp = layer.mlp
    resting = expert_weights(mlp, hidden_size) * (mlp.experts - mlp.experts_per_token)
    return layer_parameters(layer, hidden_size) - (resting if mlp.experts else 0)


def embedding_parameters(model: ModelSpec) -> int:
    """The input embedding: V h."""
    return model.vocab_size * model.hidden_size


def _outer_parameters(model: ModelSpec) -> int:
    copies = 1 if model.tied_embeddings else 2
    return copies * embedding_parameters(model) + model.hidden_size


def parameters(model: ModelSpec) -> int:
    """All parameters: layers, embedding, head unless tied, last norm."""
    return _outer_parameters(model) + sum(
        layer_parameters(layer, model.hidden_size) for layer in model.layers
    )


def active_parameters(model: ModelSpec) -> int:
    """Parameters one token meets: of the routed experts only those it is sent to."""
    return _outer_parameters(model) + sum(
        _active_layer_parameters(layer, model.hidden_size) for layer in model.layers
    )


def kv_values_per_token(attention: AttentionSpec) -> int:
    """Values a token leaves in the cache of one layer: 2 n_kv d, or c + d_r with a latent."""
    if attention.latent is not None:
        return attention.latent.kv_rank + attention.latent.rope_size
    return 2 * attention.kv_heads * attention.head_size


def kv_bytes_per_token(model: ModelSpec) -> int:
    """KV cache of one token over all layers, 16 bit."""
    return 2 * sum(kv_values_per_token(layer.attention) for layer in model.layers)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightBytes:
    """Bytes a weight is stored in, by the part of the model it belongs to."""

    attention: float
    experts: float
    dense: float
    outer: float
    """Embedding, head, router, norms."""


def weight_bytes(model: ModelSpec, precision: str) -> WeightBytes:
    """Stored bytes a weight for `precision`.

    8- and 4-bit weights are those of the linear layers; embedding and head stay 16 bit, as in the
    published checkpoints. A model whose own form quantises its experts only stays so.
    """
    bits = BITS[precision]
    if bits == 16.0:
        return WeightBytes(attention=2.0, experts=2.0, dense=2.0, outer=2.0)
    experts_only = model.quantised == "experts" and precision == model.precision
    if experts_only:
        experts = (MXFP4_BITS if precision == "fp4" else bits) / 8
        return WeightBytes(attention=2.0, experts=experts, dense=2.0, outer=2.0)
    return WeightBytes(attention=bits / 8, experts=bits / 8, dense=bits / 8, outer=2.0)


def model_bytes(model: ModelSpec, precision: str) -> float:
    """All weights as stored."""
    stored = weight_bytes(model, precision)
    h = model.hidden_size
    total = _outer_parameters(model) * stored.outer
    for layer in model.layers:
        mlp = layer.mlp
        total += attention_weights(layer.attention, h).total * stored.attention
        ffn = expert_weights(mlp, h) * max(mlp.experts, 1)
        total += ffn * (stored.experts if mlp.experts else stored.dense)
        total += shared_weights(mlp, h) * stored.dense
        total += (router_weights(mlp, h) + _norm_weights(h)) * stored.outer
    return total


def stage_layers(scenario: Scenario, stage: int) -> range:
    """Indices of the layers of a pipeline stage; every stage has as many."""
    per_stage = len(scenario.model.layers) // scenario.parallel.pp
    return range(stage * per_stage, (stage + 1) * per_stage)
