"""PCIe trees: devices below switches, switches below host bridges, host bridges side by side.

G  GPUs      E  devices: GPUs, then NICs      T  transfers

    GPU - switch - host bridge - interconnect - host bridge - switch - GPU

A transfer climbs only as far as it must. What switches and host bridges pass up and down is shared
by all devices below them. Pairs of GPUs may have a bridge of their own (NVLink bridges); they then
leave the tree to the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpuflow.cluster.wiring import NO_LINK, Attachment, Parts, Rate, Start, reached
from gpuflow.collectives.schedule import IntArray
from gpuflow.scenario.spec import FabricSpec


@dataclass(frozen=True, slots=True)
class _Tier:
    """Switches or host bridges: vertices, and the links of each up and down (-1: it has none)."""

    vertices: IntArray
    up: IntArray
    down: IntArray


@dataclass(frozen=True, slots=True)
class _Devices:
    """Devices of the tree, and what they hang below; every array has shape (E,)."""

    up: IntArray
    down: IntArray
    switch: IntArray
    """-1 for a device right below a host bridge."""
    host: IntArray

    def and_more(self, other: _Devices) -> _Devices:
        """These, then the others."""
        return _Devices(
            np.append(self.up, other.up),
            np.append(self.down, other.down),
            np.append(self.switch, other.switch),
            np.append(self.host, other.host),
        )


@dataclass(frozen=True, slots=True)
class TreeWiring:
    """Up the tree to the first common vertex, and down again; or over a pair's bridge."""

    devices: _Devices
    switches: _Tier
    hosts: _Tier
    bridge: IntArray
    """By GPU: its link to the other one of its pair, or -1."""
    gpus_per_node: int
    has_switches: bool = False

    def _has_bridge(self, source: IntArray, destination: IntArray) -> IntArray:
        """Link of a pair's bridge, -1 for others."""
        a, b = source % self.gpus_per_node, destination % self.gpus_per_node
        return np.where((a ^ 1) == b, self.bridge[source], NO_LINK)

    def route(self, source: IntArray, destination: IntArray) -> IntArray:
        """Own port, switch and host bridge up, and the same down."""
        tree = self._climb(self.devices, source, destination)
        bridge = self._has_bridge(source, destination)
        tree[bridge >= 0] = NO_LINK
        tree[:, 0] = np.where(bridge >= 0, bridge, tree[:, 0])
        return tree

    def _climb(self, devices: _Devices, source: IntArray, destination: IntArray) -> IntArray:
        switch, to_switch = devices.switch[source], devices.switch[destination]
        host, to_host = devices.host[source], devices.host[destination]
        leaves_switch = (switch != to_switch) | (switch < 0)
        leaves_host = host != to_host

        def taken(is_taken: IntArray, links: IntArray) -> IntArray:
            return np.where(is_taken, links, NO_LINK)

        return np.stack(
            [
                devices.up[source],
                taken(leaves_switch & (switch >= 0), self.switches.up[switch]),
                taken(leaves_host, self.hosts.up[host]),
                taken(leaves_host, self.hosts.down[to_host]),
                taken(leaves_switch & (to_switch >= 0), self.switches.down[to_switch]),
                devices.down[destination],
            ],
            axis=1,
        )

    def starts(self, source: IntArray, destination: IntArray) -> IntArray:
        """A bridge starts as NVLink does."""
        is_bridged = self._has_bridge(source, destination) >= 0
        return np.where(is_bridged, int(Start.BRIDGE), int(Start.INSIDE))

    def attach(self, parts: Parts, nics: IntArray, nic_of: IntArray, port: float) -> Attachment:
        """NICs hang beside the first of their GPUs; the others reach them through the tree."""
        gpus = np.arange(len(nic_of))
        first = np.flatnonzero(np.diff(nic_of, prepend=-1))
        switch, host = self.devices.switch[first], self.devices.host[first]
        parent = _parents(self.switches, self.hosts, switch, host)
        node = first // self.gpus_per_node
        devices = self.devices.and_more(
            _Devices(
                up=parts.links(nics, parent, port, node),
                down=parts.links(parent, nics, port, node),
                switch=switch,
                host=host,
            )
        )
        nic = len(gpus) + nic_of
        return Attachment(out=self._climb(devices, gpus, nic), back=self._climb(devices, nic, gpus))


def _parents(switches: _Tier, hosts: _Tier, switch: IntArray, host: IntArray) -> IntArray:
    """Vertex right above devices."""
    if not len(switches.vertices):
        return hosts.vertices[host]
    return np.where(switch >= 0, switches.vertices[switch], hosts.vertices[host])


def tree(parts: Parts, gpus: IntArray, fabric: FabricSpec, rate: Rate) -> TreeWiring:
    """The tree that `gpus_per_switch`, `hosts` and `bridge` of the fabric describe.

    Neighbouring GPUs share a switch, and neighbouring switches a host bridge.
    """
    g = parts.gpus_per_node
    node, place = np.divmod(gpus, g)
    n_nodes = int(node[-1]) + 1
    port = fabric.hop_bandwidth_bytes_per_s
    below = max(fabric.gpus_per_switch, 1)
    n_hosts = min(fabric.hosts, -(-g // below))
    host_of_place = np.arange(g) // below * n_hosts // -(-g // below)
    hosts = _host_tier(parts, n_nodes, n_hosts, fabric)
    host = node * n_hosts + host_of_place[place]
    switch = np.full(len(gpus), NO_LINK)
    none = np.zeros(0, dtype=np.int64)
    switches = _Tier(none, np.full(1, NO_LINK), np.full(1, NO_LINK))
    if fabric.gpus_per_switch:
        per_node = -(-g // below)
        switch = node * per_node + place // below
        first = np.flatnonzero(np.diff(switch, prepend=-1))
        vertices = parts.vertices("pcie", len(first))
        above = hosts.vertices[host[first]]
        switches = _Tier(
            vertices,
            parts.links(vertices, above, port, node[first]),
            parts.links(above, vertices, port, node[first]),
        )
    parent = _parents(switches, hosts, switch, host)
    devices = _Devices(
        up=parts.links(gpus, parent, port, node),
        down=parts.links(parent, gpus, port, node),
        switch=switch,
        host=host,
    )
    return TreeWiring(devices, switches, hosts, _bridges(parts, gpus, fabric, rate), g)


def _host_tier(parts: Parts, n_nodes: int, n_hosts: int, fabric: FabricSpec) -> _Tier:
    """Host bridges, and the way of each to the others of its node where there are any."""
    vertices = parts.vertices("host", n_nodes * n_hosts)
    if n_hosts == 1:
        none = np.full(n_nodes, NO_LINK)
        return _Tier(vertices, none, none)
    node = np.arange(len(vertices)) // n_hosts
    middle = parts.vertices("interconnect", n_nodes)[node]
    capacity = fabric.host_link_bandwidth_bytes_per_s or fabric.hop_bandwidth_bytes_per_s
    return _Tier(
        vertices,
        parts.links(vertices, middle, capacity, node),
        parts.links(middle, vertices, capacity, node),
    )


def _bridges(parts: Parts, gpus: IntArray, fabric: FabricSpec, rate: Rate) -> IntArray:
    """A link each way within every complete pair."""
    links = np.full(len(gpus), NO_LINK)
    if fabric.bridge is None:
        return links
    g = parts.gpus_per_node
    partner = gpus // g * g + (gpus % g ^ 1)
    is_paired = (gpus % g ^ 1 < g) & (partner < len(gpus))
    paired = gpus[is_paired]
    capacity = reached(fabric.bridge, rate)
    links[is_paired] = parts.links(paired, partner[is_paired], capacity, paired // g)
    return links
