"""A collective algorithm as data: rounds of transfers held as columns of integers.

R  ranks in the group        T  transfers in one round
N  elements of the collective's size convention (nccl-tests): the whole vector in all_reduce,
   broadcast, reduce and send_recv; the gathered total in all_gather and gather; the whole input
   in reduce_scatter and scatter; each rank's whole send buffer in all_to_all
B  elements of one rank's working buffer (N, or more where an algorithm needs room)

Peers are positions 0..R-1 inside the group; a vertex number of R or above is a switch, whose
buffer is zero at first. All reads of a round happen before its writes, except that a switch passes
on within the round what reaches it in the round: it holds nothing back. A transfer from a peer to
itself is a local copy: it costs nothing on the fabric.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Round:
    """Transfers that happen at the same time; every column has shape (T,)."""

    source: IntArray
    destination: IntArray
    source_offset: IntArray
    """Element offset in the source's buffer."""
    destination_offset: IntArray
    count: IntArray
    """Elements moved; 0 is allowed and costs nothing."""
    add: BoolArray
    """True: added to what the destination holds; False: copied over it."""

    def __len__(self) -> int:
        return len(self.source)


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Element offsets and counts by peer; every array has shape (R,)."""

    input_offset: IntArray
    input_count: IntArray
    """0 for a peer that brings nothing."""
    output_offset: IntArray
    output_count: IntArray
    has_output: BoolArray
    """False for a peer whose buffer means nothing afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """One algorithm for one collective, group size and element count."""

    collective: str
    algorithm: str
    n_ranks: int
    n_elements: int
    """N of the module's legend."""
    buffer_elements: int
    """B: the length of every peer's working buffer."""
    root: int
    """Peer that holds or receives everything in rooted collectives; 0 elsewhere."""
    n_switches: int = 0
    """Vertices after the peers that add or multiply what passes."""
    ranks_per_node: int = 0
    """Peers of a node where the algorithm has two levels; 0 where it has one."""
    n_chunks: int = 1
    """Parts of the vector that follow each other through a pipeline."""
    own_places: Places | None = None
    """Where inputs and outputs lie if peers' sizes differ; None: as `gpuflow.collectives.places`
    says."""
    make_rounds: Callable[[], Iterator[Round]]
    """Yields the rounds afresh at each call, so that large ones need not be kept."""

    def rounds(self) -> Iterator[Round]:
        """The rounds, in order."""
        return self.make_rounds()
