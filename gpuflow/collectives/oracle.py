"""What a schedule costs, twice: counted from its transfers, and from the closed forms.

n  peers        S  bytes by the collective's size convention        v  (peer - root) mod n
g  peers of a node        k  nodes        m  chunks in the pipeline

The closed forms are those of Thakur, Rabenseifner and Gropp 2005, Bruck et al. 1997 and Sanders,
Speck and Traeff 2009, exact where S divides by n. Folding surplus peers in and out (n no power of
two) is counted as well.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpuflow.collectives.algorithms import ALGORITHMS, default_ranks_per_node
from gpuflow.collectives.doubling import split_at_power_of_two
from gpuflow.collectives.pipeline import tree_parents
from gpuflow.collectives.schedule import BoolArray, IntArray, Schedule

FloatArray = NDArray[np.float64]


def bus_factor(collective: str, n_ranks: int) -> float:
    """Bus bandwidth over size / time, as nccl-tests defines it (its PERFORMANCE.md).

    Example:
        >>> bus_factor("all_reduce", 4)
        1.5
    """
    if collective == "all_reduce":
        return 2 * (n_ranks - 1) / n_ranks
    if collective in {"all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"}:
        return (n_ranks - 1) / n_ranks
    return 1.0


def bytes_sent(schedule: Schedule, itemsize: int) -> IntArray:
    """Bytes each peer sends to others and to switches, all rounds together; shape (R,).

    Local copies do not count, nor does what switches send.
    """
    n_vertices = schedule.n_ranks + schedule.n_switches
    elements = np.zeros(n_vertices)
    for one in schedule.rounds():
        moved = one.count * (one.source != one.destination)
        elements += np.bincount(one.source, weights=moved, minlength=n_vertices)
    return elements[: schedule.n_ranks].astype(np.int64) * itemsize


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedForm:
    """Cost of an algorithm by formula."""

    rounds: int
    bytes_sent: FloatArray
    """By peer; shape (R,)."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Numbers that the formulas are made of; arrays have shape (R,)."""

    n: int
    root: int
    g: int
    """Peers of a node."""
    m: int
    """Chunks in the pipeline."""

    @property
    def k(self) -> int:
        """Nodes."""
        return self.n // self.g

    @property
    def peer(self) -> IntArray:
        return np.arange(self.n)

    @property
    def v(self) -> IntArray:
        return (self.peer - self.root) % self.n

    @property
    def log(self) -> int:
        """ceil(log2 n)."""
        return (self.n - 1).bit_length()

    @property
    def active(self) -> int:
        return split_at_power_of_two(self.n)[0]

    @property
    def surplus(self) -> int:
        return split_at_power_of_two(self.n)[1]

    @property
    def fold_rounds(self) -> int:
        return 2 if self.surplus else 0

    @property
    def subtree(self) -> IntArray:
        """Peers in the binomial subtree of each: its lowest set bit, cut at n."""
        low = np.where(self.v == 0, self.n, self.v & -self.v)
        return np.minimum(low, self.n - self.v)

    @property
    def children(self) -> IntArray:
        """Binomial children: one for each bit below the subtree's size."""
        return np.array([(int(size) - 1).bit_length() for size in self.subtree])


def _folded(g: _Group, by_active: float) -> FloatArray:
    """Vectors sent when surplus peers send theirs in, and get the result from their partner."""
    return np.where(g.peer < g.active, by_active + (g.peer < g.surplus), 1.0)


def _halving(g: _Group) -> FloatArray:
    """An active peer sends all but its chunk, whether on the way or folding out."""
    return np.where(g.peer < g.active, (g.n - 1) / g.n, 1.0)


def _doubling(g: _Group) -> FloatArray:
    chunks = np.zeros(g.n)
    for k in range(g.active.bit_length() - 1):
        distance = 1 << k
        first = g.peer // distance * distance
        chunks += distance + np.clip(g.surplus - first, 0, distance)
    chunks += (g.n - 1) * (g.peer < g.surplus)
    return np.where(g.peer < g.active, chunks, 1.0) / g.n


def _bruck_blocks(g: _Group) -> float:
    """Moves of all blocks of one peer: the bits of 0..n-1 together."""
    return float(sum(j.bit_count() for j in range(g.n)))


def _double_tree(g: _Group) -> FloatArray:
    """Half a vector up from every child, and down to every child, in each of the trees."""
    halves = np.zeros(g.n)
    for parents in tree_parents(g.n):
        halves += (parents >= 0) + np.bincount(parents[parents >= 0], minlength=g.n)
    return halves / 2


def _everyone(vectors: Callable[[_Group], float]) -> Callable[[_Group], FloatArray]:
    return lambda g: np.full(g.n, vectors(g))


def _two_rings(g: _Group) -> float:
    """A ring in the node, and one on the rail over what the place answers for."""
    return (g.g - 1) / g.g + (g.k - 1) / g.n


def _but_one(g: _Group) -> FloatArray:
    return np.full(g.n, (g.n - 1) / g.n)


_ByPeer = Callable[["_Group"], "FloatArray | IntArray | BoolArray"]
_Formula = tuple[Callable[["_Group"], int], _ByPeer]

# Rounds, then vectors (S) sent by peer.
_FORMULAS: dict[tuple[str, str], _Formula] = {
    ("all_reduce", "ring"): (lambda g: 2 * (g.n - 1), lambda g: 2 * _but_one(g)),
    ("all_reduce", "recursive_doubling"): (
        lambda g: g.active.bit_length() - 1 + g.fold_rounds,
        lambda g: _folded(g, g.active.bit_length() - 1),
    ),
    ("all_reduce", "halving_doubling"): (
        lambda g: 2 * (g.active.bit_length() - 1) + g.fold_rounds,
        lambda g: _folded(g, 2 * (g.active - 1) / g.active),
    ),
    ("all_reduce", "one_shot"): (lambda g: 1, _everyone(lambda g: g.n - 1)),
    ("all_reduce", "two_shot"): (lambda g: 2, lambda g: 2 * _but_one(g)),
    ("all_reduce", "tree"): (lambda g: 2 * g.log + g.m - 1, _double_tree),
    ("all_reduce", "nvls"): (lambda g: g.m + 1, _everyone(lambda g: 1 + 1 / g.n)),
    ("all_reduce", "nvls_one_shot"): (lambda g: 1, _everyone(lambda g: g.n)),
    ("all_reduce", "hierarchical"): (
        lambda g: 2 * (g.g - 1) + 2 * (g.k - 1),
        _everyone(lambda g: 2 * _two_rings(g)),
    ),
    ("all_gather", "ring"): (lambda g: g.n - 1, _but_one),
    ("all_gather", "direct"): (lambda g: 1, _but_one),
    ("all_gather", "doubling"): (
        lambda g: g.active.bit_length() - 1 + g.fold_rounds,
        _doubling,
    ),
    ("all_gather", "bruck"): (lambda g: g.log, _but_one),
    ("all_gather", "pat"): (lambda g: g.log, _but_one),
    ("all_gather", "nvls"): (lambda g: 1, _everyone(lambda g: 1 / g.n)),
    ("all_gather", "hierarchical"): (lambda g: g.g + g.k - 2, _everyone(_two_rings)),
    ("reduce_scatter", "ring"): (lambda g: g.n - 1, _but_one),
    ("reduce_scatter", "direct"): (lambda g: 1, _but_one),
    ("reduce_scatter", "halving"): (
        lambda g: g.active.bit_length() - 1 + g.fold_rounds,
        _halving,
    ),
    ("reduce_scatter", "pat"): (lambda g: g.log, _but_one),
    ("reduce_scatter", "nvls"): (lambda g: 1, _everyone(lambda g: 1)),
    ("reduce_scatter", "hierarchical"): (lambda g: g.g + g.k - 2, _everyone(_two_rings)),
    ("all_to_all", "direct"): (lambda g: 1, _but_one),
    ("all_to_all", "pairwise"): (lambda g: g.n - 1, _but_one),
    ("all_to_all", "bruck"): (lambda g: g.log, _everyone(lambda g: _bruck_blocks(g) / g.n)),
    ("all_to_all", "node_limited"): (
        lambda g: 2 if g.k > 1 else 1,
        _everyone(lambda g: (g.k - 1) / g.k + (g.g - 1) / g.g),
    ),
    ("broadcast", "binomial"): (lambda g: g.log, lambda g: g.children),
    ("broadcast", "direct"): (lambda g: 1, lambda g: (g.n - 1) * (g.v == 0)),
    ("broadcast", "ring"): (lambda g: g.n - 1, lambda g: g.v < g.n - 1),
    ("broadcast", "chain"): (lambda g: g.n + g.m - 2, lambda g: g.v < g.n - 1),
    ("broadcast", "scatter_all_gather"): (
        lambda g: g.log + g.n - 1,
        lambda g: (g.subtree - 1) / g.n + _but_one(g),
    ),
    ("reduce", "binomial"): (lambda g: g.log, lambda g: g.v > 0),
    ("reduce", "direct"): (lambda g: 1, lambda g: g.v > 0),
    ("scatter", "binomial"): (lambda g: g.log, lambda g: (g.subtree - 1) / g.n),
    ("scatter", "direct"): (lambda g: 1, lambda g: _but_one(g) * (g.v == 0)),
    ("gather", "binomial"): (lambda g: g.log, lambda g: g.subtree * (g.v > 0) / g.n),
    ("gather", "direct"): (lambda g: 1, lambda g: (g.v > 0) / g.n),
    ("send_recv", "direct"): (lambda g: 1, lambda g: g.v == 0),
}


def closed_form(
    collective: str,
    algorithm: str,
    n_ranks: int,
    size_bytes: int,
    root: int = 0,
    *,
    ranks_per_node: int | None = None,
    n_chunks: int = 1,
) -> ClosedForm:
    """Rounds and bytes sent by formula; exact where `size_bytes` divides into chunks.

    Args:
        collective: A key of `ALGORITHMS`.
        algorithm: One of its algorithms.
        n_ranks: n, at least 2.
        size_bytes: S.
        root: As in `gpuflow.collectives.algorithms.build`.
        ranks_per_node: As there.
        n_chunks: Chunks in the pipeline of those that have one.

    Raises:
        ValueError: There is no such algorithm, or the group has fewer than two peers.
    """
    if algorithm not in ALGORITHMS.get(collective, ()):
        raise ValueError(f"no algorithm {algorithm!r} of {collective!r}")
    if n_ranks < 2:
        raise ValueError(f"closed forms are for two ranks or more, got {n_ranks}")
    rounds, vectors = _FORMULAS[collective, algorithm]
    group = _Group(n_ranks, root, ranks_per_node or default_ranks_per_node(n_ranks), n_chunks)
    return ClosedForm(
        rounds=rounds(group), bytes_sent=vectors(group).astype(np.float64) * size_bytes
    )
