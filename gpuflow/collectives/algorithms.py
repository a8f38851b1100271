"""Which algorithms each collective has, and how to get one as a Schedule."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from gpuflow.collectives import binomial, bruck, direct, doubling, ring
from gpuflow.collectives.places import ROOTED
from gpuflow.collectives.schedule import Round, Schedule

MakeRounds = Callable[[int, int, int], Iterator[Round]]
BufferElements = Callable[[int, int], int]


def _in_place(n_ranks: int, n_elements: int) -> int:
    return n_elements


def _in_and_out(n_ranks: int, n_elements: int) -> int:
    """N of input, then room for n blocks of the largest chunk."""
    return n_elements + n_ranks * -(-n_elements // n_ranks) if n_ranks > 1 else n_elements


@dataclass(frozen=True, slots=True)
class _Algorithm:
    make_rounds: MakeRounds
    buffer_elements: BufferElements = _in_place


def _symmetric(
    make_rounds: Callable[[int, int], Iterator[Round]],
    buffer_elements: BufferElements = _in_place,
) -> _Algorithm:
    def without_root(n_ranks: int, n_elements: int, root: int) -> Iterator[Round]:
        return make_rounds(n_ranks, n_elements)

    return _Algorithm(without_root, buffer_elements)


# The first of each is the default: what NCCL would run on one node for a large message, or the
# textbook form where NCCL has none of its own.
_REGISTRY: dict[str, dict[str, _Algorithm]] = {
    "all_reduce": {
        "ring": _symmetric(ring.all_reduce),
        "recursive_doubling": _symmetric(doubling.recursive_doubling_all_reduce),
        "halving_doubling": _symmetric(doubling.halving_doubling_all_reduce),
        "one_shot": _symmetric(direct.one_shot_all_reduce),
        "two_shot": _symmetric(direct.two_shot_all_reduce),
    },
    "all_gather": {
        "ring": _symmetric(ring.all_gather),
        "direct": _symmetric(direct.all_gather),
        "doubling": _symmetric(doubling.doubling_all_gather),
        "bruck": _symmetric(bruck.all_gather),
    },
    "reduce_scatter": {
        "ring": _symmetric(ring.reduce_scatter),
        "direct": _symmetric(direct.reduce_scatter),
        "halving": _symmetric(doubling.halving_reduce_scatter),
    },
    "all_to_all": {
        "direct": _symmetric(direct.all_to_all, _in_and_out),
        "pairwise": _symmetric(direct.pairwise_all_to_all, _in_and_out),
        "bruck": _symmetric(bruck.all_to_all, bruck.all_to_all_buffer_elements),
    },
    "broadcast": {
        "binomial": _Algorithm(binomial.broadcast),
        "direct": _Algorithm(direct.broadcast),
        "ring": _Algorithm(ring.broadcast),
    },
    "reduce": {
        "binomial": _Algorithm(binomial.reduce),
        "direct": _Algorithm(direct.reduce),
    },
    "scatter": {
        "direct": _Algorithm(direct.scatter),
        "binomial": _Algorithm(binomial.scatter),
    },
    "gather": {
        "direct": _Algorithm(direct.gather),
        "binomial": _Algorithm(binomial.gather),
    },
    "send_recv": {
        "direct": _Algorithm(direct.send_recv),
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


def build(
    collective: str, algorithm: str, n_ranks: int, n_elements: int, root: int = 0
) -> Schedule:
    """The schedule of one algorithm; its rounds are made when asked for.

    Args:
        collective: A key of `ALGORITHMS`.
        algorithm: One of its algorithms.
        n_ranks: R, at least 1; a group of one has no rounds.
        n_elements: N by the collective's size convention, 0 or more.
        root: The peer with the part of its own in rooted collectives; in send_recv the sender
            (the receiver is the next peer). 0 elsewhere.

    Raises:
        ValueError: A name is unknown or a number is out of range.

    Example:
        >>> len(list(build("all_reduce", "ring", 4, 1024).rounds()))
        6
    """
    known = _algorithms_of(collective)
    if algorithm not in known:
        raise ValueError(f"{collective} has no algorithm {algorithm!r}; known: {', '.join(known)}")
    if n_ranks < 1:
        raise ValueError(f"a group needs at least one rank, got {n_ranks}")
    if n_elements < 0:
        raise ValueError(f"an element count is 0 or more, got {n_elements}")
    if not 0 <= root < (n_ranks if collective in ROOTED else 1):
        raise ValueError(f"{collective} of {n_ranks} ranks has no root {root}")
    entry = _REGISTRY[collective][algorithm]
    return Schedule(
        collective=collective,
        algorithm=algorithm,
        n_ranks=n_ranks,
        n_elements=n_elements,
        buffer_elements=entry.buffer_elements(n_ranks, n_elements),
        root=root,
        make_rounds=partial(entry.make_rounds, n_ranks, n_elements, root),
    )
