"""The explorer's screens, compared with files under golden/; see test_play_golden.py."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from gpuflow.draw.explore import draw_explore
from gpuflow.draw.explore_view import ExploreView
from gpuflow.engine.explore import outlook, subject_of
from gpuflow.engine.simulate import simulate
from gpuflow.engine.timeline import Timeline
from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.scenario.spec import Language

GOLDEN = Path(__file__).parent / "golden"


class Case(NamedTuple):
    """A round of an algorithm."""

    collective: str
    algorithm: str
    ranks: int
    round: int
    fraction: float
    size: tuple[int, int]
    language: Language


CASES = (
    Case("all_reduce", "ring", 4, 2, 1.0, (80, 24), "en"),
    Case("all_reduce", "ring", 8, 9, 0.3, (120, 40), "zh"),
    Case("all_reduce", "ring", 16, 9, 1.0, (80, 24), "zh"),
    Case("all_reduce", "recursive_doubling", 16, 4, 1.0, (120, 40), "en"),
    Case("all_reduce", "tree", 8, 4, 0.3, (200, 60), "en"),
    Case("all_reduce", "nvls", 8, 1, 0.45, (100, 30), "zh"),
    Case("all_reduce", "nvls", 16, 2, 1.0, (80, 24), "en"),
    Case("all_reduce", "hierarchical", 4, 2, 0.3, (80, 24), "zh"),
    Case("all_reduce", "hierarchical", 8, 5, 1.0, (120, 40), "en"),
    Case("all_reduce", "hierarchical", 64, 9, 1.0, (80, 24), "zh"),
    Case("all_reduce", "nvls", 64, 1, 1.0, (120, 40), "en"),
    Case("all_to_all", "node_limited", 8, 1, 1.0, (120, 40), "zh"),
    Case("all_to_all", "direct", 6, 1, 0.2, (80, 24), "en"),
    Case("broadcast", "binomial", 8, 3, 1.0, (80, 24), "zh"),
    Case("reduce", "binomial", 3, 1, 1.0, (100, 30), "en"),
    Case("send_recv", "direct", 2, 0, 1.0, (80, 24), "zh"),
    Case("reduce_scatter", "halving", 6, 2, 1.0, (60, 18), "en"),
)


def case_name(case: Case) -> str:
    width, height = case.size
    moment = f"{case.round}" if case.fraction == 1 else f"{case.round}-in-flight"
    name = f"{case.collective}-{case.algorithm}-{case.ranks}-round-{moment}"
    return f"explore-{name}-{width}x{height}-{case.language}".replace("_", "-")


@cache
def timeline() -> Timeline:
    return simulate(load_scenario("tp2-pp2", Overrides(profile="ideal")))


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_the_explorer_looks_as_it_was_approved(case: Case) -> None:
    subject = subject_of(case.collective, case.algorithm, case.ranks, gpus_per_node=8)
    view = ExploreView(
        language=case.language,
        outlook=outlook(subject, timeline(), 1),
        round=case.round,
        fraction=case.fraction,
        width=case.size[0],
        height=case.size[1],
    )
    text = draw_explore(view).text()
    file = GOLDEN / f"{case_name(case)}.txt"
    if os.environ.get("GPUFLOW_UPDATE_GOLDEN"):
        file.write_text(f"{text}\n", "utf-8")
    assert f"{text}\n" == file.read_text("utf-8")
