"""Direct collectives: every peer reaches every other one itself, without helpers on the way.

One or two rounds, at the price of n - 1 messages per peer at once. Rounds of the symmetric ones
hold n(n - 1) transfers, which for thousands of peers is a lot; `pairwise` spreads the same
all_to_all over n - 1 rounds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpuflow.collectives.chunks import chunk_edges, joined, make_round
from gpuflow.collectives.schedule import IntArray, Round


def _all_pairs(n_ranks: int) -> tuple[IntArray, IntArray]:
    """Sources and destinations of all ordered pairs of two different peers, nearest first."""
    source = np.repeat(np.arange(n_ranks), n_ranks - 1)
    distance = np.tile(np.arange(1, n_ranks), n_ranks)
    return source, (source + distance) % n_ranks


def _others(n_ranks: int, root: int) -> IntArray:
    return np.delete(np.arange(n_ranks), root)


# ---- symmetric


def one_shot_all_reduce(n_ranks: int, n_elements: int) -> Iterator[Round]:
    """Everyone sends its whole vector to everyone, who all add: 1 round, (n - 1) vectors sent."""
    if n_ranks > 1:
        source, destination = _all_pairs(n_ranks)
        yield make_round(source, destination, 0, 0, n_elements, add=True)


def two_shot_all_reduce(n_ranks: int, n_elements: int) -> Iterator[Round]:
    """Direct reduce_scatter, then direct all_gather: 2 rounds, 2(n-1)/n of the vector sent."""
    yield from reduce_scatter(n_ranks, n_elements)
    yield from all_gather(n_ranks, n_elements)


def reduce_scatter(n_ranks: int, n_elements: int) -> Iterator[Round]:
    """Chunk d of every vector goes straight to peer d, who adds: 1 round, (n-1)/n sent."""
    if n_ranks > 1:
        edges = chunk_edges(n_elements, n_ranks)
        source, destination = _all_pairs(n_ranks)
        offset = edges[destination]
        yield make_round(source, destination, offset, offset, np.diff(edges)[destination], add=True)


def all_gather(n_ranks: int, n_elements: int) -> Iterator[Round]:
    """Each peer sends its chunk to all others: 1 round, (n-1)/n of the total sent."""
    if n_ranks > 1:
        edges = chunk_edges(n_elements, n_ranks)
        source, destination = _all_pairs(n_ranks)
        offset = edges[source]
        yield make_round(source, destination, offset, offset, np.diff(edges)[source], add=False)


def _exchange(source: IntArray, destination: IntArray, n_ranks: int, n_elements: int) -> Round:
    """Chunk d of each source to peer d, who lines up what it gets by source after its own N."""
    edges = chunk_edges(n_elements, n_ranks)
    size = np.diff(edges)[destination]
    place = n_elements + source * size
    return make_round(source, destination, edges[destination], place, size, add=False)


def all_to_all(n_ranks: int, n_elements: int) -> Iterator[Round]:
    """Every chunk straight to its owner, all at once: 1 round, (n-1)/n of the buffer sent.

    The chunk a peer keeps is a local copy.
    """
    if n_ranks > 1:
        peers = np.arange(n_ranks)
        yield joined(
            _exchange(*_all_pairs(n_ranks), n_ranks, n_elements),
            _exchange(peers, peers, n_ranks, n_elements),
        )


def pairwise_all_to_all(n_ranks: int, n_elements: int) -> Iterator[Round]:
    """In round d every peer sends to the one d further on: n - 1 rounds of one message each."""
    peers = np.arange(n_ranks)
    for distance in range(1, n_ranks):
        exchange = _exchange(peers, (peers + distance) % n_ranks, n_ranks, n_elements)
        if distance == 1:
            exchange = joined(exchange, _exchange(peers, peers, n_ranks, n_elements))
        yield exchange


# ---- rooted


def broadcast(n_ranks: int, n_elements: int, root: int) -> Iterator[Round]:
    """The root sends the vector to all others at once: 1 round, n - 1 vectors from the root."""
    if n_ranks > 1:
        yield make_round(root, _others(n_ranks, root), 0, 0, n_elements, add=False)


def reduce(n_ranks: int, n_elements: int, root: int) -> Iterator[Round]:
    """All others send their vector to the root, which adds: 1 round, one vector per sender."""
    if n_ranks > 1:
        yield make_round(_others(n_ranks, root), root, 0, 0, n_elements, add=True)


def scatter(n_ranks: int, n_elements: int, root: int) -> Iterator[Round]:
    """The root sends each peer its chunk: 1 round, (n-1)/n of the vector from the root."""
    if n_ranks > 1:
        edges = chunk_edges(n_elements, n_ranks)
        others = _others(n_ranks, root)
        offset = edges[others]
        yield make_round(root, others, offset, offset, np.diff(edges)[others], add=False)


def gather(n_ranks: int, n_elements: int, root: int) -> Iterator[Round]:
    """Each peer sends its chunk to the root: 1 round, one chunk per sender."""
    if n_ranks > 1:
        edges = chunk_edges(n_elements, n_ranks)
        others = _others(n_ranks, root)
        offset = edges[others]
        yield make_round(others, root, offset, offset, np.diff(edges)[others], add=False)


def send_recv(n_ranks: int, n_elements: int, root: int) -> Iterator[Round]:
    """The root sends its vector to the next peer, who is the only one to get anything."""
    if n_ranks > 1:
        yield make_round([root], [(root + 1) % n_ranks], 0, 0, n_elements, add=False)
