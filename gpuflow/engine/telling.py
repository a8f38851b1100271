"""A scenario's text with its figures in place.

A split may leave a figure without meaning: with tensor parallelism of one there is no all_reduce
to give a size of. The sentence that needs it is then left out, the others stay. Words that are
true under some splits only stand behind a condition, `{if_tp}` or `{unless_tp}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from string import Formatter

from gpuflow.engine.facts import NONE
from gpuflow.scenario.placeholders import MARKS
from gpuflow.units import Quantity, format_quantity

_SENTENCE = re.compile(r"[^。]*。|.*?[.!?](?=\s|$)\s*|.+?$", re.DOTALL)
"""Up to a Chinese full stop, or to an English one that a blank or the end follows."""
_MARKS = re.compile(r"(?:\{(?:" + "|".join(MARKS) + r")\})+")
_NAME = re.compile(r"\{(\w+)\}")
_STOPS = " \n。.!?"


def tell(text: str, values: Mapping[str, Quantity]) -> str:
    """Fill the placeholders of a text.

    Args:
        text: Template in one language.
        values: What `engine.facts.facts` gives for the step.

    Returns:
        The sentences whose conditions hold and whose figures apply; when none would be left, those
        whose conditions hold, or else all of them.

    Example:
        >>> values = {"tp": Quantity(1.0, "count"), "message_size": NONE}
        >>> tell("tp is {tp}. A message is {message_size}. So much for it.", values)
        'tp is 1. So much for it.'
        >>> tell("Compute{if_tp} and add up{end}. {if_tp}Again.", {"if_tp": NONE})
        'Compute.'
    """
    return _filled(settled(text, values), values)


def tell_if_true(text: str, values: Mapping[str, Quantity]) -> str:
    r"""Fill the placeholders of a text that may be left out, line by line.

    Returns:
        The lines that have a true sentence whose figures apply; empty when none has.

    Example:
        >>> tell_if_true("{if_tp}Add up.\nRemember {tp}.", {"if_tp": NONE, "tp": NONE})
        ''
    """
    return _filled(settled_if_true(text, values), values)


def settled_if_true(text: str, values: Mapping[str, Quantity]) -> str:
    """The same with its figures still placeholders."""
    lines = ("".join(_kept(_true(line, values), values)).strip() for line in text.split("\n"))
    return "\n".join(line for line in lines if line)


def settled(text: str, values: Mapping[str, Quantity]) -> str:
    """The text without what does not apply and without conditions; figures stay placeholders.

    Example:
        >>> values = {"tp": Quantity(1.0, "count"), "if_tp": NONE}
        >>> settled("{if_tp}Layers are split. tp is {tp}.", values)
        'tp is {tp}.'
    """
    true = _true(text, values)
    sentences = _SENTENCE.findall(text)
    whole = _kept(true, values) or true or [_MARKS.sub("", sentence) for sentence in sentences]
    return "".join(whole).strip()


def _true(text: str, values: Mapping[str, Quantity]) -> list[str]:
    """Sentences whose conditions hold, without them."""
    said = (_said(sentence, values) for sentence in _SENTENCE.findall(text))
    return [sentence for sentence in said if sentence.strip(_STOPS)]


def _kept(sentences: list[str], values: Mapping[str, Quantity]) -> list[str]:
    return [sentence for sentence in sentences if _applies(sentence, values)]


def _said(sentence: str, values: Mapping[str, Quantity]) -> str:
    """The sentence without its conditions, and without the words whose conditions do not hold.

    Its full stop stays in any case.
    """
    words = sentence.rstrip(_STOPS)
    held = [
        piece
        for marks, piece in _pieces(words)
        if all(values[name] != NONE for name in marks if name != "end")
    ]
    return "".join(held) + sentence[len(words) :]


def _pieces(sentence: str) -> Iterator[tuple[list[str], str]]:
    """Runs of conditions, each with the words up to the next run."""
    at, marks = 0, list[str]()
    for run in _MARKS.finditer(sentence):
        yield marks, sentence[at : run.start()]
        at, marks = run.end(), _NAME.findall(run[0])
    yield marks, sentence[at:]


def _applies(sentence: str, values: Mapping[str, Quantity]) -> bool:
    return all(values[name] != NONE for name in _names(sentence))


def _names(text: str) -> Iterator[str]:
    """Of its placeholders."""
    return (name for _, name, _, _ in Formatter().parse(text) if name)


def _filled(text: str, values: Mapping[str, Quantity]) -> str:
    """With the figures that it names; writing all that there are would take most of the time."""
    return text.format_map({name: format_quantity(values[name]) for name in _names(text)})
