"""How much one forward pass holds: of prefill, of decoding, or of both together.

Numbers for one scenario, numpy arrays for many at once.
"""

from __future__ import annotations

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


def prefill_shape(scenario: Scenario) -> PassShape:
    """The pass over the whole prompt."""
    w = scenario.workload
    return PassShape(
        phase="prefill",
        sequences=w.batch,
        tokens=w.batch * w.prompt_tokens,
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
    context = w.context_tokens if w.context_tokens is not None else w.prompt_tokens + at - 1
    return PassShape(phase="decode", sequences=w.batch, tokens=w.batch, context=float(context))


def seen_tokens(attention: AttentionSpec, shape: PassShape, growth: float = 0.0) -> float:
    """Mean number of keys a new token attends to.

    Prefill: C/2 under the causal mask; with a window W < C it is W - W^2 / 2C.
    Decode: C, at most W; where C grows over `growth` laps around its mean and W lies between, the
    mean of min(C, W) over them.
    """
    c, window = shape.context, attention.window
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
