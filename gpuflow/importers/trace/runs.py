"""Traces that belong together: the ranks of one run; and two runs beside each other.

Ranks run the same collectives at the same time, so of the k-th message of a kind the rank that
took least has waited least: its time is the transfer's, what the others took beyond it is waiting.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from gpuflow.importers.trace.doubt import Doubt
from gpuflow.importers.trace.reading import Compute, Reading
from gpuflow.importers.trace.talks import Collective, SizeRow

CLOCKS_APART_S = 1.0
"""Clocks of nodes differ by milliseconds, more than a short trace is long; seldom by a second."""
_ROUNDING = 1e-9
"""Of a sum of times, what may come of adding them up in another order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """One collective of all ranks of a run; times are means over the ranks."""

    collective: Collective
    """Counts of the first rank that has it; times of its messages over all ranks."""
    time_s: float
    exposed_s: float
    transfer_s: float | None
    """Of the quickest rank, message by message; None for a single rank."""

    @property
    def overlapped_s(self) -> float:
        """What runs beside computing."""
        return _left(self.time_s, self.exposed_s)

    @property
    def waiting_s(self) -> float | None:
        """What a rank spent waiting for the others, in the mean; None for a single rank."""
        return None if self.transfer_s is None else _left(self.time_s, self.transfer_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run: its ranks by number."""

    ranks: tuple[Reading, ...]
    collectives: tuple[Merged, ...]
    doubts: tuple[Doubt, ...] = ()

    @property
    def first(self) -> Reading:
        """The rank with the lowest number."""
        return self.ranks[0]

    @property
    def is_refused(self) -> bool:
        """Whether nothing of it can be used."""
        return all(one.refused is not None for one in self.ranks)

    @property
    def computes(self) -> tuple[Compute, ...]:
        """Computing by kind, most time first: counts of the first rank that has it, mean times."""
        found: dict[str, Compute] = {}
        for rank in self.ranks:
            for one in rank.computes:
                spent_s = one.time_s / len(self.ranks)
                known = found.get(one.kind)
                whole_s = spent_s + (known.time_s if known is not None else 0.0)
                found[one.kind] = replace(known or one, time_s=whole_s)
        return tuple(sorted(found.values(), key=lambda one: -one.time_s))

    def mean(self, name: str) -> float:
        """Mean of a figure of the ranks."""
        return float(np.mean([getattr(one, name) for one in self.ranks]))


def runs_of(readings: Sequence[Reading]) -> tuple[Run, ...]:
    """Put ranks of the same run together; other files are runs of their own, in their order."""
    groups: list[list[Reading]] = []
    for reading in readings:
        home = next((group for group in groups if _belongs(reading, group)), None)
        if home is None:
            groups.append([reading])
        else:
            home.append(reading)
    return tuple(_run(group) for group in groups)


def _belongs(reading: Reading, group: Sequence[Reading]) -> bool:
    """Whether it is another rank of the same run: same job, other number, same time."""
    head, first = reading.head, group[0].head
    if reading.refused is not None or not head.world or head.world < 2:
        return False
    if head.world != first.world or head.groups != first.groups or head.rank is None:
        return False
    taken = {one.head.rank for one in group}
    if None in taken or head.rank in taken:
        return False
    return all(_meet(reading, one) for one in group)


def _meet(a: Reading, b: Reading) -> bool:
    """Whether they lie beside each other in time, by clocks of different machines."""
    starts = [1e-9 * one.head.base_ns + 1e-6 * one.start_us for one in (a, b)]
    ends = [start + one.span_s + CLOCKS_APART_S for start, one in zip(starts, (a, b), strict=True)]
    return starts[0] < ends[1] and starts[1] < ends[0]


def _run(group: list[Reading]) -> Run:
    ranks = sorted(group, key=lambda one: one.head.rank or 0)
    doubts = []
    if len(ranks) > 1:
        numbers = [one.head.rank for one in ranks]
        doubts.append(Doubt("ranks_together", {"ranks": numbers, "world": ranks[0].head.world}))
    merged: dict[tuple[str, str], list[Collective]] = {}
    for rank in ranks:
        for one in rank.collectives:
            merged.setdefault((one.kind, one.kernel), []).append(one)
    uneven = [key for key, found in merged.items() if len({one.count for one in found}) > 1]
    if uneven:
        doubts.append(Doubt("counts_differ", {"kernels": [kernel for _, kernel in uneven]}))
    collectives = [_merged(found) for found in merged.values()]
    return Run(
        ranks=tuple(ranks),
        collectives=tuple(sorted(collectives, key=lambda one: -one.time_s)),
        doubts=tuple(doubts),
    )


def _left(whole_s: float, part_s: float) -> float:
    """What a part leaves of a whole; 0 where that is no more than rounding."""
    left_s = whole_s - part_s
    return left_s if left_s > _ROUNDING * whole_s else 0.0


def _merged(found: Sequence[Collective]) -> Merged:
    counts = {one.count for one in found}
    transfer_s = None
    if len(found) > 1 and len(counts) == 1:
        transfer_s = float(np.stack([one.times_s for one in found]).min(axis=0).sum())
    time_s = float(np.mean([one.time_s for one in found]))
    collective = found[0]
    if len(found) > 1:
        collective = replace(
            collective,
            time_s=time_s,
            sizes=_mean_sizes(found),
            shortest_s=min(one.shortest_s for one in found),
            median_s=float(np.median(np.concatenate([one.times_s for one in found]))),
            longest_s=max(one.longest_s for one in found),
        )
    return Merged(
        collective=collective,
        time_s=time_s,
        exposed_s=float(np.mean([one.exposed_s for one in found])),
        transfer_s=transfer_s,
    )


def _mean_sizes(found: Sequence[Collective]) -> tuple[SizeRow, ...]:
    """Sizes of the first rank, each with its mean time over the ranks that have it."""
    same: dict[tuple[int | None, int | None], list[SizeRow]] = {}
    for one in found:
        for row in one.sizes:
            same.setdefault((row.size_bytes, row.ranks), []).append(row)
    rows_of = [same[row.size_bytes, row.ranks] for row in found[0].sizes]
    return tuple(
        replace(
            rows[0],
            time_s=float(np.mean([row.time_s for row in rows])),
            shortest_s=min(row.shortest_s for row in rows),
        )
        for rows in rows_of
    )


def with_collectives(run: Run, collectives: Sequence[Collective]) -> Run:
    """The run with other collectives of the same order, as predictions make them."""
    merged = [
        replace(one, collective=collective)
        for one, collective in zip(run.collectives, collectives, strict=True)
    ]
    return replace(run, collectives=tuple(merged))


# ---------------------------------------------------------------- two runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One kind of communication or computing in two runs, in one step of each."""

    kind: str
    is_communication: bool
    first_s: float
    second_s: float
    first_count: float
    second_count: float

    @property
    def grown_s(self) -> float:
        """What a step of the second run spends more."""
        return self.second_s - self.first_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two runs, step for step."""

    first: Run
    second: Run
    changes: tuple[Change, ...]
    """The one that grew most comes first."""
    first_step_s: float
    """Kernels of one step, added up."""
    second_step_s: float


def compare(first: Run, second: Run) -> Comparison:
    """What grew from one run to another, per step."""
    before, after = _sums(first), _sums(second)
    changes = []
    for key in dict.fromkeys([*before, *after]):
        (first_s, first_count), (second_s, second_count) = (
            sums.get(key, (0.0, 0.0)) for sums in (before, after)
        )
        changes.append(
            Change(
                kind=key[1],
                is_communication=key[0],
                first_s=first_s,
                second_s=second_s,
                first_count=first_count,
                second_count=second_count,
            )
        )
    return Comparison(
        first=first,
        second=second,
        changes=tuple(sorted(changes, key=lambda one: -one.grown_s)),
        first_step_s=sum(one.first_s for one in changes),
        second_step_s=sum(one.second_s for one in changes),
    )


def _sums(run: Run) -> dict[tuple[bool, str], tuple[float, float]]:
    """Seconds and kernels of each kind in one step, in the mean over the ranks."""
    found: dict[tuple[bool, str], tuple[float, float]] = {}

    def add(key: tuple[bool, str], seconds: float, count: float) -> None:
        old = found.get(key, (0.0, 0.0))
        found[key] = (old[0] + seconds, old[1] + count)

    for rank in run.ranks:
        per = 1 / (rank.n_steps * len(run.ranks))
        for one in rank.collectives:
            add((True, one.kind), per * one.time_s, per * one.count)
        for kind in rank.computes:
            add((False, kind.kind), per * kind.time_s, per * kind.count)
    return found
