"""NVLS: the switch adds what passes through it, and copies one message to many (NVLink SHARP).

The switch is vertex n. A load with reduction reads one place of every peer and returns the sum; a
store with multicast writes one place of every peer. Pipelined over m chunks of the vector, a round
holds both directions of neighbouring chunks.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpuflow.collectives.chunks import chunk_edges, joined, make_round, nested_edges
from gpuflow.collectives.schedule import IntArray, Round


def _reduce_part(n_ranks: int, edges: IntArray) -> tuple[Round, Round]:
    """Every peer's part into the switch, and the sum of piece r out to peer r."""
    peers = np.arange(n_ranks)
    whole = edges[-1] - edges[0]
    start = edges[:-1]
    return (
        make_round(peers, n_ranks, edges[0], edges[0], whole, add=True),
        make_round(n_ranks, peers, start, start, np.diff(edges), add=False),
    )


def _gather_part(n_ranks: int, edges: IntArray) -> tuple[Round, Round]:
    """Piece r of peer r into the switch, and the whole part out to everyone."""
    peers = np.arange(n_ranks)
    whole = edges[-1] - edges[0]
    start = edges[:-1]
    return (
        make_round(peers, n_ranks, start, start, np.diff(edges), add=False),
        make_round(n_ranks, peers, edges[0], edges[0], whole, add=False),
    )


def all_reduce(n_ranks: int, n_elements: int, n_chunks: int) -> Iterator[Round]:
    """Two shots: each peer loads the sum of its piece and stores it to all.

    m + 1 rounds; S + S/n sent and as much received per peer, fewer bytes than any algorithm
    without the switch's help.
    """
    if n_ranks < 2:
        return
    pieces = nested_edges(chunk_edges(n_elements, n_chunks), n_ranks)  # (m, n + 1)
    for turn in range(n_chunks + 1):
        reduced = _reduce_part(n_ranks, pieces[turn]) if turn < n_chunks else ()
        spread = _gather_part(n_ranks, pieces[turn - 1]) if turn else ()
        yield joined(*reduced, *spread)


def one_shot_all_reduce(n_ranks: int, n_elements: int) -> Iterator[Round]:
    """Every peer loads the whole sum itself: 1 round, n vectors sent and one received per peer.

    The switch holds one sum a reader, so its buffer is n vectors long.
    """
    if n_ranks > 1:
        peers = np.arange(n_ranks)
        source, reader = np.repeat(peers, n_ranks), np.tile(peers, n_ranks)
        yield joined(
            make_round(source, n_ranks, 0, reader * n_elements, n_elements, add=True),
            make_round(n_ranks, peers, peers * n_elements, 0, n_elements, add=False),
        )


def reduce_scatter(n_ranks: int, n_elements: int) -> Iterator[Round]:
    """Each peer loads the sum of its chunk: 1 round, S sent and S/n received per peer."""
    if n_ranks > 1:
        yield joined(*_reduce_part(n_ranks, chunk_edges(n_elements, n_ranks)))


def all_gather(n_ranks: int, n_elements: int) -> Iterator[Round]:
    """Each peer stores its chunk to all: 1 round, S/n sent and S received per peer."""
    if n_ranks > 1:
        yield joined(*_gather_part(n_ranks, chunk_edges(n_elements, n_ranks)))
