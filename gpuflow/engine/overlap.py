"""Messages that run beside computing: a pass in two halves, one computing while the other sends.

Each half reads the weights for itself, so computing takes what two passes of half the tokens take.
Of the layers' messages only what is longer than their computing shows, and the first half message
of a layer, which nothing can hide. Sources: DeepSeek-V3 report (two micro-batches);
TensorRT-LLM and SGLang documentation.
"""

from __future__ import annotations

from dataclasses import replace

from gpuflow.cluster.elementwise import greater, lesser
from gpuflow.cluster.pass_shape import PassShape

LEAST_TOKENS = 2
"""Fewer tokens have no halves."""


def half_of(shape: PassShape) -> PassShape:
    """One of the two halves of a pass."""
    return replace(shape, sequences=shape.sequences / 2, tokens=shape.tokens / 2)


def exposed_share(computing_s: float, messages_s: float, layers: int) -> float:
    """Part of the layers' messages that is not hidden.

    Args:
        computing_s: Of all layers, both halves.
        messages_s: Of all layers, both halves.
        layers: Layers they belong to.
    """
    if layers == 0:
        return 1.0
    total = greater(messages_s, 1e-30)
    longer = greater(messages_s - computing_s, 0.0)
    return lesser(longer / total + 1 / (2 * layers), 1.0)
