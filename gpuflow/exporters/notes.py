"""The presenter's notes of all steps as text, to print, and as records."""

from __future__ import annotations

from gpuflow.cells import sanitise
from gpuflow.draw.scene import step_texts
from gpuflow.draw.wrap import wrap
from gpuflow.engine.timeline import StepTime, Timeline
from gpuflow.exporters.plain import scenario_line
from gpuflow.scenario.spec import Language
from gpuflow.words import t


def notes_text(timeline: Timeline, language: Language, width: int | None) -> str:
    """A paragraph a step, after what they are about.

    Args:
        timeline: What the notes are of.
        language: In which language.
        width: Cells of a line; None: lines are as long as they are.
    """
    scenario = timeline.scenario
    opening = t("notes.opening", language, title=scenario.title.in_language(language))
    paragraphs = [[opening, scenario_line(scenario, language)]]
    paragraphs += [_paragraph(timeline, step, language) for step in timeline.steps]
    return "\n\n".join(
        "\n".join(part for line in paragraph for part in _lines(line, width))
        for paragraph in paragraphs
    )


def _paragraph(timeline: Timeline, step: StepTime, language: Language) -> list[str]:
    texts = step_texts(timeline, step.index, language)
    heading = t(
        "notes.heading",
        language,
        number=step.index + 1,
        count=len(timeline.steps),
        title=texts.title,
    )
    kept = t("plain.takeaway", language, text=texts.takeaway) if texts.takeaway else texts.summary
    return [heading, kept, *(f"- {line}" for line in texts.notes.splitlines())]


def _lines(text: str, width: int | None) -> list[str]:
    """What a scenario or a model is called cannot steer the terminal."""
    lines = [sanitise(line) for line in text.splitlines()]
    return lines if width is None else [part for line in lines for part in wrap(line, width)]


def note_records(timeline: Timeline, language: Language) -> list[dict[str, object]]:
    """The notes of the steps for programs, in one language."""
    found: list[dict[str, object]] = []
    for step in timeline.steps:
        texts = step_texts(timeline, step.index, language)
        found.append(
            {
                "id": step.id,
                "number": step.index + 1,
                "title": texts.title,
                "takeaway": texts.takeaway or None,
                "notes": texts.notes.splitlines(),
            }
        )
    return found
