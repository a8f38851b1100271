"""Which ranks a line has to join in a round, and in which lane beside the stack it runs.

Ranks stand under each other. Each has two rows where a line may touch its box: one where it
receives and, below it, one where it sends; so a chain of neighbours fits into a single lane.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from gpuflow.collectives.small import SmallRound
from gpuflow.engine.explore import Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Net:
    """Ranks joined by one line: every sender sends to every receiver but itself."""

    senders: tuple[int, ...]
    receivers: tuple[int, ...]
    adds: bool
    is_between: bool
    """Whether it leaves a node."""
    lane: int
    """0 is next to the boxes; lanes within nodes and between them are counted apart."""

    @property
    def span(self) -> tuple[int, int]:
        """First and last row that the line touches, counted as two rows a rank."""
        rows = [2 * r for r in self.receivers] + [2 * s + 1 for s in self.senders]
        return min(rows), max(rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lines:
    """The lines of all rounds."""

    rounds: tuple[tuple[Net, ...], ...]
    inside: int
    """Lanes that lines within nodes need (all lines, where there is one level)."""
    between: int
    """Lanes that lines between nodes need."""


@lru_cache(maxsize=64)
def lines_of(subject: Subject) -> Lines:
    """The lines of every round of a subject whose ranks are drawn; those to a switch left out."""
    replay = subject.replay()
    nodes = replay.ranks_per_node
    rounds = tuple(_in_lanes(_joined(one, replay.n_ranks, nodes)) for one in replay.rounds)
    every = [net for nets in rounds for net in nets]
    return Lines(
        rounds=rounds,
        inside=max((net.lane + 1 for net in every if not net.is_between), default=0),
        between=max((net.lane + 1 for net in every if net.is_between), default=0),
    )


def _joined(one: SmallRound, n_ranks: int, ranks_per_node: int) -> list[Net]:
    """Transfers of a kind gathered into as few lines as say the same."""
    kinds: dict[tuple[bool, bool], dict[int, set[int]]] = defaultdict(lambda: defaultdict(set))
    for (source, to), adds in zip(one.transfers, one.adds, strict=True):
        if max(source, to) < n_ranks:
            leaves = bool(ranks_per_node) and source // ranks_per_node != to // ranks_per_node
            kinds[adds, leaves][source].add(to)
    nets = []
    for (adds, leaves), targets in kinds.items():
        for senders, receivers in _groups(targets):
            nets.append(
                Net(
                    senders=senders,
                    receivers=receivers,
                    adds=adds,
                    is_between=leaves,
                    lane=0,
                )
            )
    return nets


def _groups(targets: dict[int, set[int]]) -> Iterable[tuple[tuple[int, ...], tuple[int, ...]]]:
    """(senders, receivers): ranks that all exchange, then senders with the same receivers."""
    circles: dict[frozenset[int], list[int]] = defaultdict(list)
    for source, to in targets.items():
        circles[frozenset({source, *to})].append(source)
    alike: dict[frozenset[int], list[int]] = defaultdict(list)
    for circle, senders in circles.items():
        if len(senders) == len(circle):
            yield tuple(sorted(senders)), tuple(sorted(circle))
            continue
        for source in senders:
            alike[frozenset(targets[source])].append(source)
    for receivers, senders in alike.items():
        yield tuple(sorted(senders)), tuple(sorted(receivers))


def _in_lanes(nets: Sequence[Net]) -> tuple[Net, ...]:
    """Short lines next to the boxes, and none over another."""
    taken: dict[bool, list[list[tuple[int, int]]]] = {False: [], True: []}
    placed = []
    for net in sorted(nets, key=lambda n: (n.span[1] - n.span[0], n.span[0])):
        lanes = taken[net.is_between]
        first, last = net.span
        lane = next(
            (i for i, used in enumerate(lanes) if all(b < first or a > last for a, b in used)),
            len(lanes),
        )
        if lane == len(lanes):
            lanes.append([])
        lanes[lane].append((first, last))
        placed.append(
            Net(
                senders=net.senders,
                receivers=net.receivers,
                adds=net.adds,
                is_between=net.is_between,
                lane=lane,
            )
        )
    return tuple(placed)
