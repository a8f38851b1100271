"""An algorithm of all_reduce that is asked for: which may be, and what it costs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gpuflow.cluster.selection import Case, select
from gpuflow.collectives.algorithms import ALGORITHMS
from gpuflow.engine.all_reduce import all_reduce_choices, check_all_reduce
from gpuflow.engine.explain import explain
from gpuflow.engine.metrics import estimate
from gpuflow.engine.simulate import simulate
from gpuflow.engine.timeline import Span, Timeline
from gpuflow.errors import ScenarioError
from gpuflow.exporters.scenario_file import scenario_file
from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.scenario.spec import ALL_REDUCES, Scenario


def scenario_of(**overrides: Any) -> Scenario:
    return load_scenario("tp2-pp2", Overrides(**{"tp": 8, "pp": 1, **overrides}))


def reduced(timeline: Timeline, phase: str) -> Span:
    return next(s for s in timeline.spans if s.collective == "all_reduce" and s.phase == phase)


def test_the_names_are_those_of_the_schedules() -> None:
    assert ALGORITHMS["all_reduce"] == ALL_REDUCES


@pytest.mark.parametrize("name", all_reduce_choices(scenario_of()))
def test_the_algorithm_is_drawn_and_charged(name: str) -> None:
    scenario = scenario_of(all_reduce=name)
    check_all_reduce(scenario)
    timeline, usual = simulate(scenario), simulate(scenario_of())
    for phase in ("prefill", "decode"):
        span, before = reduced(timeline, phase), reduced(usual, phase)
        assert span.algorithm == name
        if before.algorithm == name:
            assert (span.duration_s, span.time_source) == (before.duration_s, before.time_source)
            continue
        own = scenario.profile.all_reduce_launch if "shot" in name else "cuda_graph"
        case = Case(
            collective="all_reduce", cluster=scenario.cluster, n_ranks=8, kernel="x", launch=own
        )
        charged = select(case, [span.message_size_bytes], name).time_s[0]
        # between two rungs of the ladder a straight line misses by a thousandth at most
        assert span.duration_s == pytest.approx(charged, rel=1e-3)
        assert span.time_source == "simulated"
    assert explain(estimate(timeline))


def test_auto_undoes_what_a_file_asks_for(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    text = scenario_file(scenario_of(all_reduce="tree"), "llama-3-8b", "en")
    assert "\nall_reduce: tree\n" in text
    file.write_text(text, "utf-8")
    assert load_scenario(file).all_reduce == "tree"
    assert load_scenario(file, Overrides(all_reduce="auto")).all_reduce is None


@pytest.mark.parametrize(
    ("overrides", "code"),
    [
        ({"all_reduce": "butterfly"}, "unknown_all_reduce"),
        ({"all_reduce": "hierarchical"}, "all_reduce_not_here"),
        ({"all_reduce": "nvls", "gpu": "l40s"}, "all_reduce_not_here"),
        ({"all_reduce": "ring", "tp": 1}, "all_reduce_without_tp"),
        ({"all_reduce": "ring", "profile": "ideal"}, "all_reduce_one_rule"),
    ],
)
def test_what_cannot_be_is_refused(overrides: dict[str, Any], code: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        check_all_reduce(scenario_of(**overrides))
    assert [problem.code for problem in caught.value.problems] == [code]


def test_over_two_nodes_two_levels_may_be_asked_for() -> None:
    scenario = scenario_of(tp=16, model="llama-3-70b", all_reduce="hierarchical")
    assert reduced(simulate(scenario), "decode").algorithm == "hierarchical"
