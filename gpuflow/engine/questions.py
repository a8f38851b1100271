"""Questions to put before a result shows: a moment, what is asked, plausible answers.

Every step that has work asks one or two, of as many kinds as the split has. The wrong answers are
what comes out of the usual mistakes: a byte a number, bits for bytes, one layer for all.
"""

from __future__ import annotations

from collections import Counter

from gpuflow.engine.moment import Moments
from gpuflow.engine.question_choice import Candidate, Question, chosen
from gpuflow.engine.question_messages import MessageQuestions, first_messages
from gpuflow.engine.question_steps import StepQuestions


def questions(moments: Moments) -> tuple[Question, ...]:
    """One or two questions a step, in the order of their moments; a step without work has none."""
    used: Counter[object] = Counter()
    found: list[Question] = []
    by_message, by_step = MessageQuestions(moments), StepQuestions(moments.pace)
    for step in moments.timeline.steps:
        spans = moments.timeline.spans[step.first_span : step.last_span]
        candidates: list[Candidate] = []
        for message in first_messages(spans):
            candidates += by_message.of_message(message, spans)
        candidates += by_step.of_step(step, spans)
        if moments.timeline.recording is not None:
            # Sums over a stand-in of the model would explain nothing that was measured.
            candidates = [one for one in candidates if one.kind == "primitive"]
        found += chosen(step.index, candidates, used)
    return tuple(found)
