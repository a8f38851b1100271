"""Ring collectives: every peer talks only to its right-hand neighbour.

Bandwidth-optimal for all_reduce, all_gather and reduce_scatter (Patarasuk and Yuan 2009), at the
price of a number of rounds that grows with the number of peers.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpuflow.collectives.chunks import chunk_edges, make_round
from gpuflow.collectives.schedule import Round


def _turn(n_ranks: int, n_elements: int, first_chunk: int, *, add: bool) -> Iterator[Round]:
    """In the first round peer r sends chunk r + first_chunk, then one lower each time."""
    edges = chunk_edges(n_elements, n_ranks)
    peers = np.arange(n_ranks)
    right = np.roll(peers, -1)
    # The chunks of peers 0, 1, 2 ... follow each other round the ring, so every column of every
    # round is a slice of these: a round of 16,384 transfers costs no arithmetic.
    offsets = np.tile(edges[:-1], 2)
    sizes = np.tile(np.diff(edges), 2)
    adds = np.broadcast_to(np.bool_(add), (n_ranks,))
    for turn in range(n_ranks - 1):
        start = (first_chunk - turn) % n_ranks
        offset = offsets[start : start + n_ranks]
        yield Round(peers, right, offset, offset, sizes[start : start + n_ranks], adds)


def reduce_scatter(n_ranks: int, n_elements: int) -> Iterator[Round]:
    """Partial sums go round and grow; peer r ends with the sum of chunk r.

    n - 1 rounds; (n-1)/n of the vector sent per peer.
    """
    return _turn(n_ranks, n_elements, -1, add=True)


def all_gather(n_ranks: int, n_elements: int) -> Iterator[Round]:
    """Each peer passes on the chunk it got last; n - 1 rounds, (n-1)/n of the total per peer."""
    return _turn(n_ranks, n_elements, 0, add=False)


def all_reduce(n_ranks: int, n_elements: int) -> Iterator[Round]:
    """Reduce-scatter round the ring, then all-gather round it.

    2(n - 1) rounds; each peer sends one chunk a round, so 2(n-1)/n of its vector in all.
    """
    yield from reduce_scatter(n_ranks, n_elements)
    yield from all_gather(n_ranks, n_elements)


def broadcast(n_ranks: int, n_elements: int, root: int) -> Iterator[Round]:
    """The whole vector is handed from neighbour to neighbour, beginning at the root.

    n - 1 rounds of one transfer each; everyone but the last peer sends the vector once.
    """
    for hop in range(n_ranks - 1):
        sender = (root + hop) % n_ranks
        yield make_round([sender], [(sender + 1) % n_ranks], 0, 0, n_elements, add=False)
