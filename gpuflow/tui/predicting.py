"""Predict, then reveal: the play stops before a result and asks for it.

It holds which question is open and whether its answer is shown; what is asked, and in which words,
is pure and lives elsewhere.
"""

from __future__ import annotations

from functools import cached_property

from gpuflow.draw.questions import ahead_caption, answer_caption, question_caption
from gpuflow.draw.view import Caption, Scene
from gpuflow.engine.question_choice import Question
from gpuflow.engine.questions import questions
from gpuflow.tui.commands import OF_PROGRAM
from gpuflow.tui.playhead import NEAR_S
from gpuflow.tui.playing import Playing

PASSING = OF_PROGRAM | {"ask"}
"""Actions whose keys keep their meaning while a question is open; all others go on with it."""


class Predicting:
    """The questions of what is played.

    Args:
        playing: What is played.
        is_on: Whether questions are asked.
    """

    def __init__(self, playing: Playing, *, is_on: bool) -> None:
        self.playing = playing
        self.is_on = is_on
        self.is_revealed = False
        self._queue: list[Question] = []
        """The open question and those of the same moment."""
        self._resumes = False
        self._seen_s = 0.0
        self._seen_step = -1

    @cached_property
    def questions(self) -> tuple[Question, ...]:
        """All of them, in the order of their moments."""
        return questions(self.playing.moments)

    @property
    def question(self) -> Question | None:
        """The open one."""
        return self._queue[0] if self._queue else None

    @property
    def is_covering(self) -> bool:
        """Whether the picture must keep to itself what runs; it may answer the next one too."""
        return len(self._queue) > 1 or (bool(self._queue) and not self.is_revealed)

    def look(self, *, is_jump: bool = False) -> None:
        """Open what the play has reached since the last look.

        Args:
            is_jump: Whether the moment was chosen; what lies between is then not asked.
        """
        before_s, step = self._seen_s, self.playing.step_index
        now_s = self._seen_s = self.playing.playhead.moment_s
        is_new_step, self._seen_step = step != self._seen_step, step
        if not self.is_on:
            return
        has_moved = abs(now_s - before_s) > NEAR_S
        if self._queue and not has_moved and not is_jump:
            return
        self._queue = []
        if not self.playing.is_animated:
            if is_new_step or is_jump:
                self._open([q for q in self.questions if q.step == step])
            return
        low_s = now_s - NEAR_S if is_jump or now_s < before_s else before_s + NEAR_S
        due = [q for q in self.questions if low_s < q.moment_s <= now_s + NEAR_S]
        if due:
            first_s = due[0].moment_s
            self._open([q for q in due if abs(q.moment_s - first_s) <= NEAR_S])
            self.playing.playhead.seek(first_s)
            self._seen_s, self._seen_step = first_s, self.playing.step_index

    def press(self) -> None:
        """The viewer has thought, or has read."""
        if not self.is_revealed:
            self.is_revealed = True
            return
        del self._queue[0]
        self.is_revealed = False
        if not self._queue:
            self.playing.playhead.is_playing = self._resumes

    def toggle(self) -> None:
        """Ask, or ask no more."""
        self.is_on = not self.is_on
        if self._queue:
            self.playing.playhead.is_playing = self._resumes
        self._queue = []
        if self.is_on:
            self.look(is_jump=True)

    def _open(self, found: list[Question]) -> None:
        self._queue = found
        self.is_revealed = False
        if found:
            playhead = self.playing.playhead
            self._resumes, playhead.is_playing = playhead.is_playing, False

    def caption(self, scene: Scene, size: tuple[int, int]) -> Caption | None:
        """What stands in the place of the step's texts; None: the texts themselves."""
        question = self.question
        if question is not None:
            number = self.questions.index(question) + 1
            words = answer_caption if self.is_revealed else question_caption
            return words(scene, question, (number, len(self.questions)), size)
        if self.is_on and self._is_one_ahead():
            return ahead_caption(scene, self.playing.step_index)
        return None

    def _is_one_ahead(self) -> bool:
        """Whether this step will still ask."""
        if not self.playing.is_animated:
            return False
        now_s, step = self.playing.playhead.moment_s, self.playing.step_index
        return any(q.step == step and q.moment_s > now_s + NEAR_S for q in self.questions)
