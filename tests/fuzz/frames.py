"""What a hostile file puts on screens: every Frame of a play and of its pages, cell by cell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from gpuflow.cells import cell_width
from gpuflow.draw.basics import draw_basics
from gpuflow.draw.frame import Frame
from gpuflow.draw.gallery import cards_of_step, draw_primitives
from gpuflow.draw.glossary import draw_glossary
from gpuflow.draw.help import draw_help
from gpuflow.draw.notes import NotesView, draw_notes, step_notes
from gpuflow.draw.roles import ROLES
from gpuflow.draw.view import PlayView
from gpuflow.engine.whatif import side_of
from gpuflow.exporters.film import Film
from gpuflow.tui.tables import table_frame

STEERING = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff]"
)
"""What must not reach a terminal: controls, and what reorders or hides text."""
MOMENTS = (0.0, 0.31, 0.62, 0.97)
"""Parts of a play at which it is looked at; the one that was asked for comes besides."""


@dataclass(slots=True)
class Looked:
    """What looking at frames showed."""

    n_frames: int = 0
    faults: list[str] = field(default_factory=list)

    def look(self, name: str, frame: Frame) -> None:
        """Judge one."""
        self.n_frames += 1
        self.faults += faults_of(name, frame)


@contextmanager
def looking(looked: Looked) -> Iterator[None]:
    """While it lasts, whoever draws one picture of a play has all its screens judged."""
    drawn, shown = Film._drawn, Film.frame

    def judged(film: Film, view: PlayView) -> Frame:
        frame = drawn(film, view)
        looked.look("play", frame)
        return frame

    def with_all(film: Film, screen_s: float, **more: Any) -> Frame:
        frame = shown(film, screen_s, **more)
        for part in MOMENTS:
            shown(film, part * film.pace.duration_s)
        for name, page in pages(film):
            looked.look(name, page)
        return frame

    Film._drawn, Film.frame = judged, with_all  # type: ignore[method-assign]
    try:
        yield
    finally:
        Film._drawn, Film.frame = drawn, shown  # type: ignore[method-assign]


def pages(film: Film) -> Iterator[tuple[str, Frame]]:
    """The pages that the player would open, as wide as the film."""
    scene, width = film.scene, film.columns - 1
    yield "help", draw_help(scene, width)
    yield "basics", draw_basics(scene, width)
    yield "glossary", draw_glossary(scene, width, step=0)
    yield "primitives", draw_primitives(scene, width, current=cards_of_step(scene, 0), beat=1)
    notes = NotesView(
        language=scene.language,
        scenario=scene.timeline.scenario.name,
        steps=tuple(map(step_notes, scene.texts)),
        step=len(scene.texts) - 1,
        time_s=film.pace.duration_s,
        is_playing=True,
        speed=1.0,
        minutes=1,
    )
    yield "notes", draw_notes(notes, width)
    yield "table", table_frame(side_of(scene.timeline).table, scene.language, width)


def faults_of(name: str, frame: Frame) -> Iterator[str]:
    """What must not be in a frame: a control, a row of another width, a role nobody knows."""
    for number, row in enumerate(frame.rows):
        text = "".join(run.text for run in row)
        if found := STEERING.search(text):
            yield f"U+{ord(found[0]):04X} in the frame of {name}: row {number}, {ascii(text)[:60]}"
        if (width := cell_width(text)) != frame.width:
            yield f"a row of another width in {name}: {width} of {frame.width}, {ascii(text)[:60]}"
        if unknown := {run.role for run in row} - set(ROLES):
            yield f"an unknown role in {name}: {min(unknown)!a}"
    if len(frame.rows) != frame.height:
        yield f"a frame of another height: {name}, {len(frame.rows)} of {frame.height}"
