"""The closed loop of requests on a server: what must hold whatever the constants are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gpuflow.cluster.cost import CostModel, Joined, PassShape
from gpuflow.engine.pass_terms import PassTerms
from gpuflow.engine.serving import ServingModel, serving_time
from gpuflow.scenario.load import DEFAULT_SCENARIO, Overrides, load_scenario
from gpuflow.scenario.spec import ComputePart, Scenario


def scenario_of(profile: str = "vllm", **more: Any) -> Scenario:
    changes: dict[str, Any] = {"model": "llama-3-8b", "gpu": "h100-sxm", "tp": 1, "pp": 1, **more}
    return load_scenario(DEFAULT_SCENARIO, Overrides(profile=profile, **changes))


@pytest.mark.parametrize("profile", ["vllm", "trtllm", "sglang"])
def test_alone_a_request_waits_for_nobody(profile: str) -> None:
    found = serving_time(scenario_of(profile), 1, 1024, 128)
    assert float(found.tpot_s) == pytest.approx(float(found.step_s))


@pytest.mark.parametrize("profile", ["vllm", "sglang"])
def test_more_requests_make_everything_slower(profile: str) -> None:
    found = serving_time(scenario_of(profile), np.array([1, 4, 16, 64]), 1024, 128)
    assert (np.diff(found.tpot_s) > 0).all()
    assert (np.diff(found.ttft_s) > 0).all()


def test_prompts_cost_more_the_shorter_the_answers() -> None:
    found = serving_time(scenario_of(), 32, 2048, np.array([64, 256, 1024]))
    paid = found.tpot_s - found.step_s
    assert (np.diff(paid) < 0).all()
    assert paid[0] == pytest.approx(4 * paid[1], rel=0.3)


def test_each_prompt_is_paid_for_once_by_every_other_request() -> None:
    found = serving_time(scenario_of(), 8, 1024, 4096)
    paid = 4095 * float(found.tpot_s - found.step_s)
    assert paid == pytest.approx(7 * float(found.prefill_s), rel=0.05)


def test_no_more_requests_run_than_the_cache_holds() -> None:
    model = ServingModel(scenario_of(model="qwen3-32b"))
    room = float(model.room(np.array(2048.0 + 64)))
    assert 1 < room < 64
    few, many = (model.times(c, 2048, 128) for c in (room, 10 * room))
    assert float(many.tpot_s) == pytest.approx(float(few.tpot_s))
    free = model.times(64, 2048, 128, limited=False)
    assert float(free.tpot_s) > float(many.tpot_s)


def test_weights_that_do_not_fit_are_told() -> None:
    assert ServingModel(scenario_of()).fits()
    assert not ServingModel(scenario_of(model="llama-3-70b")).fits()


def test_a_prompt_of_no_tokens_that_joins_costs_nothing() -> None:
    scenario = scenario_of(model="mixtral-8x7b", tp=2)
    terms = PassTerms(scenario)
    plain = PassShape(phase="decode", sequences=8, tokens=8, context=1000.0)
    empty = Joined(tokens=0.0, sequences=0.0, keys=0.0, cached_tokens=0.0)
    joined = replace(plain, joined=empty)
    assert terms.seconds("decode", joined) == pytest.approx(terms.seconds("decode", plain))


def test_a_whole_prompt_that_joins_nobody_costs_what_prefill_does() -> None:
    cost = CostModel(scenario_of(model="mixtral-8x7b", tp=2))
    layer = cost.scenario.model.layers[0]
    prefill = PassShape(phase="prefill", sequences=1, tokens=1000, context=1000.0)
    whole = Joined(tokens=1000.0, sequences=1.0, keys=500.0, cached_tokens=1000.0)
    alone = PassShape(phase="decode", sequences=0.0, tokens=0.0, context=1.0, joined=whole)
    parts: tuple[ComputePart, ...] = ("attention", "mlp", "head", "embedding")
    for part in parts:
        expected = cost.part(part, layer, prefill)
        found = cost.part(part, layer, alone)
        assert found.time_s == pytest.approx(expected.time_s)
        assert found.flop == pytest.approx(expected.flop)


def test_replicas_wait_for_each_others_prompts() -> None:
    one = serving_time(
        scenario_of("trtllm", model="deepseek-v3", gpu="b200", dp=8, ep=8), 16, 4096, 512
    )
    paid = float(one.tpot_s - one.step_s)
    assert paid == pytest.approx(15 * float(one.prefill_s) / 511, rel=0.3)


def test_a_profile_with_host_time_shows_it_on_the_timeline() -> None:
    from gpuflow.engine.simulate import simulate

    scenario = scenario_of("vllm", tp=2)
    timeline = simulate(scenario)
    hosts = [span.duration_s for span in timeline.spans if span.kind == "host"]
    assert [t for t in hosts if t] == [pytest.approx(scenario.profile.host_s_per_step)] * 2
    sources = {s.time_source for s in timeline.spans if s.collective == "all_reduce"}
    assert sources <= {"calibrated", "extrapolated"}
    ideal = simulate(replace(scenario, profile=scenario_of("ideal").profile))
    assert timeline.tpot_s > ideal.tpot_s
