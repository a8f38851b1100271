"""What the computing time of one part of the model is made of, as a formula.

The cost model runs as it always does and is listened to: every matrix product, every pass over the
cache and over activations is written down with what it was given.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpuflow.cluster.cost import (
    ACTIVATION_BYTES,
    Cost,
    CostModel,
    PassShape,
)
from gpuflow.engine.explanation import Inputs, total
from gpuflow.scenario.model_spec import AttentionSpec, LayerSpec, MixerSpec
from gpuflow.scenario.spec import ComputePart, Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A matrix product as `CostModel.gemm` was asked for it."""

    cost: Cost
    tokens: float
    weights: float
    touched: float
    stored: float
    idle_rows: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Attending:
    """Scores and values of so many pairs, by `CostModel`'s rule for the kind of attention."""

    cost: Cost
    attention: AttentionSpec
    pairs: float
    cached_tokens: float
    stored: float
    is_expanded: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """States of a mixer, updated and read."""

    cost: Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Passes:
    """Element-wise passes over so many values."""

    cost: Cost
    values: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """Fixed time of half a layer."""

    fixed_s: float
    extra_s: float


Work = Product | Attending | Recurrence | Passes | Overhead


class ListeningCost(CostModel):
    """A cost model that notes what a part is made of."""

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        self._heard: list[Work] = []

    def heard(self, part: ComputePart, layer: LayerSpec, shape: PassShape) -> list[Work]:
        """The work of one part of the model."""
        self._heard = []
        self.part(part, layer, shape)
        return self._heard

    def gemm(
        self, tokens: float, weights: float, touched: float, stored: float, idle_rows: float = 0.0
    ) -> Cost:
        """As ever, and noted."""
        cost = super().gemm(tokens, weights, touched, stored, idle_rows)
        if cost.time_s:
            self._heard.append(
                Product(
                    cost=cost,
                    tokens=tokens,
                    weights=weights,
                    touched=touched,
                    stored=stored,
                    idle_rows=idle_rows,
                )
            )
        return cost

    def elementwise(self, values: float) -> Cost:
        """As ever, and noted."""
        cost = super().elementwise(values)
        if cost.time_s:
            self._heard.append(Passes(cost=cost, values=values))
        return cost

    def _attend(
        self, a: AttentionSpec, pairs: float, cached_tokens: float, stored: float, *, expanded: bool
    ) -> Cost:
        cost = super()._attend(a, pairs, cached_tokens, stored, expanded=expanded)
        self._heard.append(
            Attending(
                cost=cost,
                attention=a,
                pairs=pairs,
                cached_tokens=cached_tokens,
                stored=stored,
                is_expanded=expanded,
            )
        )
        return cost

    def _recurrence(self, mixer: MixerSpec, shape: PassShape) -> Cost:
        cost = super()._recurrence(mixer, shape)
        self._heard.append(Recurrence(cost=cost))
        return cost

    def _with_overhead(self, cost: Cost, extra_s: float = 0.0) -> Cost:
        if self.profile.layer_overhead_s or extra_s:
            self._heard.append(Overhead(fixed_s=self.profile.layer_overhead_s, extra_s=extra_s))
        return super()._with_overhead(cost, extra_s)


class PartFormula:
    """The computing time of one part, written out over its inputs."""

    def __init__(
        self, cost: ListeningCost, part: ComputePart, layer: LayerSpec, shape: PassShape
    ) -> None:
        self.cost, self.shape = cost, shape
        work = cost.heard(part, layer, shape)
        self.inputs = Inputs(cost.scenario)
        self.profile, self.device = cost.profile, cost.scenario.cluster.device
        names = self._product_names(part, work)
        self.formula = total(
            self._term(one, str(number) if len(work) > 1 else "", names)
            for number, one in enumerate(work, 1)
        )

    def _product_names(self, part: ComputePart, work: list[Work]) -> Iterator[str]:
        """What the products multiply by, in the order in which the cost model asks for them."""
        if part == "mlp":
            is_dense = sum(isinstance(one, Product) for one in work) == 1
            return iter(["dense"] if is_dense else ["experts", "router", "shared"])
        return iter(["head" if part == "head" else "projections"])

    def _term(self, one: Work, mark: str, names: Iterator[str]) -> str:
        if isinstance(one, Product):
            return self._product(one, mark, next(names))
        if isinstance(one, Attending):
            return self._attending(one, mark)
        if isinstance(one, Recurrence):
            flop = self.inputs.add(f"X{mark}", "recurrent_flop", one.cost.flop, "flop")
            read = self.inputs.add(f"Y{mark}", "state_bytes", one.cost.read_bytes, "bytes")
            return self._attention_roofline(flop, read, self.cost.outer_peak)
        if isinstance(one, Passes):
            values = self.inputs.add(f"v{mark}", "values", one.values, "count")
            width = self._width("b_a", ACTIVATION_BYTES, "activation_bytes")
            return f"{values} * {width} / {self._memory()}"
        fixed = self.inputs.profile("t_layer", "layer_overhead", one.fixed_s, "time")
        if not one.extra_s:
            return f"{fixed} / 2"
        extra = self.inputs.profile("t_extra", "expert_overhead", one.extra_s, "time")
        return f"{fixed} / 2 + {extra}"

    # ------------------------------------------------------------ products

    def _product(self, one: Product, mark: str, name: str) -> str:
        tokens = self._tokens(one, mark)
        weights = self.inputs.add(f"w{mark}", f"weights.{name}", one.weights, "count", "model")
        touched = weights
        if one.touched != one.weights:
            touched = self.inputs.add(f"r{mark}", "touched", one.touched, "count")
        stored = self._width(f"b{mark}", one.stored, "stored_bytes")
        flop = f"2 * {tokens} * {weights}"
        if one.idle_rows:
            idle = self.inputs.profile(f"z{mark}", "idle_rows", one.idle_rows, "count")
            flop = f"2 * ({tokens} * {weights} + {touched} * {idle})"
        is_narrow = one.stored < ACTIVATION_BYTES
        computing = self._peak(self.cost.peak if is_narrow else self.cost.outer_peak)
        computing += f" * {self._fraction('μ', 'compute_fraction', self.profile.compute_fraction)}"
        share = self.profile.narrow_compute_share
        if is_narrow and share != 1:
            computing += f" * {self._fraction('κ', 'narrow_share', share)}"
        return self._roofline(f"{flop} / ({computing})", f"{touched} * {stored} / {self._memory()}")

    def _tokens(self, one: Product, mark: str) -> str:
        if one.tokens == self.shape.all_tokens:
            return self.inputs.add("T", "tokens", one.tokens, "count", "asked")
        if one.tokens == self.shape.all_sequences:
            return self.inputs.add("N", "sequences", one.tokens, "count", "asked")
        return self.inputs.add(f"T{mark}", "tokens_here", one.tokens, "count")

    # ------------------------------------------------------------ attention

    def _attending(self, one: Attending, mark: str) -> str:
        a, tp = one.attention, self.cost.scenario.parallel.tp
        pairs = self.inputs.add(f"A{mark}", "pairs", one.pairs, "count")
        heads = self.inputs.model("H", "heads", a.heads)
        ranks = self.inputs.asked("p", "tp", tp)
        latent = a.latent
        if latent is None:
            width = self.inputs.model("d", "head_size", a.head_size)
            flop = f"4 * {pairs} * {heads} * {width} / {ranks}"
        else:
            values = latent.nope_size + latent.rope_size + latent.value_size
            if not one.is_expanded:
                values = 2 * latent.kv_rank + latent.rope_size
            width = self.inputs.model("d", "latent_width", values)
            flop = f"2 * {pairs} * {heads} * {width} / {ranks}"
        cached = self.inputs.add(f"C{mark}", "cached_tokens", one.cached_tokens, "count")
        entry = self.inputs.add(f"k{mark}", "kv_entry", self.cost.kv_bytes_per_token(a), "bytes")
        is_narrow = one.stored < ACTIVATION_BYTES and not self.profile.scores_in_16_bit
        peak = self.cost.peak if is_narrow else self.cost.outer_peak
        return self._attention_roofline(flop, f"{cached} * {entry}", peak)

    def _attention_roofline(self, flop: str, read: str, peak: float) -> str:
        computing = self._fraction(
            "μ_a", "attention_compute_fraction", self.profile.attention_compute_fraction
        )
        memory = self._fraction(
            "ν_a", "attention_memory_fraction", self.profile.attention_memory_fraction
        )
        rate = self.inputs.gpu("M", "memory_rate", self.cost.memory_rate, "rate")
        return self._roofline(
            f"{flop} / ({self._peak(peak)} * {computing})", f"{read} / ({rate} * {memory})"
        )

    # ------------------------------------------------------------ rates

    def _roofline(self, computing: str, reading: str) -> str:
        exponent = self.profile.roofline_exponent
        if exponent is None:
            return f"max({computing}, {reading})"
        q = self.inputs.profile("q", "roofline_exponent", exponent, "count")
        return f"(({computing}) ** {q} + ({reading}) ** {q}) ** (1 / {q})"

    def _peak(self, peak: float) -> str:
        bf16 = self.device.peak_flop_per_s["bf16"]
        precision = "bf16" if peak == bf16 else self.cost.scenario.precision
        symbol = "P" if peak == bf16 else f"P_{precision}"
        return self.inputs.gpu(symbol, "peak", peak, "flops", precision=precision)

    def _memory(self) -> str:
        rate = self.inputs.gpu("M", "memory_rate", self.cost.memory_rate, "rate")
        reached = self._fraction("ν", "memory_fraction", self.profile.memory_fraction)
        return f"({rate} * {reached})"

    def _fraction(self, symbol: str, name: str, value: float) -> str:
        return self.inputs.profile(symbol, name, value, "share")

    def _width(self, symbol: str, size_bytes: float, name: str) -> str:
        return self.inputs.add(symbol, name, size_bytes, "bytes", "rule")
