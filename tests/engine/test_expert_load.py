"""What experts get under random routing, against what chance says of it."""

from __future__ import annotations

import math

import pytest

from gpuflow.engine.expert_load import ExpertLoad, expert_load

WIDE = {"model": "deepseek-v3", "tp": 1, "pp": 1, "dp": 64, "ep": 64}


@pytest.mark.parametrize("overrides", [{"name": "moe-ep4"}, WIDE, {**WIDE, "batch": 64}], ids=str)
@pytest.mark.parametrize("phase", ["prefill", "decode"])
def test_all_copies_are_there_and_spread_as_chance_has_it(load, overrides, phase) -> None:
    found = expert_load(load(**overrides), phase)
    assert found is not None
    assert len(found.copies) == found.experts
    assert sum(found.copies) == found.tokens * found.experts_per_token
    share = found.experts_per_token / found.experts
    spread = math.sqrt(found.tokens * share * (1 - share))
    for copies in found.copies:
        assert 0 <= copies <= found.tokens
        assert abs(copies - found.mean_copies) <= 6 * spread
    assert found.peak >= 1.0
    assert found.rank_peak <= found.peak


def test_tokens_of_all_replicas_meet_in_a_group(load) -> None:
    scenario = load(**WIDE, batch=4)
    prefill, decode = expert_load(scenario, "prefill"), expert_load(scenario, "decode")
    assert prefill is not None
    assert decode is not None
    assert prefill.tokens == 64 * 4 * scenario.workload.prompt_tokens
    assert decode.tokens == 64 * 4


def test_the_example_is_the_same_every_time(load) -> None:
    assert expert_load(load(**WIDE), "decode") == expert_load(load(**WIDE), "decode")


def test_without_experts_there_is_nothing_to_show(load) -> None:
    assert expert_load(load(), "prefill") is None


def test_gpus_hold_all_experts_between_them() -> None:
    found = ExpertLoad(
        experts=10, experts_per_token=1, tokens=20, holders=4, copies=(2,) * 9 + (2,)
    )
    held = [found.held(place) for place in range(4)]
    assert [expert for experts in held for expert in experts] == list(range(10))
    assert sum(found.rank_copies(place) for place in range(4)) == 20
    assert found.held(5) == found.held(1)


def test_without_expert_parallelism_every_gpu_has_a_slice_of_all(load) -> None:
    found = expert_load(load(model="mixtral-8x7b", tp=2, pp=1), "decode")
    assert found is not None
    assert found.holders == 1
    assert found.held(3) == range(8)
