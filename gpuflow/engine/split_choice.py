"""Every way to split the model over the GPUs at hand, and which ways meet the targets.

The sequences in flight stay the same: replicas share them out. What does not fit is listed too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from gpuflow.cluster.memory import has_room
from gpuflow.engine.simulate import simulate
from gpuflow.engine.targets import TOLERANCE, Targets
from gpuflow.scenario.spec import ParallelSpec, Scenario
from gpuflow.scenario.splits import divisors, even_spread, is_possible


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitResult:
    """One split with its times."""

    parallel: ParallelSpec
    batch: int
    """Sequences per replica; of the fullest one where they do not share out evenly."""
    ttft_s: float
    tpot_s: float | None
    """None when only one token is asked for."""
    tokens_per_s: float | None
    """Of all sequences together."""
    fits: bool
    """Whether weights, cache and working memory fit."""
    meets_ttft: bool | None
    """None: there is no such target."""
    meets_tpot: bool | None
    is_own: bool
    """Whether it is the scenario's own."""

    @property
    def meets(self) -> bool:
        """Whether it fits and misses no target."""
        return self.fits and self.meets_ttft is not False and self.meets_tpot is not False


def split_results(scenario: Scenario, targets: Targets) -> tuple[SplitResult, ...]:
    """All splits of as many GPUs: those that meet the targets first, the fastest before others."""
    results = [_result(scenario, split, targets) for split in splits_of(scenario)]
    return tuple(
        sorted(results, key=lambda r: (not r.meets, not r.fits, r.tpot_s or r.ttft_s, r.ttft_s))
    )


def splits_of(scenario: Scenario) -> Iterator[ParallelSpec]:
    """Splits of the scenario's GPUs that its model allows.

    Stages are equal where the layers divide and as alike as can be elsewhere. Experts stay
    together in each replica, or are spread over all ranks of a stage, as engines do (vLLM: EP is
    TP x DP); the scenario's own degree is tried too.
    """
    own, model = scenario.parallel, scenario.model
    sequences, n_layers = own.dp * scenario.workload.batch, len(model.layers)
    for tp in divisors(own.world):
        for pp in divisors(own.world // tp):
            dp = own.world // (tp * pp)
            if dp > sequences or pp > n_layers:
                continue
            degrees = {1, own.ep, tp * dp} if model.has_experts else {1}
            for ep in sorted(degrees):
                parallel = ParallelSpec(
                    tp=tp, pp=pp, dp=dp, ep=ep, stage_layers=_stages(scenario, tp, pp, dp)
                )
                if is_possible(model, parallel):
                    yield parallel


def _stages(scenario: Scenario, tp: int, pp: int, dp: int) -> tuple[int, ...]:
    own, n_layers = scenario.parallel, len(scenario.model.layers)
    if (tp, pp, dp) == (own.tp, own.pp, own.dp):
        return own.stage_layers
    return even_spread(n_layers, pp) if n_layers % pp else ()


def with_parallel(scenario: Scenario, parallel: ParallelSpec) -> Scenario:
    """The scenario on another split, its sequences shared out among the replicas there are."""
    workload = scenario.workload
    batch = -(-workload.batch * scenario.parallel.dp // parallel.dp)
    groups = workload.micro_batches
    return replace(
        scenario,
        parallel=parallel,
        workload=replace(workload, batch=batch, micro_batches=groups if batch % groups == 0 else 1),
    )


def _result(scenario: Scenario, parallel: ParallelSpec, targets: Targets) -> SplitResult:
    changed = with_parallel(scenario, parallel)
    timeline = simulate(changed)
    tpot_s = timeline.tpot_s if timeline.laps else None
    sequences = scenario.workload.batch * scenario.parallel.dp
    return SplitResult(
        parallel=parallel,
        batch=changed.workload.batch,
        ttft_s=timeline.ttft_s,
        tpot_s=tpot_s,
        tokens_per_s=sequences / tpot_s if tpot_s else None,
        fits=has_room(changed),
        meets_ttft=_meets(timeline.ttft_s, targets.ttft_s),
        meets_tpot=_meets(tpot_s, targets.tpot_s),
        is_own=parallel == scenario.parallel,
    )


def _meets(found_s: float | None, target_s: float | None) -> bool | None:
    if target_s is None or found_s is None:
        return None
    return found_s <= target_s * (1 + TOLERANCE)
