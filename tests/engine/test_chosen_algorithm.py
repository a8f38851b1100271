"""The algorithm a scenario shows is the one its engine would run."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gpuflow.cluster.selection import Case, select
from gpuflow.engine.link_traffic import link_traffic
from gpuflow.engine.moment import Moments
from gpuflow.engine.pace import Pace
from gpuflow.engine.simulate import simulate
from gpuflow.importers.hf_config import read_model
from gpuflow.scenario import catalog
from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.scenario.machines import machines


def _algorithms(profile: str, **overrides: Any) -> dict[tuple[str, str | None], str]:
    scenario = load_scenario(
        "tp2-pp2",
        Overrides(profile=profile, **overrides),
        resolve_model=read_model,
    )
    return {(s.phase, s.collective): s.algorithm for s in simulate(scenario).spans if s.collective}


def test_the_ideal_profile_keeps_the_textbook_ring() -> None:
    chosen = _algorithms("ideal", model="llama-3-70b", tp=8, pp=1)
    assert chosen["decode", "all_reduce"] == "ring"


def test_small_messages_of_vllm_go_in_one_shot_and_large_ones_to_the_switch() -> None:
    chosen = _algorithms("vllm", model="llama-3-70b", tp=8, pp=1)
    assert chosen["decode", "all_reduce"] == "one_shot"
    assert chosen["prefill", "all_reduce"] == "nvls"


@pytest.mark.parametrize("gpu", ["h100", "a100", "b200", "l40s", "mi300x"])
def test_whatever_is_chosen_can_be_replayed_and_charged(gpu: str) -> None:
    scenario = load_scenario(
        "tp2-pp2",
        Overrides(profile="vllm", gpu=gpu, tp=8, pp=2, model="llama-3-70b"),
        resolve_model=read_model,
    )
    timeline = simulate(scenario)
    moments = Moments(Pace(timeline))
    for stretch in moments.pace.stretches:
        moments.at((stretch.screen_start_s + stretch.screen_end_s) / 2)
    assert link_traffic(timeline)


def _across_nodes(fabric: str) -> dict[str, float]:
    """Seconds of an all_reduce over two nodes in each phase."""
    scenario = load_scenario(
        "tp2-pp2",
        Overrides(profile="vllm", model="llama-3-70b", tp=16, pp=1, fabric=fabric),
        resolve_model=read_model,
    )
    spans = [span for span in simulate(scenario).spans if span.traffic_class == "tp"]
    return {span.phase: span.duration_s for span in spans}


def test_a_faster_network_is_never_slower() -> None:
    """Whichever is the GPU's usual one: only that one had times put together from a node's."""
    times = [_across_nodes(fabric) for fabric in ("ib-edr", "ib-hdr", "ib-ndr", "ib-xdr")]
    for phase in ("prefill", "decode"):
        each = [one[phase] for one in times]
        assert each == sorted(each, reverse=True)
    assert _across_nodes("ib-ndr-rail") == pytest.approx(_across_nodes("ib-ndr"))


@pytest.mark.parametrize("fabric", ["ib-hdr", "roce-400", "efa-400"])
def test_a_named_network_is_timed_as_the_collective_by_itself(fabric: str) -> None:
    cluster = replace(machines("h100-sxm", 16), scale_out=catalog.fabric(fabric))
    case = Case(collective="all_reduce", cluster=cluster, n_ranks=16, launch="cuda_graph")
    size = 512 * 8192 * 2.0
    found = _across_nodes(fabric)["prefill"]
    assert found == pytest.approx(float(select(case, [size]).time_s[0]), rel=2e-3)


def test_nodes_whose_gpus_are_joined_otherwise_have_no_measured_times() -> None:
    assert _across_nodes("pcie-5")["prefill"] > 2 * _across_nodes("ib-ndr")["prefill"]
