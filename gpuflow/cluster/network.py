"""The network between nodes: NICs, leaf switches, and one spine that joins the leaves.

fat_tree  NICs of a node below one leaf, at most `leaf_ports` a leaf
rail      the i-th NICs of `leaf_ports` nodes below one leaf: rail i

A leaf's uplink carries what the NICs below it carry together, over the oversubscription; the spine
does not block. Between rails data crosses the spine; or, with PXN (NCCL 2.12), it first goes inside
the node to the GPU on the receiver's rail, whose NIC sends it, and stays below one leaf.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpuflow.cluster.wiring import NO_LINK, Attachment, Parts, Rate, Start, Wiring, reached
from gpuflow.collectives.schedule import IntArray
from gpuflow.scenario.spec import FabricSpec


@dataclass(frozen=True, slots=True)
class Network:
    """Routes between nodes, put together from tables."""

    inside: Wiring
    attachment: Attachment
    nic_of: IntArray
    """By GPU."""
    to_leaf: IntArray
    """By NIC."""
    from_leaf: IntArray
    leaf_of: IntArray
    to_spine: IntArray
    """By leaf; -1 for an only leaf."""
    from_spine: IntArray
    rail_of: IntArray
    """By GPU; alike for all where there are no rails."""
    pxn: bool
    gpus_per_node: int
    nodes_per_group: int
    """Nodes below the same leaves."""

    def _relay(self, source: IntArray, destination: IntArray) -> IntArray:
        """The GPU whose NIC sends: the source, or with PXN one on the destination's rail."""
        if not self.pxn:
            return source
        g = self.gpus_per_node
        relay = source // g * g + destination % g
        changes = (self.rail_of[source] != self.rail_of[destination]) & (relay < len(self.rail_of))
        return np.where(changes, relay, source)

    def _crosses(self, relay: IntArray, destination: IntArray) -> IntArray:
        leaf, to_leaf = self.leaf_of[self.nic_of[relay]], self.leaf_of[self.nic_of[destination]]
        return np.asarray(leaf != to_leaf)

    def route(self, source: IntArray, destination: IntArray) -> IntArray:
        """To the NIC, leaf, spine, leaf, NIC and from there; shape (T, H)."""
        relay = self._relay(source, destination)
        crosses = self._crosses(relay, destination)
        nic, to_nic = self.nic_of[relay], self.nic_of[destination]
        wire = np.stack(
            [
                self.to_leaf[nic],
                np.where(crosses, self.to_spine[self.leaf_of[nic]], NO_LINK),
                np.where(crosses, self.from_spine[self.leaf_of[to_nic]], NO_LINK),
                self.from_leaf[to_nic],
            ],
            axis=1,
        )
        columns = [self.attachment.out[relay], wire, self.attachment.back[destination]]
        is_relayed = relay != source
        if is_relayed.any():
            first = self.inside.route(source[is_relayed], relay[is_relayed])
            inner = np.full((len(source), first.shape[1]), NO_LINK)
            inner[is_relayed] = first
            columns.insert(0, inner)
        return np.concatenate(columns, axis=1)

    def starts(self, source: IntArray, destination: IntArray) -> IntArray:
        """One start at the NIC, more with a relay or a spine."""
        relay = self._relay(source, destination)
        crosses = self._crosses(relay, destination)
        plain = np.where(crosses, int(Start.SPINE), int(Start.NETWORK))
        relayed = np.where(crosses, int(Start.RELAYED_SPINE), int(Start.RELAYED))
        return np.where(relay != source, relayed, plain)


def network(
    parts: Parts,
    gpus: IntArray,
    inside: Wiring,
    fabric: FabricSpec,
    nics_per_node: int,
    can_relay: bool,
    rate: Rate,
) -> Network:
    """NICs, leaves and spine for GPUs that lie in several nodes.

    Args:
        parts: Where vertices and links go.
        gpus: All GPUs.
        inside: Their wiring inside nodes.
        fabric: The network.
        nics_per_node: Shared by neighbouring GPUs.
        can_relay: Whether GPUs pass on for others (PXN needs NVLink or its like).
        rate: What links carry.

    Raises:
        ValueError: The fabric joins no nodes, or its NICs cannot be shared out among a node's GPUs.
    """
    g, per_node = parts.gpus_per_node, nics_per_node
    if fabric.topology not in {"fat_tree", "rail"}:
        raise ValueError(f"{fabric.name}: topology {fabric.topology!r} does not join nodes")
    if per_node > g or g % per_node:
        raise ValueError(f"{g} GPUs cannot share {per_node} NICs evenly")
    sharing = g // per_node
    port = reached(fabric, rate) * sharing
    node, place = np.divmod(gpus, g)
    nic_of = node * per_node + place // sharing
    n_nics = int(nic_of[-1]) + 1
    nics = parts.vertices("nic", n_nics)
    nic_node, rail = np.divmod(np.arange(n_nics), per_node)
    is_rail = fabric.topology == "rail"
    ports = fabric.leaf_ports or n_nics
    group_nodes = _nodes_per_group(fabric, per_node, n_nodes=int(node[-1]) + 1)
    # Leaves are numbered group by group, and in a group rail by rail; a node with more NICs than a
    # leaf has ports takes several.
    leaf_key = nic_node // group_nodes * per_node + (rail if is_rail else rail // ports)
    keys, leaf_of, leaf_nics = np.unique(leaf_key, return_inverse=True, return_counts=True)
    leaves = parts.vertices("leaf", len(keys))
    attachment = inside.attach(parts, nics, nic_of, port)
    to_leaf = parts.links(nics, leaves[leaf_of], port, nic_node)
    from_leaf = parts.links(leaves[leaf_of], nics, port, nic_node)
    to_spine = from_spine = np.full(len(leaves), NO_LINK)
    if len(leaves) > 1:
        spine = np.repeat(parts.vertices("spine", 1), len(leaves))
        uplink = leaf_nics * port / fabric.oversubscription
        first_node = np.asarray(keys // per_node * group_nodes, dtype=np.int64)
        to_spine = parts.links(leaves, spine, uplink, first_node)
        from_spine = parts.links(spine, leaves, uplink, first_node)
    return Network(
        inside=inside,
        attachment=attachment,
        nic_of=nic_of,
        to_leaf=to_leaf,
        from_leaf=from_leaf,
        leaf_of=leaf_of,
        to_spine=to_spine,
        from_spine=from_spine,
        rail_of=rail[nic_of] if is_rail else nic_of * 0,
        pxn=is_rail and fabric.pxn and can_relay,
        gpus_per_node=g,
        nodes_per_group=group_nodes,
    )


def _nodes_per_group(fabric: FabricSpec, nics_per_node: int, n_nodes: int) -> int:
    """Nodes that the same leaves serve."""
    if not fabric.leaf_ports:
        return n_nodes
    a_leaf = 1 if fabric.topology == "rail" else nics_per_node
    return max(1, fabric.leaf_ports // a_leaf)
