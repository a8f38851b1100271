"""What a part of the model costs on one GPU: FLOPs, bytes from memory, seconds.

T tokens of the pass in one replica    B sequences    C context    p tensor-parallel degree
F peak FLOP/s    W memory bytes/s    mu achieved fractions
GEMM FLOPs are 2 x T x active weights, attention FLOPs 4 T n_q d C (half of it on average under a
causal mask); weights and KV are read once a pass. A part takes the larger of FLOPs / (F mu_F) and
bytes / (W mu_W), or their soft maximum (x^q + y^q)^(1/q), as the profile says.
Sources: Pope et al. 2022 (arXiv 2211.05102); DeepSeek-V3 report for MLA.
"""

from __future__ import annotations

from dataclasses import dataclass

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
from gpuflow.cluster.recurrent import recurrent_flop, state_bytes
from gpuflow.scenario.spec import AttentionSpec, LayerSpec, MixerSpec, MlpSpec, Phase, Scenario

ACTIVATION_BYTES = 2.0
"""Activations and KV cache are 16 bit in every precision (the usual serving default)."""
ELEMENTWISE_PASSES = 6.0
"""Memory passes over T h of norms, residuals, rotary embedding (domain figures from Vidur)."""
ELEMENTWISE_FFN_PASSES = 1.5


@dataclass(frozen=True, slots=True, kw_only=True)
class PassShape:
    """How much one forward pass holds, per data-parallel replica."""

    phase: Phase
    sequences: int
    tokens: int
    """New tokens of all sequences."""
    context: float
    """Tokens each sequence has in the cache at the end of the pass (a mean over laps in decode)."""


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


def prefill_shape(scenario: Scenario) -> PassShape:
    """The pass over the whole prompt."""
    w = scenario.workload
    return PassShape(
        phase="prefill",
        sequences=w.batch,
        tokens=w.batch * w.prompt_tokens,
        context=float(w.prompt_tokens),
    )


def decode_shape(scenario: Scenario, position: float | None = None) -> PassShape:
    """The pass of one output token.

    Args:
        scenario: What was asked.
        position: Output token, from 2 (the first comes out of prefill); None: the mean of all
            laps, which costs the same as the mean of their costs because attention grows linearly.
    """
    w = scenario.workload
    last = max(w.output_tokens, 2)
    at = (2 + last) / 2 if position is None else position
    context = w.context_tokens if w.context_tokens is not None else w.prompt_tokens + at - 1
    return PassShape(phase="decode", sequences=w.batch, tokens=w.batch, context=float(context))


def seen_tokens(attention: AttentionSpec, shape: PassShape, growth: float = 0.0) -> float:
    """Mean number of keys a new token attends to.

    Prefill: C/2 under the causal mask; with a window W < C it is W - W^2 / 2C.
    Decode: C, at most W; where C grows over `growth` laps around its mean and W lies between, the
    mean of min(C, W) over them.
    """
    c, window = shape.context, attention.window
    if shape.phase == "prefill":
        if window is None or window >= c:
            return c / 2
        return window - window * window / (2 * c)
    if window is None:
        return c
    low, high = c - growth / 2, c + growth / 2
    if window >= high or growth <= 0:
        return min(c, window)
    if window <= low:
        return float(window)
    below = (window - low) / growth
    return below * (low + window) / 2 + (1 - below) * window


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

    # ------------------------------------------------------------ roofline

    def _combine(self, compute_s: float, memory_s: float) -> float:
        q = self.profile.roofline_exponent
        if q is None or compute_s == 0.0 or memory_s == 0.0:
            return max(compute_s, memory_s)
        return float((compute_s**q + memory_s**q) ** (1 / q))

    def gemm(self, tokens: float, weights: float, touched: float, stored: float) -> Cost:
        """A matrix product.

        Args:
            tokens: Rows that meet the weights.
            weights: Weights each row is multiplied by, on this GPU.
            touched: Weights read from memory, on this GPU.
            stored: Bytes a weight.
        """
        flop, read = 2.0 * tokens * weights, touched * stored
        peak = self.peak if stored < ACTIVATION_BYTES else self.outer_peak
        return Cost(
            flop,
            read,
            self._combine(
                flop / (peak * self.profile.compute_fraction),
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

    def attention(self, layer: LayerSpec, shape: PassShape) -> Cost:
        """Projections, scores and values, cache reading; half of the layer's fixed overhead.

        A mixer counts here too. A layer that mixes no tokens costs nothing.
        """
        if layer.attention is None and layer.mixer is None:
            return NOTHING
        stored = self.stored_in(layer).attention
        held = held_mixing_weights(layer, self.h, self.scenario.parallel.tp)
        cost = self.gemm(shape.tokens, held, held, stored)
        if layer.attention is not None:
            cost += self._scores(layer.attention, shape, stored)
        if layer.mixer is not None:
            cost += self._recurrence(layer.mixer, shape)
        cost += self.elementwise(ELEMENTWISE_PASSES / 2 * shape.tokens * self.h)
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
        read = 2.0 * shape.sequences * state_bytes(mixer, tp)
        return Cost(
            flop,
            read,
            self._combine(
                flop / (self.outer_peak * profile.attention_compute_fraction),
                read / (self.memory_rate * profile.attention_memory_fraction),
            ),
        )

    def _scores(self, a: AttentionSpec, shape: PassShape, stored: float) -> Cost:
        tp = self.scenario.parallel.tp
        growth = 0.0
        if shape.phase == "decode" and self.scenario.workload.context_tokens is None:
            growth = float(max(self.scenario.workload.output_tokens - 2, 0))
        keys = seen_tokens(a, shape, growth)
        lat = a.latent
        if lat is None:
            flop = 4.0 * shape.tokens * a.heads * a.head_size * keys / tp
        elif shape.phase == "decode":
            # absorbed form: queries meet the latent itself
            flop = 2.0 * shape.tokens * a.heads * (2 * lat.kv_rank + lat.rope_size) * keys / tp
        else:
            width = lat.nope_size + lat.rope_size + lat.value_size
            flop = 2.0 * shape.tokens * a.heads * width * keys / tp
        cached = keys if shape.phase == "decode" else shape.context
        read = shape.sequences * cached * self.kv_bytes_per_token(a)
        profile = self.profile
        # the scores run in the GEMMs' precision, as the worked figures of the ideal profile do
        peak = self.peak if stored < ACTIVATION_BYTES else self.outer_peak
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
        mlp, tp = layer.mlp, self.scenario.parallel.tp
        if not mlp.ffn_size:
            return NOTHING
        stored = self.stored_in(layer)
        if mlp.experts:
            cost = self._experts(mlp, shape, stored.experts)
            router = router_weights(mlp, self.h)
            cost += self.gemm(shape.tokens, router, router, stored.outer)
            shared = shared_weights(mlp, self.h) / tp
            cost += self.gemm(shape.tokens, shared, shared, stored.dense)
        else:
            dense = expert_weights(mlp, self.h) / tp
            cost = self.gemm(shape.tokens, dense, dense, stored.dense)
        width = mlp.ffn_size * max(mlp.experts_per_token, 1) + mlp.shared_ffn_size
        values = shape.tokens * (
            ELEMENTWISE_PASSES / 2 * self.h + ELEMENTWISE_FFN_PASSES * width / tp
        )
        return self._with_overhead(cost + self.elementwise(values))

    def _experts(self, mlp: MlpSpec, shape: PassShape, stored: float) -> Cost:
        """Routed experts of the busiest kind: routing is taken as uniform.

        Distinct experts met by n tokens: E (1 - (1 - k/E)^n).
        """
        p = self.scenario.parallel
        one, k, e = expert_weights(mlp, self.h), mlp.experts_per_token, mlp.experts
        if self.dispatched:
            tokens = shape.tokens * p.ep / p.tp
            share = 1.0 / p.ep
        else:
            tokens = float(shape.tokens)
            share = 1.0 / p.tp
        distinct = e * (1 - (1 - k / e) ** tokens)
        return self.gemm(tokens, k * one * share, distinct * one * share, stored)

    def head(self, shape: PassShape) -> Cost:
        """Logits of the last token of each sequence; the vocabulary is split among tp ranks."""
        weights = self.scenario.model.vocab_size * self.h / self.scenario.parallel.tp
        return self.gemm(shape.sequences, weights, weights, self.stored.outer)

    def embedding(self, shape: PassShape) -> Cost:
        """One row read and written a token."""
        return self.elementwise(2.0 * shape.tokens * self.h)

    def _with_overhead(self, cost: Cost) -> Cost:
        extra = self.profile.layer_overhead_s / 2
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
            return values * ACTIVATION_BYTES
        return values * ACTIVATION_BYTES / min(self.scenario.parallel.tp, a.kv_heads)

    def layer_kv_bytes(self, layer: LayerSpec, tokens: float) -> float:
        """Cache of one sequence of `tokens` in one layer on one GPU, a mixer's state included."""
        a = layer.attention
        window = a.window if a is not None else None
        kept = tokens if window is None else min(tokens, window)
        held = kept * self.kv_bytes_per_token(a)
        if layer.mixer is not None and tokens > 0:
            held += state_bytes(layer.mixer, self.scenario.parallel.tp)
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

        Its layers, the whole embedding on the first stage, its slice of the head and the last norm
        on the last.
        """
        model, p = self.scenario.model, self.scenario.parallel
        total = sum(
            self.layer_weight_bytes(model.layers[i]) for i in stage_layers(self.scenario, stage)
        )
        table = model.vocab_size * self.h * self.stored.outer
        if stage == 0:
            total += table
        if stage == p.pp - 1:
            total += self.h * self.stored.outer
            if not (model.tied_embeddings and stage == 0):
                total += table / p.tp
        return total

    def stage_kv_bytes(self, stage: int, tokens: float) -> float:
        """Cache of the batch on one GPU of a stage once each sequence has `tokens`."""
        layers = self.scenario.model.layers
        return self.scenario.workload.batch * sum(
            self.layer_kv_bytes(layers[i], tokens) for i in stage_layers(self.scenario, stage)
        )
