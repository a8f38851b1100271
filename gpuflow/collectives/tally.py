"""A collective of many peers, round by round, summed up over blocks of neighbouring peers.

K  rounds        G  blocks        B  elements of a peer's working buffer

Only how much moves where is looked at, and how much of the result is complete: contributions are
counted by playing the schedule on ones. Blocks hold so many peers each, the last one maybe fewer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gpuflow.collectives.algorithms import build
from gpuflow.collectives.doubling import split_at_power_of_two
from gpuflow.collectives.places import places_of
from gpuflow.collectives.replay import apply, element_index, load
from gpuflow.collectives.schedule import BoolArray, IntArray, Round, Schedule

_WHOLE_VECTOR = frozenset(
    {"recursive_doubling", "one_shot", "nvls_one_shot", "binomial", "direct", "ring"}
)
_CHUNKED = frozenset({"chain", "tree"})
_SUMMING = frozenset({"all_reduce", "reduce_scatter", "reduce"})


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockTally:
    """What the peers of one block do in one round; amounts are shares of the message size."""

    first: int
    """First peer of the block."""
    n_peers: int
    alike: int
    """Most peers of the block that send and receive the same amounts."""
    messages_inside: int
    """Sent to peers of the same unit (a node, or the block), or to a switch."""
    inside: float
    messages_outside: int
    """Sent to peers of other units."""
    outside: float
    received: float
    """From peers and switches."""
    adds: bool
    """Whether something received is added."""
    moved: float
    """Part of all that the block sends and receives in the end that has been moved, 0..1."""
    complete: float | None
    """Part of the block's results that is there after the round, 0..1; None where it has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchTally:
    """What a switch passes on in one round."""

    messages_in: int
    received: float
    messages_out: int
    sent: float
    adds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTally:
    """All messages of one round, between peers and switches."""

    messages: int
    least: float
    """Share of the message size that the smallest one carries."""
    most: float
    adds: bool
    """Whether any is added where it arrives."""
    copies: bool
    """Whether any is not."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tally:
    """All rounds of a collective, summed up."""

    rounds: int
    block_size: int
    n_ranks: int
    unit: int
    """Peers of what counts as inside: a node where there are two levels, else a block."""
    has_switch: bool
    _amounts: NDArray[np.float64]
    """Shape (K + 1, G, 9): before the first round, then for each round."""
    _switch: NDArray[np.float64]
    """Shape (K + 1, 5)."""
    _all: NDArray[np.float64]
    """Shape (K + 1, 5)."""

    def whole(self, number: int) -> RoundTally:
        """All messages of a round, numbered from 1; 0 is before the first."""
        messages, least, most, adds, copies = self._all[number].tolist()
        return RoundTally(
            messages=int(messages), least=least, most=most, adds=bool(adds), copies=bool(copies)
        )

    def blocks(self, number: int) -> tuple[BlockTally, ...]:
        """The blocks in a round, numbered from 1; 0 is before the first."""
        return tuple(
            BlockTally(
                first=block * self.block_size,
                n_peers=min(self.block_size, self.n_ranks - block * self.block_size),
                alike=int(row[0]),
                messages_inside=int(row[1]),
                inside=row[2],
                messages_outside=int(row[3]),
                outside=row[4],
                received=row[5],
                adds=bool(row[6]),
                complete=row[7] if row[7] >= 0 else None,
                moved=row[8],
            )
            for block, row in enumerate(self._amounts[number].tolist())
        )

    def switch(self, number: int) -> SwitchTally | None:
        """The switch in a round; None where the algorithm has none."""
        if not self.has_switch:
            return None
        coming, received, going, sent, adds = self._switch[number].tolist()
        return SwitchTally(
            messages_in=int(coming),
            received=received,
            messages_out=int(going),
            sent=sent,
            adds=bool(adds),
        )


def tally_elements(collective: str, algorithm: str, n_ranks: int) -> int:
    """N that is enough to see every chunk: one where the vector stays whole."""
    is_rooted_whole = collective in {"broadcast", "reduce", "send_recv"}
    if algorithm in _CHUNKED:
        return 8
    if algorithm in {"recursive_doubling", "one_shot", "nvls_one_shot"}:
        return 1
    if algorithm == "halving_doubling":
        return split_at_power_of_two(n_ranks)[0]
    return 1 if is_rooted_whole and algorithm in _WHOLE_VECTOR else n_ranks


@lru_cache(maxsize=8)
def tally(
    collective: str,
    algorithm: str,
    n_ranks: int,
    block_size: int,
    root: int = 0,
    ranks_per_node: int | None = None,
) -> Tally:
    """Sums up all rounds of a schedule.

    Args:
        collective: A key of `gpuflow.collectives.algorithms.ALGORITHMS`.
        algorithm: One of its algorithms.
        n_ranks: R; meant for up to 1,024.
        block_size: Peers of a block.
        root: As in `build`.
        ranks_per_node: As in `build`.

    Raises:
        ValueError: As `build`.
    """
    n = tally_elements(collective, algorithm, n_ranks)
    schedule = build(collective, algorithm, n_ranks, n, root, ranks_per_node=ranks_per_node)
    counter = _Counter(schedule, block_size)
    by_round, switch, whole = zip(*counter.rows(), strict=True)
    amounts = np.stack(by_round)
    so_far = np.cumsum(amounts[:, :, [2, 4, 5]].sum(axis=2), axis=0)
    moved = so_far / np.maximum(so_far[-1], np.finfo(float).tiny)
    return Tally(
        rounds=len(by_round) - 1,
        block_size=block_size,
        n_ranks=n_ranks,
        unit=counter.unit,
        has_switch=schedule.n_switches > 0,
        _amounts=np.concatenate([amounts, moved[:, :, np.newaxis]], axis=2),
        _switch=np.stack(switch),
        _all=np.stack(whole),
    )


_Counts = tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]
"""Amounts by block, those of the switch, and of all messages."""


class _Counter:
    """Plays a schedule on ones and counts."""

    def __init__(self, schedule: Schedule, block_size: int) -> None:
        self.schedule = schedule
        self.n = schedule.n_ranks
        self.unit = schedule.ranks_per_node or block_size
        self.starts = np.arange(0, self.n, block_size)
        self.block = np.arange(self.n) // block_size
        place = places_of(schedule)
        ones = [np.ones(count, dtype=np.int32) for count in place.input_count.tolist()]
        self.buffers = load(schedule, ones)
        wanted = np.full(self.buffers.shape, -1, dtype=np.int32)
        outputs = element_index(
            np.arange(self.n),
            place.output_offset,
            place.output_count * place.has_output,
            schedule.buffer_elements,
        )
        wanted.reshape(-1)[outputs] = self.n if schedule.collective in _SUMMING else 1
        self.wanted = wanted.reshape(-1)
        self.is_there: BoolArray = np.asarray(self.buffers.reshape(-1) == self.wanted)
        self.last_writer = np.zeros(len(self.wanted), dtype=np.int64)
        self.complete = self._by_peer(np.flatnonzero(self.is_there))
        self.results = self._by_peer(np.flatnonzero(self.wanted >= 0))

    def _by_peer(self, elements: IntArray) -> IntArray:
        """How many of these flat positions each peer holds."""
        peers = elements // self.schedule.buffer_elements
        return np.bincount(peers, minlength=self.n)[: self.n]

    def rows(self) -> Iterator[_Counts]:
        """What there is to count, before the first round and for each."""
        nothing = np.zeros(self.n)
        sizes = np.diff(np.append(self.starts, self.n))
        yield self._row(sizes, *[nothing] * 6), np.zeros(5), np.zeros(5)
        for one in self.schedule.rounds():
            yield self._count(one)

    def _count(self, one: Round) -> _Counts:
        n = self.n
        is_moving = (one.source != one.destination) & (one.count > 0)
        source, to = one.source[is_moving], one.destination[is_moving]
        amount = one.count[is_moving] / max(self.schedule.n_elements, 1)
        add = one.add[is_moving]
        is_sent = source < n
        is_inside = is_sent & ((to >= n) | (source // self.unit == to // self.unit))
        is_outside = is_sent & ~is_inside
        inside, messages_inside = _sums(source[is_inside], amount[is_inside], n)
        outside, messages_outside = _sums(source[is_outside], amount[is_outside], n)
        received, _ = _sums(to[to < n], amount[to < n], n)
        added, _ = _sums(to[add & (to < n)], amount[add & (to < n)], n)
        self._play(one)
        alike = self._alike(inside, outside, received, messages_inside, messages_outside)
        row = self._row(alike, messages_inside, inside, messages_outside, outside, received, added)
        comes, goes = to >= n, source >= n
        switch = (comes.sum(), amount[comes].sum(), goes.sum(), amount[goes].sum())
        least, most = amount.min(initial=np.inf), amount.max(initial=0.0)
        whole = (len(amount), min(least, most), most, add.any(), (~add).any())
        return row, np.array([*switch, (add & comes).any()], dtype=float), np.array(whole, float)

    def _row(self, alike: IntArray, *by_peer: NDArray[np.float64]) -> NDArray[np.float64]:
        sums = [np.add.reduceat(column, self.starts) for column in (*by_peer, self.complete)]
        results = np.add.reduceat(self.results, self.starts)
        share = np.where(results > 0, sums[-1] / np.maximum(results, 1), -1.0)
        return np.column_stack([alike, *sums[:-1], share]).astype(float)

    def _alike(self, *by_peer: NDArray[np.float64]) -> IntArray:
        """Size of the largest class of peers alike in each block."""
        # amounts are sums of few distinct chunks: odd weights keep different peers apart
        weights = (1.0, 31.7, 1009.3, 0.0137, 0.571)
        signature = sum(w * column for w, column in zip(weights, by_peer, strict=True))
        kind = np.rint(1e6 * signature)
        kind = np.sort(kind + self.block * (kind.max() + 1.0))
        first = np.flatnonzero(np.diff(kind, prepend=-1.0))
        class_sizes = np.diff(np.append(first, self.n))
        return np.asarray(np.maximum.reduceat(class_sizes, np.searchsorted(first, self.starts)))

    def _play(self, one: Round) -> None:
        """Apply the round and find what it has completed."""
        apply(one, self.buffers, self.n)
        to_peer = one.destination < self.n
        target = element_index(
            one.destination[to_peer],
            one.destination_offset[to_peer],
            one.count[to_peer],
            self.schedule.buffer_elements,
        )
        if one.add.any():
            # several may add in one place, which then counts once: where its last one writes
            order = np.arange(len(target))
            self.last_writer[target] = order
            target = target[self.last_writer[target] == order]
        is_there = self.buffers.reshape(-1)[target] == self.wanted[target]
        before = self.is_there[target]
        self.is_there[target] = is_there
        gained, lost = target[is_there & ~before], target[before & ~is_there]
        self.complete = self.complete + self._by_peer(gained) - self._by_peer(lost)


def _sums(
    peers: IntArray, amount: NDArray[np.float64], n_ranks: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Amounts and messages by peer."""
    total = np.bincount(peers, weights=amount, minlength=n_ranks).astype(np.float64)
    return total, np.bincount(peers, minlength=n_ranks).astype(np.float64)
