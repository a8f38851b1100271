"""How many parameters a model has, part by part, and in how many bytes they are stored.

h hidden size    n_q query heads    n_kv KV heads    d head size    f FFN width    E experts
Formulas: Llama, Mixtral, Qwen3, gpt-oss and DeepSeek-V3 reference code in Transformers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from gpuflow.cluster.held import SplitWeights
from gpuflow.cluster.recurrent import mixer_weights, state_bytes
from gpuflow.scenario.model_spec import (
    AttentionSpec,
    LatentSpec,
    LayerSpec,
    MlpSpec,
    ModelSpec,
)
from gpuflow.scenario.spec import Scenario

BITS = {"bf16": 16.0, "fp16": 16.0, "fp8": 8.0, "int8": 8.0, "fp4": 4.5, "int4": 4.25}
"""Stored bits a weight, block scales included (NVFP4: 8 bits of scale per 16 weights; int4: 16 bits
of scale and 16 of zero point per 128)."""
MXFP4_BITS = 4.25
"""MXFP4 (8 bits of scale per 32): the form of models that quantise their experts only."""


@lru_cache(maxsize=256)
def attention_weights(attention: AttentionSpec, hidden_size: int) -> SplitWeights:
    """GQA: h d (2 n_q + 2 n_kv); MLA: the six matrices of DeepSeek-V3.

    An output gate widens the queries by n_q d; keys that are values too save h n_kv d.
    """
    a, h = attention, hidden_size
    output_bias = h if a.output_bias else 0
    if a.latent is not None:
        return _latent_weights(a, a.latent, h, output_bias)
    query, kv = a.heads * a.head_size, a.kv_heads * a.head_size
    queries = query * (2 if a.has_gate else 1)
    kv_matrices = 1 if a.value_is_key else 2
    query_bias = queries if a.qkv_bias else 0
    kv_bias = kv_matrices * kv if a.qkv_bias else 0
    norms = 2 * a.head_size if a.qk_norm else 0
    if a.qk_norm and a.qk_norm_across_heads:
        norms = query + kv
    return SplitWeights(
        split=h * (queries + query) + query_bias + (a.heads if a.sinks else 0),
        kv_split=kv_matrices * h * kv + kv_bias,
        replicated=norms + output_bias,
    )


def _latent_weights(a: AttentionSpec, lat: LatentSpec, h: int, output_bias: int) -> SplitWeights:
    """Down-projections, norms and the indexer are held whole by every rank."""
    query_size = lat.nope_size + lat.rope_size
    query_up = (lat.query_rank or h) * a.heads * query_size
    query_down = h * lat.query_rank + lat.query_rank
    kv_down = h * (lat.kv_rank + lat.rope_size) + lat.kv_rank
    kv_up = lat.kv_rank * a.heads * (lat.nope_size + lat.value_size)
    output = a.heads * lat.value_size * h
    down_bias = lat.query_rank + lat.kv_rank + lat.rope_size if a.qkv_bias else 0
    indexer = 0
    if lat.index_heads:
        index_query = (lat.query_rank or h) * lat.index_heads * lat.index_size
        indexer = index_query + (h + 2) * lat.index_size + h * lat.index_heads
    return SplitWeights(
        split=query_up + kv_up + output,
        kv_split=0,
        replicated=query_down + kv_down + down_bias + indexer + output_bias,
    )


def expert_weights(mlp: MlpSpec, hidden_size: int) -> int:
    """One routed expert, or the dense MLP: 3 h f gated, 2 h f plain, biases where there are."""
    matrices, width = 3 if mlp.gated else 2, mlp.latent_size or hidden_size
    bias = (matrices - 1) * mlp.ffn_size + width if mlp.bias else 0
    return matrices * width * mlp.ffn_size + bias


def shared_weights(mlp: MlpSpec, hidden_size: int) -> int:
    """The shared experts together, with what gates them and what narrows the routed ones."""
    gate = hidden_size if mlp.shared_gate else 0
    around = 2 * hidden_size * mlp.latent_size
    return (3 if mlp.gated else 2) * hidden_size * mlp.shared_ffn_size + gate + around


def router_weights(mlp: MlpSpec, hidden_size: int) -> int:
    """The router: h E, and a bias an expert where there is one."""
    return mlp.experts * (hidden_size + (1 if mlp.router_bias else 0))


def norm_weights(layer: LayerSpec, hidden_size: int) -> int:
    """Norms before and after attention and MLP."""
    return layer.norm_vectors * hidden_size


def mixing_weights(layer: LayerSpec, hidden_size: int) -> int:
    """Attention, mixer, or both."""
    total = 0
    if layer.attention is not None:
        total += attention_weights(layer.attention, hidden_size).total
    if layer.mixer is not None:
        total += mixer_weights(layer.mixer, hidden_size).total
    return total


def held_mixing_weights(layer: LayerSpec, hidden_size: int, tp: int) -> float:
    """Attention, mixer, or both on one of `tp` ranks."""
    total, a, mixer = 0.0, layer.attention, layer.mixer
    if a is not None:
        total += attention_weights(a, hidden_size).held(tp, a.kv_heads)
    if mixer is not None:
        total += mixer_weights(mixer, hidden_size).held(tp, mixer.key_heads)
    return total


@lru_cache(maxsize=1024)
def layer_parameters(layer: LayerSpec, hidden_size: int) -> int:
    """All parameters of one block."""
    mlp = layer.mlp
    ffn = expert_weights(mlp, hidden_size) * max(mlp.experts, 1)
    return (
        mixing_weights(layer, hidden_size)
        + ffn
        + shared_weights(mlp, hidden_size)
        + router_weights(mlp, hidden_size)
        + norm_weights(layer, hidden_size)
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
    return copies * embedding_parameters(model) + model.hidden_size + model.extra_parameters


def parameters(model: ModelSpec) -> int:
    """All parameters: layers, embedding, head unless tied, last norm and what else is outside."""
    return _outer_parameters(model) + sum(
        layer_parameters(layer, model.hidden_size) for layer in model.layers
    )


def active_parameters(model: ModelSpec) -> int:
    """Parameters one token meets: of the routed experts only those it is sent to."""
    return _outer_parameters(model) + sum(
        _active_layer_parameters(layer, model.hidden_size) for layer in model.layers
    )


def kv_values_per_token(attention: AttentionSpec) -> int:
    """Values a token leaves in the cache of one layer.

    2 n_kv d; c + d_r with a latent, and the indexer's key where there is one.
    """
    if attention.latent is not None:
        lat = attention.latent
        return lat.kv_rank + lat.rope_size + lat.index_size
    return 2 * attention.kv_heads * attention.head_size


def kv_bytes_per_token(model: ModelSpec) -> int:
    """KV cache of one token over all layers, 16 bit, while it is inside every window."""
    return 2 * sum(
        kv_values_per_token(layer.attention) for layer in model.layers if layer.attention
    )


def lasting_kv_bytes_per_token(model: ModelSpec) -> int:
    """KV cache that one more token adds once all windows are full: that of the other layers."""
    return 2 * sum(
        kv_values_per_token(layer.attention)
        for layer in model.layers
        if layer.attention and layer.attention.window is None
    )


def cached_bytes(model: ModelSpec, tokens: float) -> float:
    """Cache of one sequence over all layers, 16 bit: windows bound it, states are held once."""
    total = state_bytes_per_sequence(model)
    for layer in model.layers:
        if layer.attention is not None:
            window = layer.attention.window
            kept = tokens if window is None else min(tokens, window)
            total += 2 * kept * kv_values_per_token(layer.attention)
    return total


def state_bytes_per_sequence(model: ModelSpec) -> float:
    """State of one sequence in the layers that keep no KV cache."""
    return sum(state_bytes(layer.mixer) for layer in model.layers if layer.mixer)


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightBytes:
    """Bytes a weight is stored in, by the part of the model it belongs to."""

    attention: float
    experts: float
    dense: float
    outer: float
    """Embedding, head, router, norms."""


def weight_bytes(model: ModelSpec, precision: str, layer: LayerSpec | None = None) -> WeightBytes:
    """Stored bytes a weight for `precision`.

    8- and 4-bit weights are those of the linear layers; embedding and head stay 16 bit, as in the
    published checkpoints. A model whose own form quantises its experts only stays so.

    Args:
        model: Whose weights.
        precision: The form they are served in.
        layer: One whose checkpoint may say how it is stored; None: the usual layer.
    """
    bits = BITS[precision]
    if precision == model.precision and layer is not None and layer.stored is not None:
        own = layer.stored
        return WeightBytes(attention=own.attention, experts=own.experts, dense=own.dense, outer=2.0)
    if bits == 16.0:
        return WeightBytes(attention=2.0, experts=2.0, dense=2.0, outer=2.0)
    experts_only = model.quantised == "experts" and precision == model.precision
    if experts_only:
        experts = (MXFP4_BITS if precision == "fp4" else bits) / 8
        return WeightBytes(attention=2.0, experts=experts, dense=2.0, outer=2.0)
    return WeightBytes(attention=bits / 8, experts=bits / 8, dense=bits / 8, outer=2.0)


def model_bytes(model: ModelSpec, precision: str) -> float:
    """All weights as stored."""
    h = model.hidden_size
    total = _outer_parameters(model) * weight_bytes(model, precision).outer
    for layer in model.layers:
        stored, mlp = weight_bytes(model, precision, layer), layer.mlp
        total += mixing_weights(layer, h) * stored.attention
        ffn = expert_weights(mlp, h) * max(mlp.experts, 1)
        total += ffn * (stored.experts if mlp.experts else stored.dense)
        total += shared_weights(mlp, h) * stored.dense
        total += (router_weights(mlp, h) + norm_weights(layer, h)) * stored.outer
    return total


def stage_layers(scenario: Scenario, stage: int) -> range:
    """Indices of the layers of a pipeline stage: as many in every stage unless they are listed."""
    listed = scenario.parallel.stage_layers
    if listed:
        start = sum(listed[:stage])
        return range(start, start + listed[stage])
    per_stage = len(scenario.model.layers) // scenario.parallel.pp
    return range(stage * per_stage, (stage + 1) * per_stage)


def layer_at(scenario: Scenario, stage: int | None, number: int) -> LayerSpec:
    """The layer of that number in a stage, from 1; the model's first where there is none.

    Args:
        scenario: Its model and split.
        stage: Pipeline stage; None: no stage works alone.
        number: Place within the stage; 0: the work is not of one layer.
    """
    layers = scenario.model.layers
    if not number or stage is None:
        return layers[0]
    return layers[stage_layers(scenario, stage)[number - 1]]
