"""Which ranks exchange bytes at the moment, and what small numbers each of them holds.

The replay in a State belongs to the first group of the span; the other groups do the same at the
same time, so their peers are read off by position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise

from gpuflow.engine.state import SWITCH, Replay, ReplayRow, State
from gpuflow.engine.timeline import Span

Pair = tuple[int, int]

REST_ROUNDS = 0.5
"""For how long, in rounds, the finished picture stands before the span ends."""


@dataclass(frozen=True, slots=True)
class Held:
    """The small vector of one rank: at the start, now, and at the end."""

    before: ReplayRow
    now: ReplayRow
    after: ReplayRow

    @property
    def is_complete(self) -> bool:
        """Whether this rank has all that the collective brings it."""
        return self.now.values == self.after.values and any(self.after.is_final)


def replay_of(state: State) -> Replay | None:
    """The replay to draw; it is finished a little early, so that its result can be seen.

    None where nothing is replayed, or layers are skipped through too fast to follow.
    """
    replay = state.replay
    if replay is None or state.is_compressed:
        return None
    if state.span_progress < replay.rounds / (replay.rounds + REST_ROUNDS):
        return replay
    return replace(replay, round=replay.rounds, now=replay.after, transfers=())


def moving_pairs(state: State) -> frozenset[Pair]:
    """(from, to) ranks of the transfers under way; empty while layers are skipped through.

    In groups too large for a replay every rank sends to its neighbour, as in a ring; where a switch
    takes part all neighbours exchange.
    """
    span = state.span
    if span is None or not span.collective or state.is_compressed:
        return frozenset()
    return frozenset(_pairs(replay_of(state), span))


def _pairs(replay: Replay | None, span: Span) -> Iterator[Pair]:
    if replay is None:
        for group in span.groups:
            for i, rank in enumerate(group):
                yield rank, group[(i + 1) % len(group)]
        return
    first = span.groups[0]
    if any(SWITCH in pair for pair in replay.transfers):
        for group in span.groups:
            for a, b in pairwise(group):
                yield from ((a, b), (b, a))
        return
    places = [(first.index(a), first.index(b)) for a, b in replay.transfers]
    for group in span.groups:
        for a, b in places:
            yield group[a], group[b]


def held_values(state: State) -> Mapping[int, Held]:
    """The small vectors by rank; empty where nothing is replayed."""
    span, replay = state.span, replay_of(state)
    if span is None or replay is None:
        return {}
    peers = [Held(*rows) for rows in zip(replay.before, replay.now, replay.after, strict=True)]
    return {rank: held for group in span.groups for rank, held in zip(group, peers, strict=True)}


def number_width(replay: Replay | None) -> int:
    """Cells of the widest number anywhere in a replay, so that columns keep their place."""
    if replay is None:
        return 1
    rows = (*replay.before, *replay.now, *replay.after)
    return max((len(str(v)) for row in rows for v in row.values if v is not None), default=1)
