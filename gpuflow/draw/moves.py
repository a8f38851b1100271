"""Which ranks exchange bytes at the moment, and what small numbers each of them holds.

The replay in a State belongs to the first group of the span; the other groups do the same at the
same time, so their peers are read off by position.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from gpuflow.cluster.mesh import Groups
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


def moving_places(state: State) -> tuple[Groups, tuple[Pair, ...]] | None:
    """The groups at work and, by position in each of them, who sends to whom.

    In groups too large for a replay ranks send along a line, see `_places_in_line`; where a switch
    takes part all neighbours exchange. None where nothing moves that can be followed.
    """
    span = state.span
    if span is None or not span.collective or state.is_compressed or not span.groups:
        return None
    replay, first = replay_of(state), span.groups[0]
    n_ranks = len(first)
    if replay is None:
        return span.groups, _places_in_line(span, n_ranks)
    if any(SWITCH in pair for pair in replay.transfers):
        return span.groups, _both_ways(n_ranks)
    return span.groups, tuple((first.index(a), first.index(b)) for a, b in replay.transfers)


def _places_in_line(span: Span, n_ranks: int) -> tuple[Pair, ...]:
    """Who sends to whom in a group too large for a replay, over the whole of the span.

    What has one sender or one receiver goes from or to it, directly or from neighbour to
    neighbour; of all others a ring goes round, and the rest goes both ways.
    """
    root = span.root
    others = [(root + i) % n_ranks for i in range(1, n_ranks)]
    if span.collective == "broadcast" and span.algorithm != "direct":
        return tuple(pairwise((root, *others)))
    if span.collective in {"broadcast", "scatter"}:
        return tuple((root, other) for other in others)
    if span.collective in {"gather", "reduce"}:
        return tuple((other, root) for other in others)
    if span.algorithm == "ring":
        return tuple((i, (i + 1) % n_ranks) for i in range(n_ranks))
    return _both_ways(n_ranks)


def _both_ways(n_ranks: int) -> tuple[Pair, ...]:
    """All neighbours exchange."""
    there = tuple(pairwise(range(n_ranks)))
    return there + tuple((b, a) for a, b in there)


def pairs_of(groups: Groups, places: Sequence[Pair]) -> Iterator[Pair]:
    """The pairs of ranks that pairs of positions mean in every group."""
    for group in groups:
        for a, b in places:
            yield group[a], group[b]


def partners(state: State, rank: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(ranks it sends to, ranks it receives from) at the moment; none where it is not known."""
    moving, span = moving_places(state), state.span
    if moving is None or span is None:
        return (), ()
    groups, places = moving
    group = next((group for group in groups if rank in group), None)
    if group is None:
        return (), ()
    if replay_of(state) is None and span.collective == "all_to_all":
        others = tuple(sorted(other for other in group if other != rank))
        return others, others
    if replay_of(state) is None and span.algorithm not in {"ring", "direct"}:
        return (), ()
    pairs = [(group[a], group[b]) for a, b in places]
    return (
        tuple(sorted(b for a, b in pairs if a == rank)),
        tuple(sorted(a for a, b in pairs if b == rank)),
    )


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
