"""The fabric as vertices and directed links, and the links a transfer takes.

G  GPUs, numbered node by node      L  links      T  transfers      H  links of the longest route

A full-duplex cable is two links, one each way. Links carry what the fabric reaches, not what its
data sheet promises: capacities come from the bus bandwidth that nccl-tests reaches, so that a
ring over all GPUs of a node is charged exactly the measured rate. The cost of starting one round
(NCCL's per-step latency) lies on the first link of a route, because the sender pays it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gpuflow.collectives.schedule import IntArray
from gpuflow.scenario.spec import ClusterSpec, FabricSpec

FloatArray = NDArray[np.float64]
Rate = Literal["bus", "hop"]
"""bus: what all GPUs together reach in collectives; hop: what one lone transfer reaches."""


class Wiring(Protocol):
    """How GPUs of one tier reach each other."""

    @property
    def hops(self) -> int:
        """Links of a route between GPUs."""

    @property
    def has_switches(self) -> bool:
        """Whether routes may begin or end at a node's switch."""

    def route(self, source: IntArray, destination: IntArray) -> IntArray:
        """Link numbers, shape (T, hops), for pairs of different GPUs of this tier."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fabric:
    """Every vertex and link of the machines in use; equal machines share one object."""

    n_gpus: int
    gpus_per_node: int
    vertices: tuple[str, ...]
    """gpu0, switch0, nic0, leaf0 ...; GPU g is vertex g."""
    link_source: IntArray
    """Vertex each link leaves; shape (L,)."""
    link_destination: IntArray
    capacity_bytes_per_s: FloatArray
    latency_s: FloatArray
    inside: Wiring
    between: Wiring | None
    """None when all GPUs share one node."""

    @property
    def n_links(self) -> int:
        """L."""
        return len(self.capacity_bytes_per_s)

    @property
    def seconds_per_byte(self) -> FloatArray:
        """1 / capacity; shape (L,)."""
        return 1.0 / self.capacity_bytes_per_s

    def link_ends(self, link: int) -> tuple[str, str]:
        """Names of the vertices a link leads from and to."""
        return (
            self.vertices[int(self.link_source[link])],
            self.vertices[int(self.link_destination[link])],
        )

    @property
    def n_nodes(self) -> int:
        """Nodes, the last of which may be filled in part."""
        return -(-self.n_gpus // self.gpus_per_node)

    def node(self, place: IntArray) -> IntArray:
        """Node of a GPU, or of the switch of node i given as number G + i."""
        return np.where(place < self.n_gpus, place // self.gpus_per_node, place - self.n_gpus)

    def route(self, source: ArrayLike, destination: ArrayLike) -> IntArray:
        """The links each transfer takes, in order; shape (T, H), filled up with -1.

        Args:
            source: GPU numbers, shape (T,); G + i is the switch of node i, from or to which only
                GPUs of that node send.
            destination: Likewise; equal to the source for a local copy, which takes no link.
        """
        whence, whither = np.asarray(source), np.asarray(destination)
        hops = max(self.inside.hops, self.between.hops if self.between else 0)
        routes = np.full((len(whence), hops), -1)
        is_inside = self.node(whence) == self.node(whither)
        near = is_inside & (whence != whither)
        routes[near, : self.inside.hops] = self.inside.route(whence[near], whither[near])
        if self.between is not None:
            far = ~is_inside
            routes[far, : self.between.hops] = self.between.route(whence[far], whither[far])
        return routes


def build_fabric(cluster: ClusterSpec, n_gpus: int, rate: Rate = "bus") -> Fabric:
    """The fabric of the first `n_gpus` GPUs, filling one node after the other.

    Inside a node: `switch` gives each GPU a port of its bus bandwidth; `mesh` a link to each
    other GPU, each an equal share of it; `pcie` a port of its hop bandwidth below a bridge, whose
    way to the host and back all share (what a ring over the whole node reaches together).
    Between nodes: one NIC a GPU, and one leaf switch that does not block.

    Args:
        cluster: Device, fabrics and GPUs per node.
        n_gpus: G, at least 1.
        rate: Which of the reached bandwidths links carry; `hop` for a point-to-point message by
            itself.

    Raises:
        ValueError: There is no GPU, or a topology is not of its tier.
    """
    if n_gpus < 1:
        raise ValueError(f"a fabric needs at least one GPU, got {n_gpus}")
    return _wired(cluster.scale_up, cluster.scale_out, cluster.gpus_per_node, n_gpus, rate)


@lru_cache(maxsize=32)
def _wired(
    scale_up: FabricSpec, scale_out: FabricSpec, per_node: int, n_gpus: int, rate: Rate
) -> Fabric:
    parts = _Parts()
    gpus = parts.vertices("gpu", n_gpus)
    inside = _inside(parts, gpus, scale_up, per_node, rate)
    between = _fat_tree(parts, gpus, scale_out, rate) if n_gpus > per_node else None
    return Fabric(
        n_gpus=n_gpus,
        gpus_per_node=per_node,
        vertices=tuple(parts.names),
        link_source=np.concatenate(parts.sources),
        link_destination=np.concatenate(parts.destinations),
        capacity_bytes_per_s=np.concatenate(parts.capacities),
        latency_s=np.concatenate(parts.latencies),
        inside=inside,
        between=between,
    )


@dataclass(slots=True)
class _Parts:
    """Vertices and links as they are put together."""

    names: list[str] = field(default_factory=list)
    sources: list[IntArray] = field(default_factory=list)
    destinations: list[IntArray] = field(default_factory=list)
    capacities: list[FloatArray] = field(default_factory=list)
    latencies: list[FloatArray] = field(default_factory=list)
    n_links: int = 0

    def vertices(self, kind: str, count: int) -> IntArray:
        first = len(self.names)
        self.names += [f"{kind}{number}" for number in range(count)]
        return np.arange(first, first + count)

    def links(
        self,
        source: IntArray,
        destination: IntArray,
        capacity_bytes_per_s: float,
        latency_s: float = 0.0,
    ) -> IntArray:
        """Adds links and gives their numbers."""
        count = len(source)
        self.sources.append(source)
        self.destinations.append(destination)
        self.capacities.append(np.full(count, capacity_bytes_per_s))
        self.latencies.append(np.full(count, latency_s))
        self.n_links += count
        return np.arange(self.n_links - count, self.n_links)


# ---- inside a node


@dataclass(frozen=True, slots=True)
class SwitchWiring:
    """GPU -> switch -> GPU; a route may also begin or end at the switch."""

    to_switch: IntArray
    """By GPU; then -1 for each switch, which needs no link to itself."""
    from_switch: IntArray
    hops: int = 2
    has_switches: bool = True

    def route(self, source: IntArray, destination: IntArray) -> IntArray:
        """Two ports."""
        return np.stack([self.to_switch[source], self.from_switch[destination]], axis=1)


@dataclass(frozen=True, slots=True)
class MeshWiring:
    """GPU -> GPU, one link a pair."""

    first_link: IntArray
    """Each GPU's link to the first other GPU of its node; the others follow."""
    gpus_per_node: int
    hops: int = 1
    has_switches: bool = False

    def route(self, source: IntArray, destination: IntArray) -> IntArray:
        """The one link of the pair."""
        place = destination % self.gpus_per_node - (destination > source)
        return (self.first_link[source] + place)[:, np.newaxis]


@dataclass(frozen=True, slots=True)
class BridgeWiring:
    """GPU -> bridge -> host -> bridge -> GPU; the middle is the node's, shared by all its GPUs."""

    to_bridge: IntArray
    to_host: IntArray
    """By node."""
    from_host: IntArray
    from_bridge: IntArray
    gpus_per_node: int
    hops: int = 4
    has_switches: bool = False

    def route(self, source: IntArray, destination: IntArray) -> IntArray:
        """Own port, the node's way up and down, the other's port."""
        node = source // self.gpus_per_node
        return np.stack(
            [
                self.to_bridge[source],
                self.to_host[node],
                self.from_host[node],
                self.from_bridge[destination],
            ],
            axis=1,
        )


def _inside(parts: _Parts, gpus: IntArray, fabric: FabricSpec, per_node: int, rate: Rate) -> Wiring:
    node_of = gpus // per_node
    n_nodes = int(node_of[-1]) + 1
    latency = fabric.step_latency_s
    if fabric.topology == "switch":
        switches = parts.vertices("switch", n_nodes)[node_of]
        port = _reached(fabric, rate)
        no_link = np.full(n_nodes, -1)
        return SwitchWiring(
            to_switch=np.append(parts.links(gpus, switches, port, latency), no_link),
            from_switch=np.append(parts.links(switches, gpus, port), no_link),
        )
    if fabric.topology == "mesh":
        return _mesh(parts, gpus, fabric, per_node, rate)
    if fabric.topology == "pcie":
        bridges, hosts = parts.vertices("bridge", n_nodes), parts.vertices("host", n_nodes)
        port = fabric.hop_bandwidth_bytes_per_s
        shared = fabric.bus_bandwidth_bytes_per_s * per_node
        return BridgeWiring(
            to_bridge=parts.links(gpus, bridges[node_of], port, latency),
            to_host=parts.links(bridges, hosts, shared),
            from_host=parts.links(hosts, bridges, shared),
            from_bridge=parts.links(bridges[node_of], gpus, port),
            gpus_per_node=per_node,
        )
    raise ValueError(f"{fabric.name}: topology {fabric.topology!r} does not join GPUs of a node")


def _mesh(parts: _Parts, gpus: IntArray, fabric: FabricSpec, per_node: int, rate: Rate) -> Wiring:
    node_of = gpus // per_node
    others = np.bincount(node_of)[node_of] - 1  # (G,) a last node may be filled in part
    source = np.repeat(gpus, others)
    place = np.arange(len(source)) - np.repeat(np.cumsum(others) - others, others)
    first_of_node = node_of[source] * per_node
    # A GPU's links go to the others of its node in order, leaving itself out.
    destination = first_of_node + place + (first_of_node + place >= source)
    share = fabric.bus_bandwidth_bytes_per_s / max(per_node - 1, 1)
    capacity = fabric.hop_bandwidth_bytes_per_s if rate == "hop" else share
    links = parts.links(source, destination, capacity, fabric.step_latency_s)
    first_link = np.cumsum(others) - others + (links[0] if len(links) else 0)
    return MeshWiring(first_link, per_node)


def _reached(fabric: FabricSpec, rate: Rate) -> float:
    if rate == "hop":
        return fabric.hop_bandwidth_bytes_per_s
    return fabric.bus_bandwidth_bytes_per_s


# ---- between nodes


@dataclass(frozen=True, slots=True)
class LeafWiring:
    """GPU -> its NIC -> leaf -> NIC -> GPU."""

    to_nic: IntArray
    to_leaf: IntArray
    from_leaf: IntArray
    from_nic: IntArray
    hops: int = 4
    has_switches: bool = False

    def route(self, source: IntArray, destination: IntArray) -> IntArray:
        """Out through the sender's NIC, in through the receiver's."""
        return np.stack(
            [
                self.to_nic[source],
                self.to_leaf[source],
                self.from_leaf[destination],
                self.from_nic[destination],
            ],
            axis=1,
        )


def _fat_tree(parts: _Parts, gpus: IntArray, fabric: FabricSpec, rate: Rate) -> Wiring:
    if fabric.topology != "fat_tree":
        raise ValueError(f"{fabric.name}: topology {fabric.topology!r} does not join nodes")
    nics = parts.vertices("nic", len(gpus))
    leaf = np.repeat(parts.vertices("leaf", 1), len(gpus))
    port = _reached(fabric, rate)
    return LeafWiring(
        to_nic=parts.links(gpus, nics, port, fabric.step_latency_s),
        to_leaf=parts.links(nics, leaf, port),
        from_leaf=parts.links(leaf, nics, port),
        from_nic=parts.links(nics, gpus, port),
    )
