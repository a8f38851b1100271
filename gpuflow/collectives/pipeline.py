"""Pipelined trees and chains: the vector is cut into m chunks that follow each other.

While a chunk is on its second hop the next one is on its first, so that depth costs latency but
hardly bandwidth.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpuflow.collectives import binomial, ring
from gpuflow.collectives.chunks import chunk_edges, joined, make_round, nested_edges
from gpuflow.collectives.schedule import IntArray, Round


def chain_broadcast(n_ranks: int, n_elements: int, root: int, n_chunks: int) -> Iterator[Round]:
    """Chunks run down the chain of peers that begins at the root.

    (n - 1) + (m - 1) rounds; everyone but the last peer sends the vector once.
    """
    edges = chunk_edges(n_elements, n_chunks)
    for turn in range(n_ranks + n_chunks - 2 if n_ranks > 1 else 0):
        hop = np.arange(max(0, turn - n_chunks + 1), min(n_ranks - 2, turn) + 1)
        chunk = turn - hop
        start = edges[chunk]
        sender, receiver = (hop + root) % n_ranks, (hop + 1 + root) % n_ranks
        yield make_round(sender, receiver, start, start, np.diff(edges)[chunk], add=False)


def scatter_all_gather_broadcast(n_ranks: int, n_elements: int, root: int) -> Iterator[Round]:
    """Van de Geijn's: binomial scatter from the root, then all_gather round the ring.

    ceil(log2 n) + n - 1 rounds; about two vectors sent by the root, one by the others.
    """
    yield from binomial.scatter(n_ranks, n_elements, root)
    yield from ring.all_gather(n_ranks, n_elements)


def tree_parents(n_ranks: int) -> tuple[IntArray, IntArray]:
    """Parent of each peer in the two trees of NCCL's double binary tree; -1 at the roots.

    In the first tree odd peers are leaves and a peer's parent is found by moving its lowest set
    bit up by one; the second is its mirror image (n even) or is shifted by one peer (n odd), so
    that leaves of one tree are inner in the other (Sanders, Speck and Traeff 2009).
    """
    peers = np.arange(n_ranks)
    bit = peers & -peers
    up = (peers ^ bit) | (bit << 1)
    first = np.where(up < n_ranks, up, peers ^ bit)
    first[0] = -1
    if n_ranks % 2 == 0:
        mirrored = first[::-1]
        return first, np.where(mirrored < 0, -1, n_ranks - 1 - mirrored)
    shifted = np.roll(first, 1)
    return first, np.where(shifted < 0, -1, (shifted + 1) % n_ranks)


def depths(parents: IntArray) -> IntArray:
    """Edges between each peer and its root; shape (R,)."""
    depth = np.zeros(len(parents), dtype=np.int64)
    ancestor = parents
    while (ancestor >= 0).any():
        depth += ancestor >= 0
        ancestor = np.where(ancestor >= 0, parents[ancestor], -1)
    return depth


def double_tree_all_reduce(n_ranks: int, n_elements: int, n_chunks: int) -> Iterator[Round]:
    """Each of two binary trees sums half of the vector up to its root and hands it down again.

    2 depth + m - 1 rounds, both ways at once; about two vectors sent per peer, whatever n is.
    """
    if n_ranks < 2:
        return
    halves = nested_edges(chunk_edges(n_elements, 2), n_chunks)
    trees = [
        _Tree(parents, edges) for parents, edges in zip(tree_parents(n_ranks), halves, strict=True)
    ]
    depth = max(tree.depth for tree in trees)
    for turn in range(2 * depth + n_chunks - 1):
        yield joined(*(part for tree in trees for part in tree.turn(turn, depth)))


class _Tree:
    """One of the trees, with the chunks of its half of the vector."""

    def __init__(self, parents: IntArray, edges: IntArray) -> None:
        self.children = np.flatnonzero(parents >= 0)
        self.parents = parents[self.children]
        self.levels = depths(parents)[self.children]
        """Depth of each child, 1 or more."""
        self.depth = int(self.levels.max())
        self.edges = edges

    def turn(self, turn: int, depth: int) -> tuple[Round, Round]:
        """What goes up and down in one round; `depth` is that of the deeper tree."""
        up = self._moves(turn - (depth - self.levels), self.children, self.parents, add=True)
        down = self._moves(turn - depth - (self.levels - 1), self.parents, self.children, add=False)
        return up, down

    def _moves(
        self, chunk: IntArray, source: IntArray, destination: IntArray, *, add: bool
    ) -> Round:
        under_way = (chunk >= 0) & (chunk < len(self.edges) - 1)
        now = chunk[under_way]
        start = self.edges[now]
        count = self.edges[now + 1] - start
        return make_round(source[under_way], destination[under_way], start, start, count, add=add)
