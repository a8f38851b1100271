"""A grid of configurations against the timeline of each, and its fronts against all points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from gpuflow.cluster.memory import stage_memories
from gpuflow.engine.metrics import estimate
from gpuflow.engine.simulate import simulate
from gpuflow.engine.sweep_grid import Axes, SweepGrid
from gpuflow.engine.targets import Targets
from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.scenario.spec import Scenario

Load = Callable[..., Scenario]


def axes(**changes: tuple[int, ...]) -> Axes:
    usual = {"tp": (1, 2), "pp": (1, 2), "dp": (1,), "ep": (1,), "batch": (1, 8), "prompt": (256,)}
    return Axes(**{**usual, **changes})


def evaluated(scenario: Scenario, wanted: Axes, gpus: int | None = None) -> SweepGrid:
    grid = SweepGrid(scenario, wanted, gpus)
    assert list(grid.blocks())[-1] == grid.n_points
    return grid


@pytest.mark.parametrize("profile", ["ideal", "vllm"])
@pytest.mark.parametrize(
    ("model", "more"),
    [
        ("llama-3-8b", {"tp": (1, 4), "prompt": (100, 4096), "batch": (1, 64)}),
        ("mixtral-8x7b", {"dp": (1, 4), "ep": (1, 4)}),
        ("deepseek-v3", {"tp": (8,), "pp": (1,), "batch": (2, 16)}),
        # windows of 128 tokens that fill up while the answer grows
        ("gpt-oss-20b", {"prompt": (50, 100), "batch": (64,)}),
    ],
)
def test_points_are_those_of_the_timeline(
    model: str, more: dict[str, tuple[int, ...]], profile: str
) -> None:
    changes = Overrides(model=model, tp=1, pp=1, profile=profile, gpu="h200", output=100)
    scenario = load_scenario("tp2-pp2", changes)
    grid = evaluated(scenario, axes(**more))
    for place in range(grid.n_points):
        point = grid.point(place)
        one = replace(scenario, parallel=point.parallel).with_workload(
            batch=point.batch, prompt_tokens=point.prompt_tokens
        )
        timeline = simulate(one)
        assert point.ttft_s == pytest.approx(timeline.ttft_s, rel=1e-9)
        assert point.tpot_s == pytest.approx(timeline.tpot_s, rel=1e-9)
        spare = min(stage.spare_bytes for stage in stage_memories(one))
        assert point.spare_bytes == pytest.approx(spare, rel=1e-9)
        rate = point.batch * point.parallel.dp / timeline.tpot_s
        assert point.tokens_per_s_per_gpu == pytest.approx(rate / point.parallel.world)


def test_a_fixed_context_is_kept(load: Load) -> None:
    grid = evaluated(load(tp=1, pp=1, context=4096), axes(tp=(1,), pp=(1,)))
    timeline = simulate(load(tp=1, pp=1, context=4096, batch=8, prompt=256))
    assert grid.point(1).tpot_s == pytest.approx(timeline.tpot_s)


def test_a_fixed_context_fills_no_cache_where_nothing_is_decoded(load: Load) -> None:
    scenario = load(tp=1, pp=1, context=4096, output=1)
    grid = evaluated(scenario, axes(tp=(1,), pp=(1,), batch=(1,)))
    (memory,) = stage_memories(scenario.with_workload(prompt_tokens=256))
    (row,) = estimate(simulate(scenario.with_workload(prompt_tokens=256))).memory
    assert memory.kv_bytes == pytest.approx(256 * 131072)
    assert row.kv_bytes == pytest.approx(memory.kv_bytes)
    assert grid.point(0).spare_bytes == pytest.approx(memory.spare_bytes)


def test_only_splits_that_the_model_allows_and_of_the_gpus_asked_for(load: Load) -> None:
    scenario = load(tp=1, pp=1)
    wanted = axes(tp=(1, 2, 3, 4), pp=(1, 2, 3), dp=(1, 2))
    everything = {(s.tp, s.pp, s.dp) for s in SweepGrid(scenario, wanted).splits}
    assert everything == {(t, p, d) for t in (1, 2, 4) for p in (1, 2) for d in (1, 2)}
    four = {(s.tp, s.pp, s.dp) for s in SweepGrid(scenario, wanted, 4).splits}
    assert four == {(4, 1, 1), (2, 2, 1), (2, 1, 2), (1, 2, 2)}


def test_a_million_points_and_their_fronts_equal_brute_force(load: Load) -> None:
    """Of every length: no point beats one on the front, and one on the front beats each other."""
    wanted = axes(
        tp=(1, 2, 4, 8),
        pp=(1, 2, 4),
        batch=tuple(range(1, 257)),
        prompt=tuple(range(128, 128 + 326 * 100, 100)),
    )
    grid = evaluated(load(model="llama-3-70b", tp=1, pp=1), wanted)
    assert grid.n_points == 1_001_472
    allowed = grid.is_allowed(Targets(tpot_s=50e-3))
    fronts = grid.fronts(Targets(tpot_s=50e-3))
    assert list(fronts) == list(wanted.prompt)
    x, y = grid.per_user, grid.per_gpu
    for index in range(0, len(wanted.prompt), 5):
        best = fronts[wanted.prompt[index]]
        mine = allowed[:, :, index]
        px, py = x[:, :, index][mine], y[:, :, index][mine]
        bx, by = x.ravel()[best], y.ravel()[best]
        assert allowed.ravel()[best].all()
        as_good = (px[:, None] >= bx) & (py[:, None] >= by)
        beaten = as_good & ((px[:, None] > bx) | (py[:, None] > by))
        assert not beaten.any()
        beats = ((bx >= px[:, None]) & (by >= py[:, None])) & (
            (bx > px[:, None]) | (by > py[:, None])
        )
        assert (~beats.any(axis=1)).sum() == len(best)


def test_what_was_not_evaluated_stands_on_no_front(load: Load) -> None:
    grid = SweepGrid(load(tp=1, pp=1), axes())
    blocks = grid.blocks()
    next(blocks)
    assert np.isfinite(grid.tpot_s).sum() == 2
    assert {grid.point(int(place)).parallel.world for place in grid.fronts()[256]} == {1}
    assert SweepGrid(load(tp=1, pp=1), axes()).fronts() == {256: pytest.approx([])}


def test_targets_and_memory_bound_what_is_allowed(load: Load) -> None:
    grid = evaluated(load(model="llama-3-70b", tp=1, pp=1), axes(tp=(1, 8), batch=(1, 512)))
    fits = grid.is_allowed()
    assert (fits == (grid.spare_bytes >= 0)).all()
    assert not fits[0].any()
    kept = grid.is_allowed(Targets(tpot_s=10e-3, ttft_s=1.0))
    assert 0 < kept.sum() < fits.sum()
    assert (grid.tpot_s[kept] <= 10e-3).all()
