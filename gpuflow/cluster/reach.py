"""Which fabric a group runs over, and what the group reaches of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from gpuflow.cluster.mesh import Groups
from gpuflow.cluster.meshes import CUBE_STRANDS, cube_strands
from gpuflow.collectives.schedule import IntArray
from gpuflow.scenario.spec import CUBE_MESH_GPUS, ClusterSpec, FabricSpec


def group_fabric(cluster: ClusterSpec, groups: Groups, *, runs_rings: bool = False) -> FabricSpec:
    """The slowest fabric that any of the groups crosses, with the rate that a group reaches.

    Groups over several nodes take the network. Pairs on a bridge take that. Where GPUs are joined
    directly, a group uses only the links among its members: that part of the bus bandwidth.

    Args:
        cluster: The machines.
        groups: Ranks of each group, equally many; rank r runs on GPU r.
        runs_rings: True for collectives that libraries run as rings side by side over all NICs of
            a node: a group then reaches what its NICs carry together, at most its own node's rate.
    """
    g = cluster.gpus_per_node
    ranks = np.asarray(groups, dtype=np.int64)
    if _differs(ranks // g):
        return _over_all_nics(cluster, ranks // g) if runs_rings else cluster.scale_out
    fabric = cluster.scale_up
    places = ranks % g
    if fabric.bridge is not None and not _differs(places // 2):
        return fabric.bridge
    if fabric.topology == "mesh":
        strands, all_strands = 1 - np.eye(g, dtype=np.int64), g - 1
    elif fabric.topology == "cube_mesh" and g <= CUBE_MESH_GPUS:
        strands, all_strands = cube_strands(g), CUBE_STRANDS
    else:
        return fabric
    used = min(
        int(strands[np.ix_(place, place)].sum(axis=1).min()) for place in np.unique(places, axis=0)
    )
    # Members without a common link pass data on for each other, one link at a time.
    share = max(used, 1) / max(all_strands, 1)
    if share >= 1:
        return fabric
    return replace(fabric, bus_bandwidth_bytes_per_s=fabric.bus_bandwidth_bytes_per_s * share)


def _over_all_nics(cluster: ClusterSpec, nodes: IntArray) -> FabricSpec:
    """The network as a group sees it that sends through every NIC its nodes have for it.

    A fabric's rate is one GPU's part of its NIC, so that of a node is the sum over its members,
    whether they share NICs or not.
    """
    alone = cluster.scale_out.bus_bandwidth_bytes_per_s
    together = min(int(np.unique(row, return_counts=True)[1].min()) for row in nodes)
    inside = cluster.scale_up.bus_bandwidth_bytes_per_s
    rate = max(min(alone * together, inside), alone)
    return replace(cluster.scale_out, bus_bandwidth_bytes_per_s=rate)


def _differs(numbers: IntArray) -> bool:
    """Whether any group, a row each, has members with different numbers."""
    return bool((numbers != numbers[:, :1]).any())
