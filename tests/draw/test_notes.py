"""The presenter's notes, as whole screens under golden/ (see test_play_golden.py) and in parts."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gpuflow.cells import cell_width
from gpuflow.draw.notes import NotesView, draw_notes, draw_waiting, step_notes
from gpuflow.draw.view import Scene
from gpuflow.scenario.spec import Language

GOLDEN = Path(__file__).parent / "golden"
CASES: tuple[tuple[str, str, int, int, Language], ...] = (
    ("tp2-pp2", "decode", 5, 79, "zh"),
    ("tp2-pp2", "hand-over", 2, 119, "en"),
    ("moe-ep4", "dispatch", 2, 79, "en"),
    ("moe-ep4", "last", 7, 119, "zh"),
)


def view_of(scene: Scene, step: int) -> NotesView:
    return NotesView(
        language=scene.language,
        scenario=scene.timeline.scenario.name,
        steps=tuple(map(step_notes, scene.texts)),
        step=step,
        time_s=0.00123,
        is_playing=True,
        speed=2.0,
        minutes=12,
    )


@pytest.mark.parametrize(("scenario", "name", "step", "width", "language"), CASES)
def test_notes_look_as_they_did(
    scenario: str,
    name: str,
    step: int,
    width: int,
    language: Language,
    scene_in: Callable[..., Scene],
) -> None:
    frame = draw_notes(view_of(scene_in(language, scenario), step), width)
    file = GOLDEN / f"notes-{scenario}-{name}-{width}-{language}.txt"
    if os.environ.get("GPUFLOW_UPDATE_GOLDEN"):
        file.write_text(frame.text() + "\n", "utf-8")
    assert file.read_text("utf-8") == frame.text() + "\n"


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("width", [30, 39, 79, 199])
def test_every_row_is_as_wide_as_the_screen(
    width: int, language: Language, scene_in: Callable[..., Scene]
) -> None:
    scene = scene_in(language)
    frames = [draw_notes(view_of(scene, step), width) for step in range(8)]
    frames.append(draw_waiting(language, width, ended_pid=4711))
    for frame in frames:
        for row in frame.rows:
            assert sum(cell_width(run.text) for run in row) == width


def test_a_step_without_notes_says_what_it_is(scene_in: Callable[..., Scene]) -> None:
    view = view_of(scene_in("en"), 2)
    bare = tuple(replace(step, takeaway="", notes="") for step in view.steps)
    text = draw_notes(replace(view, steps=bare), 79).text()
    assert "point to point" in text
    assert "There are no notes for this step." in text


def test_what_comes_next_and_that_nothing_does(scene_in: Callable[..., Scene]) -> None:
    scene = scene_in("en")
    assert "Next, step 3: Activations move" in draw_notes(view_of(scene, 1), 119).text()
    assert "This is the last step." in draw_notes(view_of(scene, 7), 119).text()


def test_waiting_names_the_player_that_has_ended() -> None:
    assert "4711" in draw_waiting("en", 79, ended_pid=4711).text()
    assert "pid" not in draw_waiting("en", 79, ended_pid=None).text()
