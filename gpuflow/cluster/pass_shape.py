"""How much one forward pass holds: of prefill, of decoding, or of both together.

Numbers for one scenario, numpy arrays for many at once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from gpuflow.cluster.elementwise import greater, lesser
from gpuflow.scenario.model_spec import AttentionSpec
from gpuflow.scenario.spec import Phase, Scenario


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """Prompt tokens that a pass of decoding takes along, in one replica."""

    tokens: float
    sequences: float
    """Prompts that end in this pass."""
    keys: float
    """Mean number of keys each of the tokens attends to."""
    cached_tokens: float
    """Cache entries read for them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PassShape:
    """How much one forward pass holds, per data-parallel replica."""

    phase: Phase
    sequences: float
    tokens: float
    """New tokens of all sequences, without those that join."""
    context: float
    """Tokens each sequence has in the cache at the end of the pass (a mean over laps in decode)."""
    growth: float = 0.0
    """Decode: laps over which the context grows, from half of them below it to half above."""
    joined: Joined | None = None
    """Decode only, and of the one replica that takes prompts in; the others wait for it."""

    @property
    def all_tokens(self) -> float:
        """New tokens, with those that join."""
        return self.tokens if self.joined is None else self.tokens + self.joined.tokens

    @property
    def all_sequences(self) -> float:
        """Sequences that get a token out of the pass."""
        return self.sequences if self.joined is None else self.sequences + self.joined.sequences

    @property
    def sequences_at_work(self) -> float:
        """Sequences whose states are read and written: of prompts in chunks those of a chunk."""
        if self.phase == "decode":
            return self.sequences
        return greater(self.tokens / self.context, 1.0)


def group_sequences(scenario: Scenario) -> float:
    """Sequences that go through the stages together: the batch, or one micro-batch of it."""
    w = scenario.workload
    return w.batch if w.micro_batches == 1 else w.batch / w.micro_batches


def prompt_chunks(scenario: Scenario) -> int:
    """Prefill passes that the prompts of a group are cut into."""
    w = scenario.workload
    if w.chunk_tokens is None:
        return 1
    return math.ceil(group_sequences(scenario) * w.prompt_tokens / w.chunk_tokens)


def prefill_shape(scenario: Scenario) -> PassShape:
    """The pass over the prompts of a group, or over their mean chunk.

    A chunk's tokens see half the prompt on average, as the whole prompt's do.
    """
    w, chunks = scenario.workload, prompt_chunks(scenario)
    tokens = group_sequences(scenario) * w.prompt_tokens
    return PassShape(
        phase="prefill",
        sequences=group_sequences(scenario),
        tokens=tokens if chunks == 1 else tokens / chunks,
        context=float(w.prompt_tokens),
    )


def decode_shape(scenario: Scenario, position: float | None = None) -> PassShape:
    """The pass of one output token.

    Args:
        scenario: What was asked.
        position: Output token, from 2 (the first comes out of prefill); None: the mean of all
            laps, which costs the same as the mean of their costs because attention grows linearly.
    """
    w = scenario.workload
    last = max(w.output_tokens, 2)
    at = (2 + last) / 2 if position is None else position
    is_fixed = w.context_tokens is not None
    context = w.context_tokens if w.context_tokens is not None else w.prompt_tokens + at - 1
    group = group_sequences(scenario)
    return PassShape(
        phase="decode",
        sequences=group,
        tokens=group,
        context=float(context),
        growth=0.0 if is_fixed or position is not None else growth_of(scenario),
    )


def growth_of(scenario: Scenario) -> float:
    """Laps over which the context of an answer grows."""
    return float(max(scenario.workload.output_tokens - 2, 0))


def seen_tokens(attention: AttentionSpec, shape: PassShape) -> float:
    """Mean number of keys a new token attends to.

    Prefill: C/2 under the causal mask; with a window W < C it is W - W^2 / 2C.
    Decode: C, at most W; where C grows and W lies between its ends, the mean of min(C, W).
    """
    c, window, growth = shape.context, attention.window, shape.growth
    if window is None:
        return c / 2 if shape.phase == "prefill" else c
    if shape.phase == "prefill":
        kept = lesser(c, float(window))
        return kept - kept * kept / (2 * c)
    if growth <= 0:
        return lesser(c, float(window))
    low, high = c - growth / 2, c + growth / 2
    below = lesser(greater((window - low) / growth, 0.0), 1.0)
    return below * (low + lesser(high, float(window))) / 2 + (1 - below) * window


def read_tokens(attention: AttentionSpec, shape: PassShape) -> float:
    """Cache entries that a pass reads, of all its sequences.

    Prefill: each prompt once. A chunk of t < C tokens belongs to one prompt and reads what came
    before it, at most a window, and itself: (C + t) / 2 on average over the prompt's chunks.
    Decode: the keys that are attended to.
    """
    if shape.phase == "decode":
        return shape.sequences * seen_tokens(attention, shape)
    tokens = shape.tokens
    read = (greater(shape.context, tokens) + tokens) / 2
    return read if attention.window is None else lesser(read, tokens + float(attention.window))
