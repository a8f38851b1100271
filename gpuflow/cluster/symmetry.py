"""Charges of algorithms in which all ranks do alike, without the transfers of all of them.

G  GPUs      P  protocols      E  entries: transfers of the ranks looked at      C  classes of links

Where every rank sends as much to the rank d further on as every other does, a few nodes stand for
all that are like them: what their transfers put on links is multiplied by the number of such nodes
and shared out evenly among the links that correspond to each other. Equal rounds are charged once.
Amounts are parts of the collective's size, so that a charge holds for any size that divides.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from gpuflow.cluster.fabric import Fabric
from gpuflow.cluster.rings import ring_orders
from gpuflow.cluster.steps import family_of
from gpuflow.cluster.wiring import FloatArray
from gpuflow.collectives.schedule import IntArray

Likeness = Literal["exchange", "shift"]
"""exchange: the ranks of any two nodes can change places; shift: all can be moved on by as much."""

MOST_UNLIKE_ENTRIES = 1 << 21
"""Transfers beyond which a fabric without likeness is left alone."""
_BLOCK_ENTRIES = 1 << 18


@dataclass(frozen=True, slots=True, kw_only=True)
class AlikeCharge:
    """What `gpuflow.cluster.charge.Charge` tells, of a collective of size 1."""

    latencies_s: FloatArray
    """Starts of all rounds by protocol; shape (P,)."""
    transfers_s: float
    """All that is in proportion to the size."""
    rounds: int
    messages: int
    link_shares: FloatArray
    """What each link carries in all; shape (L,)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entries:
    """Transfers, round after round; columns have shape (E,)."""

    turn: IntArray
    source: IntArray
    destination: IntArray
    share: FloatArray
    repeats: IntArray
    """How often each round happens; shape (rounds,)."""
    messages: IntArray
    """What one GPU sends in each round."""


@dataclass(frozen=True, slots=True)
class _Likes:
    """Nodes by what they are like."""

    label: IntArray
    """By node."""
    weight: IntArray
    """Nodes of each label."""

    def representatives(self) -> IntArray:
        """The first node of each label."""
        return np.unique(self.label, return_index=True)[1]


def is_alike(collective: str, algorithm: str) -> bool:
    """Whether an algorithm can be charged here."""
    return (collective, algorithm) in _PATTERNS


def can_be_charged(collective: str, algorithm: str, fabric: Fabric) -> bool:
    """Whether the fabric has the likeness that keeps the work small, or is small itself."""
    likeness, _ = _PATTERNS[collective, algorithm]
    n = fabric.n_gpus
    return likeness == "exchange" or _is_regular(fabric) or n * n <= MOST_UNLIKE_ENTRIES


def charge_alike(collective: str, algorithm: str, fabric: Fabric) -> AlikeCharge:
    """Charges an algorithm over all GPUs of a fabric.

    Args:
        collective: Of `gpuflow.collectives.algorithms.ALGORITHMS`.
        algorithm: One for which `is_alike` holds.
        fabric: Where it runs; for `node_limited` its last node is filled.
    """
    likeness, pattern = _PATTERNS[collective, algorithm]
    likes = _likes(fabric, likeness)
    g, first = fabric.gpus_per_node, likes.representatives()
    sources = (first[:, np.newaxis] * g + np.arange(g)).ravel()
    entries = pattern(fabric, sources[sources < fabric.n_gpus])
    kind = fabric.link_kind * len(likes.weight) + likes.label[fabric.link_node]
    _, some, kin, n_kin = np.unique(
        kind, return_index=True, return_inverse=True, return_counts=True
    )
    latencies, transfers_s = np.zeros(fabric.start_s.shape[1]), 0.0
    loads = np.zeros(len(n_kin))
    seconds = fabric.seconds_per_byte[some]
    for block in _blocks(entries):
        turn = entries.turn[block] - entries.turn[block.start]
        repeats = entries.repeats[entries.turn[block.start] : entries.turn[block.stop - 1] + 1]
        source, destination = entries.source[block], entries.destination[block]
        weight = likes.weight[likes.label[source // g]] * entries.share[block]
        routes = fabric.passes(source, destination)
        is_used = routes >= 0
        user = np.repeat(np.arange(len(routes)), is_used.sum(axis=1))
        cell = turn[user] * len(n_kin) + kin[routes[is_used]]
        load = np.bincount(cell, weight[user], minlength=len(repeats) * len(n_kin))
        load = load.reshape(len(repeats), -1) / n_kin
        begins = np.flatnonzero(np.diff(turn, prepend=-1))
        start = fabric.latency_s(source, destination, family_of(algorithm))
        latencies += np.maximum.reduceat(start, begins, axis=1) @ repeats
        transfers_s += float((load * seconds).max(axis=1, initial=0.0) @ repeats)
        loads += repeats @ load
    return AlikeCharge(
        latencies_s=latencies,
        transfers_s=transfers_s,
        rounds=int(entries.repeats.sum()),
        messages=int(entries.messages @ entries.repeats),
        link_shares=loads[kin],
    )


def _blocks(entries: _Entries) -> Iterator[slice]:
    """Runs of whole rounds, each as long as the processor's cache likes or one round."""
    ends = np.searchsorted(entries.turn, np.arange(len(entries.repeats)), side="right")
    begin = 0
    while begin < len(entries.turn):
        last = int(np.searchsorted(ends, begin + _BLOCK_ENTRIES, side="right"))
        end = int(ends[max(last - 1, int(entries.turn[begin]))])
        yield slice(begin, end)
        begin = end


# ---- which nodes are alike


def _group_nodes(fabric: Fabric) -> int:
    return fabric.between.nodes_per_group if fabric.between else 1


def _is_regular(fabric: Fabric) -> bool:
    """Whether all nodes are filled, and all leaves serve as many."""
    return not (fabric.n_gpus % fabric.gpus_per_node or fabric.n_nodes % _group_nodes(fabric))


def _likes(fabric: Fabric, likeness: Likeness) -> _Likes:
    """Labels that a move of the fabric onto itself leaves as they are."""
    nodes, group = np.arange(fabric.n_nodes), _group_nodes(fabric)
    is_one_group = group >= fabric.n_nodes
    if likeness == "exchange":
        last_group = fabric.n_nodes // group * group
        is_short = _is_regular(fabric) or is_one_group
        if fabric.n_nodes % group == 0 and fabric.n_gpus % fabric.gpus_per_node:
            last_group -= group
        label = (nodes >= last_group).astype(np.int64) * (not is_short)
        label[-1] = 2 if fabric.n_gpus % fabric.gpus_per_node else label[-1]
    elif _is_regular(fabric):
        label = nodes * 0 if is_one_group else nodes % group
    else:
        label = nodes
    _, dense, weight = np.unique(label, return_inverse=True, return_counts=True)
    return _Likes(dense, weight)


# ---- what ranks do


_Pattern = Callable[[Fabric, IntArray], _Entries]


def _shifts(
    shift: Callable[[int], ArrayLike],
    chunks: Callable[[int], ArrayLike] = lambda n: 1,
    *,
    repeats: Callable[[int], int] = lambda n: 1,
    at_once: bool = False,
) -> _Pattern:
    """Rank r sends some n-th parts of the size to r + shift; each shift is a round of its own.

    Args:
        shift: Distances, by number of ranks.
        chunks: Parts sent, one number for all or one a distance.
        repeats: How often all of this happens.
        at_once: All distances in one round.
    """

    def entries(fabric: Fabric, sources: IntArray) -> _Entries:
        n = fabric.n_gpus
        distance = np.atleast_1d(np.asarray(shift(n)))
        parts = np.broadcast_to(np.asarray(chunks(n)), distance.shape)
        turn = distance * 0 if at_once else np.arange(len(distance))
        n_turns = min(len(distance), 1) if at_once else len(distance)
        return _Entries(
            turn=np.repeat(turn, len(sources)),
            source=np.tile(sources, len(distance)),
            destination=((sources + distance[:, np.newaxis]) % n).ravel(),
            share=np.repeat(parts / n, len(sources)),
            repeats=np.full(n_turns, repeats(n)),
            messages=np.bincount(turn, minlength=n_turns),
        )

    return entries


def _ring(turns: Callable[[int], int]) -> _Pattern:
    """Rings side by side, every round alike."""

    def entries(fabric: Fabric, sources: IntArray) -> _Entries:
        orders = ring_orders(fabric)
        source, destination = orders.ravel(), np.roll(orders, -1, axis=1).ravel()
        is_looked_at = np.zeros(fabric.n_gpus, dtype=np.bool_)
        is_looked_at[sources] = True
        kept = is_looked_at[source] & (source != destination)
        n_rounds = 1 if kept.any() else 0
        return _Entries(
            turn=np.zeros(int(kept.sum()), dtype=np.int64),
            source=source[kept],
            destination=destination[kept],
            share=np.full(int(kept.sum()), 1 / orders.size),
            repeats=np.full(n_rounds, turns(fabric.n_gpus)),
            messages=np.ones(n_rounds, dtype=np.int64),
        )

    return entries


def _node_limited(fabric: Fabric, sources: IntArray) -> _Entries:
    """A message a node over the rail, then one for each other GPU of the node."""
    n, g = fabric.n_gpus, fabric.gpus_per_node
    k = fabric.n_nodes
    away = (sources + np.arange(1, k)[:, np.newaxis] * g) % n
    near = sources // g * g + (sources + np.arange(1, g)[:, np.newaxis]) % g
    turns = [(away, g / n)] * (k > 1) + [(near, k / n)]
    turns = turns if n > 1 else []
    sizes = [to.size for to, _ in turns]
    none = np.zeros(0, dtype=np.int64)
    return _Entries(
        turn=np.repeat(np.arange(len(turns)), sizes),
        source=np.concatenate([none, *(np.tile(sources, len(to)) for to, _ in turns)]),
        destination=np.concatenate([none, *(to.ravel() for to, _ in turns)]),
        share=np.repeat([share for _, share in turns], sizes),
        repeats=np.ones(len(turns), dtype=np.int64),
        messages=np.array([len(to) for to, _ in turns], dtype=np.int64),
    )


def _powers(n: int) -> IntArray:
    return 1 << np.arange((n - 1).bit_length())


def _all_others(n: int) -> IntArray:
    return np.arange(1, n)


def _pat_chunks(n: int) -> IntArray:
    distance = _powers(n)
    return -(-(n - distance) // (2 * distance))


def _bruck_blocks(n: int) -> IntArray:
    return np.array([int(((np.arange(n) & d) != 0).sum()) for d in _powers(n).tolist()])


_DIRECT = _shifts(_all_others, at_once=True)
_PATTERNS: dict[tuple[str, str], tuple[Likeness, _Pattern]] = {
    ("all_reduce", "ring"): ("shift", _ring(lambda n: 2 * (n - 1))),
    ("all_reduce", "one_shot"): ("exchange", _shifts(_all_others, lambda n: n, at_once=True)),
    ("all_reduce", "two_shot"): (
        "exchange",
        _shifts(_all_others, at_once=True, repeats=lambda n: 2),
    ),
    ("all_gather", "ring"): ("shift", _ring(lambda n: n - 1)),
    ("all_gather", "direct"): ("exchange", _DIRECT),
    ("all_gather", "bruck"): (
        "shift",
        _shifts(lambda n: -_powers(n), lambda n: np.minimum(_powers(n), n - _powers(n))),
    ),
    ("all_gather", "pat"): ("shift", _shifts(_powers, _pat_chunks)),
    ("reduce_scatter", "ring"): ("shift", _ring(lambda n: n - 1)),
    ("reduce_scatter", "direct"): ("exchange", _DIRECT),
    ("reduce_scatter", "pat"): ("shift", _shifts(lambda n: -_powers(n), _pat_chunks)),
    ("all_to_all", "direct"): ("exchange", _DIRECT),
    ("all_to_all", "pairwise"): ("shift", _shifts(_all_others)),
    ("all_to_all", "bruck"): ("shift", _shifts(_powers, _bruck_blocks)),
    ("all_to_all", "node_limited"): ("exchange", _node_limited),
}
