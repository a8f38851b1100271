"""What a question is, and which of those that a step could ask it asks.

Kinds that were asked the least come first, and nothing that an earlier question has given away.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from gpuflow.units import Quantity, format_quantity

Kind = Literal[
    "primitive", "sends", "size", "time", "sums", "messages", "dominates", "ttft", "tpot"
]
Values = Mapping[str, object]
MOST_A_STEP = 2
MOST_CHOICES = 4
_FIRST_AT_A_MOMENT = ("primitive", "sends", "size", "time", "sums")
"""A question may name what an earlier kind asks for, so those come first."""
NEAR = 1.1
"""Amounts that differ by less than this factor are too much alike to choose between."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One of the answers to choose from."""

    name: str = ""
    """Locale key `ask.choice.<name>`; empty: the value alone."""
    values: Values
    """Fill the sentence; where there is none, `value` is all."""
    mistake: str = ""
    """Locale key `ask.mistake.<mistake>`: how one comes to it; empty for the right one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question."""

    step: int
    """Index of its step, from 0."""
    moment_s: float
    """Screen seconds; what runs from here on is the result."""
    kind: Kind
    about: str
    """Which of a kind's sentences: a collective or a payload; empty where there is one."""
    values: Values
    """Fill the question, the answer and its calculation."""
    choices: tuple[Choice, ...]
    right: int
    """Index of the right choice."""

    @property
    def answer(self) -> Choice:
        """The right choice."""
        return self.choices[self.right]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A question that a step could ask."""

    moment_s: float
    kind: Kind
    about: str
    identity: tuple[object, ...]
    """Two of the same are one question: it is asked once."""
    tells: tuple[tuple[object, ...], ...] = ()
    """Identities of questions whose answers this one mentions."""
    values: Values
    right: Choice
    wrong: Sequence[Choice]
    """The likeliest mistake first."""
    is_ordered: bool
    """Whether choices have an order of their own, such as sizes."""
    is_plain: bool = False
    """Whether there is little to think about: others come first."""


def chosen(step: int, candidates: Sequence[Candidate], used: Counter[object]) -> list[Question]:
    """The questions of a step: kinds that were asked the least, then in the order given.

    Args:
        step: Index of the step.
        candidates: All that could be asked.
        used: How often each kind and identity was asked; what is chosen is added.
    """
    picked: list[Candidate] = []
    while len(picked) < MOST_A_STEP:
        open_ = [c for c in candidates if not used[c.identity] and _goes_with(c, picked)]
        open_ = [c for c in open_ if len(_choices(c)) > 1]
        if not open_:
            break
        best = min(open_, key=lambda c: (c.is_plain, used[c.kind]))
        picked.append(best)
        used[best.kind] += 1
        for identity in (best.identity, *best.tells):
            used[identity] += 1
    picked.sort(key=_place)
    return [_question(step, c, turn=step + place) for place, c in enumerate(picked)]


def _goes_with(candidate: Candidate, picked: Sequence[Candidate]) -> bool:
    """Whether a question neither repeats nor gives away those that were picked."""
    return not any(
        candidate.kind == other.kind or candidate.identity in other.tells for other in picked
    ) and not any(
        # What stands earlier on the screen must not name what is asked later.
        other.identity in candidate.tells and _place(candidate) < _place(other)
        for other in picked
    )


def _place(candidate: Candidate) -> tuple[float, int]:
    return candidate.moment_s, _rank(candidate.kind)


def _rank(kind: Kind) -> int:
    return _FIRST_AT_A_MOMENT.index(kind) if kind in _FIRST_AT_A_MOMENT else -1


def _question(step: int, candidate: Candidate, *, turn: int) -> Question:
    choices = _choices(candidate)
    if candidate.is_ordered:
        choices.sort(key=_amount)
    else:
        # The right one stands in another place each time.
        places = turn % len(choices)
        choices = [*choices[1 : places + 1], choices[0], *choices[places + 1 :]]
    return Question(
        step=step,
        moment_s=candidate.moment_s,
        kind=candidate.kind,
        about=candidate.about,
        values=candidate.values,
        choices=tuple(choices),
        right=choices.index(candidate.right),
    )


def _choices(candidate: Candidate) -> list[Choice]:
    """The right choice and those that can be told from it and from each other."""
    kept: list[Choice] = []
    for choice in (candidate.right, *candidate.wrong):
        if not any(_is_near(choice, other) for other in kept):
            kept.append(choice)
    return kept[:MOST_CHOICES]


def _is_near(a: Choice, b: Choice) -> bool:
    one, other = a.values.get("value"), b.values.get("value")
    if isinstance(one, Quantity) and isinstance(other, Quantity):
        low, high = sorted((_amount(a), _amount(b)))
        return high < NEAR * low or written(one) == written(other)
    return (a.name, one) == (b.name, other)


def _amount(choice: Choice) -> float:
    value = choice.values["value"]
    return float(value.value) if isinstance(value, Quantity) else 0.0


def written(value: object) -> str:
    """A value as it will be read."""
    return format_quantity(value) if isinstance(value, Quantity) else str(value)


def count(value: float) -> Quantity:
    """A number of things."""
    return Quantity(float(value), "count")


def amount(value: float, kind: str, mistake: str = "") -> Choice:
    """Bytes or seconds."""
    quantity = Quantity(value, "bytes" if kind == "bytes" else "time")
    return Choice(values={"value": quantity}, mistake=mistake)


def number(value: float, mistake: str = "") -> Choice:
    """A number of things to choose."""
    return Choice(values={"value": count(value)}, mistake=mistake)


def named(name: str, about: str) -> Choice:
    """A choice that the locale files have words for: `ask.choice.<about>.<name>`."""
    return Choice(name=f"{about}.{name}", values={})
