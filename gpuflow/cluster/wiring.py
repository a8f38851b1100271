"""How GPUs of one node reach each other: through a switch, over direct links, or up a PCIe tree.

G  GPUs, numbered node by node      g  GPUs of a node      T  transfers      H  links of a route

Every kind of wiring puts its vertices and links into a `Parts` and keeps tables, from which routes
of many transfers are read at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpuflow.collectives.schedule import IntArray
from gpuflow.scenario.spec import FabricSpec

FloatArray = NDArray[np.float64]
Rate = Literal["bus", "hop"]
"""bus: what all GPUs together reach in collectives; hop: what one lone transfer reaches."""

NO_LINK = -1


class Start(IntEnum):
    """What the start of a transfer costs, apart from its bytes: kinds of routes."""

    LOCAL = 0
    INSIDE = 1
    INSIDE_TWICE = 2
    """Passed on by a GPU that both ends have a link to."""
    BRIDGE = 3
    NETWORK = 4
    SPINE = 5
    """Over the network, beyond the first switch."""
    RELAYED = 6
    """Inside the node first, then over the network."""
    RELAYED_SPINE = 7


class Wiring(Protocol):
    """How GPUs of a node reach each other."""

    @property
    def has_switches(self) -> bool:
        """Whether routes may begin or end at a node's switch."""

    def route(self, source: IntArray, destination: IntArray) -> IntArray:
        """Link numbers, shape (T, H), for pairs of different GPUs of a node; -1 is no link."""

    def starts(self, source: IntArray, destination: IntArray) -> IntArray:
        """`Start` of each transfer, shape (T,)."""

    def attach(self, parts: Parts, nics: IntArray, nic_of: IntArray, port: float) -> Attachment:
        """Joins NICs to the node.

        Args:
            parts: Where the links go.
            nics: Vertices of the NICs.
            nic_of: Number of each GPU's NIC, shape (G,).
            port: Bytes/s that a NIC reaches.
        """


@dataclass(frozen=True, slots=True)
class Attachment:
    """Ways between GPUs and their NICs, shape (G, H) each; -1 is no link."""

    out: IntArray
    back: IntArray


@dataclass(slots=True)
class Parts:
    """Vertices and links as they are put together."""

    gpus_per_node: int
    names: list[str] = field(default_factory=list)
    sources: list[IntArray] = field(default_factory=list)
    destinations: list[IntArray] = field(default_factory=list)
    capacities: list[FloatArray] = field(default_factory=list)
    nodes: list[IntArray] = field(default_factory=list)
    kinds: list[IntArray] = field(default_factory=list)
    n_links: int = 0
    n_kinds: int = 0

    def vertices(self, kind: str, count: int) -> IntArray:
        """Adds vertices kind0, kind1 ... and gives their numbers."""
        first = len(self.names)
        self.names += [f"{kind}{number}" for number in range(count)]
        return np.arange(first, first + count)

    def links(
        self, source: IntArray, destination: IntArray, capacity: ArrayLike, node: IntArray
    ) -> IntArray:
        """Adds links and gives their numbers.

        Args:
            source: Vertices they leave.
            destination: Vertices they lead to.
            capacity: Bytes/s, one for all or one each.
            node: The node each belongs to, rising; of a leaf switch the first node below it.
        """
        count = len(source)
        self.sources.append(source)
        self.destinations.append(destination)
        self.capacities.append(np.broadcast_to(np.asarray(capacity, dtype=np.float64), (count,)))
        self.nodes.append(node)
        # The i-th link of one node corresponds to the i-th of another.
        place = np.arange(count) - np.searchsorted(node, node)
        self.kinds.append(self.n_kinds + place)
        self.n_kinds += int(place.max(initial=-1)) + 1
        self.n_links += count
        return np.arange(self.n_links - count, self.n_links)


def attach_directly(parts: Parts, nics: IntArray, nic_of: IntArray, port: float) -> Attachment:
    """A link each way between every GPU and its NIC, as wide as the NIC."""
    gpus = np.arange(len(nic_of))
    node = gpus // parts.gpus_per_node
    return Attachment(
        out=parts.links(gpus, nics[nic_of], port, node)[:, np.newaxis],
        back=parts.links(nics[nic_of], gpus, port, node)[:, np.newaxis],
    )


@dataclass(frozen=True, slots=True)
class SwitchWiring:
    """GPU -> switch -> GPU; a route may also begin or end at the switch."""

    to_switch: IntArray
    """By GPU; then -1 for each switch, which needs no link to itself."""
    from_switch: IntArray
    has_switches: bool = True

    def route(self, source: IntArray, destination: IntArray) -> IntArray:
        """Two ports."""
        return np.stack([self.to_switch[source], self.from_switch[destination]], axis=1)

    def starts(self, source: IntArray, destination: IntArray) -> IntArray:
        """All alike."""
        return np.full(len(source), int(Start.INSIDE))

    def attach(self, parts: Parts, nics: IntArray, nic_of: IntArray, port: float) -> Attachment:
        """A link each way."""
        return attach_directly(parts, nics, nic_of, port)


def switched(parts: Parts, gpus: IntArray, fabric: FabricSpec, rate: Rate) -> SwitchWiring:
    """One switch a node, with a port for each GPU."""
    node = gpus // parts.gpus_per_node
    n_nodes = int(node[-1]) + 1
    switches = parts.vertices("switch", n_nodes)[node]
    port = reached(fabric, rate)
    none = np.full(n_nodes, NO_LINK)
    return SwitchWiring(
        to_switch=np.append(parts.links(gpus, switches, port, node), none),
        from_switch=np.append(parts.links(switches, gpus, port, node), none),
    )


def reached(fabric: FabricSpec, rate: Rate) -> float:
    """Bytes/s of a GPU."""
    return fabric.hop_bandwidth_bytes_per_s if rate == "hop" else fabric.bus_bandwidth_bytes_per_s


@dataclass(frozen=True, slots=True)
class DirectWiring:
    """GPU -> GPU, straight or passed on by one GPU in between.

    Tables are by place in the node: [0] for a node that is filled, [1] for a last one filled in
    part; shape (2, g, g).
    """

    link: IntArray
    """Link of each pair, counted from the node's first; -1 where they have none."""
    via: IntArray
    """Place that passes on between those."""
    first_link: IntArray
    """By node."""
    n_filled: int
    """Nodes that are filled."""
    gpus_per_node: int
    strands: IntArray
    """Parallel links that make up the link of each pair of places; shape (g, g)."""
    has_switches: bool = False

    def _pair(self, source: IntArray, destination: IntArray) -> tuple[IntArray, ...]:
        node, a = np.divmod(source, self.gpus_per_node)
        return (node >= self.n_filled).astype(np.int64), a, destination % self.gpus_per_node, node

    def route(self, source: IntArray, destination: IntArray) -> IntArray:
        """The link of the pair, or the two by way of another GPU."""
        which, a, b, node = self._pair(source, destination)
        first = self.first_link[node]
        middle = self.via[which, a, b]
        if not (middle >= 0).any():
            return (first + self.link[which, a, b])[:, np.newaxis]
        is_straight = middle < 0
        turn = np.where(is_straight, b, middle)
        onward = first + self.link[which, turn, b]
        return np.stack(
            [first + self.link[which, a, turn], np.where(is_straight, NO_LINK, onward)], axis=1
        )

    def starts(self, source: IntArray, destination: IntArray) -> IntArray:
        """One, or two where a GPU passes on."""
        which, a, b, _ = self._pair(source, destination)
        is_straight = self.via[which, a, b] < 0
        return np.where(is_straight, int(Start.INSIDE), int(Start.INSIDE_TWICE))

    def attach(self, parts: Parts, nics: IntArray, nic_of: IntArray, port: float) -> Attachment:
        """A link each way."""
        return attach_directly(parts, nics, nic_of, port)


def direct(
    parts: Parts,
    gpus: IntArray,
    strands: tuple[IntArray, IntArray],
    strand_bytes_per_s: float,
    via: tuple[IntArray, IntArray],
) -> DirectWiring:
    """Links between the pairs that have any.

    Args:
        parts: Where links go.
        gpus: All GPUs.
        strands: Parallel links of each pair of places, in a filled node (g, g) and in the last
            one (its GPUs, twice).
        strand_bytes_per_s: Capacity of one of them; those of a pair make one link.
        via: Place that passes on between pairs without any, else -1; likewise.
    """
    g = parts.gpus_per_node
    n_filled = len(gpus) // g
    link, by_way = np.full((2, g, g), NO_LINK), np.full((2, g, g), NO_LINK)
    for which, (table, middle) in enumerate(zip(strands, via, strict=True)):
        m = len(table)
        link[which, :m, :m][table > 0] = np.arange(np.count_nonzero(table))
        by_way[which, :m, :m] = middle
    node_first = []
    for which, nodes in ((0, np.arange(n_filled)), (1, np.arange(n_filled, n_filled + 1))):
        table = strands[which]
        if which == 1 and not len(table):
            break
        a, b = (np.tile(place, len(nodes)) for place in np.nonzero(table))
        node = np.repeat(nodes, np.count_nonzero(table))
        capacity = np.tile(table[table > 0] * strand_bytes_per_s, len(nodes))
        made = parts.links(node * g + a, node * g + b, capacity, node)
        first = made[0] if len(made) else parts.n_links
        node_first.append(first + np.arange(len(nodes)) * np.count_nonzero(table))
    return DirectWiring(
        link=link,
        via=by_way,
        first_link=np.concatenate(node_first),
        n_filled=n_filled,
        gpus_per_node=g,
        strands=strands[0],
    )
