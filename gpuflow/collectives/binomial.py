"""Binomial trees for rooted collectives: the number of peers that have the data doubles a round.

Peers are numbered v = (peer - root) mod n here, so that v = 0 is the root. At distance d = 2^k
peer v (a multiple of 2d) and peer v + d are parent and child; the child's subtree is
v + d .. v + 2d - 1, cut at n. ceil(log2 n) rounds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpuflow.collectives.chunks import chunk_edges, chunk_run_round, make_round
from gpuflow.collectives.schedule import IntArray, Round


def _distances(n_ranks: int) -> list[int]:
    """1, 2, 4 ... below `n_ranks`."""
    return [1 << k for k in range((n_ranks - 1).bit_length())]


def _edges_of_tree(n_ranks: int, distance: int, root: int) -> tuple[IntArray, IntArray, IntArray]:
    """Parents, children (as peers) and the sizes of the children's subtrees at one distance."""
    child = np.arange(distance, n_ranks, 2 * distance)
    subtree = np.minimum(distance, n_ranks - child)
    return (child - distance + root) % n_ranks, (child + root) % n_ranks, subtree


def broadcast(n_ranks: int, n_elements: int, root: int) -> Iterator[Round]:
    """Everyone who has the vector sends it on each round; the root sends ceil(log2 n) times."""
    for distance in reversed(_distances(n_ranks)):
        parent, child, _ = _edges_of_tree(n_ranks, distance, root)
        yield make_round(parent, child, 0, 0, n_elements, add=False)


def reduce(n_ranks: int, n_elements: int, root: int) -> Iterator[Round]:
    """Children send their sums to their parents, leaves first; each peer sends one vector."""
    for distance in _distances(n_ranks):
        parent, child, _ = _edges_of_tree(n_ranks, distance, root)
        yield make_round(child, parent, 0, 0, n_elements, add=True)


def scatter(n_ranks: int, n_elements: int, root: int) -> Iterator[Round]:
    """Each parent sends a child the chunks of its subtree: (n-1)/n of the vector from the root."""
    edges = chunk_edges(n_elements, n_ranks)
    for distance in reversed(_distances(n_ranks)):
        parent, child, subtree = _edges_of_tree(n_ranks, distance, root)
        yield chunk_run_round(parent, child, child, subtree, edges, add=False)


def gather(n_ranks: int, n_elements: int, root: int) -> Iterator[Round]:
    """Each child sends its parent the chunks of its subtree, leaves first."""
    edges = chunk_edges(n_elements, n_ranks)
    for distance in _distances(n_ranks):
        parent, child, subtree = _edges_of_tree(n_ranks, distance, root)
        yield chunk_run_round(child, parent, child, subtree, edges, add=False)
