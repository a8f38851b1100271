"""PAT, parallel aggregated trees: NCCL's logarithmic all_gather and reduce_scatter.

Every chunk travels down a binomial tree of its own, all n trees turned against each other, and
what goes to the same peer in a round goes as one message (arXiv 2506.20252). Distances shrink in
all_gather, so that the far messages are the small ones; reduce_scatter is the same in reverse.
Whole aggregation as here needs room for n / 2 chunks a message; NCCL cuts larger ones.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpuflow.collectives.chunks import chunk_edges, make_round
from gpuflow.collectives.schedule import IntArray, Round


def _messages(n_ranks: int, distance: int) -> tuple[IntArray, IntArray, IntArray]:
    """(near peer, far peer, chunk) of all tree edges of one length."""
    step = np.arange(0, n_ranks - distance, 2 * distance)  # places in a chunk's tree
    peers = np.repeat(np.arange(n_ranks), len(step))
    chunk = (peers - np.tile(step, n_ranks)) % n_ranks
    return peers, (peers + distance) % n_ranks, chunk


def _distances(n_ranks: int) -> list[int]:
    return [1 << k for k in range((n_ranks - 1).bit_length())]


def all_gather(n_ranks: int, n_elements: int) -> Iterator[Round]:
    """Far to near: ceil(log2 n) rounds, (n-1)/n of the total sent per peer."""
    edges = chunk_edges(n_elements, n_ranks)
    for distance in reversed(_distances(n_ranks)):
        near, far, chunk = _messages(n_ranks, distance)
        start = edges[chunk]
        yield make_round(near, far, start, start, np.diff(edges)[chunk], add=False)


def reduce_scatter(n_ranks: int, n_elements: int) -> Iterator[Round]:
    """Near to far: ceil(log2 n) rounds, (n-1)/n of the vector sent per peer."""
    edges = chunk_edges(n_elements, n_ranks)
    for distance in _distances(n_ranks):
        near, far, chunk = _messages(n_ranks, distance)
        start = edges[chunk]
        yield make_round(far, near, start, start, np.diff(edges)[chunk], add=True)
