"""Whole screens, compared with files under golden/.

To write them anew after a change that is meant: GPUFLOW_UPDATE_GOLDEN=1 pytest tests/draw, then
read the difference as a picture.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from gpuflow.draw.play import draw_play
from gpuflow.draw.view import PlayView
from gpuflow.engine.moment import Moments
from gpuflow.scenario.spec import Language

GOLDEN = Path(__file__).parent / "golden"
SIZES = ((80, 24), (100, 30), (120, 40), (200, 60))
LANGUAGES: tuple[Language, ...] = ("zh", "en")


class Moment(NamedTuple):
    """A moment of a scenario: the middle of a step's first span of a kind."""

    name: str
    scenario: str
    step: int
    kind: str
    overrides: dict[str, object]


ALL_SIZES = (
    Moment("all-reduce", "tp2-pp2", 2, "all_reduce", {}),
    Moment("dispatch", "moe-ep4", 3, "all_to_all", {}),
)
TWO_SIZES = (
    Moment("prompt", "tp2-pp2", 1, "broadcast", {}),
    Moment("hand-over", "tp2-pp2", 3, "send", {}),
    Moment("first-token", "tp2-pp2", 5, "all_gather", {}),
    Moment("decode", "tp2-pp2", 7, "compute", {}),
    Moment("tp8-pp2", "tp2-pp2", 4, "all_reduce", {"tp": 8}),
    Moment("tp8-pp4", "tp2-pp2", 4, "all_reduce", {"tp": 8, "pp": 4}),
    Moment("single", "tp2-pp2", 2, "compute", {"tp": 1, "pp": 1}),
)
CASES = [
    (moment, size, language) for moment in ALL_SIZES for size in SIZES for language in LANGUAGES
]
CASES += [
    (moment, size, language)
    for moment in TWO_SIZES
    for size, language in (((80, 24), "en"), ((120, 40), "zh"))
]


def case_name(case: tuple[Moment, tuple[int, int], Language]) -> str:
    moment, (width, height), language = case
    return f"{moment.name}-{width}x{height}-{language}"


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_the_screen_looks_as_it_was_approved(
    case: tuple[Moment, tuple[int, int], Language],
    moments_of: Callable[..., Moments],
    middle_of: Callable[[Moments, int, str], float],
    view_at: Callable[..., PlayView],
) -> None:
    moment, size, language = case
    moments = moments_of(moment.scenario, **moment.overrides)
    screen_s = middle_of(moments, moment.step, moment.kind)
    text = draw_play(view_at(size, language, screen_s, moment.scenario, moment.overrides)).text()
    file = GOLDEN / f"{case_name(case)}.txt"
    if os.environ.get("GPUFLOW_UPDATE_GOLDEN"):
        file.write_text(f"{text}\n", "utf-8")
    assert f"{text}\n" == file.read_text("utf-8")
