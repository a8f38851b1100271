"""Which algorithms each collective has, and how to get one as a Schedule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from gpuflow.collectives import (
    binomial,
    bruck,
    direct,
    doubling,
    hierarchical,
    nvls,
    pat,
    pipeline,
    ring,
)
from gpuflow.collectives.places import ROOTED
from gpuflow.collectives.schedule import Round, Schedule

NODE_RANKS = 8
"""Peers of a node where nobody says how many: the usual server."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shape:
    """What an algorithm may want to know."""

    n_ranks: int
    n_elements: int
    root: int
    ranks_per_node: int
    n_chunks: int


@dataclass(frozen=True, slots=True)
class _Algorithm:
    make_rounds: Callable[[_Shape], Iterator[Round]]
    buffer_elements: Callable[[int, int], int] = lambda n_ranks, n_elements: n_elements
    n_chunks: int = 1
    """Chunks in the pipeline where nobody says how many."""
    is_pipelined: bool = False
    has_levels: bool = False
    is_dense: bool = False
    """Rounds hold a transfer for each pair of peers, not one or a few for each peer."""
    n_switches: int = 0


def _in_and_out(n_ranks: int, n_elements: int) -> int:
    """N of input, then room for n blocks of the largest chunk."""
    return n_elements + n_ranks * -(-n_elements // n_ranks) if n_ranks > 1 else n_elements


def _vector_a_rank(n_ranks: int, n_elements: int) -> int:
    return n_ranks * n_elements


Plain = Callable[[int, int], Iterator[Round]]
"""(n_ranks, n_elements)"""
WithOneMore = Callable[[int, int, int], Iterator[Round]]
"""(n_ranks, n_elements, and the root, ranks per node or chunks)"""


def _plain(make: Plain) -> _Algorithm:
    return _Algorithm(lambda s: make(s.n_ranks, s.n_elements))


def _dense(make: Plain) -> _Algorithm:
    return _Algorithm(lambda s: make(s.n_ranks, s.n_elements), is_dense=True)


def _rooted(make: WithOneMore) -> _Algorithm:
    return _Algorithm(lambda s: make(s.n_ranks, s.n_elements, s.root))


def _levels(make: WithOneMore) -> _Algorithm:
    return _Algorithm(lambda s: make(s.n_ranks, s.n_elements, s.ranks_per_node), has_levels=True)


# The first of each is the default: what NCCL would run on one node for a large message, or the
# textbook form where NCCL has none of its own.
_REGISTRY: dict[str, dict[str, _Algorithm]] = {
    "all_reduce": {
        "ring": _plain(ring.all_reduce),
        "tree": _Algorithm(
            lambda s: pipeline.double_tree_all_reduce(s.n_ranks, s.n_elements, s.n_chunks),
            n_chunks=4,
            is_pipelined=True,
        ),
        "recursive_doubling": _plain(doubling.recursive_doubling_all_reduce),
        "halving_doubling": _plain(doubling.halving_doubling_all_reduce),
        "one_shot": _dense(direct.one_shot_all_reduce),
        "two_shot": _dense(direct.two_shot_all_reduce),
        "nvls": _Algorithm(
            lambda s: nvls.all_reduce(s.n_ranks, s.n_elements, s.n_chunks),
            is_pipelined=True,
            n_switches=1,
        ),
        "nvls_one_shot": _Algorithm(
            lambda s: nvls.one_shot_all_reduce(s.n_ranks, s.n_elements),
            _vector_a_rank,
            is_dense=True,
            n_switches=1,
        ),
        "hierarchical": _levels(hierarchical.all_reduce),
    },
    "all_gather": {
        "ring": _plain(ring.all_gather),
        "direct": _dense(direct.all_gather),
        "doubling": _plain(doubling.doubling_all_gather),
        "bruck": _plain(bruck.all_gather),
        "pat": _dense(pat.all_gather),
        "nvls": _Algorithm(lambda s: nvls.all_gather(s.n_ranks, s.n_elements), n_switches=1),
        "hierarchical": _levels(hierarchical.all_gather),
    },
    "reduce_scatter": {
        "ring": _plain(ring.reduce_scatter),
        "direct": _dense(direct.reduce_scatter),
        "halving": _plain(doubling.halving_reduce_scatter),
        "pat": _dense(pat.reduce_scatter),
        "nvls": _Algorithm(lambda s: nvls.reduce_scatter(s.n_ranks, s.n_elements), n_switches=1),
        "hierarchical": _levels(hierarchical.reduce_scatter),
    },
    "all_to_all": {
        "direct": _Algorithm(lambda s: direct.all_to_all(s.n_ranks, s.n_elements), _in_and_out),
        "pairwise": _Algorithm(
            lambda s: direct.pairwise_all_to_all(s.n_ranks, s.n_elements), _in_and_out
        ),
        "bruck": _Algorithm(
            lambda s: bruck.all_to_all(s.n_ranks, s.n_elements),
            bruck.all_to_all_buffer_elements,
            is_dense=True,
        ),
        "node_limited": _Algorithm(
            lambda s: hierarchical.node_limited_all_to_all(
                s.n_ranks, s.n_elements, s.ranks_per_node
            ),
            hierarchical.node_limited_buffer_elements,
            has_levels=True,
            is_dense=True,
        ),
    },
    "broadcast": {
        "binomial": _rooted(binomial.broadcast),
        "direct": _rooted(direct.broadcast),
        "ring": _rooted(ring.broadcast),
        "chain": _Algorithm(
            lambda s: pipeline.chain_broadcast(s.n_ranks, s.n_elements, s.root, s.n_chunks),
            n_chunks=4,
            is_pipelined=True,
        ),
        "scatter_all_gather": _rooted(pipeline.scatter_all_gather_broadcast),
    },
    "reduce": {
        "binomial": _rooted(binomial.reduce),
        "direct": _rooted(direct.reduce),
    },
    "scatter": {
        "direct": _rooted(direct.scatter),
        "binomial": _rooted(binomial.scatter),
    },
    "gather": {
        "direct": _rooted(direct.gather),
        "binomial": _rooted(binomial.gather),
    },
    "send_recv": {
        "direct": _rooted(direct.send_recv),
    },
}

ALGORITHMS: dict[str, tuple[str, ...]] = {
    collective: tuple(algorithms) for collective, algorithms in _REGISTRY.items()
}
"""Algorithm names by collective, the default first."""


def default_algorithm(collective: str) -> str:
    """The algorithm shown where none is asked for.

    Raises:
        ValueError: `collective` is unknown.
    """
    return _algorithms_of(collective)[0]


def _algorithms_of(collective: str) -> tuple[str, ...]:
    if collective not in ALGORITHMS:
        raise ValueError(f"unknown collective {collective!r}; known: {', '.join(ALGORITHMS)}")
    return ALGORITHMS[collective]


def default_ranks_per_node(n_ranks: int) -> int:
    """Nodes alike, of at most eight peers, and two of them or more where that is possible.

    Example:
        >>> [default_ranks_per_node(n) for n in (4, 6, 7, 16, 20)]
        [2, 3, 1, 8, 5]
    """
    return max(
        size
        for size in range(1, NODE_RANKS + 1)
        if n_ranks % size == 0 and (size < n_ranks or n_ranks == 1)
    )


def has_levels(collective: str, algorithm: str) -> bool:
    """Whether an algorithm tells the inside of a node from the outside."""
    return _entry(collective, algorithm).has_levels


def needs_switch(collective: str, algorithm: str) -> bool:
    """Whether an algorithm needs a switch that adds and multiplies (one node only)."""
    return _entry(collective, algorithm).n_switches > 0


def is_pipelined(collective: str, algorithm: str) -> bool:
    """Whether `n_chunks` matters to an algorithm."""
    return _entry(collective, algorithm).is_pipelined


def is_dense(collective: str, algorithm: str) -> bool:
    """Whether rounds hold a transfer for each pair of peers: too many for thousands of them."""
    return _entry(collective, algorithm).is_dense


def _entry(collective: str, algorithm: str) -> _Algorithm:
    known = _algorithms_of(collective)
    if algorithm not in known:
        raise ValueError(f"{collective} has no algorithm {algorithm!r}; known: {', '.join(known)}")
    return _REGISTRY[collective][algorithm]


def build(
    collective: str,
    algorithm: str,
    n_ranks: int,
    n_elements: int,
    root: int = 0,
    *,
    ranks_per_node: int | None = None,
    n_chunks: int | None = None,
) -> Schedule:
    """The schedule of one algorithm; its rounds are made when asked for.

    Args:
        collective: A key of `ALGORITHMS`.
        algorithm: One of its algorithms.
        n_ranks: R, at least 1; a group of one has no rounds.
        n_elements: N by the collective's size convention, 0 or more.
        root: The peer with the part of its own in rooted collectives; in send_recv the sender
            (the receiver is the next peer). 0 elsewhere.
        ranks_per_node: Peers of a node, for algorithms with two levels; must divide `n_ranks`.
            None: `default_ranks_per_node`.
        n_chunks: Chunks in the pipeline of those that have one, at least 1. None: a few, and no
            more than there are elements.

    Raises:
        ValueError: A name is unknown or a number is out of range.

    Example:
        >>> len(list(build("all_reduce", "ring", 4, 1024).rounds()))
        6
    """
    entry = _entry(collective, algorithm)
    if n_ranks < 1:
        raise ValueError(f"a group needs at least one rank, got {n_ranks}")
    if n_elements < 0:
        raise ValueError(f"an element count is 0 or more, got {n_elements}")
    if not 0 <= root < (n_ranks if collective in ROOTED else 1):
        raise ValueError(f"{collective} of {n_ranks} ranks has no root {root}")
    if n_chunks is not None and n_chunks < 1:
        raise ValueError(f"a pipeline has at least one chunk, got {n_chunks}")
    per_node = default_ranks_per_node(n_ranks) if ranks_per_node is None else ranks_per_node
    if entry.has_levels and (per_node < 1 or n_ranks % per_node):
        raise ValueError(f"{n_ranks} ranks do not fill nodes of {per_node}")
    shape = _Shape(
        n_ranks=n_ranks,
        n_elements=n_elements,
        root=root,
        ranks_per_node=per_node,
        n_chunks=n_chunks or max(1, min(entry.n_chunks, n_elements)),
    )
    return Schedule(
        collective=collective,
        algorithm=algorithm,
        n_ranks=n_ranks,
        n_elements=n_elements,
        buffer_elements=entry.buffer_elements(n_ranks, n_elements),
        root=root,
        n_switches=entry.n_switches if n_ranks > 1 else 0,
        ranks_per_node=per_node if entry.has_levels else 0,
        n_chunks=shape.n_chunks if entry.is_pipelined else 1,
        make_rounds=partial(entry.make_rounds, shape),
    )
