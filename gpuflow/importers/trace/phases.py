"""What the engine was doing, by the names it gave its passes.

execute_context_1(888_788544)_generation_0(0)             vLLM: one prompt of 888 tokens
execute_32_context_0(...)_generation_32(sq32sk55086...)   vLLM: one token for each of 32
ProfilerStep#15                                            a step of training
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpuflow.importers.trace.kernels import Note

_VLLM = re.compile(
    r"^execute_(?:\d+_)?context_(?P<prompts>\d{1,7})\((?P<prompt>[^)]*)\)"
    r"_generation_(?P<answers>\d{1,7})\((?P<answer>[^)]*)\)"
)
_FIRST_NUMBER = re.compile(r"^(?:sq)?(\d{1,9})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pass:
    """One pass of an inference engine."""

    start_us: float
    end_us: float
    is_gpu: bool
    """Whether the times are the GPU's; else those of the host, which runs ahead."""
    prompts: int
    prompt_tokens: int
    """New tokens of prompts in the pass."""
    answers: int
    answer_tokens: int
    """Tokens for running requests in the pass; one each unless several are guessed at once."""

    @property
    def tokens(self) -> int:
        """All that go through the model."""
        return self.prompt_tokens + self.answer_tokens


def passes_of(notes: Sequence[Note]) -> tuple[Pass, ...]:
    """The engine's passes by their annotations: the GPU's, or the host's where it has none."""
    found = [one for note in notes if (one := _pass(note)) is not None]
    on_gpu = [one for one in found if one.is_gpu]
    return tuple(sorted(on_gpu or found, key=lambda one: one.start_us))


def _pass(note: Note) -> Pass | None:
    match = _VLLM.match(note.name)
    if match is None:
        return None
    prompts, answers = int(match["prompts"]), int(match["answers"])
    return Pass(
        start_us=note.start_us,
        end_us=note.end_us,
        is_gpu=note.stream >= 0,
        prompts=prompts,
        prompt_tokens=_tokens(match["prompt"]) if prompts else 0,
        answers=answers,
        answer_tokens=max(_tokens(match["answer"]), answers) if answers else 0,
    )


def _tokens(text: str) -> int:
    found = _FIRST_NUMBER.match(text)
    return int(found[1]) if found else 0
