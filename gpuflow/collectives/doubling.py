"""Recursive doubling and halving: partners at distance 1, 2, 4 ... exchange what they have.

A logarithmic number of rounds (Thakur, Rabenseifner and Gropp 2005). Both need a power of two:
of n peers the first p = 2^floor(log2 n) are active; each surplus peer p + i first hands what it
has to active peer i (fold in) and gets its result from there at the end (fold out): two rounds
more.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpuflow.collectives.chunks import chunk_edges, joined, make_round
from gpuflow.collectives.schedule import IntArray, Round


def split_at_power_of_two(n_ranks: int) -> tuple[int, int]:
    """(active, surplus): the largest power of two not above `n_ranks`, and the rest.

    Example:
        >>> split_at_power_of_two(6)
        (4, 2)
    """
    active = 1 << (n_ranks.bit_length() - 1)
    return active, n_ranks - active


def _fold_in(active: int, surplus: int, n_elements: int) -> Iterator[Round]:
    if surplus:
        extra = np.arange(active, active + surplus)
        yield make_round(extra, extra - active, 0, 0, n_elements, add=True)


def _fold_out(active: int, surplus: int, n_elements: int) -> Iterator[Round]:
    if surplus:
        extra = np.arange(active, active + surplus)
        yield make_round(extra - active, extra, 0, 0, n_elements, add=False)


def _exchange(active: int, first: IntArray, distance: int, edges: IntArray, *, add: bool) -> Round:
    """Active peers send `distance` chunks from `first` on to their partner at that distance.

    Chunks of surplus peers (number `active` and above) go with those of the peers they fold into.
    """
    peers = np.arange(active)
    partner = peers ^ distance
    start = edges[first]
    own = make_round(peers, partner, start, start, edges[first + distance] - start, add=add)
    last_chunk = len(edges) - 1
    if last_chunk == active:
        return own
    start = edges[np.minimum(active + first, last_chunk)]
    end = edges[np.minimum(active + first + distance, last_chunk)]
    return joined(own, make_round(peers, partner, start, start, end - start, add=add))


def _halve(active: int, edges: IntArray) -> Iterator[Round]:
    """Each exchange adds and halves the range a peer answers for; peer r ends with chunk r."""
    peers = np.arange(active)
    distance = active // 2
    while distance:
        half_of_partner = (peers ^ distance) // distance * distance
        yield _exchange(active, half_of_partner, distance, edges, add=True)
        distance //= 2


def _double(active: int, edges: IntArray) -> Iterator[Round]:
    """Each exchange doubles the range of chunks a peer holds, beginning with chunk r."""
    peers = np.arange(active)
    distance = 1
    while distance < active:
        yield _exchange(active, peers // distance * distance, distance, edges, add=False)
        distance *= 2


def recursive_doubling_all_reduce(n_ranks: int, n_elements: int) -> Iterator[Round]:
    """Partners exchange and add whole vectors: log2 n rounds, log2 n vectors sent per peer."""
    active, surplus = split_at_power_of_two(n_ranks)
    peers = np.arange(active)
    yield from _fold_in(active, surplus, n_elements)
    distance = 1
    while distance < active:
        yield make_round(peers, peers ^ distance, 0, 0, n_elements, add=True)
        distance *= 2
    yield from _fold_out(active, surplus, n_elements)


def halving_doubling_all_reduce(n_ranks: int, n_elements: int) -> Iterator[Round]:
    """Rabenseifner's: reduce_scatter by halving, all_gather by doubling.

    2 log2 n rounds, 2(n-1)/n of the vector sent per peer.
    """
    active, surplus = split_at_power_of_two(n_ranks)
    edges = chunk_edges(n_elements, active)
    yield from _fold_in(active, surplus, n_elements)
    yield from _halve(active, edges)
    yield from _double(active, edges)
    yield from _fold_out(active, surplus, n_elements)


def halving_reduce_scatter(n_ranks: int, n_elements: int) -> Iterator[Round]:
    """Recursive halving: log2 n rounds, (n-1)/n of the vector sent per peer.

    A surplus peer hands in its whole vector and gets its own chunk back.
    """
    active, surplus = split_at_power_of_two(n_ranks)
    edges = chunk_edges(n_elements, n_ranks)
    yield from _fold_in(active, surplus, n_elements)
    yield from _halve(active, edges)
    if surplus:
        extra = np.arange(active, n_ranks)
        start = edges[extra]
        yield make_round(extra - active, extra, start, start, np.diff(edges)[extra], add=False)


def doubling_all_gather(n_ranks: int, n_elements: int) -> Iterator[Round]:
    """Recursive doubling: log2 n rounds, (n-1)/n of the total sent per peer.

    A surplus peer hands in its chunk and gets all others at the end.
    """
    active, surplus = split_at_power_of_two(n_ranks)
    edges = chunk_edges(n_elements, n_ranks)
    extra = np.arange(active, n_ranks)
    start = edges[extra]
    size = np.diff(edges)[extra]
    if surplus:
        yield make_round(extra, extra - active, start, start, size, add=False)
    yield from _double(active, edges)
    if surplus:
        end = start + size
        yield joined(
            make_round(extra - active, extra, 0, 0, start, add=False),
            make_round(extra - active, extra, end, end, n_elements - end, add=False),
        )
