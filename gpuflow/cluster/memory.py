"""What one GPU's memory holds: weights, KV cache, the working memory of a pass; and what fits.

T tokens computed at once    h hidden size    p tensor-parallel degree    f FFN width
A token at work holds two vectors of h (the residual stream and what is added to it) and the widest
of: queries, keys, values and the attention's output; gate, up and product of the MLP, or the copies
of the token at its k experts with theirs. They are 16 bit. The last stage holds the logits of each
sequence in 32 bit, over its share of the vocabulary.
Formula: vLLM's and Megatron's reference blocks without kept activations (inference only).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from gpuflow.cluster.cost import ACTIVATION_BYTES, CostModel
from gpuflow.cluster.parameters import stage_layers
from gpuflow.scenario.model_spec import AttentionSpec, LayerSpec, MixerSpec, MlpSpec
from gpuflow.scenario.spec import ParallelSpec, Scenario
from gpuflow.scenario.splits import even_spread, is_possible, tensor_degrees, with_split

TOKENS_AT_ONCE = 8192
"""Tokens of one pass at most where the scenario does not say: vLLM's limit on large GPUs."""
LOGIT_BYTES = 4.0
MOST_SEQUENCES = 1_000_000
MOST_TOKENS = 100_000_000
_MOST_STAGES = 64
"""Stages of a split that is proposed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageMemory:
    """One GPU of a pipeline stage, all in bytes."""

    weights_bytes: float
    kv_bytes: float
    """KV cache and states once every answer is there."""
    activations_bytes: float
    device_bytes: float

    @property
    def spare_bytes(self) -> float:
        """What is left; negative where it does not fit."""
        return self.device_bytes - self.weights_bytes - self.kv_bytes - self.activations_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Fits:
    """What a scenario's GPUs have room for."""

    fits: bool
    max_batch: int
    """Sequences per replica at the scenario's lengths; 0: not even one."""
    max_context_tokens: int | None
    """Tokens each sequence may have at the scenario's batch; None: as many as one likes."""
    smallest: ParallelSpec | None
    """The split with the fewest GPUs that fits; None where the scenario's own does, or none."""


def last_tokens(scenario: Scenario) -> int:
    """Tokens of a sequence in the cache once its answer is there.

    The last token is not fed back; a fixed context is what it says, once there is decoding.
    """
    w = scenario.workload
    if w.context_tokens is not None and w.output_tokens > 1:
        return w.context_tokens
    return w.prompt_tokens + max(w.output_tokens - 1, 0)


def tokens_at_once(scenario: Scenario) -> int:
    """Tokens of the largest pass: the prompts, in chunks."""
    w = scenario.workload
    most = w.chunk_tokens or TOKENS_AT_ONCE
    return max(min(w.batch * w.prompt_tokens, most), w.batch)


def activation_bytes(scenario: Scenario, stage: int) -> float:
    """Working memory of the largest pass on one GPU of a stage."""
    p, model, width = scenario.parallel, scenario.model, scenario.model.hidden_size
    tokens = tokens_at_once(scenario)
    needed = tokens * ACTIVATION_BYTES * (2 * width + widest_values(scenario, stage))
    if stage == p.pp - 1:
        logits = scenario.workload.batch * model.vocab_size / p.tp * LOGIT_BYTES
        needed = max(needed, logits + tokens * ACTIVATION_BYTES * width)
    return needed


def widest_values(scenario: Scenario, stage: int) -> float:
    """Values a token at work holds beside the residual stream, in the widest layer of a stage."""
    cost, layers = CostModel(scenario), scenario.model.layers
    kinds = {id(layers[i]): layers[i] for i in stage_layers(scenario, stage)}
    return max(_layer_values(layer, cost) for layer in kinds.values())


def _layer_values(layer: LayerSpec, cost: CostModel) -> float:
    """Values a token of one layer holds beside the residual stream."""
    tp = cost.scenario.parallel.tp
    mixing = 0.0
    if layer.attention is not None:
        mixing += _attention_values(layer.attention, tp)
    if layer.mixer is not None:
        mixing += _mixer_values(layer.mixer, tp)
    return max(mixing, _mlp_values(layer.mlp, cost))


def _attention_values(a: AttentionSpec, tp: int) -> float:
    """Queries, output, keys and values; a latent's keys and values are expanded for all heads."""
    if a.latent is not None:
        lat = a.latent
        expanded = a.heads * (2 * (lat.nope_size + lat.rope_size) + 2 * lat.value_size) / tp
        return expanded + lat.query_rank + lat.kv_rank + lat.rope_size
    queries = a.heads * a.head_size * (3 if a.has_gate else 2) / tp
    return queries + 2 * a.kv_heads * a.head_size / min(tp, a.kv_heads)


def _mixer_values(m: MixerSpec, tp: int) -> float:
    """What is projected in (values, gate, both keys) and the output."""
    return (3 * m.heads * m.head_size + 2 * m.key_heads * m.key_size) / tp


def _mlp_values(mlp: MlpSpec, cost: CostModel) -> float:
    """Gate, up and product; with experts also the token's copies before and after them."""
    p = cost.scenario.parallel
    matrices = 3 if mlp.gated else 2
    if not mlp.experts:
        return matrices * mlp.ffn_size / p.tp
    width = mlp.latent_size or cost.h
    inner = mlp.ffn_size if cost.dispatched else mlp.ffn_size / p.tp
    shared = matrices * mlp.shared_ffn_size / p.tp
    return mlp.experts_per_token * (2 * width + matrices * inner) + shared


# ---------------------------------------------------------------- what fits


def stage_memories(scenario: Scenario) -> tuple[StageMemory, ...]:
    """Memory of one GPU of every stage."""
    cost, tokens = CostModel(scenario), last_tokens(scenario)
    device = scenario.cluster.device.memory_bytes
    return tuple(
        StageMemory(
            weights_bytes=cost.stage_weight_bytes(stage),
            kv_bytes=cost.stage_kv_bytes(stage, tokens),
            activations_bytes=activation_bytes(scenario, stage),
            device_bytes=device,
        )
        for stage in range(scenario.parallel.pp)
    )


def has_room(scenario: Scenario) -> bool:
    """Whether weights, cache and working memory fit on every GPU."""
    return all(stage.spare_bytes >= 0 for stage in stage_memories(scenario))


def what_fits(scenario: Scenario) -> Fits:
    """The largest batch and context, and where the scenario does not fit the smallest split."""
    fits = has_room(scenario)
    return Fits(
        fits=fits,
        max_batch=largest_batch(scenario),
        max_context_tokens=largest_context(scenario),
        smallest=None if fits else smallest_split(scenario),
    )


def largest_batch(scenario: Scenario) -> int:
    """Sequences per replica that fit at the scenario's lengths; 0 where not even one does."""

    def fits(batch: int) -> bool:
        return has_room(scenario.with_workload(batch=batch))

    return largest_number(fits, MOST_SEQUENCES)


def largest_context(scenario: Scenario) -> int | None:
    """Tokens that each sequence may have at the scenario's batch.

    None where any number fits: layers with windows or states alone stop growing.
    """

    def fits(tokens: int) -> bool:
        return has_room(scenario.with_workload(prompt_tokens=tokens, context_tokens=tokens))

    found = largest_number(fits, MOST_TOKENS)
    return None if found == MOST_TOKENS else found


def largest_number(fits: Callable[[int], bool], most: int) -> int:
    """The largest number from 0 to `most` that fits, where all smaller ones do too."""
    low, high = 0, 1
    while high < most and fits(high):
        low, high = high, high * 2
    if high >= most:
        if fits(most):
            return most
        high = most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def smallest_split(scenario: Scenario) -> ParallelSpec | None:
    """The tp x pp with the fewest GPUs that fits, replicas and expert groups as they are.

    Of splits with as many GPUs, tensor parallelism inside a node comes first.
    """
    for parallel in _splits(scenario):
        if has_room(replace(scenario, parallel=parallel)):
            return parallel
    return None


def _splits(scenario: Scenario) -> Iterator[ParallelSpec]:
    """Splits that divide the model, fewest GPUs first.

    Stages of unequal length are tried only where tensor parallelism fills a node: the way in which
    clusters grow by nodes.
    """
    model, per_node = scenario.model, scenario.cluster.gpus_per_node
    n_layers = len(model.layers)
    degrees = tensor_degrees(model, near=per_node)
    filling = max(tp for tp in degrees if tp <= per_node)
    found: list[ParallelSpec] = []
    for tp in degrees:
        for pp in range(1, min(n_layers, _MOST_STAGES) + 1):
            parallel = with_split(scenario.parallel, tp, pp)
            if n_layers % pp and tp == filling:
                parallel = replace(parallel, stage_layers=even_spread(n_layers, pp))
            if is_possible(model, parallel):
                found.append(parallel)
    return iter(sorted(found, key=lambda p: (p.tp * p.pp, p.tp > per_node, p.pp)))
