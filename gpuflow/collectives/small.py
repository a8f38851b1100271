"""A collective on a few small integers, round by round, as plain values for a picture.

What a peer shows is its input turning into its output, not its scratch room: a number is shown
while it is part of the peer's result or still to be sent, and None stands where nothing is (yet,
or any more).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gpuflow.collectives.algorithms import build
from gpuflow.collectives.doubling import split_at_power_of_two
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
    counts: tuple[int, ...]
    """For each of them: numbers moved."""
    sent: tuple[tuple[int, ...], ...]
    """For each peer the places, in the row it showed before the round, whose numbers it sends."""
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


_ADDED_WHOLE = frozenset({"recursive_doubling", "one_shot", "nvls_one_shot"})


def small_elements(collective: str, algorithm: str, n_ranks: int) -> int:
    """N that makes a good picture: few numbers where the vector stays whole, else equal chunks."""
    if algorithm == "tree":
        return 8  # four chunks in each of the two trees
    if algorithm == "chain" or algorithm in _ADDED_WHOLE:
        return 4
    if algorithm == "halving_doubling":
        return max(4, split_at_power_of_two(n_ranks)[0])
    if algorithm == "scatter_all_gather":
        return n_ranks
    if collective in {"broadcast", "reduce", "send_recv"}:
        return 1
    if collective in {"all_reduce", "scatter"}:
        return n_ranks * -(-4 // n_ranks)
    return n_ranks


LARGEST_SUM = 999
"""Rows of sums with more digits are no longer read at a glance."""


def small_inputs(
    collective: str, n_ranks: int, n_elements: int, root: int = 0
) -> list[NDArray[np.int64]]:
    """What the peers start with: that of `gpuflow.collectives.meaning.start` while sums are short.

    Where the sum of all peers would have four digits, peer r starts with r + 1, r + 2 ... instead.
    """
    inputs = start(collective, n_ranks, n_elements, root)
    if collective in {"all_reduce", "reduce_scatter", "reduce"}:
        largest = int(np.sum(inputs, axis=0).max(initial=0))
        if largest > LARGEST_SUM:
            return [np.arange(n_elements) + peer + 1 for peer in range(n_ranks)]
    return inputs


@lru_cache(maxsize=256)
def small_replay(
    collective: str,
    algorithm: str,
    n_ranks: int,
    root: int = 0,
    n_elements: int | None = None,
    ranks_per_node: int | None = None,
) -> SmallReplay:
    """Plays a schedule on the numbers of `small_inputs`.

    Args:
        collective: A key of `gpuflow.collectives.algorithms.ALGORITHMS`.
        algorithm: One of its algorithms.
        n_ranks: Peers; meant for up to 16.
        root: As in `build`.
        n_elements: N; None: `small_elements`.
        ranks_per_node: As in `build`.

    Raises:
        ValueError: As `build`.
    """
    n = small_elements(collective, algorithm, n_ranks) if n_elements is None else n_elements
    schedule = build(collective, algorithm, n_ranks, n, root, ranks_per_node=ranks_per_node)
    rounds = tuple(schedule.rounds())
    inputs = small_inputs(collective, n_ranks, n, root)
    place = places_of(schedule)
    view = _View(schedule, place, meaning(collective, inputs, root))

    values = load(schedule, inputs)
    is_there = load(schedule, [np.ones(len(x), dtype=np.bool_) for x in inputs])
    is_needed = _needed_after(schedule, place, rounds)
    before = shown = view.rows(values, is_there)
    played = []
    for index, one in enumerate(rounds):
        is_there[n_ranks:] = False  # a switch holds nothing back from earlier rounds
        sent = view.sent(one, values, shown)
        apply(one, values, n_ranks)
        apply(one, is_there, n_ranks)
        shown = view.rows(values, is_there & (is_needed[index] | view.is_result(values)))
        transfers, adds, counts = _pairs(one)
        played.append(
            SmallRound(
                transfers=transfers,
                adds=adds,
                counts=counts,
                sent=sent,
                rows=shown,
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


def _pairs(
    one: Round,
) -> tuple[tuple[tuple[int, int], ...], tuple[bool, ...], tuple[int, ...]]:
    """Pairs in the order of their first transfer, whether they add, and the numbers they move."""
    moving = (one.source != one.destination) & (one.count > 0)
    pairs: dict[tuple[int, int], tuple[bool, int]] = {}
    columns = (one.source, one.destination, one.add, one.count)
    for source, to, add, count in zip(*(c[moving].tolist() for c in columns), strict=True):
        pairs[source, to] = add, pairs.get((source, to), (add, 0))[1] + count
    return tuple(pairs), tuple(a for a, _ in pairs.values()), tuple(c for _, c in pairs.values())


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

    def sent(
        self, one: Round, values: NDArray[np.int64], shown: tuple[SmallRow, ...]
    ) -> tuple[tuple[int, ...], ...]:
        """Where in the rows shown the numbers stand that each peer is about to send to others."""
        places: list[set[int]] = [set() for _ in range(self.n_ranks)]
        columns = (one.source, one.destination, one.source_offset, one.count)
        for source, to, first, count in zip(*(c.tolist() for c in columns), strict=True):
            if source == to or source >= self.n_ranks:
                continue
            row = shown[source].values
            found: Sequence[int]
            if self.is_in_place:
                found = range(first, min(first + count, len(row)))
            else:
                # all numbers of an all_to_all differ, so each is found by itself
                numbers = values[source, first : first + count].tolist()
                found = [row.index(number) for number in numbers if number in row]
            places[source].update(place for place in found if row[place] is not None)
        return tuple(tuple(sorted(found)) for found in places)

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
