"""In which orders rings visit GPUs: one ring a channel, several channels at a time.

One ring of a group would use one NIC of a node, and on a mesh one link of a GPU. NCCL and RCCL run
rings side by side: over several nodes one for each NIC, which leaves every node at another place;
on a mesh as many as there are without a common link.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpuflow.cluster.fabric import Fabric
from gpuflow.cluster.meshes import disjoint_rings
from gpuflow.cluster.wiring import DirectWiring, FloatArray
from gpuflow.collectives.schedule import IntArray


def ring_orders(fabric: Fabric, gpus: IntArray | None = None) -> IntArray:
    """GPUs in the order of each ring over a group; shape (channels, R).

    Every ring carries an equal share of the data.

    Args:
        fabric: Where the group lies.
        gpus: The group, shape (R,); None: all GPUs.
    """
    group = np.arange(fabric.n_gpus) if gpus is None else gpus
    if not len(group):
        return group[np.newaxis]
    g = fabric.gpus_per_node
    in_turn = np.argsort(group // g, kind="stable")
    nodes, begins = np.unique(group[in_turn] // g, return_index=True)
    parts = np.split(group[in_turn], begins[1:])
    if len(nodes) == 1:
        return parts[0][_cycles(fabric, parts[0])]
    firsts = [_nic_firsts(fabric, part) for part in parts]
    cycles = [_cycles(fabric, part) for part in parts]
    return np.stack(
        [
            np.concatenate(
                [
                    part[_begun_at(turns[channel % len(turns)], first[channel % len(first)])]
                    for part, turns, first in zip(parts, cycles, firsts, strict=True)
                ]
            )
            for channel in range(max(map(len, firsts)))
        ]
    )


def path_latencies_s(fabric: Fabric, orders: IntArray, n_rounds: int) -> FloatArray:
    """Starts that a chunk meets on its way round, by protocol; shape (P,).

    A chunk waits for the hops of its own path only, so that of many rounds few pay for the network
    (NCCL counts ring steps likewise).

    Args:
        fabric: Where the rings run.
        orders: GPUs in ring order, shape (channels, R).
        n_rounds: Hops of a chunk, one a round.
    """
    n_ranks = orders.shape[1]
    following = np.roll(orders, -1, axis=1)
    hops = fabric.latency_s(orders.ravel(), following.ravel()).reshape(-1, *orders.shape)
    laps, rest = divmod(n_rounds, n_ranks)
    around = np.cumsum(np.concatenate([np.zeros_like(hops[..., :1]), hops, hops], axis=2), axis=2)
    longest = (around[..., rest : rest + n_ranks] - around[..., :n_ranks]).max(axis=(1, 2))
    return np.asarray(laps * hops.sum(axis=2).max(axis=1) + longest)


def side_by_side(fabric: Fabric, groups: IntArray) -> Iterator[tuple[IntArray, int]]:
    """The rings of many groups, shape (rings, R), and how many of them share a group's data.

    Groups with equally many rings come together.
    """
    if not isinstance(fabric.inside, DirectWiring) and _in_one_node(fabric, groups).all():
        yield groups, 1
        return
    by_channels: dict[int, list[IntArray]] = {}
    for group in groups:
        orders = ring_orders(fabric, group)
        by_channels.setdefault(len(orders), []).append(orders)
    for channels, orders_of_groups in by_channels.items():
        yield np.concatenate(orders_of_groups), channels


def _in_one_node(fabric: Fabric, groups: IntArray) -> IntArray:
    nodes = groups // fabric.gpus_per_node
    return np.asarray(nodes.min(axis=1) == nodes.max(axis=1))


def _cycles(fabric: Fabric, part: IntArray) -> IntArray:
    """Rings over GPUs of a node, as positions among them; shape (rings, len(part))."""
    if not isinstance(fabric.inside, DirectWiring):
        return np.arange(len(part))[np.newaxis]
    places = part % fabric.gpus_per_node
    return disjoint_rings(fabric.inside.strands[np.ix_(places, places)])


def _nic_firsts(fabric: Fabric, part: IntArray) -> IntArray:
    """Positions of the GPUs that are the first on their NIC."""
    if fabric.between is None:
        return np.zeros(1, dtype=np.int64)
    return np.sort(np.unique(fabric.between.nic_of[part], return_index=True)[1])


def _begun_at(cycle: IntArray, first: int) -> IntArray:
    """A ring from a position on."""
    return np.roll(cycle, -int(np.flatnonzero(cycle == first)[0]))
