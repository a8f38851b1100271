"""Models whose layers are not all alike, and stages that do not hold equal numbers of them."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gpuflow.cluster.cost import CostModel
from gpuflow.cluster.mesh import mesh_of
from gpuflow.cluster.parameters import model_bytes, stage_layers, state_bytes_per_sequence
from gpuflow.engine.metrics import estimate
from gpuflow.engine.moment import state_at
from gpuflow.engine.pace import Pace
from gpuflow.engine.simulate import simulate
from gpuflow.engine.timeline import Timeline
from gpuflow.importers.hf_config import read_model
from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.scenario.spec import Scenario

DATA = Path(__file__).parent.parent / "data" / "hf-config"


def loaded(model: str, **changes: Any) -> Scenario:
    """The default scenario with a model from a file, on one H100 a rank."""
    path = str(DATA / model) if model.endswith(".json") else model
    overrides = Overrides(model=path, profile="ideal", **changes)
    return load_scenario("tp2-pp2", overrides, read_model)


def all_reduces(timeline: Timeline, phase: str) -> int:
    return sum(
        span.collective == "all_reduce" and span.phase == phase and span.payload == "activations"
        for span in timeline.spans
    )


def test_layers_of_one_part_reduce_once() -> None:
    """M-M*-M-: 7 parts, each with one all_reduce, where a transformer's layer has two."""
    timeline = simulate(loaded("nemotron-h.json", tp=2, pp=1))
    assert all_reduces(timeline, "decode") == 7
    parts = Counter(span.part for span in timeline.spans if span.phase == "decode" and span.layer)
    assert (parts["attention"], parts["mlp"]) == (4, 3)


def test_ordinary_layers_reduce_twice() -> None:
    timeline = simulate(loaded("dense.json", tp=2, pp=1))
    assert all_reduces(timeline, "decode") == 12


@pytest.mark.parametrize(
    "name",
    ["nemotron-h.json", "qwen3-next.json", "jamba.json", "falcon-h1.json", "falcon-mamba.json",
     "lfm2.json", "deci-blocks.json", "gemma4-nested.json", "gpt2.json", "deepseek-v32.json"],
)  # fmt: skip
def test_every_kind_of_model_plays_through(name: str) -> None:
    scenario = loaded(name, tp=1, pp=1, batch=2, prompt=2048, output=8)
    timeline = simulate(scenario)
    found = estimate(timeline)
    assert found.tpot_s is not None
    assert math.isfinite(found.ttft_s)
    assert found.ttft_s > found.tpot_s > 0
    pace = Pace(timeline)
    for at in (0.0, pace.duration_s / 2, pace.duration_s):
        state_at(pace, at)
    # one GPU holds the model as it is stored
    whole = CostModel(scenario).stage_weight_bytes(0)
    assert whole == pytest.approx(model_bytes(scenario.model, scenario.precision), rel=1e-9)


def test_state_is_held_once_a_sequence_whatever_its_length() -> None:
    scenario = loaded("falcon-mamba.json", tp=1, pp=1, batch=3)
    cost = CostModel(scenario)
    state = 3 * state_bytes_per_sequence(scenario.model)
    assert cost.stage_kv_bytes(0, 10) == cost.stage_kv_bytes(0, 10_000) == state


def test_state_is_divided_by_heads_and_its_groups_are_copied() -> None:
    """32 heads in 4 groups at tp 8: an eighth of the values, a whole group on every rank."""
    scenario = loaded("nemotron-h.json", gpu="h100", tp=8, pp=1)
    mixer_layer = scenario.model.layers[0]
    one = 32 * 32 * 64 / 8 * 2 + 3 * (1024 / 8 + 2 * 64) * 2
    assert CostModel(scenario).layer_kv_bytes(mixer_layer, 100) == one


def test_windows_bound_the_cache() -> None:
    """gpt-oss's form: three layers keep 128 tokens, three all of them."""
    scenario = loaded("gpt-oss.json", tp=1, pp=1, batch=1)
    token = 2 * 2 * 64 * 2
    assert CostModel(scenario).stage_kv_bytes(0, 1000) == 3 * 128 * token + 3 * 1000 * token


def test_stages_of_unequal_length() -> None:
    """61 layers in two stages: 31 and 30, each with its own weights, time and messages."""
    scenario = loaded("deepseek-v3", gpu="h200", tp=8, pp=2, layers=(31, 30))
    assert [len(stage_layers(scenario, s)) for s in range(2)] == [31, 30]
    assert stage_layers(scenario, 1) == range(31, 61)
    timeline = simulate(scenario)
    spans = [s for s in timeline.spans if s.phase == "decode" and s.part == "attention"]
    assert Counter(s.stage for s in spans) == {0: 31, 1: 30}
    assert {(s.stage, s.layers) for s in spans} == {(0, 31), (1, 30)}
    gpus = state_at(Pace(timeline), 0.0).gpus
    assert [(g.first_layer, g.last_layer) for g in (gpus[0], gpus[8])] == [(1, 31), (32, 61)]
    assert mesh_of(scenario).n_ranks == 16


def test_the_list_alone_says_how_many_stages_there_are() -> None:
    scenario = loaded("deepseek-v3", gpu="h200", tp=8, layers=(21, 20, 20))
    assert scenario.parallel.pp == 3


def test_unequal_stages_add_up_to_the_whole_model() -> None:
    equal = loaded("dense.json", tp=1, pp=2)
    unequal = loaded("dense.json", tp=1, pp=2, layers=(4, 2))
    for scenario in (equal, unequal):
        cost = CostModel(scenario)
        held = sum(cost.stage_weight_bytes(s) for s in range(2))
        assert held == pytest.approx(model_bytes(scenario.model, "bf16"))
    layer = CostModel(equal).layer_weight_bytes(equal.model.layers[0])
    first = [CostModel(s).stage_weight_bytes(0) for s in (equal, unequal)]
    assert first[1] - first[0] == pytest.approx(layer)
