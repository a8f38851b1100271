"""Bruck's collectives: ceil(log2 n) rounds for any number of peers (Bruck et al. 1997).

The textbook turns the blocks locally before and after so that messages are contiguous; here
blocks keep their place and a message that goes round the end is two transfers, which moves the
same bytes in the same rounds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpuflow.collectives.chunks import chunk_edges, chunk_run_round, joined, make_round
from gpuflow.collectives.schedule import Round


def all_gather(n_ranks: int, n_elements: int) -> Iterator[Round]:
    """Before a round peer r holds d chunks from r on; it sends them to r - d, and d doubles.

    The last round sends only what is missing, so (n-1)/n of the total is sent per peer.
    """
    edges = chunk_edges(n_elements, n_ranks)
    peers = np.arange(n_ranks)
    distance = 1
    while distance < n_ranks:
        n_chunks = min(distance, n_ranks - distance)
        yield chunk_run_round(
            peers, (peers - distance) % n_ranks, peers, n_chunks, edges, add=False
        )
        distance *= 2


def all_to_all_buffer_elements(n_ranks: int, n_elements: int) -> int:
    """B: N of input, then n blocks of output, then n slots for blocks on their way."""
    largest_chunk = -(-n_elements // n_ranks)
    return n_elements + 2 * n_ranks * largest_chunk


def all_to_all(n_ranks: int, n_elements: int) -> Iterator[Round]:
    """A block that must go j peers on travels by the powers of two that j is made of.

    In the round of distance d every peer sends d on the blocks whose j has that bit: about half
    its buffer, so log2 n / 2 buffers in all.
    """
    edges = chunk_edges(n_elements, n_ranks)
    sizes = np.diff(edges)
    slots = n_elements + n_ranks * int(sizes[0])
    peers = np.arange(n_ranks)[:, np.newaxis]  # (R, 1)
    distance = 1
    while distance < n_ranks:
        journey = np.arange(n_ranks)
        journey = journey[(journey & distance) != 0]  # (J,) lengths that have this bit
        done = journey & (distance - 1)
        origin = (peers - done) % n_ranks  # (R, J)
        target = (origin + journey) % n_ranks
        slot = slots + journey * sizes[0]
        # The input is read on a block's first move, the output written on its last.
        source_offset = np.where(done == 0, edges[target], slot)
        arrives = (journey >> distance.bit_length()) == 0
        place = np.where(arrives, n_elements + origin * sizes[target], slot)
        whence, whither, take, put = (
            np.broadcast_to(column, origin.shape).ravel()
            for column in (peers, (peers + distance) % n_ranks, source_offset, place)
        )
        exchange = make_round(whence, whither, take, put, sizes[target].ravel(), add=False)
        if distance == 1:
            own = peers.ravel()
            keep = n_elements + own * sizes
            exchange = joined(exchange, make_round(own, own, edges[:-1], keep, sizes, add=False))
        yield exchange
        distance *= 2
