"""Whole screens with the what-if panel, compared with files under golden/; see test_play_golden."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuflow.cells import cell_width
from gpuflow.draw.play import draw_play, page_count
from gpuflow.draw.roles import ROLES
from gpuflow.draw.view import PlayView, WhatIfPanel
from gpuflow.draw.whatif import changes_text
from gpuflow.engine.moment import Moments
from gpuflow.engine.whatif import KnobId, difference, knobs, side_of
from gpuflow.errors import ScenarioError
from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.scenario.spec import Language

GOLDEN = Path(__file__).parent / "golden"
LANGUAGES: tuple[Language, ...] = ("zh", "en")
CHANGES: dict[str, dict[KnobId, int | str]] = {
    "tp2-pp2": {"tp": 4, "batch": 8},
    "moe-ep4": {"gpu": "a100-80gb-sxm", "output": 64},
}
CASES = [
    ("tp2-pp2", size, language)
    for size in ((80, 24), (120, 40), (200, 60))
    for language in LANGUAGES
] + [("moe-ep4", (60, 20), "en"), ("moe-ep4", (100, 30), "zh")]

Case = tuple[str, tuple[int, int], Language]
ViewAt = Callable[..., PlayView]
MomentsOf = Callable[..., Moments]


def panel_of(name: str, moments_of: MomentsOf, row: int = 0, **more: Any) -> WhatIfPanel:
    before, after = (moments_of(name, **extra).pace.timeline for extra in ({}, CHANGES[name]))
    return WhatIfPanel(
        knobs=knobs(before.scenario, after.scenario, CHANGES[name]),
        difference=difference(side_of(before), side_of(after)),
        row=row,
        **more,
    )


def case_name(case: Case) -> str:
    name, (width, height), language = case
    return f"what-if-{name}-{width}x{height}-{language}"


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_the_screen_looks_as_it_was_approved(
    case: Case,
    moments_of: MomentsOf,
    middle_of: Callable[[Moments, int, str], float],
    view_at: ViewAt,
) -> None:
    name, size, language = case
    panel = panel_of(name, moments_of)
    screen_s = middle_of(moments_of(name, **CHANGES[name]), 2, "compute")
    view = view_at(size, language, screen_s, name, CHANGES[name], panel=panel)
    marks = (changes_text(view.scene, panel.knobs),)
    view = view_at(size, language, screen_s, name, CHANGES[name], panel=panel, marks=marks)
    text = draw_play(view).text()
    file = GOLDEN / f"{case_name(case)}.txt"
    if os.environ.get("GPUFLOW_UPDATE_GOLDEN"):
        file.write_text(f"{text}\n", "utf-8")
    assert f"{text}\n" == file.read_text("utf-8")


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_size_is_filled_and_every_knob_and_page_can_be_seen(
    language: Language, name: str, moments_of: MomentsOf, view_at: ViewAt
) -> None:
    n = len(panel_of(name, moments_of).knobs)
    for width, height in ((40, 10), (59, 16), (60, 20), (79, 30), (80, 24), (99, 50), (140, 26)):
        seen: set[str] = set()
        for row in range(n):
            panel = panel_of(name, moments_of, row=row, page=row)
            view = view_at((width, height), language, 3.0, name, CHANGES[name], panel=panel)
            frame = draw_play(view)
            assert {sum(cell_width(run.text) for run in line) for line in frame.rows} == {width}
            assert {run.role for line in frame.rows for run in line} <= set(ROLES)
            chosen = [line for line in frame.text().splitlines() if "▸" in line]
            assert len(chosen) == 1
            seen.add(chosen[0].split("▸")[1].split()[0].lstrip("●"))
            assert page_count(view) >= 1
        assert len(seen) == n


def test_what_was_refused_is_told_in_the_panel(moments_of: MomentsOf, view_at: ViewAt) -> None:
    with pytest.raises(ScenarioError) as caught:
        load_scenario("moe-ep4", Overrides(dp=2))
    problem = caught.value.problems[0]
    panel = panel_of("moe-ep4", moments_of, row=2, refused=("dp", 2, problem))
    for size in ((120, 40), (80, 24), (40, 10)):
        view = view_at(size, "en", 3.0, "moe-ep4", CHANGES["moe-ep4"], panel=panel)
        assert "DP 2 skipped: " in draw_play(view).text()


def test_a_header_names_what_it_has_room_for(moments_of: MomentsOf, view_at: ViewAt) -> None:
    panel = panel_of("tp2-pp2", moments_of)
    scene = view_at((80, 24), "en", 0.0, "tp2-pp2", CHANGES["tp2-pp2"]).scene
    assert changes_text(scene, panel.knobs) == "TP 2→4 · batch 1→8"
    many = knobs(
        moments_of("tp2-pp2").pace.timeline.scenario,
        scene.timeline.scenario,
        {**CHANGES["tp2-pp2"], "fabric": "pcie-5"},
    )
    assert changes_text(scene, many) == "TP 2→4 · batch 1→8 · +1"
    assert changes_text(scene, many, 44) == "TP 2→4 · batch 1→8 · fabric →PCIe 5.0 x16"
    assert changes_text(scene, panel.knobs[1:2]) == ""
