"""What a drawing of one collective is given, and the few words and figures all its parts use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from gpuflow.cells import cell_width
from gpuflow.collectives.small import SmallReplay, SmallRound
from gpuflow.collectives.tally import Tally
from gpuflow.engine.explore import Outlook, Subject
from gpuflow.scenario.spec import Language
from gpuflow.units import format_bytes
from gpuflow.words import t

MOST_SUMMED_ROWS = 16
_ROWS_AROUND = 12
"""Rows of a screen that are not summed rows: head, costs, keys, frame and headings."""
FLIGHT = 0.6
"""Part of a round's time for which its numbers are on their way; then they stand."""
_CLASS_ROLES = {"all_to_all": "ep", "send_recv": "pp", "broadcast": "host", "gather": "host"}
_SIMPLEST = 16
"""Largest denominator that is read at a glance."""


@dataclass(frozen=True, kw_only=True)
class ExploreView:
    """One collective at one moment, as somebody looks at it."""

    language: Language
    outlook: Outlook
    round: int = 0
    """The round shown, from 1; 0: before the first."""
    fraction: float = 1.0
    """How far that round is, 0..1."""
    width: int
    """Of the terminal, in cells."""
    height: int
    """Of the terminal, rows of key hints included."""
    is_playing: bool = False
    is_guided: bool = False
    """Whether a tour shows it: nothing can be chosen, and no key is named."""
    is_ascii: bool = False
    """Whether it is shown in ASCII, which has no other language to go to."""

    @property
    def subject(self) -> Subject:
        """What is looked at."""
        return self.outlook.subject

    @cached_property
    def replay(self) -> SmallReplay:
        """All of it on small numbers; only where every rank is drawn."""
        return self.subject.replay()

    @property
    def block_size(self) -> int:
        """Ranks of a summed row: a node, or two, doubled until there is room for all rows."""
        subject = self.subject
        room = min(max(self.height - _ROWS_AROUND - subject.has_switch, 1), MOST_SUMMED_ROWS)
        size = subject.ranks_per_node if subject.has_levels else 2
        while -(-subject.n_ranks // size) > room:
            size *= 2
        return size

    @cached_property
    def tally(self) -> Tally:
        """All of it summed up; only where ranks are not drawn one by one."""
        return self.subject.tally(self.block_size)

    @property
    def rounds(self) -> int:
        """Rounds in all."""
        return self.outlook.own.rounds

    @property
    def is_in_flight(self) -> bool:
        """Whether the numbers of the round are on their way."""
        return self.round > 0 and self.fraction < FLIGHT

    @property
    def flight(self) -> float:
        """How far they are on their way, 0..1; 1 once they stand."""
        return min(self.fraction / FLIGHT, 1.0)

    @property
    def done(self) -> int:
        """Rounds whose result stands."""
        return self.round - 1 if self.is_in_flight else self.round

    @property
    def current(self) -> SmallRound | None:
        """The round shown; None before the first."""
        return self.replay.rounds[self.round - 1] if self.round else None

    @property
    def role(self) -> str:
        """Role of the bytes of the collective."""
        return _CLASS_ROLES.get(self.subject.collective, "tp")

    @property
    def has_sums(self) -> bool:
        """Whether the collective adds up what its ranks bring."""
        return self.subject.collective in {"all_reduce", "reduce_scatter", "reduce"}

    @property
    def flow_role(self) -> str:
        """Role of what moves in the round shown: between nodes another than within them."""
        return self.outer_role if self.levels == {True} else self.role

    @property
    def outer_role(self) -> str:
        """Role of what moves between nodes."""
        return "pp" if self.role != "pp" else "ep"

    @cached_property
    def levels(self) -> frozenset[bool]:
        """Of algorithms with two levels, whether bytes leave nodes in the round shown, or not."""
        subject = self.subject
        if not subject.has_levels or not self.round:
            return frozenset()
        if subject.is_drawn:
            size = self.replay.ranks_per_node
            pairs = self.replay.rounds[self.round - 1].transfers
            return frozenset(source // size != to // size for source, to in pairs)
        blocks = self.tally.blocks(self.round)
        inside = {False} if any(block.messages_inside for block in blocks) else set()
        outside = {True} if any(block.messages_outside for block in blocks) else set()
        return frozenset(inside | outside)

    def t(self, key: str, /, **values: object) -> str:
        """A sentence of the explorer."""
        return t(f"explore.{key}", self.language, **values)

    def title(self) -> str:
        """The collective's name."""
        return t(f"ui.collective.{self.subject.collective}", self.language)

    def size_of(self, share: float) -> str:
        """Bytes of a part of the message."""
        return format_bytes(share * self.outlook.size_bytes)


def share_text(share: float) -> str:
    """A part of the message, or a multiple of it.

    Example:
        >>> share_text(0.125), share_text(1.75), share_text(1.0), share_text(63 / 64)
        ('1/8 S', '1.75 S', 'S', '0.9844 S')
    """
    if share in {0, 1}:
        return "S" if share else "0"
    if share < 1 and abs(round(1 / share) - 1 / share) < 1e-6:
        return f"1/{round(1 / share):,} S"
    simple = Fraction(share).limit_denominator(_SIMPLEST)
    if 0 < share < 1 and abs(float(simple) - share) < 1e-9:
        return f"{simple.numerator}/{simple.denominator} S"
    return f"{share:.4g} S" if share < 1000 else f"{share:,.0f} S"


def fitting(forms: Sequence[str], width: int) -> str:
    """The first form that fits; the last one where none does."""
    return next((form for form in forms if cell_width(form) <= width), forms[-1])
