from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuflow.draw.canvas import Rect
from gpuflow.draw.stage_form import StagePlan, StageSpec, Wiring
from gpuflow.draw.stage_plan import plan_stage


def spec(stages: int, gpus: int) -> StageSpec:
    wiring: Wiring = "none" if gpus == 1 else "pair" if gpus == 2 else "rail"
    digits = len(str(stages * gpus - 1))
    rails = 1 if gpus > 2 else 0
    tiles = (*(size for size in (8, 16, 32, 64) if gpus % size == 0 and size < gpus), gpus)
    return StageSpec(
        stages=stages,
        gpus=gpus,
        digits=digits,
        wiring=wiring,
        rails=rails,
        tiles=tiles,
    )


def contains(outer: Rect, inner: Rect) -> bool:
    return (
        outer.x <= inner.x
        and outer.y <= inner.y
        and inner.right <= outer.right
        and inner.bottom <= outer.bottom
    )


def overlap(a: Rect, b: Rect) -> bool:
    return a.x < b.right and b.x < a.right and a.y < b.bottom and b.y < a.bottom


def check(plan: StagePlan, area: Rect) -> None:
    assert all(contains(area, frame) for frame in plan.frames)
    assert plan.height <= area.height
    frames = plan.frames
    assert not any(overlap(a, b) for i, a in enumerate(frames) for b in frames[i + 1 :])
    for frame, cells in zip(frames, plan.cells, strict=False):
        room = frame if plan.form == "lines" else frame.inner()
        assert all(contains(room, cell) for cell in cells)
        if len(cells) <= 64:
            assert not any(overlap(a, b) for i, a in enumerate(cells) for b in cells[i + 1 :])


@given(
    st.integers(78, 220),
    st.integers(8, 70),
    st.sampled_from([1, 2, 3, 4, 8, 16]),
    st.sampled_from([1, 2, 3, 4, 8, 12, 16, 32, 64, 256]),
)
def test_everything_stands_inside_and_beside_each_other(
    width: int, height: int, stages: int, gpus: int
) -> None:
    area = Rect(1, 2, width, height)
    check(plan_stage(area, spec(stages, gpus)), area)


@pytest.mark.parametrize(
    ("stages", "gpus", "size", "form"),
    [
        (2, 2, (80, 15), "boxes"),
        (2, 8, (80, 15), "boxes"),
        (4, 8, (80, 15), "chips"),
        (4, 32, (80, 15), "tiles"),
        (16, 64, (80, 15), "lines"),
        (4, 32, (124, 44), "tiles"),
        (1, 128, (80, 15), "tiles"),
        (1, 1, (80, 15), "boxes"),
    ],
)
def test_the_richest_form_that_fits_is_taken(
    stages: int, gpus: int, size: tuple[int, int], form: str
) -> None:
    assert plan_stage(Rect(0, 0, *size), spec(stages, gpus)).form == form


def test_of_too_many_stages_those_around_the_one_at_work_are_shown() -> None:
    plan = plan_stage(Rect(0, 0, 80, 6), spec(16, 64), at_work=12)
    assert plan.first_stage <= 12 < plan.first_stage + len(plan.frames)
