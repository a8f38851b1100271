"""What a part of the model costs on one GPU: FLOPs, bytes from memory, seconds.

T tokens of the pass in one replica    B sequences    C context    p tensor-parallel degree
F peak FLOP/s    W memory bytes/s    mu achieved fractions
GEMM FLOPs are 2 x T x active weights, attention FLOPs 4 T n_q d C (half of it on average under a
causal mask); weights and KV are read once a pass. A part takes the larger of FLOPs / (F mu_F) and
bytes / (W mu_W), or their soft maximum (x^q + y^q)^(1/q), as the profile says.
Every formula also runs on numpy arrays of tokens, sequences and contexts.
Sources: Pope et al. 2022 (arXiv 2211.05102); DeepSeek-V3 report for MLA.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gpuflow.cluster.elementwise import greater, lesser
from gpuflow.cluster.mesh import is_dispatched
from gpuflow.cluster.parameters import (
    WeightBytes,
    expert_weights,
    held_mixing_weights,
    kv_values_per_token,
    norm_weights,
    router_weights,
    shared_weights,
    stage_layers,
    weight_bytes,
)
from gpuflow.cluster.pass_shape import Joined as Joined
from gpuflow.cluster.pass_shape import PassShape as PassShape
from gpuflow.cluster.pass_shape import decode_shape as decode_shape
from gpuflow.cluster.pass_shape import group_sequences as group_sequences
from gpuflow.cluster.pass_shape import prefill_shape as prefill_shape
from gpuflow.cluster.pass_shape import prompt_chunks as prompt_chunks
from gpuflow.cluster.pass_shape import read_tokens as read_tokens
from gpuflow.cluster.pass_shape import seen_tokens as seen_tokens
from gpuflow.cluster.recurrent import recurrent_flop, state_bytes
from gpuflow.scenario.model_spec import (
    AttentionSpec,
    LayerSpec,
    MixerSpec,
    MlpSpec,
)
from gpuflow.scenario.spec import ComputePart, Scenario

ACTIVATION_BYTES = 2.0
"""Activations are 16 bit in every precision; so is the KV cache unless the profile says else."""
ELEMENTWISE_PASSES = 6.0
"""Memory passes over T h of norms, residuals, rotary embedding (domain figures from Vidur)."""
ELEMENTWISE_FFN_PASSES = 1.5
TINY_S = 1e-30
"""Keeps an empty part's 0 / 0 at 0."""


@dataclass(frozen=True, slots=True)
class Cost:
    """Work of one GPU."""

    flop: float
    read_bytes: float
    time_s: float

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.flop + other.flop,
            self.read_bytes + other.read_bytes,
            self.time_s + other.time_s,
        )


NOTHING = Cost(0.0, 0.0, 0.0)


class CostModel:
    """Costs of one scenario's parts under its profile."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.stored = weight_bytes(scenario.model, scenario.precision)
        device, profile = scenario.cluster.device, scenario.profile
        peaks = device.peak_flop_per_s
        name = "bf16" if scenario.precision == "fp16" else scenario.precision
        # Weights narrower than the tensor cores can multiply are widened first (weight-only form).
        self.peak = peaks.get(name, peaks["bf16"])
        self.outer_peak = peaks["bf16"]
        self.memory_rate = device.memory_bandwidth_bytes_per_s
        self.profile = profile
        self.dispatched = is_dispatched(scenario)
        self.h = scenario.model.hidden_size
        self._stage_kinds: dict[int, list[tuple[LayerSpec, int]]] = {}
        narrow = self.stored.attention < ACTIVATION_BYTES
        self.cache_bytes = profile.cache_bits / 8 if narrow else ACTIVATION_BYTES
        if scenario.cache_bits is not None:
            self.cache_bytes = scenario.cache_bits / 8

    # ------------------------------------------------------------ roofline

    def _combine(self, compute_s: float, memory_s: float) -> float:
        q = self.profile.roofline_exponent
        if q is None:
            return greater(compute_s, memory_s)
        more, less = greater(compute_s, memory_s), lesser(compute_s, memory_s)
        soft: float = more * (1 + (less / greater(more, TINY_S)) ** q) ** (1 / q)
        return soft

    def gemm(
        self, tokens: float, weights: float, touched: float, stored: float, idle_rows: float = 0.0
    ) -> Cost:
        """A matrix product.

        Args:
            tokens: Rows that meet the weights.
            weights: Weights each row is multiplied by, on this GPU.
            touched: Weights read from memory, on this GPU.
            stored: Bytes a weight.
            idle_rows: For each of the weights touched, rows of padding that take computing time.
        """
        flop, read = 2.0 * tokens * weights, touched * stored
        reached = self.outer_peak * self.profile.compute_fraction
        if stored < ACTIVATION_BYTES:
            reached = self.peak * self.profile.compute_fraction * self.profile.narrow_compute_share
        padding = 2.0 * idle_rows * touched if idle_rows else 0.0
        return Cost(
            flop,
            read,
            self._combine(
                (flop + padding) / reached,
                read / (self.memory_rate * self.profile.memory_fraction),
            ),
        )

    def elementwise(self, values: float) -> Cost:
        """Passes over activations through memory; nothing in a profile without them."""
        if not self.profile.elementwise:
            return NOTHING
        read = values * ACTIVATION_BYTES
        return Cost(0.0, read, read / (self.memory_rate * self.profile.memory_fraction))

    # ------------------------------------------------------------ parts of a layer

    def part(self, part: ComputePart, layer: LayerSpec, shape: PassShape) -> Cost:
        """A named part of the model; `layer` is that of attention and MLP."""
        if part == "attention":
            return self.attention(layer, shape)
        if part == "mlp":
            return self.mlp(layer, shape)
        if part == "head":
            return self.head(shape)
        if part == "embedding":
            return self.embedding(shape)
        return NOTHING  # sampling: not charged by any profile so far, and said so

    def attention(self, layer: LayerSpec, shape: PassShape) -> Cost:
        """Projections, scores and values, cache reading; half of the layer's fixed overhead.

        A mixer counts here too. A layer that mixes no tokens costs nothing.
        """
        if layer.attention is None and layer.mixer is None:
            return NOTHING
        stored = self.stored_in(layer).attention
        held = held_mixing_weights(layer, self.h, self.scenario.parallel.tp)
        cost = self.gemm(shape.all_tokens, held, held, stored)
        if layer.attention is not None:
            cost += self._scores(layer.attention, shape, stored)
        if layer.mixer is not None:
            cost += self._recurrence(layer.mixer, shape)
        cost += self.elementwise(ELEMENTWISE_PASSES / 2 * shape.all_tokens * self.h)
        return self._with_overhead(cost)

    def stored_in(self, layer: LayerSpec) -> WeightBytes:
        """Bytes a weight of one layer is stored in."""
        if layer.stored is None:
            return self.stored
        return weight_bytes(self.scenario.model, self.scenario.precision, layer)

    def _recurrence(self, mixer: MixerSpec, shape: PassShape) -> Cost:
        """The state of each sequence, read and written once a pass."""
        tp, profile = self.scenario.parallel.tp, self.profile
        flop = recurrent_flop(mixer, shape.tokens, tp)
        read = 2.0 * shape.sequences_at_work * state_bytes(mixer, tp)
        return Cost(
            flop,
            read,
            self._combine(
                flop / (self.outer_peak * profile.attention_compute_fraction),
                read / (self.memory_rate * profile.attention_memory_fraction),
            ),
        )

    def _scores(self, a: AttentionSpec, shape: PassShape, stored: float) -> Cost:
        pairs, cached = shape.tokens * seen_tokens(a, shape), read_tokens(a, shape)
        cost = self._attend(a, pairs, cached, stored, expanded=shape.phase == "prefill")
        joined = shape.joined
        if joined is not None:
            seen = joined.keys if a.window is None else lesser(joined.keys, float(a.window))
            pairs = joined.tokens * seen
            cost += self._attend(a, pairs, joined.cached_tokens, stored, expanded=True)
        return cost

    def _attend(
        self, a: AttentionSpec, pairs: float, cached_tokens: float, stored: float, *, expanded: bool
    ) -> Cost:
        """Scores and values of so many (token, key) pairs; `expanded` is a latent's prefill form.

        In decode a latent is absorbed: queries meet the latent itself.
        """
        tp, lat, profile = self.scenario.parallel.tp, a.latent, self.profile
        if lat is None:
            flop = 4.0 * pairs * a.heads * a.head_size / tp
        elif expanded:
            width = lat.nope_size + lat.rope_size + lat.value_size
            flop = 2.0 * pairs * a.heads * width / tp
        else:
            flop = 2.0 * pairs * a.heads * (2 * lat.kv_rank + lat.rope_size) / tp
        read = cached_tokens * self.kv_bytes_per_token(a)
        # in the ideal profile scores run in the GEMMs' precision, as in the worked figures
        narrow = stored < ACTIVATION_BYTES and not profile.scores_in_16_bit
        peak = self.peak if narrow else self.outer_peak
        return Cost(
            flop,
            read,
            self._combine(
                flop / (peak * profile.attention_compute_fraction),
                read / (self.memory_rate * profile.attention_memory_fraction),
            ),
        )

    def mlp(self, layer: LayerSpec, shape: PassShape) -> Cost:
        """Dense MLP, or router, shared and routed experts; half of the fixed overhead.

        A layer without an MLP costs nothing.
        """
        mlp, tp, tokens = layer.mlp, self.scenario.parallel.tp, shape.all_tokens
        if not mlp.ffn_size:
            return NOTHING
        stored, extra_s = self.stored_in(layer), 0.0
        if mlp.experts:
            cost = self._experts(mlp, shape, stored.experts)
            router = router_weights(mlp, self.h)
            cost += self.gemm(tokens, router, router, stored.outer)
            shared = shared_weights(mlp, self.h) / tp
            cost += self.gemm(tokens, shared, shared, stored.dense)
            if stored.attention < ACTIVATION_BYTES:
                extra_s = self.profile.quantised_expert_overhead_s
        else:
            dense = expert_weights(mlp, self.h) / tp
            cost = self.gemm(tokens, dense, dense, stored.dense)
        width = mlp.ffn_size * max(mlp.experts_per_token, 1) + mlp.shared_ffn_size
        values = tokens * (ELEMENTWISE_PASSES / 2 * self.h + ELEMENTWISE_FFN_PASSES * width / tp)
        return self._with_overhead(cost + self.elementwise(values), extra_s)

    def _experts(self, mlp: MlpSpec, shape: PassShape, stored: float) -> Cost:
        """Routed experts of the busiest kind: routing is taken as uniform.

        Distinct experts met by n tokens: E (1 - (1 - k/E)^n). A grouped GEMM works in blocks of
        rows, and computes the rest of an expert's last block for nothing.
        """
        p = self.scenario.parallel
        one, k, e = expert_weights(mlp, self.h), mlp.experts_per_token, mlp.experts
        tokens, share = shape.all_tokens, 1.0 / p.tp
        if self.dispatched:
            joined = shape.joined.tokens if shape.joined is not None else 0.0
            tokens, share = shape.tokens * p.ep / p.tp + joined, 1.0 / p.ep
        distinct = e * (1 - (1 - k / e) ** tokens)
        touched, idle = distinct * one * share, float(self.profile.expert_block_rows)
        return self.gemm(tokens, k * one * share, touched, stored, idle)

    def head(self, shape: PassShape) -> Cost:
        """Logits of the last token of each sequence; the vocabulary is split among tp ranks."""
        weights = self.scenario.model.vocab_size * self.h / self.scenario.parallel.tp
        return self.gemm(shape.all_sequences, weights, weights, self.stored.outer)

    def embedding(self, shape: PassShape) -> Cost:
        """One row read and written a token."""
        return self.elementwise(2.0 * shape.all_tokens * self.h)

    def _with_overhead(self, cost: Cost, extra_s: float = 0.0) -> Cost:
        extra = self.profile.layer_overhead_s / 2 + extra_s
        return Cost(cost.flop, cost.read_bytes, cost.time_s + extra) if extra else cost

    # ------------------------------------------------------------ memory

    def kv_bytes_per_token(self, a: AttentionSpec | None) -> float:
        """Cache of one token in one layer on one GPU; None: a layer that keeps none.

        KV heads fewer than tp are replicated, and a latent is not split at all.
        """
        if a is None:
            return 0.0
        values = kv_values_per_token(a)
        if a.latent is not None:
            return values * self.cache_bytes
        return values * self.cache_bytes / min(self.scenario.parallel.tp, a.kv_heads)

    def layer_kv_bytes(self, layer: LayerSpec, tokens: float) -> float:
        """Cache of one sequence of `tokens` in one layer on one GPU, a mixer's state included."""
        a = layer.attention
        window = a.window if a is not None else None
        kept = tokens if window is None else lesser(tokens, float(window))
        held = kept * self.kv_bytes_per_token(a)
        if layer.mixer is not None:
            held = held + (tokens > 0) * state_bytes(layer.mixer, self.scenario.parallel.tp)
        return held

    def layer_weight_bytes(self, layer: LayerSpec) -> float:
        """Weights of one layer held by one GPU."""
        p, mlp, stored = self.scenario.parallel, layer.mlp, self.stored_in(layer)
        total = held_mixing_weights(layer, self.h, p.tp) * stored.attention
        total += norm_weights(layer, self.h) * stored.outer
        if mlp.experts:
            share = 1.0 / p.ep if self.dispatched else 1.0 / p.tp
            total += mlp.experts * expert_weights(mlp, self.h) * share * stored.experts
            total += router_weights(mlp, self.h) * stored.outer
            total += shared_weights(mlp, self.h) / p.tp * stored.dense
        else:
            total += expert_weights(mlp, self.h) / p.tp * stored.dense
        return total

    def stage_weight_bytes(self, stage: int) -> float:
        """Weights of one GPU of a stage.

        Its layers, the whole embedding (and positions) on the first stage, its slice of the head
        and the last norm on the last.
        """
        model, p = self.scenario.model, self.scenario.parallel
        total = sum(n * self.layer_weight_bytes(layer) for layer, n in self._kinds(stage))
        table = model.vocab_size * self.h * self.stored.outer
        if stage == 0:
            total += table + model.extra_parameters * self.stored.outer
        if stage == p.pp - 1:
            total += self.h * self.stored.outer
            if not (model.tied_embeddings and stage == 0):
                total += table / p.tp
        return total

    def stage_kv_bytes(self, stage: int, tokens: float) -> float:
        """Cache of the batch on one GPU of a stage once each sequence has `tokens`."""
        return self.scenario.workload.batch * self.stage_sequence_bytes(stage, tokens)

    def stage_sequence_bytes(self, stage: int, tokens: float) -> float:
        """Cache of one sequence of `tokens` on one GPU of a stage."""
        return sum(n * self.layer_kv_bytes(layer, tokens) for layer, n in self._kinds(stage))

    def _kinds(self, stage: int) -> list[tuple[LayerSpec, int]]:
        """The layers of a stage, each kind once with its number; equal ones are one object."""
        if stage not in self._stage_kinds:
            layers = self.scenario.model.layers
            counts = Counter(id(layers[i]) for i in stage_layers(self.scenario, stage))
            kinds = {id(layer): layer for layer in layers}
            self._stage_kinds[stage] = [(kinds[key], n) for key, n in counts.items()]
        return self._stage_kinds[stage]
