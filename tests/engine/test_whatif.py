"""What may be changed, and what a change is said to make of the figures."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpuflow.engine.all_reduce import check_all_reduce
from gpuflow.engine.metrics import Estimate, estimate
from gpuflow.engine.requirements import requirement_table
from gpuflow.engine.simulate import simulate
from gpuflow.engine.whatif import (
    Knob,
    KnobId,
    Pair,
    Settings,
    difference,
    knobs,
    side_of,
    with_setting,
)
from gpuflow.errors import ScenarioError
from gpuflow.scenario import catalog
from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.scenario.spec import Scenario

DENSE: tuple[KnobId, ...] = (
    *("tp", "pp", "batch", "prompt", "output", "gpu", "fabric"),
    *("precision", "profile", "all_reduce"),
)


def resolved(name: str, settings: Settings) -> Scenario:
    scenario = load_scenario(name, Overrides(**settings))
    check_all_reduce(scenario)
    return scenario


def offered(name: str, settings: Settings | None = None) -> dict[KnobId, Knob]:
    original, chosen = load_scenario(name), settings or {}
    return {knob.id: knob for knob in knobs(original, resolved(name, chosen), chosen)}


def test_a_dense_model_has_no_replicas_and_experts_to_change() -> None:
    assert tuple(offered("tp2-pp2")) == DENSE
    assert set(offered("moe-ep4")) == {*DENSE, "dp", "ep"}


@pytest.mark.parametrize("name", ["tp2-pp2", "moe-ep4"])
def test_every_value_loads_and_plays_or_says_why_not(name: str) -> None:
    """And those of what the model's own numbers decide all load."""
    original = load_scenario(name)
    refused: set[KnobId] = set()
    codes: set[str] = set()
    for knob in offered(name).values():
        assert knob.value == knob.original
        assert {knob.value, knob.original} <= set(knob.values)
        assert not knob.is_changed
        for value in knob.values:
            settings = with_setting(original, {}, knob.id, value)
            assert bool(settings) == (value != knob.original)
            try:
                timeline = simulate(resolved(name, settings))
            except ScenarioError as error:
                codes.add(error.problems[0].code)
                refused.add(knob.id)
                continue
            assert timeline.ttft_s > 0
            assert len(timeline.steps) == 8
    # replicas that expert groups do not divide, GPUs that lack the precision
    assert refused <= {"dp", "gpu"}
    assert codes <= {"ep_ranks", "no_peak"}


def test_a_ladder_holds_what_is_on_no_rung() -> None:
    scenario = load_scenario("tp2-pp2", Overrides(prompt=700, batch=3))
    found = {knob.id: knob for knob in knobs(scenario, scenario, {})}
    assert found["prompt"].values[5:8] == (512, 700, 1024)
    assert found["batch"].values[:4] == (1, 2, 3, 4)


def test_the_present_value_moves_and_the_original_stays() -> None:
    knob = offered("tp2-pp2", {"tp": 4})["tp"]
    assert (knob.value, knob.original, knob.is_changed) == (4, 2, True)
    assert knob.values == (1, 2, 4, 8, 16, 32)


def test_what_is_as_it_was_is_no_setting() -> None:
    original = load_scenario("tp2-pp2")
    changed = with_setting(original, {"batch": 8}, "tp", 4)
    assert changed == {"batch": 8, "tp": 4}
    assert with_setting(original, changed, "tp", 2) == {"batch": 8}


def test_fabrics_between_nodes_need_several() -> None:
    narrow = set(offered("tp2-pp2")["fabric"].values)
    wide = set(offered("tp2-pp2", {"tp": 8})["fabric"].values)
    assert wide - narrow == set(catalog.fabric_names("scale_out")) - {"ib-ndr"}
    assert set(catalog.fabric_names("scale_up")) - narrow == {"nvlink-4"}, "its own one"


@pytest.mark.parametrize(
    ("settings", "lock"),
    [({}, None), ({"tp": 1}, "without_tp"), ({"profile": "ideal"}, "one_rule")],
)
def test_why_no_algorithm_can_be_chosen(settings: Settings, lock: str | None) -> None:
    knob = offered("tp2-pp2", settings)["all_reduce"]
    assert knob.lock == lock
    assert (knob.values == ("auto",)) == (lock is not None)


def test_locks_from_outside_leave_one_value() -> None:
    scenario = load_scenario("tp2-pp2")
    found = {knob.id: knob for knob in knobs(scenario, scenario, {}, {"gpu": "box"})}
    assert (found["gpu"].lock, found["gpu"].values) == ("box", ("h100-sxm",))


# ---------------------------------------------------------------- differences

CASES: list[tuple[str, dict[str, Any]]] = [
    ("tp2-pp2", {"tp": 4}),
    ("tp2-pp2", {"pp": 1}),
    ("tp2-pp2", {"batch": 16, "gpu": "h200-sxm"}),
    ("tp2-pp2", {"output": 1}),
    ("tp2-pp2", {"all_reduce": "ring"}),
    ("moe-ep4", {"prompt": 2048, "profile": "sglang"}),
]


def shares(found: Estimate, phase: str) -> float:
    return sum(row.share for row in found.traffic if row.phase == phase)


@pytest.mark.parametrize(("name", "settings"), CASES)
def test_the_differences_are_those_of_two_estimates(name: str, settings: Settings) -> None:
    before, after = simulate(load_scenario(name)), simulate(resolved(name, settings))
    found = difference(side_of(before), side_of(after))
    one, other = estimate(before), estimate(after)
    for figure in ("ttft_s", "tpot_s", "tokens_per_s"):
        assert found.figures[figure] == Pair(
            before=getattr(one, figure), after=getattr(other, figure)
        )
    for figure, phase in (("prefill_share", "prefill"), ("decode_share", "decode")):
        pair = found.figures[figure]
        assert pair.before == pytest.approx(shares(one, phase))
        if pair.after is not None:
            assert pair.after == pytest.approx(shares(other, phase))
    kv, spare = found.figures["kv_bytes"], found.figures["spare_bytes"]
    assert kv.before == pytest.approx(sum(rank.kv_bytes for rank in one.memory))
    assert kv.after == pytest.approx(sum(rank.kv_bytes for rank in other.memory))
    assert spare.before == pytest.approx(min(rank.spare_bytes for rank in one.memory))
    assert spare.after == pytest.approx(min(rank.spare_bytes for rank in other.memory))
    assert found.figures["gpus"].after == after.scenario.parallel.world
    for pair, a, b in zip(found.steps, one.steps, other.steps, strict=True):
        assert (pair.before, pair.after) == tuple(
            None if step.is_idle else step.duration_s for step in (a, b)
        )
    tables = requirement_table(before.scenario), requirement_table(after.scenario)
    changed = {
        a.id: (a.verdict, b.verdict)
        for a, b in zip(tables[0].rows, tables[1].rows, strict=True)
        if a.verdict != b.verdict
    }
    assert {v.row: (v.before, v.after) for v in found.verdicts} == changed


def test_nothing_differs_from_itself() -> None:
    side = side_of(simulate(load_scenario("moe-ep4")))
    found = difference(side, replace(side))
    assert all(pair.is_same for pair in (*found.figures.values(), *found.steps))
    assert not found.verdicts


def test_a_pair_tells_its_part_only_where_there_is_one() -> None:
    assert Pair(before=2.0, after=3.0).ratio == 0.5
    assert Pair(before=-2.0, after=2.0).ratio == 2.0
    assert Pair(before=0.0, after=3.0).ratio is None
    assert Pair(before=None, after=3.0).ratio is None
    assert not Pair(before=None, after=3.0).is_same
    assert Pair(before=None, after=None).is_same
