"""Pace and state: what is on the screen at a moment follows from the timeline alone."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest

from gpuflow.engine.facts import facts
from gpuflow.engine.moment import Moments
from gpuflow.engine.pace import Pace
from gpuflow.engine.simulate import simulate
from gpuflow.engine.state import SWITCH, State
from gpuflow.scenario.placeholders import PLACEHOLDERS

SPLITS = [
    {},
    {"pp": 1},
    {"tp": 8, "pp": 4},
    {"tp": 1, "pp": 1},
    {"name": "moe-ep4"},
    {"model": "mixtral-8x7b", "tp": 8, "pp": 2, "ep": 8},
    {"model": "deepseek-v3", "gpu": "h200", "tp": 8, "pp": 1},
    {"model": "gpt-oss-120b", "tp": 2, "pp": 1},
    {"output": 1},
]


@pytest.fixture(params=SPLITS, ids=lambda split: ",".join(f"{k}={v}" for k, v in split.items()))
def moments(request, load) -> Moments:
    return Moments(Pace(simulate(load(**request.param))))


def test_screen_time_maps_onto_simulated_time_without_going_back(moments: Moments) -> None:
    pace = moments.pace
    times = [pace.time(i * pace.duration_s / 500) for i in range(501)]
    assert all(a <= b for a, b in pairwise(times))
    assert times[0] == 0.0
    assert times[-1] == pytest.approx(moments.timeline.end_s)


def test_a_simulated_second_is_found_on_the_screen(moments: Moments) -> None:
    pace = moments.pace
    for part in (0.01, 0.3, 0.77, 0.999):
        time_s = part * moments.timeline.end_s
        assert pace.time(pace.at_time(time_s)) == pytest.approx(time_s)


def test_every_step_has_its_time_on_the_screen(moments: Moments) -> None:
    pace = moments.pace
    for step in moments.timeline.steps:
        start, end = pace.step_start(step.index), pace.step_end(step.index)
        assert end - start > 1.0
        assert moments.at(start).step.index == step.index
        assert moments.at((start + end) / 2).step.index == step.index


def test_states_are_consistent_all_along(moments: Moments) -> None:
    lines = {(c.source, c.destination) for c in moments.lines}
    filled = 0.0
    for i in range(301):
        state = moments.at(i * moments.pace.duration_s / 300)
        assert 0.0 <= state.span_progress <= 1.0
        assert state.known.kv_bytes >= filled
        filled = state.known.kv_bytes
        assert {(c.source, c.destination) for c in state.channels} == lines
        if state.span is not None and state.span.kind == "compute":
            assert not any(c.is_moving for c in state.channels)
            workers = {g.rank for g in state.gpus if g.activity == "compute"}
            assert workers == {rank for group in state.span.groups for rank in group}
        if state.replay is not None:
            assert 0 <= state.replay.round <= state.replay.rounds


def test_ttft_is_known_from_the_first_token_on(load) -> None:
    moments = Moments(Pace(simulate(load())))
    pace = moments.pace
    assert moments.at(pace.step_start(4)).known.ttft_s is None
    assert moments.at(pace.step_start(5)).known.ttft_s == moments.timeline.ttft_s
    assert moments.at(pace.step_start(5)).known.tpot_s is None
    assert moments.at(pace.duration_s).known.tpot_s == moments.timeline.tpot_s


def test_bytes_move_only_on_the_links_of_the_groups_at_work(load) -> None:
    moments = Moments(Pace(simulate(load())))
    middle = next(
        s
        for s in moments.pace.stretches
        if s.step == 1 and moments.timeline.spans[s.first_span].collective == "all_reduce"
    )
    state = moments.at((middle.screen_start_s + middle.screen_end_s) / 2)
    moving = {(c.source, c.destination) for c in state.channels if c.is_moving}
    assert moving == {(0, 1)}
    assert [g.activity for g in state.gpus] == ["exchange", "exchange", "wait", "wait"]


def test_replay_ends_in_what_the_collective_means(load) -> None:
    moments = Moments(Pace(simulate(load())))
    stretch = next(
        s
        for s in moments.pace.stretches
        if moments.timeline.spans[s.first_span].collective == "all_reduce"
    )
    state = moments.at(stretch.screen_end_s - 1e-9)
    assert state.replay is not None
    before = [row.values for row in state.replay.before]
    total = tuple(map(sum, zip(*before, strict=True)))
    assert [row.values for row in state.replay.after] == [total, total]
    assert all(all(row.is_final) for row in state.replay.after)


def test_one_layer_is_shown_and_its_repeats_are_counted(load) -> None:
    moments = Moments(Pace(simulate(load())))
    state = moments.at(moments.pace.step_start(1))
    assert (state.repeat_shown, state.repeat_alike) == (1, 15)


def test_layers_of_another_shape_are_shown_once_each(load) -> None:
    """DeepSeek-V3: a dense layer and a mixture-of-experts layer."""
    moments = Moments(Pace(simulate(load(model="deepseek-v3", gpu="h200", tp=8, pp=1))))
    state = moments.at(moments.pace.step_start(1))
    assert (state.repeat_shown, state.repeat_alike) == (2, 59)


@pytest.mark.parametrize("pp", [2, 4, 8])
def test_the_repeats_are_those_of_the_stage_at_work(load, pp: int) -> None:
    timeline = simulate(load(pp=pp))
    pace = Pace(timeline)
    moments = Moments(pace)
    met = set()
    for stretch in pace.stretches:
        state = moments.at((stretch.screen_start_s + stretch.screen_end_s) / 2)
        if state.span is not None and state.span.layer:
            stage = state.span.stage
            layers = next(gpu.layers for gpu in state.gpus if gpu.stage == stage)
            assert state.repeat_shown + state.repeat_alike == layers
            met.add(stage)
        elif state.span is None or state.span.stage is None:
            assert state.repeat_shown == state.repeat_alike == 0
    assert met == set(range(pp))


@pytest.mark.parametrize("name", ["tp2-pp2", "moe-ep4"])
def test_every_placeholder_has_a_value(load, name: str) -> None:
    timeline = simulate(load(name))
    for step in timeline.steps:
        assert set(facts(timeline, step.index)) == set(PLACEHOLDERS)


def states_of_all_reduce(load, algorithm: str, gpus_per_node: int = 8) -> list[State]:
    """Eight ranks at their first all_reduce, run by an algorithm, from its start to its end."""
    scenario = load(tp=8, pp=1)
    cluster = replace(scenario.cluster, gpus_per_node=gpus_per_node)
    timeline = simulate(replace(scenario, cluster=cluster))
    spans = tuple(
        replace(span, algorithm=algorithm) if span.collective == "all_reduce" else span
        for span in timeline.spans
    )
    moments = Moments(Pace(replace(timeline, spans=spans)))
    stretch = next(
        s for s in moments.pace.stretches if spans[s.first_span].collective == "all_reduce"
    )
    lasts_s = stretch.screen_end_s - stretch.screen_start_s
    return [moments.at(stretch.screen_start_s + lasts_s * part / 40) for part in range(40)]


@pytest.mark.parametrize("algorithm", ["nvls", "nvls_one_shot"])
def test_a_switch_takes_part_and_every_line_to_it_carries_bytes(load, algorithm: str) -> None:
    for state in states_of_all_reduce(load, algorithm):
        assert state.replay is not None
        ends = {end for pair in state.replay.transfers for end in pair}
        assert ends == {SWITCH, *range(8)}
        assert all(c.is_moving and c.is_backward for c in state.channels)
    assert {row.rank for row in state.replay.now} == set(range(8))


@pytest.mark.parametrize("gpus_per_node", [2, 4])
def test_two_levels_are_cut_where_the_nodes_are(load, gpus_per_node: int) -> None:
    seen = set()
    for state in states_of_all_reduce(load, "hierarchical", gpus_per_node):
        assert state.replay is not None
        assert state.replay.ranks_per_node == gpus_per_node
        levels = {a // gpus_per_node == b // gpus_per_node for a, b in state.replay.transfers}
        assert len(levels) == 1
        seen |= levels
    assert seen == {True, False}


def test_one_level_says_so(load) -> None:
    states = states_of_all_reduce(load, "tree")
    assert {state.replay.ranks_per_node for state in states if state.replay} == {0}
