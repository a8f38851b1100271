"""A collective on a few small integers, round by round, as plain values for a picture.

What a peer shows is its input turning into its output, not its scratch room: a number is shown
while it is part of the peer's result or still to be sent, and None stands where nothing is (yet,
or any more).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gpuflow.collectives.algorithms import build
from gpuflow.collectives.meaning import meaning, start
from gpuflow.collectives.places import places_of
from gpuflow.collectives.replay import apply, element_index, in_order, load
from gpuflow.collectives.schedule import BoolArray, Places, Round, Schedule


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallRow:
    """What one peer shows."""

    peer: int
    values: tuple[int | None, ...]
    is_final: tuple[bool, ...]
    """True where the value is what the collective must produce in this place."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallRound:
    """One round and what it leaves behind."""

    transfers: tuple[tuple[int, int], ...]
    """(from, to) peers, each pair once, local copies left out; the switch is number n_ranks."""
    adds: tuple[bool, ...]
    """For each of them: True when the receiver adds what it gets."""
    rows: tuple[SmallRow, ...]
    """All peers after the round."""
    switch_row: SmallRow | None = None
    """What the switch has passed on in the round, where the algorithm uses one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallReplay:
    """A whole collective on small numbers."""

    collective: str
    algorithm: str
    n_ranks: int
    n_elements: int
    root: int
    n_switches: int
    """1 where the switch takes part, as peer number `n_ranks` of the transfers."""
    ranks_per_node: int
    """Peers of a node in algorithms with two levels, else 0."""
    before: tuple[SmallRow, ...]
    rounds: tuple[SmallRound, ...]

    @property
    def after(self) -> tuple[SmallRow, ...]:
        """All peers at the end."""
        return self.rows_after(len(self.rounds))

    def rows_after(self, n_rounds: int) -> tuple[SmallRow, ...]:
        """All peers when `n_rounds` rounds are done; 0 gives `before`."""
        return self.rounds[n_rounds - 1].rows if n_rounds else self.before


def small_elements(collective: str, algorithm: str, n_ranks: int) -> int:
    """N that makes a good picture: one number where the vector stays whole, else one a chunk."""
    if algorithm == "chain":
        return 4
    if algorithm == "scatter_all_gather":
        return n_ranks
    if collective in {"broadcast", "reduce", "send_recv"}:
        return 1
    if collective in {"all_reduce", "scatter"}:
        return max(4, n_ranks)
    return n_ranks


@lru_cache(maxsize=256)
def small_replay(
    collective: str,
    algorithm: str,
    n_ranks: int,
    root: int = 0,
    n_elements: int | None = None,
) -> SmallReplay:
    """Plays a schedule on the numbers of `gpuflow.collectives.meaning.start`.

    Args:
        collective: A key of `gpuflow.collectives.algorithms.ALGORITHMS`.
        algorithm: One of its algorithms.
        n_ranks: Peers; meant for up to 16.
        root: As in `build`.
        n_elements: N; None: `small_elements`.

    Raises:
        ValueError: As `build`.
    """
    n = small_elements(collective, algorithm, n_ranks) if n_elements is None else n_elements
    schedule = build(collective, algorithm, n_ranks, n, root)
    rounds = tuple(schedule.rounds())
    inputs = start(collective, n_ranks, n, root)
    place = places_of(schedule)
    view = _View(schedule, place, meaning(collective, inputs, root))

    values = load(schedule, inputs)
    is_there = load(schedule, [np.ones(len(x), dtype=np.bool_) for x in inputs])
    is_needed = _needed_after(schedule, place, rounds)
    before = view.rows(values, is_there)
    played = []
    for index, one in enumerate(rounds):
        is_there[n_ranks:] = False  # a switch holds nothing back from earlier rounds
        apply(one, values, n_ranks)
        apply(one, is_there, n_ranks)
        transfers, adds = _pairs(one)
        played.append(
            SmallRound(
                transfers=transfers,
                adds=adds,
                rows=view.rows(values, is_there & (is_needed[index] | view.is_result(values))),
                switch_row=view.switch_row(values, is_there) if schedule.n_switches else None,
            )
        )
    return SmallReplay(
        collective=collective,
        algorithm=algorithm,
        n_ranks=n_ranks,
        n_elements=n,
        root=root,
        n_switches=schedule.n_switches,
        ranks_per_node=schedule.ranks_per_node,
        before=before,
        rounds=tuple(played),
    )


def _pairs(one: Round) -> tuple[tuple[tuple[int, int], ...], tuple[bool, ...]]:
    moving = (one.source != one.destination) & (one.count > 0)
    pairs = dict(
        zip(
            zip(one.source[moving].tolist(), one.destination[moving].tolist(), strict=True),
            one.add[moving].tolist(),
            strict=True,
        )
    )
    return tuple(pairs), tuple(pairs.values())


def _needed_after(schedule: Schedule, place: Places, rounds: tuple[Round, ...]) -> list[BoolArray]:
    """For each round the elements (R, B) that are output or still to be read after it."""
    width = schedule.buffer_elements
    needed = np.zeros((schedule.n_ranks + schedule.n_switches, width), dtype=np.bool_)
    outputs = element_index(
        np.arange(schedule.n_ranks), place.output_offset, place.output_count, width
    )
    needed.reshape(-1)[outputs] = True
    after = []
    for one in reversed(rounds):
        after.append(needed)
        needed = needed.copy()
        flat = needed.reshape(-1)
        for part in reversed(in_order(one, schedule.n_ranks)):
            copied = np.where(part.add, 0, part.count)
            flat[element_index(part.destination, part.destination_offset, copied, width)] = False
            flat[element_index(part.source, part.source_offset, part.count, width)] = True
    return after[::-1]


class _View:
    """Turns working buffers into what the peers show."""

    def __init__(
        self,
        schedule: Schedule,
        place: Places,
        expected: list[NDArray[np.int64] | None],
    ) -> None:
        self.n_ranks = schedule.n_ranks
        self.expected = expected
        self.start = place.output_offset.tolist()
        self.is_in_place = schedule.collective != "all_to_all" or schedule.n_ranks == 1
        self.wanted = np.full(
            (schedule.n_ranks + schedule.n_switches, schedule.buffer_elements), -1
        )
        """The results where they must lie, and -1, which no number is, elsewhere."""
        for peer, (first, result) in enumerate(zip(self.start, expected, strict=True)):
            if result is not None:
                self.wanted[peer, first : first + len(result)] = result
        largest = int(place.output_count.max(initial=0))
        self.width = max(schedule.n_elements, largest)

    def is_result(self, values: NDArray[np.int64]) -> BoolArray:
        """Where the buffers hold what they must in the end; shape (V, B)."""
        return np.asarray(values == self.wanted)

    def rows(self, values: NDArray[np.int64], is_shown: BoolArray) -> tuple[SmallRow, ...]:
        return tuple(
            self._row(peer, values[peer].tolist(), is_shown[peer].tolist())
            for peer in range(self.n_ranks)
        )

    def switch_row(self, values: NDArray[np.int64], is_shown: BoolArray) -> SmallRow:
        """The first vector that the switch holds (it may hold one for each reader)."""
        there = is_shown[self.n_ranks, : self.width].tolist()
        numbers = values[self.n_ranks, : self.width].tolist()
        row = tuple(value if known else None for value, known in zip(numbers, there, strict=True))
        return SmallRow(peer=self.n_ranks, values=row, is_final=(False,) * len(row))

    def _row(self, peer: int, values: list[int], is_shown: list[bool]) -> SmallRow:
        shown: list[int | None] = [
            value if there else None for value, there in zip(values, is_shown, strict=True)
        ]
        result = self.expected[peer]
        wanted: list[int | None] = [None] * self.width
        if result is not None:
            first = self.start[peer] if self.is_in_place else 0
            wanted[first : first + len(result)] = result.tolist()
        row = shown[: self.width] if self.is_in_place else self._beside(peer, shown)
        return SmallRow(
            peer=peer,
            values=tuple(row),
            is_final=tuple(
                value is not None and value == final
                for value, final in zip(row, wanted, strict=True)
            ),
        )

    def _beside(self, peer: int, shown: list[int | None]) -> list[int | None]:
        """All_to_all: what has arrived in its place, what is still to go where there is room."""
        arrived = self.start[peer]
        slots = self.start[peer] + self.width
        row = shown[arrived:slots]
        row += [None] * (self.width - len(row))
        waiting = [(i, value) for i, value in enumerate(shown[:arrived]) if value is not None]
        passing = [value for value in shown[slots:] if value is not None]
        homeless = []
        for i, value in waiting:
            if row[i] is None:
                row[i] = value
            else:
                homeless.append(value)
        for value in homeless + passing:
            if None in row:
                row[row.index(None)] = value
        return row
