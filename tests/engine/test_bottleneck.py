"""What a pass's time goes into, and what one change at a time gives."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpuflow.cluster.cost import CostModel
from gpuflow.cluster.memory import largest_batch
from gpuflow.engine.bottleneck import time_parts
from gpuflow.engine.card import MemoryShare, card_of, has_room, memory_of
from gpuflow.engine.changes import HARDWARE, OWN, best_change, try_changes
from gpuflow.engine.simulate import simulate
from gpuflow.engine.wire import message_kinds
from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.scenario.spec import Phase


@pytest.mark.parametrize("profile", ["ideal", "vllm", "sglang", "trtllm"])
@pytest.mark.parametrize("model", ["llama-3-8b", "mixtral-8x7b"])
def test_the_parts_are_the_whole_pass(profile: str, model: str) -> None:
    timeline = simulate(load_scenario("tp2-pp2", Overrides(profile=profile, model=model)))
    phases: tuple[Phase, Phase] = ("prefill", "decode")
    for phase in phases:
        parts = time_parts(timeline, phase)
        assert sum(part.seconds for part in parts) == pytest.approx(timeline.pass_s(phase))
        assert [part.seconds for part in parts] == sorted(
            (part.seconds for part in parts), reverse=True
        )


def test_latency_and_bandwidth_of_the_ideal_profile_are_its_constants() -> None:
    """64 all_reduces a token, 8 us and 8 KiB at 370 GB/s each; bus factor 1 with two ranks."""
    timeline = simulate(load_scenario("tp2-pp2", Overrides(profile="ideal")))
    parts = {(p.resource, p.traffic_class): p.seconds for p in time_parts(timeline, "decode")}
    assert parts["latency", "tp"] == pytest.approx(64 * 8e-6, rel=1e-3)
    assert parts["bandwidth", "tp"] == pytest.approx(64 * 8192 / 370e9, rel=1e-3)
    assert ("overhead", None) not in parts
    assert max(parts, key=lambda key: parts[key]) == ("memory", None)


def test_prefill_is_arithmetic_and_faster_links_halve_what_is_bandwidth() -> None:
    scenario = load_scenario("tp2-pp2", Overrides(profile="ideal", prompt=2048))
    timeline = simulate(scenario)
    assert time_parts(timeline, "prefill")[0].resource == "arithmetic"
    bandwidth = sum(
        part.seconds for part in time_parts(timeline, "prefill") if part.resource == "bandwidth"
    )
    (link,) = (change for change in try_changes(timeline) if change.kind == "link")
    assert timeline.ttft_s - link.ttft_s == pytest.approx(bandwidth / 2)


def test_a_change_keeps_the_load_and_the_gpus() -> None:
    scenario = load_scenario("tp2-pp2", Overrides(tp=4, pp=1, dp=2, batch=6))
    for change in try_changes(simulate(scenario)):
        if change.kind == "split":
            assert change.parallel.world == 8
        if change.kind in {"split", "gpus"}:
            assert change.batch * change.parallel.dp == 12


def test_only_what_fits_is_advised() -> None:
    scenario = load_scenario("tp2-pp2", Overrides(model="llama-3.1-405b", tp=8, pp=1, gpu="h100"))
    timeline = simulate(scenario)
    changes = try_changes(timeline)
    card = card_of(scenario)
    assert not card.memory.fits
    assert card.smallest is not None
    assert card.best is not None
    assert card.best.fits
    none_fits = try_changes(timeline, lambda changed: False)
    assert best_change(timeline, none_fits, OWN | HARDWARE) is None
    assert [change.fits for change in none_fits] == [False] * len(changes)


def test_hidden_messages_keep_their_rate_on_the_wire() -> None:
    plain = load_scenario(
        "moe-ep4", Overrides(model="mixtral-8x7b", batch=64, prompt=512, profile="vllm")
    )
    hidden = replace(plain, workload=replace(plain.workload, overlap=True))
    rates = [
        {
            (kind.phase, kind.payload): kind.gpu_bytes_per_s
            for kind in message_kinds(simulate(scenario))
            if kind.traffic_class == "ep"
        }
        for scenario in (plain, hidden)
    ]
    assert rates[0].keys() == rates[1].keys()
    for key, rate in rates[0].items():
        assert rates[1][key] == pytest.approx(rate, rel=0.6)
    assert max(rates[1].values()) < 900e9


def test_a_smaller_share_of_the_memory_leaves_a_smaller_pool() -> None:
    scenario = load_scenario("tp2-pp2")
    shares = [MemoryShare(fraction=part) for part in (0.5, 0.9, 1.0)]
    pools = [memory_of(scenario, share).pool_bytes for share in shares]
    assert pools == sorted(pools)
    assert pools[2] - pools[0] == pytest.approx(0.5 * scenario.cluster.device.memory_bytes)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"output": 1, "batch": 9},
        {"context": 8192, "batch": 4},
        {"model": "gpt-oss-20b", "tp": 1, "pp": 4, "prompt": 4096},
        {"model": "mixtral-8x7b", "tp": 1, "pp": 1, "dp": 4, "ep": 4, "chunk": 512},
        {"model": "llama-3-70b", "tp": 1, "pp": 1},
    ],
)
def test_the_card_has_room_for_as_many_requests_as_an_estimate(changes: dict[str, Any]) -> None:
    """Of a longest request equal to the scenario's, beside the working memory of so many."""
    scenario = load_scenario("tp2-pp2", Overrides(**changes))
    memory = memory_of(scenario)
    assert memory.requests == largest_batch(scenario)
    assert memory.fits == (memory.requests >= scenario.workload.batch) == has_room(scenario)


def test_as_many_requests_as_long_as_the_limit_share_the_memory_as_there_is() -> None:
    scenario, share = load_scenario("tp2-pp2"), MemoryShare(fraction=0.9, context_limit=8192)
    found = memory_of(scenario, share)
    one = CostModel(scenario).stage_sequence_bytes(0, 8191)
    pools = [
        memory_of(scenario.with_workload(batch=batch), share).pool_bytes
        for batch in (found.requests, found.requests + 1)
    ]
    assert found.request_tokens == 8192
    assert pools[0] >= found.requests * one
    assert pools[1] < (found.requests + 1) * one
