"""Charges a schedule to the links of a fabric: how long it takes, and what every link carries.

K  rounds at a time        T  transfers of a round        L  links        R  ranks of a group
P  protocols: LL, LL128, Simple

Rounds are synchronous: one begins when the slowest transfer of the last is done. A round takes
the latency of its slowest start plus the largest bytes / capacity over all links; transfers that
share a link share its bandwidth. Times are those of Simple, which fills links best; what starts
take under the other protocols is told beside.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpuflow.cluster.fabric import Fabric
from gpuflow.cluster.nccl_model import PROTOCOLS, Protocol
from gpuflow.cluster.steps import Family, family_of
from gpuflow.collectives.schedule import IntArray, Round, Schedule

FloatArray = NDArray[np.float64]

_BLOCK_TRANSFERS = 1 << 15
_BLOCK_ROUNDS = 256
"""At most so much is charged in one go: a block of 256 KiB stays in the processor's cache."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """What a schedule costs on a fabric."""

    time_s: float
    latency_s: float
    """The part of the time that does not depend on sizes: the starts of all rounds."""
    latencies_s: FloatArray
    """That part under each protocol; shape (P,)."""
    messages: int
    """Messages of the GPU that sends most of them in a round, over all rounds."""
    round_times_s: FloatArray
    """One entry a round; they add up to `time_s`."""
    link_bytes: FloatArray
    """Bytes over each link, all rounds together; shape (L,)."""
    bytes_sent: FloatArray
    """Bytes each GPU of the fabric sends to others; shape (G,)."""

    @property
    def rounds(self) -> int:
        """Number of rounds."""
        return len(self.round_times_s)


def charge(
    schedule: Schedule,
    fabric: Fabric,
    gpus: ArrayLike,
    itemsize: float,
    latency_s: float | None = None,
    protocol: Protocol = "simple",
) -> Charge:
    """Charges all rounds of a schedule, streaming them.

    Args:
        schedule: What moves.
        fabric: Where it moves.
        gpus: GPU of each peer, shape (R,); or (groups, R) for groups that run the schedule at the
            same time and share links.
        itemsize: Bytes of an element.
        latency_s: Start of a round; None: what the fabric says.
        protocol: Whose starts count.

    Raises:
        ValueError: `gpus` does not fit the schedule or the fabric, or the schedule needs a switch
            and a group is not behind one.
    """
    return charge_rounds(
        schedule.rounds(),
        fabric,
        _members(schedule, fabric, gpus),
        itemsize,
        latency_s,
        protocol,
        family_of(schedule.algorithm),
    )


def round_loads(
    schedule: Schedule, fabric: Fabric, gpus: ArrayLike
) -> tuple[FloatArray, FloatArray]:
    """What `charge` makes of each round by itself.

    Returns:
        Starts (s), shape (P, K), and elements by link, shape (K, L).

    Raises:
        ValueError: As `charge`.
    """
    members = _members(schedule, fabric, gpus)
    starts: list[FloatArray] = [np.zeros((len(PROTOCOLS), 0))]
    loads: list[FloatArray] = [np.zeros((0, fabric.n_links))]
    for one in schedule.rounds():
        pairs = _Pairs(
            one.source, one.destination, fabric, members, None, family_of(schedule.algorithm)
        )
        counts = one.count.astype(np.float64)
        starts.append(pairs.starts(counts[np.newaxis]))
        load = np.bincount(pairs.links, weights=counts[pairs.users], minlength=fabric.n_links)
        loads.append(load[np.newaxis].astype(np.float64, copy=False))
    return np.concatenate(starts, axis=1), np.concatenate(loads)


def _members(schedule: Schedule, fabric: Fabric, gpus: ArrayLike) -> IntArray:
    """GPUs of each group, shape (groups, R); with the switch of their node, where one is needed."""
    members = np.atleast_2d(np.asarray(gpus, dtype=np.int64))
    if members.shape[1] != schedule.n_ranks:
        raise ValueError(f"{schedule.n_ranks} ranks need as many GPUs, got {members.shape[1]}")
    if members.size and (members.min() < 0 or members.max() >= fabric.n_gpus):
        raise ValueError(f"GPU numbers are 0..{fabric.n_gpus - 1}")
    if not schedule.n_switches:
        return members
    nodes = fabric.node(members)
    if not fabric.inside.has_switches or (nodes != nodes[:, :1]).any():
        raise ValueError("a switch that adds needs all GPUs of a group behind it")
    return np.concatenate([members, fabric.n_gpus + nodes[:, :1]], axis=1)


def charge_rounds(
    rounds: Iterable[Round],
    fabric: Fabric,
    members: IntArray,
    itemsize: float,
    latency_s: float | None = None,
    protocol: Protocol = "simple",
    family: Family = "ring",
) -> Charge:
    """`charge` for rounds at hand; `members` has shape (groups, R), or one more for the switch."""
    ledger = _Ledger(fabric, members, latency_s, family)
    for one in rounds:
        ledger.enter(one)
    return ledger.close(itemsize, PROTOCOLS.index(protocol))


class _Ledger:
    """Sums up rounds; neighbours between the same pairs are charged together."""

    def __init__(
        self, fabric: Fabric, members: IntArray, latency_s: float | None, family: Family
    ) -> None:
        self.fabric = fabric
        self.members = members
        self.latency_s = latency_s
        self.family = family
        self.messages = 0
        self.link_elements = np.zeros(fabric.n_links)
        self.sent_elements = np.zeros(fabric.n_gpus + fabric.n_nodes)
        self.starts: list[FloatArray] = []
        self.transfers: list[FloatArray] = []
        self.pairs: _Pairs | None = None

    def enter(self, one: Round) -> None:
        pairs = self.pairs
        # Algorithms hand out the same arrays again when the pairs stay the same, so looking at
        # identity is enough; comparing the numbers would only cost time.
        if (
            pairs is None
            or pairs.source is not one.source
            or pairs.destination is not one.destination
        ):
            self._leave_pairs()
            pairs = self.pairs = _Pairs(
                one.source, one.destination, self.fabric, self.members, self.latency_s, self.family
            )
        pairs.block[pairs.n_pending] = one.count
        pairs.n_pending += 1
        self.messages += pairs.messages
        if pairs.n_pending == len(pairs.block):
            self._settle(pairs)

    def _settle(self, pairs: _Pairs) -> None:
        if pairs.n_pending:
            starts, transfers = pairs.settle()
            self.starts.append(starts)
            self.transfers.append(transfers)

    def _leave_pairs(self) -> None:
        if self.pairs is not None:
            self._settle(self.pairs)
            self.pairs.enter_totals(self.link_elements, self.sent_elements)

    def close(self, itemsize: float, protocol: int) -> Charge:
        self._leave_pairs()
        starts = np.concatenate([np.zeros((len(PROTOCOLS), 0)), *self.starts], axis=1)
        transfers = np.concatenate([np.zeros(0), *self.transfers])
        times = starts[protocol] + transfers * itemsize
        latencies = starts.sum(axis=1)
        return Charge(
            time_s=float(times.sum()),
            latency_s=float(latencies[protocol]),
            latencies_s=latencies,
            messages=self.messages,
            round_times_s=times,
            link_bytes=self.link_elements * itemsize,
            bytes_sent=self.sent_elements[: self.fabric.n_gpus] * itemsize,
        )


class _Pairs:
    """Sources and destinations that one or more rounds have in common, with their routes."""

    def __init__(
        self,
        source: IntArray,
        destination: IntArray,
        fabric: Fabric,
        members: IntArray,
        latency_s: float | None,
        family: Family,
    ) -> None:
        self.source, self.destination = source, destination
        self.fabric = fabric
        self.members = members
        self.n_transfers = len(source)
        self.totals = np.zeros(self.n_transfers)
        n_rounds = max(1, min(_BLOCK_ROUNDS, _BLOCK_TRANSFERS // max(self.n_transfers, 1)))
        self.block = np.empty((n_rounds, self.n_transfers))
        """Elements of rounds that wait to be charged, (K, T); the first `n_pending` are filled."""
        self.n_pending = 0

        whence, whither = members[:, source].ravel(), members[:, destination].ravel()
        routes = fabric.passes(whence, whither)
        is_used = routes >= 0
        self.links = routes[is_used]
        """Links of all routes, transfer by transfer; `users` says whose."""
        self.users = np.repeat(np.arange(len(routes)), is_used.sum(axis=1)) % self.n_transfers
        start = fabric.latency_s(whence, whither, family)
        self.start = start.reshape(len(start), len(members), -1).max(axis=1)  # (P, T)
        if latency_s is not None:
            self.start = np.tile(np.where(source != destination, latency_s, 0.0), (len(start), 1))
        self.slowest_start = self.start.max(axis=1, initial=0.0)
        is_gpu = members[0, source] < fabric.n_gpus
        self.messages = most_messages(source[is_gpu], destination[is_gpu], members.shape[1])

    def settle(self) -> tuple[FloatArray, FloatArray]:
        """Starts (s), (P, K), and elements / capacity (s per byte), (K,), of the waiting rounds."""
        counts = self.block[: self.n_pending]
        self.n_pending = 0
        self.totals += counts.sum(axis=0)
        return self.starts(counts), self._slowest(counts)

    def starts(self, counts: FloatArray) -> FloatArray:
        """The slowest start among the transfers that move anything; shape (P, K)."""
        if counts.size and counts.min() > 0:
            return np.tile(self.slowest_start[:, np.newaxis], len(counts))
        moving = counts > 0
        return np.stack([(moving * start).max(axis=1, initial=0.0) for start in self.start])

    def _slowest(self, counts: FloatArray) -> FloatArray:
        """Largest elements / capacity over all links."""
        if len(counts) == 1:
            load = np.bincount(self.links, counts[0, self.users], minlength=self.fabric.n_links)
            return np.array([(load * self.fabric.seconds_per_byte).max(initial=0.0)])
        slowness, shared_users, shared_starts, shared_slowness = self._link_classes
        worst = (counts * slowness).max(axis=1, initial=0.0)
        if len(shared_starts):
            loads = np.add.reduceat(counts[:, shared_users], shared_starts, axis=1)
            worst = np.maximum(worst, (loads * shared_slowness).max(axis=1))
        return np.asarray(worst)

    @cached_property
    def _link_classes(self) -> tuple[FloatArray, IntArray, IntArray, FloatArray]:
        """Links of one transfer folded into it, and the others with the transfers they carry.

        Returns:
            1 / least capacity among the links that a transfer has to itself, shape (T,); the
            transfers of all shared links, link by link; where each link begins there; and
            1 / capacity of each shared link.
        """
        order = np.argsort(self.links, kind="stable")
        links, users = self.links[order], self.users[order]
        n_users = np.bincount(links, minlength=self.fabric.n_links)
        slowness_of_link = self.fabric.seconds_per_byte
        is_alone = n_users[links] == 1
        slowness = np.zeros(self.n_transfers)
        np.maximum.at(slowness, users[is_alone], slowness_of_link[links[is_alone]])
        shared = n_users > 1
        sizes = n_users[shared]
        return slowness, users[~is_alone], np.cumsum(sizes) - sizes, slowness_of_link[shared]

    def enter_totals(self, link_elements: FloatArray, sent_elements: FloatArray) -> None:
        """Adds what all rounds between these pairs moved."""
        link_elements += np.bincount(
            self.links, self.totals[self.users], minlength=len(link_elements)
        )
        moved = self.totals * (self.source != self.destination)
        sent_elements += np.bincount(
            self.members[:, self.source].ravel(),
            np.tile(moved, len(self.members)),
            minlength=len(sent_elements),
        )


def most_messages(source: IntArray, destination: IntArray, n_vertices: int) -> int:
    """Others that one peer sends to in a round, at most; what goes to the same one is a message."""
    pairs = (source * n_vertices + destination)[source != destination]
    if len(pairs) > n_vertices:
        # As numpy's unique does, which would load masked arrays first.
        pairs = np.sort(pairs)
        pairs = pairs[np.diff(pairs, prepend=-1) > 0]
    return int(np.bincount(pairs // n_vertices, minlength=1).max())
