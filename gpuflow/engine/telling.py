"""A scenario's text with its figures in place.

A split may leave a figure without meaning: with tensor parallelism of one there is no all_reduce
to give a size of. The sentence that needs it is then left out, the others stay.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import Formatter

from gpuflow.engine.facts import NONE
from gpuflow.units import Quantity, format_quantity

_SENTENCE = re.compile(r"[^。]*。|.*?[.!?](?=\s|$)\s*|.+?$", re.DOTALL)
"""Up to a Chinese full stop, or to an English one that a blank or the end follows."""


def tell(text: str, values: Mapping[str, Quantity]) -> str:
    """Fill the placeholders of a text.

    Args:
        text: Template in one language.
        values: What `engine.facts.facts` gives for the step.

    Returns:
        The sentences whose figures apply; all of them when none would be left.

    Example:
        >>> values = {"tp": Quantity(1.0, "count"), "message_size": NONE}
        >>> tell("tp is {tp}. A message is {message_size}. So much for it.", values)
        'tp is 1. So much for it.'
    """
    written = {name: format_quantity(value) for name, value in values.items()}
    sentences = _SENTENCE.findall(text)
    kept = [sentence for sentence in sentences if _applies(sentence, values)]
    return "".join(kept or sentences).strip().format_map(written)


def _applies(sentence: str, values: Mapping[str, Quantity]) -> bool:
    names = (name for _, name, _, _ in Formatter().parse(sentence) if name)
    return all(values[name] != NONE for name in names)
