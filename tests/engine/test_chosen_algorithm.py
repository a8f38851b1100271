"""The algorithm a scenario shows is the one its engine would run."""

from __future__ import annotations

import pytest

from gpuflow.engine.link_traffic import link_traffic
from gpuflow.engine.moment import Moments
from gpuflow.engine.pace import Pace
from gpuflow.engine.simulate import simulate
from gpuflow.importers.hf_config import read_model
from gpuflow.scenario.load import Overrides, load_scenario


def _algorithms(profile: str, **overrides: object) -> dict[tuple[str, str | None], str]:
    scenario = load_scenario(
        "tp2-pp2",
        Overrides(profile=profile, **overrides),  # type: ignore[arg-type]
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
