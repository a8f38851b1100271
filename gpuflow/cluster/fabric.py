"""The fabric as vertices and directed links, and the links a transfer takes.

G  GPUs, numbered node by node      L  links      T  transfers      H  links of the longest route
P  protocols: LL, LL128, Simple

A full-duplex cable is two links, one each way. Links carry what the fabric reaches, not what its
data sheet promises: capacities come from the bus bandwidth that nccl-tests reaches, so that a
ring over all GPUs of a node is charged exactly the measured rate.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from gpuflow.cluster.meshes import cube_mesh, full_mesh
from gpuflow.cluster.network import Network, network
from gpuflow.cluster.pcie import tree
from gpuflow.cluster.steps import FAMILIES, Family, start_table
from gpuflow.cluster.wiring import NO_LINK, FloatArray, Parts, Rate, Start, Wiring, switched
from gpuflow.collectives.schedule import BoolArray, IntArray
from gpuflow.scenario.spec import ClusterSpec, FabricSpec


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Fabric:
    """Every vertex and link of the machines in use; equal machines share one object."""

    n_gpus: int
    gpus_per_node: int
    vertices: tuple[str, ...]
    """gpu0, switch0, pcie0, host0, interconnect0, nic0, leaf0, spine0 ...; GPU g is vertex g."""
    link_source: IntArray
    """Vertex each link leaves; shape (L,)."""
    link_destination: IntArray
    capacity_bytes_per_s: FloatArray
    link_node: IntArray
    """Node each link belongs to; for leaf switches the first node below."""
    link_kind: IntArray
    """Alike for links that correspond to each other in different nodes."""
    start_s: FloatArray
    """What starts cost, by family, protocol and kind (`gpuflow.cluster.steps`); shape (2, P, K)."""
    inside: Wiring
    between: Network | None
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
        passes = self.passes(np.asarray(source), np.asarray(destination))
        in_front = np.argsort(passes < 0, axis=1, kind="stable")
        return np.take_along_axis(passes, in_front, axis=1)

    def passes(self, source: IntArray, destination: IntArray) -> IntArray:
        """As `route`, but -1 may stand anywhere."""
        near, far = self._near_and_far(source, destination)
        inner = self.inside.route(source[near], destination[near])
        if self.between is None or not far.any():
            return _spread(near, inner, inner.shape[1])
        outer = self.between.route(source[far], destination[far])
        hops = max(inner.shape[1], outer.shape[1])
        routes = _spread(near, inner, hops)
        routes[far, : outer.shape[1]] = outer
        return routes

    def _near_and_far(self, source: IntArray, destination: IntArray) -> tuple[BoolArray, BoolArray]:
        is_inside = self.node(source) == self.node(destination)
        return is_inside & (source != destination), ~is_inside

    def starts(self, source: IntArray, destination: IntArray) -> IntArray:
        """`Start` of each transfer, shape (T,)."""
        near, far = self._near_and_far(source, destination)
        starts = np.full(len(source), int(Start.LOCAL))
        starts[near] = self.inside.starts(source[near], destination[near])
        if self.between is not None:
            starts[far] = self.between.starts(source[far], destination[far])
        return starts

    def latency_s(
        self, source: ArrayLike, destination: ArrayLike, family: Family = "ring"
    ) -> FloatArray:
        """What it takes to start each transfer, by protocol; shape (P, T)."""
        starts = self.starts(np.asarray(source), np.asarray(destination))
        return np.asarray(self.start_s[FAMILIES.index(family)][:, starts])


def _spread(is_one: BoolArray, links: IntArray, hops: int) -> IntArray:
    routes = np.full((len(is_one), hops), NO_LINK)
    routes[is_one, : links.shape[1]] = links
    return routes


def build_fabric(cluster: ClusterSpec, n_gpus: int, rate: Rate = "bus") -> Fabric:
    """The fabric of the first `n_gpus` GPUs, filling one node after the other.

    Inside a node: `switch` gives each GPU a port of its bus bandwidth; `mesh` a link to each
    other GPU, each an equal share of it, and `cube_mesh` links to four of them; `pcie` is a tree
    of ports of its hop bandwidth (`gpuflow.cluster.pcie`). Between nodes there is a network of
    leaves and a spine (`gpuflow.cluster.network`).

    Args:
        cluster: Device, fabrics, GPUs and NICs per node.
        n_gpus: G, at least 1.
        rate: Which of the reached bandwidths links carry; `hop` for a point-to-point message by
            itself.

    Raises:
        ValueError: There is no GPU, a topology is not of its tier, or does not fit the node.
    """
    if n_gpus < 1:
        raise ValueError(f"a fabric needs at least one GPU, got {n_gpus}")
    return _wired(
        cluster.scale_up,
        cluster.scale_out,
        cluster.gpus_per_node,
        cluster.nics_per_node,
        n_gpus,
        rate,
    )


@lru_cache(maxsize=32)
def _wired(
    scale_up: FabricSpec,
    scale_out: FabricSpec,
    per_node: int,
    nics_per_node: int | None,
    n_gpus: int,
    rate: Rate,
) -> Fabric:
    parts = Parts(per_node)
    gpus = parts.vertices("gpu", n_gpus)
    if scale_up.topology not in _INSIDE:
        told = f"{scale_up.name}: topology {scale_up.topology!r} does not join GPUs of a node"
        raise ValueError(told)
    inside = _INSIDE[scale_up.topology](parts, gpus, scale_up, rate)
    has_network = n_gpus > per_node
    can_relay = scale_up.topology != "pcie"
    between = (
        network(parts, gpus, inside, scale_out, nics_per_node or per_node, can_relay, rate)
        if has_network
        else None
    )
    return Fabric(
        n_gpus=n_gpus,
        gpus_per_node=per_node,
        vertices=tuple(parts.names),
        link_source=np.concatenate(parts.sources),
        link_destination=np.concatenate(parts.destinations),
        capacity_bytes_per_s=np.concatenate(parts.capacities),
        link_node=np.concatenate(parts.nodes),
        link_kind=np.concatenate(parts.kinds),
        start_s=start_table(scale_up, scale_out),
        inside=inside,
        between=between,
    )


_INSIDE: dict[str, Callable[[Parts, IntArray, FabricSpec, Rate], Wiring]] = {
    "switch": switched,
    "mesh": full_mesh,
    "cube_mesh": cube_mesh,
    "pcie": tree,
}
