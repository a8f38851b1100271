"""How many configurations a second the sweep evaluates, against a plain Python loop.

    python tests/benchmarks/sweep.py [PROFILE ...]

The loop evaluates the same formulas one configuration at a time on a part of the configurations,
and is scaled up to all of them. Planning a split is done before the clock starts, for both.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass

import numpy as np

from gpuflow.cluster.cost import PassShape
from gpuflow.engine.pass_terms import PassTerms
from gpuflow.engine.sweep import Sweep
from gpuflow.scenario.load import DEFAULT_SCENARIO, Overrides, load_scenario
from gpuflow.scenario.spec import Scenario

CONFIGURATIONS = 200_000
LOOPED = 1_000
REPEATS = 3


@dataclass(frozen=True)
class Rate:
    """Seconds for all configurations at once, and one by one."""

    at_once_s: float
    one_by_one_s: float

    @property
    def per_second(self) -> float:
        return CONFIGURATIONS / self.at_once_s

    @property
    def ratio(self) -> float:
        return self.one_by_one_s / self.at_once_s


def scenario_of(profile: str, model: str = "llama-3-70b", gpu: str = "h100-sxm") -> Scenario:
    changes = Overrides(model=model, gpu=gpu, tp=4, pp=2, profile=profile)
    return load_scenario(DEFAULT_SCENARIO, changes)


def measure(profile: str = "vllm") -> Rate:
    """Batches of 1 to 256, contexts of 1 to 32,768, tp of 1 to 8, pp of 1 to 4."""
    rng = np.random.default_rng(0)
    batch = rng.integers(1, 257, CONFIGURATIONS)
    context = rng.integers(1, 32_769, CONFIGURATIONS)
    tp, pp = 2 ** rng.integers(0, 4, CONFIGURATIONS), 2 ** rng.integers(0, 3, CONFIGURATIONS)
    scenario = scenario_of(profile)
    sweep = Sweep(scenario)
    sweep.evaluate(batch, context, tp, pp)
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        sweep.evaluate(batch, context, tp, pp)
        times.append(time.perf_counter() - begin)
    return Rate(sorted(times)[REPEATS // 2], _loop(sweep, batch, context, tp, pp))


def _loop(sweep: Sweep, *arrays: np.ndarray) -> float:
    planned = [
        sweep.planned(*split) for split in zip(*(a[:LOOPED] for a in arrays[2:]), strict=True)
    ]
    cases = list(zip(planned, *(map(float, a[:LOOPED]) for a in arrays[:2]), strict=True))
    begin = time.perf_counter()
    for terms, batch, context in cases:
        _one(terms, batch, context)
    return (time.perf_counter() - begin) * CONFIGURATIONS / LOOPED


def _one(terms: PassTerms, batch: float, context: float) -> None:
    prefill = PassShape(phase="prefill", sequences=batch, tokens=batch * context, context=context)
    decode = PassShape(phase="decode", sequences=batch, tokens=batch, context=context)
    terms.seconds_by_kind("prefill", prefill)
    terms.seconds_by_kind("decode", decode)
    for stage in range(terms.scenario.parallel.pp):
        terms.cost.stage_sequence_bytes(stage, context)


def main(profiles: list[str]) -> int:
    for profile in profiles or ["ideal", "vllm"]:
        rate = measure(profile)
        print(
            f"sweep_{profile:<8} {rate.per_second:12,.0f} configurations a second, "
            f"{rate.ratio:.0f} times a plain Python loop over the same formulas"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
