"""Where a collective's input and output lie in the working buffers.

Everything is in place at its final offset, except in all_to_all, whose output follows the N
elements of input. Chunk r of N elements is cut by the rule of `gpuflow.collectives.chunks`.
"""

from __future__ import annotations

import numpy as np

from gpuflow.collectives.chunks import chunk_edges
from gpuflow.collectives.schedule import Places, Schedule
from gpuflow.scenario.spec import COLLECTIVES

ROOTED = frozenset({"broadcast", "reduce", "scatter", "gather", "send_recv"})
"""Collectives in which one peer, the root, has a part of its own (send_recv: the sender)."""


def places(collective: str, n_ranks: int, n_elements: int, root: int = 0) -> Places:
    """Where each peer's input and output lie.

    Args:
        collective: One of `gpuflow.scenario.spec.COLLECTIVES`.
        n_ranks: R, at least 1.
        n_elements: N by the collective's size convention (`gpuflow.collectives.schedule`).
        root: The peer with the part of its own; in send_recv the sender, whose receiver is the
            next peer.

    Raises:
        ValueError: `collective` is unknown (a caller's bug).
    """
    if collective not in COLLECTIVES:
        raise ValueError(f"unknown collective {collective!r}; known: {', '.join(COLLECTIVES)}")
    peers = np.arange(n_ranks)
    edges = chunk_edges(n_elements, n_ranks)
    start, size = edges[:-1], np.diff(edges)
    zero, whole = np.zeros(n_ranks, dtype=np.int64), np.full(n_ranks, n_elements)
    everyone, at_root = np.ones(n_ranks, dtype=np.bool_), peers == root
    receiver = peers == (root + 1) % n_ranks
    after_input = whole if n_ranks > 1 else zero
    given = {
        "all_gather": (start, size),
        "gather": (start, size),
        "broadcast": (zero, whole * at_root),
        "scatter": (zero, whole * at_root),
        "send_recv": (zero, whole * at_root),
    }.get(collective, (zero, whole))
    made = {
        "reduce_scatter": (start, size, everyone),
        "all_to_all": (after_input, size * n_ranks, everyone),
        "reduce": (zero, whole * at_root, at_root),
        "scatter": (start, size, everyone),
        "gather": (zero, whole * at_root, at_root),
        "send_recv": (zero, whole * receiver, receiver),
    }.get(collective, (zero, whole, everyone))
    return Places(
        input_offset=given[0],
        input_count=given[1],
        output_offset=made[0],
        output_count=made[1],
        has_output=made[2],
    )


def places_of(schedule: Schedule) -> Places:
    """Where each peer's input and output lie in the buffers of a schedule."""
    return schedule.own_places or places(
        schedule.collective, schedule.n_ranks, schedule.n_elements, schedule.root
    )
