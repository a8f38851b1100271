"""How many tokens each expert of a layer gets, as an example of uniform random routing.

The cost model takes the routing as even: what a GPU computes and sends is the mean. A real router
is not even, and nobody knows a model's before running it; so the spread that chance alone makes is
shown, for one draw with a fixed seed. Trained routers are usually less even than this.

    copies of an expert ~ Binomial(tokens, k/E), all copies together tokens x k
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpuflow.cluster.mesh import is_dispatched
from gpuflow.cluster.pass_shape import decode_shape, prefill_shape
from gpuflow.scenario.model_spec import MlpSpec
from gpuflow.scenario.spec import Phase, Scenario

SEED = 0
MOST_DRAWS = 1 << 20
"""Tokens x experts up to which every token picks k different experts; beyond, its copies are drawn
one by one, whose counts differ by less than their spread."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertLoad:
    """One layer's experts in one pass, for one group of GPUs that hold all of them together."""

    experts: int
    experts_per_token: int
    tokens: int
    """Of the group, each once."""
    holders: int
    """GPUs of a group over which whole experts are spread; 1: each has a slice of every expert."""
    copies: tuple[int, ...]
    """Tokens each expert gets, in the example."""
    seed: int = SEED

    @property
    def mean_copies(self) -> float:
        """Tokens an expert gets on average."""
        return self.tokens * self.experts_per_token / self.experts

    @property
    def peak(self) -> float:
        """Tokens of the busiest expert, over the mean."""
        return max(self.copies) / self.mean_copies

    def held(self, place: int) -> range:
        """The experts of a GPU by its position in the group, from 0."""
        place %= self.holders
        return range(
            self.experts * place // self.holders, self.experts * (place + 1) // self.holders
        )

    def rank_copies(self, place: int) -> int:
        """Tokens that the experts of a GPU get together."""
        held = self.held(place)
        return sum(self.copies[held.start : held.stop])

    @property
    def rank_peak(self) -> float:
        """Tokens of the busiest GPU, over the mean."""
        most = max(self.rank_copies(place) for place in range(self.holders))
        return most * self.holders / (self.tokens * self.experts_per_token)


def expert_load(scenario: Scenario, phase: Phase) -> ExpertLoad | None:
    """An example for a pass; None for a model without experts."""
    mlp = _sparse_mlp(scenario)
    if mlp is None:
        return None
    p = scenario.parallel
    shape = prefill_shape(scenario) if phase == "prefill" else decode_shape(scenario)
    tokens = shape.all_tokens * p.ep / p.tp if is_dispatched(scenario) else shape.all_tokens
    whole = max(round(tokens), 1)
    return ExpertLoad(
        experts=mlp.experts,
        experts_per_token=mlp.experts_per_token,
        tokens=whole,
        holders=min(p.ep, mlp.experts),
        copies=_drawn(whole, mlp.experts, mlp.experts_per_token),
    )


def _sparse_mlp(scenario: Scenario) -> MlpSpec | None:
    return next((layer.mlp for layer in scenario.model.layers if layer.mlp.experts), None)


def _drawn(tokens: int, experts: int, per_token: int) -> tuple[int, ...]:
    random = np.random.default_rng(SEED)
    if tokens * experts <= MOST_DRAWS:
        order = random.random((tokens, experts)).argsort(axis=1)[:, :per_token]
        counts = np.bincount(order.ravel(), minlength=experts)
    else:
        counts = random.multinomial(tokens * per_token, np.full(experts, 1 / experts))
    return tuple(map(int, counts))
