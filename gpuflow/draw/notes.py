"""The presenter's notes of a step, as one Frame to scroll: what to say, to show and to ask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpuflow.draw.canvas import Piece
from gpuflow.draw.frame import Frame
from gpuflow.draw.header import PAUSED, PLAYING
from gpuflow.draw.page import Block, Line, Page
from gpuflow.draw.view import StepTexts
from gpuflow.draw.wrap import wrap
from gpuflow.scenario.spec import Language
from gpuflow.units import format_time
from gpuflow.words import t


@dataclass(frozen=True, slots=True, kw_only=True)
class StepNotes:
    """What is to be said of one step, in one language."""

    title: str
    summary: str
    takeaway: str
    notes: str
    """A paragraph a line; may be empty."""


def step_notes(texts: StepTexts) -> StepNotes:
    """What a presenter needs of the texts of a step."""
    return StepNotes(
        title=texts.title, summary=texts.summary, takeaway=texts.takeaway, notes=texts.notes
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class NotesView:
    """Where a talk is."""

    language: Language
    scenario: str
    steps: Sequence[StepNotes]
    step: int
    """Index of the step that is played."""
    time_s: float
    """On the player's clock."""
    is_playing: bool
    speed: float
    minutes: int
    """Since the talk began."""


def draw_notes(view: NotesView, width: int) -> Frame:
    """The notes of the step at hand at a width, as tall as they are."""
    language, step = view.language, view.steps[view.step]
    page = Page(width)
    page.words(*_status(view))
    heading = t(
        "notes.heading",
        language,
        number=view.step + 1,
        count=len(view.steps),
        title=step.title,
    )
    page.paragraph(heading, "title")
    page.blank()
    for index, text in enumerate(wrap(step.takeaway or step.summary, width - 4)):
        page.words(Piece("  " if index else "▸ ", "accent"), Piece(text, "strong"))
    page.blank()
    if step.notes:
        lines = [Line(text, indent=2, bullet="•") for text in step.notes.splitlines()]
        title = (Piece(t("notes.title", language), "title"),)
        page.beside((Block(title=title, lines=tuple(_apart(lines))),))
    else:
        page.paragraph(t("notes.none", language), "dim")
    page.blank()
    page.paragraph(_next(view), "dim")
    return page.to_frame()


def draw_waiting(language: Language, width: int, *, ended_pid: int | None) -> Frame:
    """What is said while there is no player."""
    page = Page(width)
    page.words(Piece(t("notes.waiting.title", language), "title"))
    page.blank()
    if ended_pid is not None:
        page.paragraph(t("notes.waiting.ended", language, pid=ended_pid), "strong")
    page.paragraph(t("notes.waiting.text", language))
    return page.to_frame()


def _status(view: NotesView) -> list[Piece]:
    """Whether it plays, its clock, its speed, and how long the talk has been going."""
    talk = t("notes.minutes", view.language, minutes=view.minutes)
    sign = PLAYING if view.is_playing else PAUSED
    pieces = [Piece(f"{sign} ", "accent"), Piece(format_time(view.time_s), "clock")]
    if view.speed != 1:
        pieces.append(Piece(f"  ×{view.speed:g}", "dim"))
    return [*pieces, Piece(f"  {talk}", "accent"), Piece(f"  {view.scenario}", "dim")]


def _apart(lines: Sequence[Line]) -> list[Line]:
    """Paragraphs with an empty line between them."""
    return [part for line in lines for part in (Line(), line)][1:]


def _next(view: NotesView) -> str:
    """What comes after the step."""
    number = view.step + 2
    if number > len(view.steps):
        return t("notes.next.none", view.language)
    following = view.steps[number - 1]
    return t(
        "notes.next",
        view.language,
        number=number,
        title=following.title,
        summary=following.summary,
    )
