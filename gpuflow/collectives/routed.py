"""Uneven all_to_all: every peer has its own amount for every other, as expert routing makes it.

counts  elements from peer (row) to peer (column), shape (R, R)
g  peers of a node        k  nodes        peer = node x g + place

A peer's input holds its blocks in order of destination; its output, in order of source, begins
after the longest input of the group, and room for blocks in transit after the longest output.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import ArrayLike

from gpuflow.collectives.chunks import joined, make_round
from gpuflow.collectives.meaning import Vector
from gpuflow.collectives.schedule import IntArray, Places, Round, Schedule

ROUTED_ALGORITHMS = ("direct", "pairwise", "node_limited")


def counts_of_experts(experts: ArrayLike, n_experts: int, elements_per_token: int) -> IntArray:
    """What a routing of tokens to experts sends from peer to peer.

    Args:
        experts: Experts of each token, shape (R, tokens, k); peer r holds experts
            r x n_experts / R and those after it.
        n_experts: Experts in all; R divides it.
        elements_per_token: Elements of one copy of a token.

    Returns:
        counts, shape (R, R).

    Example:
        >>> counts_of_experts([[[0], [3]], [[3], [2]]], 4, 10).tolist()
        [[10, 10], [0, 20]]
    """
    chosen = np.asarray(experts)
    n_ranks = len(chosen)
    holder = chosen.reshape(n_ranks, -1) // (n_experts // n_ranks)
    pair = np.arange(n_ranks)[:, np.newaxis] * n_ranks + holder
    copies = np.bincount(pair.ravel(), minlength=n_ranks * n_ranks)
    return copies.reshape(n_ranks, n_ranks).astype(np.int64) * elements_per_token


def routed_meaning(inputs: Sequence[Vector], counts: ArrayLike) -> list[Vector]:
    """The outputs: what is for a peer, from all peers in order."""
    blocks = [
        np.split(x, np.cumsum(row)[:-1]) for x, row in zip(inputs, np.asarray(counts), strict=True)
    ]
    return [np.concatenate(column) for column in zip(*blocks, strict=True)]


def build_routed(algorithm: str, counts: ArrayLike, ranks_per_node: int | None = None) -> Schedule:
    """The schedule of an uneven all_to_all; `n_elements` is the longest input.

    Args:
        algorithm: One of `ROUTED_ALGORITHMS`.
        counts: Elements from each peer to each, shape (R, R), none below 0.
        ranks_per_node: Peers of a node, which divides R; for `node_limited` only.

    Raises:
        ValueError: There is no such algorithm, or the numbers make no sense.
    """
    table = np.asarray(counts, dtype=np.int64)
    if table.ndim != 2 or table.shape[0] != table.shape[1] or not len(table) or table.min() < 0:
        raise ValueError(f"counts are a square of numbers of 0 or more, got shape {table.shape}")
    if algorithm not in ROUTED_ALGORITHMS:
        known = ", ".join(ROUTED_ALGORITHMS)
        raise ValueError(f"no algorithm {algorithm!r} with uneven counts; known: {known}")
    n_ranks = len(table)
    per_node = ranks_per_node or 1
    if n_ranks % per_node:
        raise ValueError(f"{n_ranks} ranks do not fill nodes of {per_node}")
    rounds: dict[str, Callable[[], Iterator[Round]]] = {
        "direct": partial(direct_rounds, table),
        "pairwise": partial(pairwise_rounds, table),
        "node_limited": partial(node_limited_rounds, table, per_node),
    }
    sent, received = table.sum(axis=1), table.sum(axis=0)
    longest = int(sent.max())
    in_transit = _sent_over_rails(table, per_node).sum(axis=0).max()
    return Schedule(
        collective="all_to_all",
        algorithm=algorithm,
        n_ranks=n_ranks,
        n_elements=longest,
        buffer_elements=longest + int(received.max()) + int(in_transit),
        root=0,
        ranks_per_node=per_node if algorithm == "node_limited" else 0,
        own_places=Places(
            input_offset=np.zeros(n_ranks, dtype=np.int64),
            input_count=sent,
            output_offset=np.full(n_ranks, longest),
            output_count=received,
            has_output=np.ones(n_ranks, dtype=np.bool_),
        ),
        make_rounds=rounds[algorithm],
    )


def _offsets(counts: IntArray) -> tuple[IntArray, IntArray]:
    """Where the block of each pair lies in the source's input and in the destination's output."""
    take = np.cumsum(counts, axis=1) - counts
    put = np.cumsum(counts, axis=0) - counts + counts.sum(axis=1).max()
    return take, put


def _exchange(
    counts: IntArray,
    offsets: tuple[IntArray, IntArray],
    source: IntArray,
    destination: IntArray,
) -> Round:
    take, put = offsets
    pair = source, destination
    return joined(make_round(source, destination, take[pair], put[pair], counts[pair], add=False))


def direct_rounds(counts: IntArray) -> Iterator[Round]:
    """Every block straight to its owner, all at once: 1 round."""
    n_ranks = len(counts)
    peers = np.arange(n_ranks)
    yield _exchange(counts, _offsets(counts), np.repeat(peers, n_ranks), np.tile(peers, n_ranks))


def pairwise_rounds(counts: IntArray) -> Iterator[Round]:
    """In round d every peer sends to the one d further on, keeping its own block in round 0.

    n - 1 rounds, each as long as its largest block.
    """
    n_ranks = len(counts)
    peers = np.arange(n_ranks)
    offsets = _offsets(counts)
    own = _exchange(counts, offsets, peers, peers)
    if n_ranks == 1:
        yield own
    for distance in range(1, n_ranks):
        exchange = _exchange(counts, offsets, peers, (peers + distance) % n_ranks)
        yield joined(own, exchange) if distance == 1 else exchange


def _sent_over_rails(counts: IntArray, per_node: int) -> IntArray:
    """What each peer, by (node, receiver), gets over its rail from each node; (k, R)."""
    n_ranks = len(counts)
    n_nodes = n_ranks // per_node
    by_node = counts.reshape(n_nodes, per_node, n_nodes, per_node).sum(axis=3)
    by_node[np.arange(n_nodes), :, np.arange(n_nodes)] = 0  # what stays in the node
    # (from node, place, to node) -> (from node, to node, place): the receiver's number last.
    return np.asarray(by_node.transpose(0, 2, 1).reshape(n_nodes, n_ranks))


def node_limited_rounds(counts: IntArray, per_node: int) -> Iterator[Round]:
    """Over the rail to the right node, then inside it to the right peer.

    2 rounds, or 1 in a single node. All that a peer has for a node goes as one message.
    """
    n_ranks = len(counts)
    n_nodes = n_ranks // per_node
    take, put = _offsets(counts)
    over_rails = _sent_over_rails(counts, per_node)  # (k, R)
    transit = counts.sum(axis=1).max() + counts.sum(axis=0).max()
    slots = transit + np.cumsum(over_rails, axis=0) - over_rails  # (k, R)
    if n_nodes > 1:
        origin_node, receiver = np.divmod(np.arange(n_nodes * n_ranks), n_ranks)
        node, place = np.divmod(receiver, per_node)
        source = origin_node * per_node + place
        yield joined(
            make_round(
                source,
                receiver,
                take[source, node * per_node],
                slots.ravel(),
                over_rails.ravel(),
                add=False,
            )
        )
    # Peer `holder` has, from each node, what the peer of its place there had for its own node.
    holder, origin_node, place = (axis.ravel() for axis in np.indices((n_ranks, n_nodes, per_node)))
    home, holder_place = np.divmod(holder, per_node)
    target = home * per_node + place
    origin = origin_node * per_node + holder_place
    in_slot = take[origin, target] - take[origin, home * per_node] + slots[origin_node, holder]
    yield joined(
        make_round(
            holder,
            target,
            np.where(origin == holder, take[origin, target], in_slot),
            put[origin, target],
            counts[origin, target],
            add=False,
        )
    )
