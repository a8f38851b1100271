"""How a vector is cut into chunks, and rounds put together from runs of chunks.

N elements are cut into n chunks that differ by at most one element: the first N mod n chunks are
one longer (numpy.array_split's rule). With fewer elements than chunks the last chunks are empty.
Chunk c starts at edges[c] and ends at edges[c + 1]; edges has shape (n + 1,).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from gpuflow.collectives.schedule import IntArray, Round


def chunk_edges(n_elements: int, n_chunks: int) -> IntArray:
    """Where chunks begin and end: shape (n_chunks + 1,), from 0 to `n_elements`.

    Example:
        >>> chunk_edges(10, 4).tolist()
        [0, 3, 6, 8, 10]
    """
    base, longer = divmod(n_elements, n_chunks)
    index = np.arange(n_chunks + 1)
    return index * base + np.minimum(index, longer)


def nested_edges(edges: IntArray, n_parts: int) -> IntArray:
    """Each chunk cut again by the same rule: shape (n_chunks, n_parts + 1), offsets of the whole.

    Example:
        >>> nested_edges(chunk_edges(10, 2), 2).tolist()
        [[0, 3, 5], [5, 8, 10]]
    """
    base, longer = np.divmod(np.diff(edges)[:, np.newaxis], n_parts)
    index = np.arange(n_parts + 1)
    return np.asarray(edges[:-1, np.newaxis] + index * base + np.minimum(index, longer))


def make_round(
    source: ArrayLike,
    destination: ArrayLike,
    source_offset: ArrayLike,
    destination_offset: ArrayLike,
    count: ArrayLike,
    *,
    add: bool,
) -> Round:
    """A round whose columns are stretched to the same length; all its transfers add, or none.

    A stretched scalar is a read-only view, so a constant column takes no room.
    """
    given = (source, destination, source_offset, destination_offset, count, add)
    stretched = np.broadcast_arrays(*(np.asarray(column) for column in given))
    whence, whither, take, put, size = (c.astype(np.int64, copy=False) for c in stretched[:-1])
    return Round(whence, whither, take, put, size, stretched[-1])


def joined(*rounds: Round) -> Round:
    """One round in which all of these happen at once, without the transfers of no element."""
    whole = Round(
        *(
            np.concatenate([getattr(part, name) for part in rounds])
            for name in Round.__dataclass_fields__
        )
    )
    moving = whole.count > 0
    if moving.all():
        return whole
    return Round(*(getattr(whole, name)[moving] for name in Round.__dataclass_fields__))


def chunk_run_round(
    source: IntArray,
    destination: IntArray,
    first_chunk: IntArray,
    n_chunks: ArrayLike,
    edges: IntArray,
    *,
    add: bool,
) -> Round:
    """Each source sends `n_chunks` chunks from `first_chunk` on, to the same place elsewhere.

    Runs go round the end of the vector: such a one is sent as two transfers, its tail first.
    """
    n = len(edges) - 1
    end = first_chunk + np.asarray(n_chunks)
    start = edges[first_chunk]
    tail = make_round(source, destination, start, start, edges[np.minimum(end, n)] - start, add=add)
    head = make_round(source, destination, 0, 0, edges[np.maximum(end - n, 0)], add=add)
    return joined(tail, head)
