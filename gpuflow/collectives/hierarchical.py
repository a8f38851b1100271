"""Two levels: GPUs of a node over the fast fabric, GPUs of like number over the network.

g  peers of a node        k  nodes        peer = node x g + place, place 0..g-1

Peers of one place form a rail. Only 1/g of a vector crosses the network per GPU, since the node
has cut it up before (or puts it together after).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpuflow.collectives import routed
from gpuflow.collectives.chunks import chunk_edges, make_round, nested_edges
from gpuflow.collectives.schedule import IntArray, Round


class _Levels:
    """Numbers of peers on both levels and their right-hand neighbours there."""

    def __init__(self, n_ranks: int, ranks_per_node: int) -> None:
        self.n, self.g = n_ranks, ranks_per_node
        self.k = n_ranks // ranks_per_node
        self.peers = np.arange(n_ranks)
        self.node, self.place = np.divmod(self.peers, ranks_per_node)
        self.right_in_node = self.node * self.g + (self.place + 1) % self.g
        self.right_on_rail = (self.peers + self.g) % n_ranks


def _rail_ring(
    levels: _Levels, starts: IntArray, sizes: IntArray, first: int, *, add: bool
) -> Iterator[Round]:
    """A ring on every rail at once; in the first round node i sends its rail's part i + first.

    `starts` and `sizes` have shape (k, g): part of the vector, then rail. Node by node and rail by
    rail is the order of peers, so that every round's columns are slices of the table.
    """
    offsets, counts = np.tile(starts.ravel(), 2), np.tile(sizes.ravel(), 2)
    adds = np.broadcast_to(np.bool_(add), (levels.n,))
    for turn in range(levels.k - 1):
        begin = (first - turn) % levels.k * levels.g
        span = slice(begin, begin + levels.n)
        offset = offsets[span]
        yield Round(levels.peers, levels.right_on_rail, offset, offset, counts[span], adds)


def _node_ring(levels: _Levels, edges: IntArray, first: int, *, add: bool) -> Iterator[Round]:
    """A ring in every node at once over g chunks; place j sends chunk j + first in round 0."""
    sizes = np.diff(edges)
    adds = np.broadcast_to(np.bool_(add), (levels.n,))
    for turn in range(levels.g - 1):
        chunk = (levels.place + first - turn) % levels.g
        offset = edges[chunk]
        yield Round(levels.peers, levels.right_in_node, offset, offset, sizes[chunk], adds)


def all_reduce(n_ranks: int, n_elements: int, ranks_per_node: int) -> Iterator[Round]:
    """Reduce_scatter in the node, all_reduce on the rails, all_gather in the node; rings all.

    2(g - 1) + 2(k - 1) rounds; per peer 2(g-1)/g of the vector inside, 2(k-1)/k of 1/g outside.
    """
    levels = _Levels(n_ranks, ranks_per_node)
    edges = chunk_edges(n_elements, levels.g)
    parts = nested_edges(edges, levels.k)  # (g, k + 1)
    starts, sizes = parts[:, :-1].T, np.diff(parts, axis=1).T
    yield from _node_ring(levels, edges, -1, add=True)
    yield from _rail_ring(levels, starts, sizes, -1, add=True)
    yield from _rail_ring(levels, starts, sizes, 0, add=False)
    yield from _node_ring(levels, edges, 0, add=False)


def _rail_chunks_round(levels: _Levels, edges: IntArray, place: IntArray, *, add: bool) -> Round:
    """Every peer sends its node neighbour all k chunks that belong to rail `place`; (n x k,)."""
    chunk = (np.arange(levels.k) * levels.g + place[:, np.newaxis]).ravel()
    start = edges[chunk]
    return make_round(
        np.repeat(levels.peers, levels.k),
        np.repeat(levels.right_in_node, levels.k),
        start,
        start,
        np.diff(edges)[chunk],
        add=add,
    )


def all_gather(n_ranks: int, n_elements: int, ranks_per_node: int) -> Iterator[Round]:
    """All_gather on the rails, then in the node what the rails have brought; rings both.

    (k - 1) + (g - 1) rounds; (k-1)/n of the total sent outside, (g-1)/g inside.
    """
    levels = _Levels(n_ranks, ranks_per_node)
    edges = chunk_edges(n_elements, n_ranks)
    table = (levels.k, levels.g)
    starts, sizes = edges[:-1].reshape(table), np.diff(edges).reshape(table)
    yield from _rail_ring(levels, starts, sizes, 0, add=False)
    for turn in range(levels.g - 1):
        yield _rail_chunks_round(levels, edges, (levels.place - turn) % levels.g, add=False)


def reduce_scatter(n_ranks: int, n_elements: int, ranks_per_node: int) -> Iterator[Round]:
    """In the node each place sums up what its rail needs, then the rail shares it out.

    (g - 1) + (k - 1) rounds; (g-1)/g of the vector sent inside, (k-1)/n outside.
    """
    levels = _Levels(n_ranks, ranks_per_node)
    edges = chunk_edges(n_elements, n_ranks)
    table = (levels.k, levels.g)
    starts, sizes = edges[:-1].reshape(table), np.diff(edges).reshape(table)
    for turn in range(levels.g - 1):
        yield _rail_chunks_round(levels, edges, (levels.place - 1 - turn) % levels.g, add=True)
    yield from _rail_ring(levels, starts, sizes, -1, add=True)


def node_limited_all_to_all(n_ranks: int, n_elements: int, ranks_per_node: int) -> Iterator[Round]:
    """One message per node over the rail, then inside the node to where it belongs.

    2 rounds; (k-1)/k of the buffer sent outside and (g-1)/g inside, in k - 1 and g - 1 messages
    instead of n - 1. This is DeepEP's route for mixture-of-experts dispatch.
    """
    if n_ranks < 2:
        return iter(())
    sizes = np.diff(chunk_edges(n_elements, n_ranks))
    return routed.node_limited_rounds(np.tile(sizes, (n_ranks, 1)), ranks_per_node)


def node_limited_buffer_elements(n_ranks: int, n_elements: int) -> int:
    """B: N of input, then n blocks of output, then as many in transit."""
    return n_elements + 2 * n_ranks * -(-n_elements // n_ranks)
