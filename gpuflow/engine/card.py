"""Everything that the card of a scenario says, in figures."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gpuflow.cluster.cost import CostModel
from gpuflow.cluster.memory import activation_bytes, last_tokens, smallest_split
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
    """What the cache may take; negative where not even the weights fit."""
    pool_tokens: int
    """Tokens of one replica's requests that the pool holds; 0 where none."""
    request_tokens: int
    """Tokens of the longest request: the limit, or the scenario's own."""
    requests: int
    """Requests of that length that the pool of one replica holds."""

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
    changes = try_changes(timeline, lambda changed: memory_of(changed, share).fits)
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
    stages = [_stage(scenario, stage, share) for stage in range(scenario.parallel.pp)]
    return min(stages, key=lambda memory: memory.pool_bytes - memory.kv_bytes)


def _stage(scenario: Scenario, stage: int, share: MemoryShare) -> CardMemory:
    cost, workload = CostModel(scenario), scenario.workload
    device = scenario.cluster.device.memory_bytes
    weights, working = cost.stage_weight_bytes(stage), activation_bytes(scenario, stage)
    if share.of == "all":
        pool = share.fraction * device - weights - working
    elif share.of == "static":
        # Working memory has what the fraction leaves, and no less than it needs.
        pool = min(share.fraction * device, device - working) - weights
    else:
        pool = share.fraction * (device - weights - working)
    tokens = share.context_limit or workload.prompt_tokens + workload.output_tokens
    one = cost.stage_sequence_bytes(stage, float(tokens))
    requests = max(pool, 0.0) / one if one else 0.0
    return CardMemory(
        device_bytes=device,
        weights_bytes=weights,
        kv_bytes=cost.stage_kv_bytes(stage, float(last_tokens(scenario))),
        activations_bytes=working,
        pool_bytes=pool,
        pool_tokens=int(requests * tokens),
        request_tokens=tokens,
        requests=int(requests),
    )
