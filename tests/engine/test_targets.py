"""Requirements under targets, proved by simulating the fabric that they ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gpuflow.engine.requirements import Requirement, requirement_table
from gpuflow.engine.simulate import simulate
from gpuflow.engine.split_choice import split_results, splits_of, with_parallel
from gpuflow.engine.targets import Targets, needed_factor, on_scaled_fabric, phase_seconds
from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.scenario.spec import Scenario

Load = Callable[..., Scenario]

CASES = [
    ("tp2-pp2", {}),
    ("tp2-pp2", {"model": "llama-3-70b", "tp": 8, "pp": 4, "batch": 32, "context": 4096}),
    ("tp2-pp2", {"model": "llama-3-70b", "tp": 16, "pp": 1, "prompt": 2048}),
    ("tp2-pp2", {"gpu": "mi300x", "tp": 4, "pp": 1}),
    ("tp2-pp2", {"batch": 8, "chunk": 512, "micro_batches": 4}),
    ("tp2-pp2", {"batch": 8, "overlap": True}),
    ("moe-ep4", {"batch": 16}),
    ("moe-ep4", {"model": "deepseek-v3", "gpu": "h200", "dp": 16, "ep": 16, "batch": 32}),
]
TIMES = [1.1, 3.0]


def scenario_of(name: str, changes: dict[str, Any], profile: str) -> Scenario:
    return load_scenario(name, Overrides(profile=profile, **changes))


def on_fabric_of(scenario: Scenario, row: Requirement, times: float) -> Scenario:
    """The scenario on a fabric with its latencies and the bandwidth that a row asks for."""
    assert row.needed_bandwidth_here_bytes_per_s is not None
    assert row.available_bandwidth_bytes_per_s is not None
    factor = times * row.needed_bandwidth_here_bytes_per_s / row.available_bandwidth_bytes_per_s
    cluster = scenario.cluster
    fabric = cluster.scale_up if row.tier == "scale_up" else cluster.scale_out
    field = (
        "hop_bandwidth_bytes_per_s" if row.traffic_class == "pp" else "bus_bandwidth_bytes_per_s"
    )
    asked = replace(fabric, title="asked for", **{field: getattr(fabric, field) * factor})
    return replace(scenario, cluster=replace(cluster, **{str(row.tier): asked}))


@pytest.mark.parametrize("profile", ["ideal", "vllm"])
@pytest.mark.parametrize(("name", "changes"), CASES)
def test_the_needed_bandwidth_meets_the_target_and_a_little_less_misses_it(
    name: str, changes: dict[str, Any], profile: str
) -> None:
    scenario = scenario_of(name, changes, profile)
    here = simulate(scenario)
    checked = 0
    for times in TIMES:
        targets = Targets(ttft_s=times * here.ttft_s, tpot_s=times * here.tpot_s)
        for row in requirement_table(scenario, targets=targets).rows:
            if row.needed_bandwidth_here_bytes_per_s is None:
                continue
            target_s = targets.of(row.phase)
            assert target_s is not None
            met_s = phase_seconds(on_fabric_of(scenario, row, 1.0), row.phase)
            missed_s = phase_seconds(on_fabric_of(scenario, row, 0.98), row.phase)
            assert met_s == pytest.approx(target_s, rel=1e-6)
            assert missed_s > target_s
            checked += 1
    assert checked >= 3


@pytest.mark.parametrize(("name", "changes"), CASES)
def test_a_row_is_short_exactly_where_its_target_is_missed(
    name: str, changes: dict[str, Any]
) -> None:
    scenario = scenario_of(name, changes, "ideal")
    here = simulate(scenario)
    for times in (0.9, 0.98, 1.02, 1.5):
        targets = Targets(ttft_s=times * here.ttft_s, tpot_s=times * here.tpot_s)
        for row in requirement_table(scenario, targets=targets).rows:
            if row.headroom is not None:
                assert (row.headroom >= 1) == (times >= 1), (row.id, times)
                assert (row.verdict == "short") == (times < 1)


def test_budget_is_the_time_of_a_message_on_that_fabric(load: Load) -> None:
    row = requirement_table(load(), targets=Targets(ttft_s=10e-3)).row("tp_prefill")
    wire = row.message_size_bytes  # bus factor of an all_reduce between two: 1
    asked = row.available_latency_s + wire / row.needed_bandwidth_here_bytes_per_s
    assert row.needed_latency_s == pytest.approx(asked)
    assert row.needed_bandwidth_bytes_per_s == pytest.approx(wire / row.needed_latency_s)


def test_hand_calculation_of_the_default_scenario(load: Load) -> None:
    """64 all_reduces of 4 MiB and a logits gather of 250.5 KiB share what 9 ms leave."""
    scenario = load()
    spans = [s for s in simulate(scenario).spans if s.phase == "prefill"]
    others = sum(s.duration_s for s in spans if s.kind != "collective")
    n = sum(s.kind == "collective" for s in spans)
    wire = 64 * 4 * 2**20 + 128_256 * 2 / 2 + 512 * 4 + 4
    needed = wire / (9e-3 - others - n * 8e-6)
    row = requirement_table(scenario, targets=Targets(ttft_s=9e-3)).row("tp_prefill")
    assert row.needed_bandwidth_here_bytes_per_s == pytest.approx(needed, rel=1e-6)


def test_a_phase_without_target_keeps_the_share(load: Load) -> None:
    plain = requirement_table(load(), 0.2)
    aimed = requirement_table(load(), 0.2, Targets(tpot_s=30e-3))
    assert aimed.row("tp_prefill") == plain.row("tp_prefill")
    assert aimed.row("tp_decode").target_s == 30e-3
    assert aimed.row("tp_decode").headroom > plain.row("tp_decode").headroom


def test_a_target_below_computing_says_so(load: Load) -> None:
    row = requirement_table(load(), targets=Targets(tpot_s=1e-3)).row("tp_decode")
    assert row.needed_bandwidth_here_bytes_per_s is None
    assert row.needed_bandwidth_bytes_per_s is None
    assert row.needed_latency_s is None
    assert (row.verdict, row.headroom) == ("short", 0.0)
    assert row.notes == ("target_out_of_reach",)


def test_a_target_kept_by_a_quick_kernel_is_not_called_out_of_reach() -> None:
    scenario = scenario_of("tp2-pp2", {}, "vllm")
    targets = Targets(tpot_s=simulate(scenario).tpot_s * 1.001)
    row = requirement_table(scenario, targets=targets).row("tp_decode")
    if row.needed_bandwidth_here_bytes_per_s is None:
        assert "target_kept_as_measured" in row.notes
    assert row.verdict == "tight"


def test_scaling_a_fabric_leaves_its_latencies(load: Load) -> None:
    scenario = load()
    scaled = on_scaled_fabric(scenario, "scale_up", "bus", 0.5).cluster.scale_up
    own = scenario.cluster.scale_up
    assert scaled.bus_bandwidth_bytes_per_s == own.bus_bandwidth_bytes_per_s / 2
    assert scaled.hop_bandwidth_bytes_per_s == own.hop_bandwidth_bytes_per_s
    assert scaled.collective_latency_s == own.collective_latency_s


def test_traffic_that_takes_no_time_needs_next_to_no_bandwidth(load: Load) -> None:
    scenario = load()
    factor = needed_factor(scenario, "decode", "scale_up", "hop", 100.0)
    assert factor is not None
    assert factor < 1e-6


# ---------------------------------------------------------------- splits


def test_splits_use_all_gpus_and_share_out_all_sequences(load: Load) -> None:
    scenario = load(tp=4, pp=2, batch=6)
    found = list(splits_of(scenario))
    assert {(p.tp, p.pp, p.dp) for p in found} == {
        *((8, 1, 1), (4, 2, 1), (2, 4, 1), (1, 8, 1)),
        *((4, 1, 2), (2, 2, 2), (1, 4, 2)),
        *((2, 1, 4), (1, 2, 4)),
    }
    assert all(p.world == 8 for p in found)
    assert with_parallel(scenario, found[-1]).workload.batch * found[-1].dp >= 6


def test_experts_stay_in_a_replica_or_spread_over_a_stage(load: Load) -> None:
    found = {(p.tp, p.dp, p.ep) for p in splits_of(load("moe-ep4", batch=4)) if p.pp == 1}
    assert found == {(1, 4, 1), (1, 4, 4), (2, 2, 1), (2, 2, 4), (4, 1, 1), (4, 1, 4)}


def test_splits_that_meet_come_first_and_agree_with_a_simulation_of_their_own(load: Load) -> None:
    scenario = load(model="llama-3-70b", tp=8, pp=1, batch=8, prompt=2048)
    targets = Targets(ttft_s=2.0, tpot_s=25e-3)
    results = split_results(scenario, targets)
    meeting = [one.meets for one in results]
    assert meeting == sorted(meeting, reverse=True)
    assert any(meeting)
    assert not all(meeting)
    for one in results:
        timeline = simulate(with_parallel(scenario, one.parallel))
        assert one.ttft_s == timeline.ttft_s
        assert one.meets_ttft == (timeline.ttft_s <= 2.0)
        assert one.meets_tpot == (timeline.tpot_s <= 25e-3)
    assert sum(one.is_own for one in results) == 1


def test_layers_that_do_not_divide_are_spread_evenly(load: Load) -> None:
    scenario = load(model="llama-3.1-405b", precision="fp8", tp=8, pp=2)
    uneven = {p.pp: p.stage_layers for p in splits_of(scenario) if p.stage_layers}
    assert uneven[4] == (32, 32, 31, 31)
    assert {p.pp for p in splits_of(scenario)} == {1, 2, 4, 8, 16}


def test_what_does_not_fit_meets_nothing(load: Load) -> None:
    scenario = load(model="llama-3-70b", tp=1, pp=1, gpu="l40s")
    (only,) = split_results(scenario, Targets(ttft_s=100.0))
    assert only.meets_ttft
    assert not only.fits
    assert not only.meets
