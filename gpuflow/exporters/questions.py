"""The questions of a play with their answers, as text to hand out and as records."""

from __future__ import annotations

from string import ascii_uppercase

from gpuflow.draw.questions import answer_caption, answer_texts, choice_text, question_caption
from gpuflow.draw.scene import scene_of
from gpuflow.draw.view import Scene
from gpuflow.draw.wrap import wrap
from gpuflow.engine.moment import Moments
from gpuflow.engine.question_choice import Question
from gpuflow.engine.questions import questions
from gpuflow.scenario.spec import Language

_SIZE = (80, 24)
"""The form of the words that suits a line."""


def questions_text(
    moments: Moments, language: Language, width: int | None, *, only: int | None = None
) -> str:
    """Every question, its choices, the answer and the calculation, a paragraph each.

    Args:
        moments: States of the paced timeline.
        language: In which language.
        width: Cells of a line; None: a paragraph's lines are as long as their sentences.
        only: Index of the step whose questions are told; None: those of all.
    """
    scene, asked = scene_of(moments, language), questions(moments)
    paragraphs = [
        _paragraph(scene, question, (number, len(asked)))
        for number, question in enumerate(asked, start=1)
        if only is None or question.step == only
    ]
    lines = [
        "\n".join(part for line in lines for part in (wrap(line, width) if width else [line]))
        for lines in paragraphs
    ]
    return "\n\n".join(lines) or scene.word("ask.none")


def _paragraph(scene: Scene, question: Question, place: tuple[int, int]) -> list[str]:
    asked = question_caption(scene, question, place, _SIZE)
    answer = answer_caption(scene, question, place, _SIZE)
    return [asked.title, asked.lead, asked.text, answer.lead, *answer.text.split("\n")]


def question_records(moments: Moments, language: Language) -> list[dict[str, object]]:
    """The questions for programs: step, kind, and the words of one language."""
    scene = scene_of(moments, language)
    return [
        {
            "step": question.step + 1,
            "kind": question.kind,
            "question": question_caption(scene, question, (0, 0), _SIZE).lead,
            "choices": [choice_text(scene, choice) for choice in question.choices],
            "right": ascii_uppercase[question.right],
            "reason": answer_texts(scene, question)[0],
        }
        for question in questions(moments)
    ]
