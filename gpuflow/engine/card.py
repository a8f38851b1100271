"""Everything that the card of a scenario says, in figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gpuflow.cluster.cost import CostModel
from gpuflow.cluster.memory import (
    MOST_SEQUENCES,
    activation_bytes,
    largest_number,
    last_tokens,
    smallest_split,
)
from gpuflow.engine.bottleneck import Part, time_parts
from gpuflow.engine.changes import HARDWARE, OWN, Change, best_change, try_changes
from gpuflow.engine.simulate import simulate
from gpuflow.engine.timeline import Timeline
from gpuflow.engine.wire import MessageKind, message_kinds
from gpuflow.scenario.spec import ParallelSpec, Phase, Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryShare:
    """What an engine takes of a GPU's memory, and how long a request may become."""

    fraction: float = 1.0
    of: Literal["all", "static", "free"] = "all"
    """all: weights, cache and working memory share that part; static: weights and cache do; free:
    the cache takes that part of what weights and working memory leave."""
    context_limit: int | None = None


WHOLE = MemoryShare()


@dataclass(frozen=True, slots=True, kw_only=True)
class CardMemory:
    """One GPU of the stage that has the least room."""

    device_bytes: float
    weights_bytes: float
    kv_bytes: float
    """Cache of the batch at the end of its answers."""
    activations_bytes: float
    pool_bytes: float
    """What the cache may take beside this batch; negative where not even the weights fit."""
    pool_tokens: int
    """Tokens of one replica's requests that the pool holds; 0 where none."""
    request_tokens: int
    """Tokens of the longest request: the limit, or the scenario's own."""
    requests: int
    """Requests of that length that one replica has room for, their working memory included."""

    @property
    def fits(self) -> bool:
        """Whether the batch fits."""
        return self.kv_bytes <= self.pool_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One scenario on one screen."""

    timeline: Timeline
    kinds: tuple[MessageKind, ...]
    parts: Mapping[Phase, tuple[Part, ...]]
    memory: CardMemory
    share: MemoryShare
    changes: tuple[Change, ...]
    best: Change | None
    """What shortens the answer most of everything that fits."""
    second: Change | None
    """The best without other machines where `best` needs them, and the other way round."""
    batch: Change | None
    """Twice the batch, where it fits and gives more tokens per second."""
    smallest: ParallelSpec | None
    """The split with the fewest GPUs that fits, where the scenario's own does not."""


def card_of(scenario: Scenario, share: MemoryShare = WHOLE) -> Card:
    """Simulate a scenario and what could be changed in it."""
    timeline = simulate(scenario)
    changes = try_changes(timeline, lambda changed: has_room(changed, share))
    memory = memory_of(scenario, share)
    least = 0.0 if memory.fits else -math.inf
    found = [best_change(timeline, changes, kinds, least) for kinds in (OWN, HARDWARE)]
    found.sort(key=lambda change: change.gain(timeline) if change else -math.inf, reverse=True)
    phases: tuple[Phase, Phase] = ("prefill", "decode")
    return Card(
        timeline=timeline,
        kinds=message_kinds(timeline),
        parts={phase: time_parts(timeline, phase) for phase in phases},
        memory=memory,
        share=share,
        changes=changes,
        best=found[0],
        second=found[1],
        batch=_larger_batch(timeline, changes) if memory.fits else None,
        smallest=None if memory.fits else smallest_split(scenario),
    )


def _larger_batch(timeline: Timeline, changes: tuple[Change, ...]) -> Change | None:
    if not timeline.laps:
        return None
    before = timeline.scenario.workload.batch * timeline.scenario.parallel.dp / timeline.tpot_s
    return next(
        (
            change
            for change in changes
            if change.kind == "batch" and change.fits and (change.tokens_per_s or 0.0) > before
        ),
        None,
    )


def memory_of(scenario: Scenario, share: MemoryShare = WHOLE) -> CardMemory:
    """Memory of the GPU with the least room, as an engine divides it."""
    division = _Division(scenario, share)
    stages = range(scenario.parallel.pp)
    return division.memory(min(stages, key=division.spare_bytes))


def has_room(scenario: Scenario, share: MemoryShare = WHOLE) -> bool:
    """Whether the batch fits into what an engine takes of the memory of every GPU."""
    division = _Division(scenario, share)
    return all(division.spare_bytes(stage) >= 0 for stage in range(scenario.parallel.pp))


class _Division:
    """How an engine divides the memory of each stage's GPUs."""

    def __init__(self, scenario: Scenario, share: MemoryShare) -> None:
        self.scenario, self.share = scenario, share
        self.cost = CostModel(scenario)
        self.device_bytes = scenario.cluster.device.memory_bytes
        self.weights = [self.cost.stage_weight_bytes(s) for s in range(scenario.parallel.pp)]

    def working_bytes(self, stage: int, batch: int) -> float:
        """Working memory of a pass with so many requests."""
        return activation_bytes(self.scenario.with_workload(batch=batch), stage)

    def pool_bytes(self, stage: int, batch: int) -> float:
        """What the cache may take beside the weights and a pass with so many requests."""
        share, device, weights = self.share, self.device_bytes, self.weights[stage]
        working = self.working_bytes(stage, batch)
        if share.of == "all":
            return share.fraction * device - weights - working
        if share.of == "static":
            # Working memory has what the fraction leaves, and no less than it needs.
            return min(share.fraction * device, device - working) - weights
        return share.fraction * (device - weights - working)

    def kv_bytes(self, stage: int) -> float:
        """Cache of the batch at the end of its answers."""
        return self.cost.stage_kv_bytes(stage, float(last_tokens(self.scenario)))

    def spare_bytes(self, stage: int) -> float:
        """What the batch leaves of the pool; negative where it does not fit."""
        return self.pool_bytes(stage, self.scenario.workload.batch) - self.kv_bytes(stage)

    @property
    def request_tokens(self) -> int:
        """Tokens of the longest request."""
        w = self.scenario.workload
        fixed = w.context_tokens if w.output_tokens > 1 else None
        return self.share.context_limit or fixed or w.prompt_tokens + w.output_tokens

    @property
    def cached_tokens(self) -> int:
        """Tokens of the longest request that are cached: of a limit's all but the last one."""
        limit = self.share.context_limit
        return last_tokens(self.scenario) if limit is None else max(limit - 1, 1)

    def requests(self) -> int:
        """Requests of that length that fit on every GPU.

        Their passes need more working memory than those of a smaller batch; of the scenario's own
        requests it is the largest batch that fits (`gpuflow.cluster.memory.largest_batch`).
        """
        stages = range(self.scenario.parallel.pp)
        each = [self.cost.stage_sequence_bytes(s, float(self.cached_tokens)) for s in stages]

        def fits(batch: int) -> bool:
            return all(batch * each[s] <= self.pool_bytes(s, batch) for s in stages)

        return largest_number(fits, MOST_SEQUENCES)

    def memory(self, stage: int) -> CardMemory:
        """Everything said of one GPU of a stage."""
        batch, tokens = self.scenario.workload.batch, float(self.cached_tokens)
        pool, one = self.pool_bytes(stage, batch), self.cost.stage_sequence_bytes(stage, tokens)
        return CardMemory(
            device_bytes=self.device_bytes,
            weights_bytes=self.weights[stage],
            kv_bytes=self.kv_bytes(stage),
            activations_bytes=self.working_bytes(stage, batch),
            pool_bytes=pool,
            pool_tokens=int(max(pool, 0.0) / one * tokens) if one else 0,
            request_tokens=self.request_tokens,
            requests=self.requests(),
        )
