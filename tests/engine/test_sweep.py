"""Many configurations at once against the timeline of each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpuflow.engine.metrics import memory
from gpuflow.engine.simulate import simulate
from gpuflow.engine.sweep import Sweep, SweepResult
from gpuflow.scenario.load import DEFAULT_SCENARIO, Overrides, load_scenario
from gpuflow.scenario.spec import Scenario

CASES = [
    ("ideal", "llama-3-8b", "h100-sxm", {}),
    ("ideal", "gpt-oss-120b", "b200-sxm", {}),
    ("vllm", "llama-3-70b", "h100-sxm", {}),
    ("vllm", "gpt-oss-120b", "h200-sxm", {}),
    ("trtllm", "deepseek-v3", "h200-sxm", {}),
    ("sglang", "mixtral-8x7b", "a100-80gb-sxm", {"dp": 2, "ep": 2}),
    ("vllm", "qwen3-235b-a22b", "b200-sxm", {"precision": "fp8"}),
    ("gpt-fast", "llama-2-7b", "mi300x", {}),
    ("vllm", "deepseek-v3", "h200-sxm", {"dp": 8, "ep": 8}),
]
BATCHES, CONTEXTS = [1, 3, 64], [1, 100, 8192]


def scenario_of(profile: str, model: str, gpu: str, more: dict[str, Any]) -> Scenario:
    changes = Overrides(profile=profile, model=model, gpu=gpu, tp=1, pp=1, **more)
    return load_scenario(DEFAULT_SCENARIO, changes)


def one(scenario: Scenario, batch: int, context: int, tp: int, pp: int) -> Scenario:
    split = replace(scenario.parallel, tp=tp, pp=pp)
    return replace(scenario, parallel=split).with_workload(
        batch=batch, prompt_tokens=context, context_tokens=context, output_tokens=2
    )


@pytest.mark.parametrize(("profile", "model", "gpu", "more"), CASES)
def test_a_sweep_says_what_the_timeline_says(
    profile: str, model: str, gpu: str, more: dict[str, object]
) -> None:
    scenario = scenario_of(profile, model, gpu, more)
    tps = [1, 2, 4] if "dp" not in more else [1]
    pps = [1, 2] if len(scenario.model.layers) % 2 == 0 else [1]
    grid = np.array([(b, c, t, p) for b in BATCHES for c in CONTEXTS for t in tps for p in pps]).T
    found = Sweep(scenario).evaluate(*grid)
    for i, (batch, context, tp, pp) in enumerate(grid.T.tolist()):
        if i % 3:
            continue
        timeline = simulate(one(scenario, batch, context, tp, pp))
        assert found.prefill_s[i] == pytest.approx(timeline.ttft_s, rel=1e-9)
        assert found.decode_s[i] == pytest.approx(timeline.tpot_s, rel=1e-9)
        assert_parts(found, i, timeline.ttft_s, timeline.tpot_s)


def assert_parts(found: SweepResult, i: int, ttft_s: float, tpot_s: float) -> None:
    for phase, whole in (("prefill", ttft_s), ("decode", tpot_s)):
        parts = [array[i] for (of, _), array in found.seconds.items() if of == phase]
        assert sum(parts) == pytest.approx(whole, rel=1e-9)


def test_classes_of_traffic_are_those_of_the_timeline() -> None:
    scenario = one(scenario_of("vllm", "llama-3-70b", "h100-sxm", {}), 8, 2048, 4, 2)
    found, timeline = Sweep(scenario).evaluate(8, 2048), simulate(scenario)
    for (phase, kind), seconds in found.seconds.items():
        spans = [s for s in timeline.spans if s.phase == phase]
        if kind in {"compute", "host"}:
            spent = sum(s.duration_s for s in spans if s.kind == kind)
        else:
            spent = sum(s.duration_s for s in spans if s.traffic_class == kind)
        assert float(seconds) == pytest.approx(spent, rel=1e-9)


def test_memory_is_that_of_the_fullest_gpu() -> None:
    scenario = one(scenario_of("vllm", "llama-3-70b", "h100-sxm", {}), 8, 2048, 4, 2)
    found = Sweep(scenario).evaluate(8, 2048)
    weights = [row.weights_bytes for row in memory(simulate(scenario))]
    assert float(found.weights_bytes) == pytest.approx(max(weights))
    kv = 8 * 2048 * 2 * 40 * (8 / 4) * 128 * 2
    assert float(found.kv_bytes) == pytest.approx(kv)
    usable = scenario.cluster.device.memory_bytes
    assert float(found.free_bytes) == pytest.approx(usable - max(weights) - kv)


def test_inputs_are_broadcast_and_impossible_splits_are_nan() -> None:
    scenario = scenario_of("ideal", "llama-3-8b", "h100-sxm", {})
    found = Sweep(scenario).evaluate(np.ones((4, 1)), [128, 256], tp=[[1], [2], [3], [8]], pp=1)
    assert found.decode_s.shape == (4, 2)
    assert np.isnan(found.decode_s[2]).all()
    assert np.isnan(found.free_bytes[2]).all()
    assert np.isfinite(found.decode_s[[0, 1, 3]]).all()


def test_a_sweep_overlaps_as_the_timeline_does() -> None:
    scenario = scenario_of("vllm", "mixtral-8x7b", "h100-sxm", {}).with_workload(overlap=True)
    found = Sweep(scenario).evaluate(BATCHES, 777, tp=4)
    for i, batch in enumerate(BATCHES):
        timeline = simulate(one(scenario, batch, 777, 4, 1))
        assert found.prefill_s[i] == pytest.approx(timeline.ttft_s, rel=1e-9)
        assert found.decode_s[i] == pytest.approx(timeline.tpot_s, rel=1e-9)
