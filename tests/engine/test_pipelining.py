"""Chunks, micro-batches and overlap: what they cost and save, against sums done by hand."""

from __future__ import annotations

from typing import Any

import pytest

from gpuflow.engine.metrics import estimate, traffic
from gpuflow.engine.moment import Moments
from gpuflow.engine.overlap import exposed_share
from gpuflow.engine.pace import Pace
from gpuflow.engine.simulate import simulate
from gpuflow.engine.timeline import Timeline
from gpuflow.errors import ScenarioError
from gpuflow.scenario.load import DEFAULT_SCENARIO, Overrides, load_scenario
from gpuflow.scenario.spec import Scenario


def scenario_of(**more: Any) -> Scenario:
    changes: dict[str, Any] = {
        "model": "llama-3-8b",
        "batch": 8,
        "prompt": 1024,
        "output": 64,
        "tp": 1,
        **more,
    }
    return load_scenario(DEFAULT_SCENARIO, Overrides(profile="ideal", **changes))


def run(**more: object) -> Timeline:
    return simulate(scenario_of(**more))


def stage_s(timeline: Timeline, stage: int, phase: str) -> float:
    """Layers of a stage in one pass."""
    spans = (s for s in timeline.spans if s.stage == stage and s.phase == phase)
    return sum(s.duration_s for s in spans if s.layer)


@pytest.mark.parametrize("micro", [2, 4, 8])
def test_the_bubble_of_equal_stages_is_the_textbook_one(micro: int) -> None:
    timeline = run(pp=4, micro_batches=micro)
    assert timeline.pipelining is not None
    assert timeline.pipelining.prefill_bubble_share == pytest.approx(3 / (micro + 3), abs=0.04)


def test_micro_batches_fill_the_pipeline() -> None:
    alone, split = run(pp=4), run(pp=4, micro_batches=4)
    one = stage_s(split, 0, "prefill")
    assert stage_s(alone, 0, "prefill") == pytest.approx(4 * one, rel=0.01)
    assert split.ttft_s < 0.5 * alone.ttft_s
    assert split.ttft_s == pytest.approx(7 * one, rel=0.05)


def test_on_one_stage_micro_batches_only_follow_one_another() -> None:
    alone, split = run(pp=1), run(pp=1, micro_batches=4)
    assert split.ttft_s == pytest.approx(4 * split.pass_s("prefill"), rel=1e-9)
    assert split.ttft_s >= alone.ttft_s
    assert split.tpot_s == pytest.approx(4 * split.pass_s("decode"), rel=1e-3)


def test_a_lap_lasts_as_long_as_the_groups_need_on_the_slowest_stage() -> None:
    few, many = run(pp=4, micro_batches=2), run(pp=4, micro_batches=8)
    assert few.tpot_s == pytest.approx(few.pass_s("decode"))
    assert many.tpot_s >= 8 * stage_s(many, 0, "decode")
    assert many.pipelining is not None
    assert many.pipelining.lap_wait_s > 0
    folds = [span.fold for span in many.spans if span.kind == "fold"]
    assert folds == ["passes", "groups", "laps"]


def test_chunks_cost_the_weights_again_and_the_messages_start() -> None:
    whole, cut = run(pp=1, tp=2), run(pp=1, tp=2, chunk=1024)
    assert cut.pipelining is not None
    assert cut.pipelining.prefill_passes == 8
    assert cut.ttft_s > whole.ttft_s
    assert cut.ttft_s == pytest.approx(whole.ttft_s, rel=0.1)
    assert cut.tpot_s == whole.tpot_s
    layers = [row for row in traffic(cut) if row.traffic_class == "tp" and row.phase == "prefill"]
    assert [row.message_size_bytes for row in layers] == [1024 * 4096 * 2]


def test_the_whole_cache_is_there_at_the_end() -> None:
    plain = estimate(run(pp=2)).memory[0].kv_bytes
    for more in ({"micro_batches": 4}, {"chunk": 512}, {"micro_batches": 2, "chunk": 1000}):
        assert estimate(run(pp=2, **more)).memory[0].kv_bytes == pytest.approx(plain)


def test_groups_that_need_no_turn_of_their_own_fill_the_cache_too() -> None:
    """Two groups on four stages: the second one's token comes within the first one's lap."""
    plain, cut = (run(pp=4, output=3, **more) for more in ({}, {"micro_batches": 2}))
    assert cut.pipelining is not None
    assert cut.pipelining.lap_wait_s == 0
    found, wanted = estimate(cut).memory[0].kv_bytes, estimate(plain).memory[0].kv_bytes
    assert found == pytest.approx(wanted, rel=1e-9)


def test_links_carry_all_passes() -> None:
    plain, cut = (estimate(run(pp=2, tp=2, **more)) for more in ({}, {"chunk": 1024}))
    assert sum(link.size_bytes for link in cut.links) == pytest.approx(
        sum(link.size_bytes for link in plain.links), rel=0.01
    )


def test_the_player_finds_a_state_at_every_moment() -> None:
    pace = Pace(run(pp=2, micro_batches=4, chunk=1024))
    moments = Moments(pace)
    times = [moments.at(pace.duration_s * i / 40).time_s for i in range(41)]
    assert times == sorted(times)


# ---------------------------------------------------------------- overlap


def test_what_cannot_be_hidden() -> None:
    assert exposed_share(10.0, 4.0, 10) == pytest.approx(1 / 20)
    assert exposed_share(4.0, 10.0, 10) == pytest.approx(0.6 + 1 / 20)
    assert exposed_share(0.0, 10.0, 10) == 1.0


def test_overlap_hides_prefills_messages_but_reads_weights_twice() -> None:
    plain, hidden = run(tp=4, pp=1), run(tp=4, pp=1, overlap=True)
    assert hidden.ttft_s < plain.ttft_s
    assert hidden.tpot_s > plain.tpot_s
    assert "overlap" in estimate(plain).not_modelled
    assert "overlap" not in estimate(hidden).not_modelled


def test_one_token_has_no_halves() -> None:
    plain, hidden = run(tp=4, pp=1, batch=1), run(tp=4, pp=1, batch=1, overlap=True)
    assert hidden.tpot_s == pytest.approx(plain.tpot_s)


# ---------------------------------------------------------------- what is refused


def test_micro_batches_divide_the_batch() -> None:
    with pytest.raises(ScenarioError) as caught:
        scenario_of(micro_batches=3)
    problem = caught.value.problems[0]
    assert (problem.code, problem.key) == ("micro_batches", "--micro-batches")
    assert problem.values["allowed"] == [1, 2]
