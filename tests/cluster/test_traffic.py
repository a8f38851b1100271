"""Bytes on links of groups that run at the same time."""

from dataclasses import replace

import numpy as np
import pytest

from gpuflow.cluster.charge import charge
from gpuflow.cluster.fabric import build_fabric
from gpuflow.cluster.rings import ring_orders, side_by_side
from gpuflow.cluster.traffic import link_bytes
from gpuflow.collectives.algorithms import build
from gpuflow.scenario import catalog
from gpuflow.scenario.spec import ClusterSpec


def fabric(n_gpus, inside="nvlink-4", between="ib-ndr-rail", per_node=8, nics=None):
    machine = ClusterSpec(
        device=catalog.device("h100-sxm"),
        scale_up=catalog.fabric(inside),
        scale_out=catalog.fabric(between),
        gpus_per_node=per_node,
        nics_per_node=nics,
    )
    return build_fabric(machine, n_gpus)


def carried(built, total, end):
    """Bytes into vertices of a kind, by vertex."""
    found = {}
    for link in np.flatnonzero(total):
        to = built.link_ends(link)[1]
        if to.startswith(end):
            found[to] = found.get(to, 0) + total[link]
    return found


def test_a_ring_over_nodes_spreads_over_all_nics():
    built = fabric(16)
    total = link_bytes("all_reduce", "ring", built, [np.arange(16)], 16 * 8 * 100)
    into_leaves = carried(built, total, "leaf")
    assert set(into_leaves) == {f"leaf{rail}" for rail in range(8)}
    # Each of eight rings carries an eighth, and crosses to each of two nodes once.
    assert set(into_leaves.values()) == {2 * 2 * 15 / 16 * 12800 / 8}


def test_all_rings_together_send_as_much_as_one():
    for built in (fabric(16), fabric(8, "xgmi-mi300x"), fabric(8, "nvlink-2-cube")):
        n = built.n_gpus
        total = link_bytes("all_gather", "ring", built, [np.arange(n)], n * 840)
        out = np.bincount(built.link_source, total, minlength=len(built.vertices))
        relayed = np.bincount(built.link_destination, total, minlength=len(built.vertices))
        assert (out - relayed)[:n] == pytest.approx(0)
        assert out[:n].min() >= (n - 1) * 840 * (1 - 1e-9)


def test_groups_on_a_mesh_use_the_links_among_them():
    built = fabric(8, "xgmi-mi300x")
    groups = np.array([[0, 1, 2, 3], [4, 5, 6, 7]])
    ((rings, channels),) = side_by_side(built, groups)
    assert (rings.shape, channels) == ((4, 4), 2)
    total = link_bytes("all_reduce", "ring", built, groups, 4 * 2 * 60)
    assert np.count_nonzero(total) == 16
    assert set(total[total > 0]) == {2 * 3 / 4 * 480 / 2}


def test_groups_behind_a_switch_keep_their_one_ring():
    built = fabric(8)
    groups = np.array([[0, 1, 2, 3], [4, 5, 6, 7]])
    ((rings, channels),) = side_by_side(built, groups)
    assert channels == 1
    assert rings is groups


def test_groups_of_one_gpu_a_node_stay_on_their_rail():
    built = fabric(32)
    assert ring_orders(built, np.array([3, 11, 19, 27])).tolist() == [[3, 11, 19, 27]]
    mixed = np.array([[0, 1, 8, 9], [2, 10, 18, 26]])
    assert sorted(c for _, c in side_by_side(built, mixed)) == [1, 2]
    total = link_bytes("all_reduce", "ring", built, [[3, 11, 19, 27]], 400)
    assert set(carried(built, total, "leaf")) == {"leaf3"}


def test_rooted_rings_keep_their_order():
    built = fabric(8, "xgmi-mi300x")
    total = link_bytes("broadcast", "ring", built, [np.arange(8)], 100, 2)
    schedule = build("broadcast", "ring", 8, 100, 2)
    assert total.tolist() == charge(schedule, built, np.arange(8), 1).link_bytes.tolist()


def test_thousands_of_ranks_send_everybody_something_in_a_moment():
    built = fabric(4096)
    size = 4096 * 4
    total = link_bytes("all_to_all", "direct", built, [np.arange(4096)], size)
    out = np.bincount(built.link_source, total, minlength=len(built.vertices))
    relayed = carried(built, total, "gpu")
    # PXN passes on through the GPU of the right rail what leaves the node on another one.
    assert out[0] == pytest.approx(relayed["gpu0"])
    assert out[0] == pytest.approx(4095 * 4 + 7 * 4088 / 8 * 4)


def test_two_levels_take_the_nodes_of_the_fabric():
    built = fabric(16, per_node=4)
    total = link_bytes("all_reduce", "hierarchical", built, [np.arange(16)], 1600)
    nic = carried(built, total, "leaf")
    assert sum(nic.values()) == pytest.approx(16 * 2 * 3 / 16 * 1600)
    alone = replace(catalog.fabric("nvlink-4"), name="x")
    assert alone.topology == "switch"
