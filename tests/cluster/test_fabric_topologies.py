"""PCIe trees, bridges, cube meshes, rails: routes and capacities of machines that are not plain."""

import itertools
from dataclasses import replace

import numpy as np
import pytest

from gpuflow.cluster.charge import charge
from gpuflow.cluster.fabric import build_fabric
from gpuflow.cluster.meshes import cube_strands, disjoint_rings
from gpuflow.cluster.points import collective_points, cost_lines
from gpuflow.cluster.rings import ring_orders
from gpuflow.collectives.algorithms import build
from gpuflow.scenario import catalog
from gpuflow.scenario.spec import ClusterSpec

DEVICE = catalog.device("h100-sxm")
NVLINK = replace(catalog.fabric("nvlink-4"), name="inside")
PCIE = replace(
    catalog.fabric("pcie-5"),
    name="tree",
    hop_bandwidth_bytes_per_s=50e9,
    hosts=1,
    host_link_bandwidth_bytes_per_s=None,
)
NETWORK = replace(
    catalog.fabric("ib-ndr"),
    name="between",
    bus_bandwidth_bytes_per_s=46e9,
    topology="fat_tree",
    leaf_ports=0,
)
RAILS = replace(NETWORK, topology="rail", pxn=True)


def fabric(n_gpus, inside=NVLINK, between=NETWORK, per_node=8, nics=None):
    machine = ClusterSpec(
        device=DEVICE,
        scale_up=inside,
        scale_out=between,
        gpus_per_node=per_node,
        nics_per_node=nics,
    )
    return build_fabric(machine, n_gpus)


def stations(built, source, destination):
    links = built.route([source], [destination])[0]
    ends = [built.link_ends(link) for link in links if link >= 0]
    assert all(a[1] == b[0] for a, b in itertools.pairwise(ends))
    return " ".join([ends[0][0], *(end[1] for end in ends)])


def seconds(built, pairs, size_bytes):
    """Bytes only, of equal transfers at once."""
    schedule = build("send_recv", "direct", 2, size_bytes)
    return charge(schedule, built, pairs, 1, latency_s=0.0).time_s


# ---- PCIe trees


def test_a_transfer_climbs_the_tree_only_as_far_as_it_must():
    built = fabric(16, replace(PCIE, gpus_per_switch=2, hosts=2))
    assert stations(built, 0, 1) == "gpu0 pcie0 gpu1"
    assert stations(built, 1, 2) == "gpu1 pcie0 host0 pcie1 gpu2"
    assert stations(built, 3, 4) == "gpu3 pcie1 host0 interconnect0 host1 pcie2 gpu4"
    assert stations(built, 8, 15) == "gpu8 pcie4 host2 interconnect1 host3 pcie7 gpu15"


def test_nics_hang_beside_their_gpus():
    built = fabric(16, replace(PCIE, gpus_per_switch=2, hosts=2))
    assert stations(built, 2, 9) == "gpu2 pcie1 nic2 leaf0 nic9 pcie4 gpu9"
    shared = fabric(16, replace(PCIE, gpus_per_switch=2, hosts=2), nics=1)
    assert stations(shared, 5, 9) == (
        "gpu5 pcie2 host1 interconnect0 host0 pcie0 nic0 leaf0 nic1 pcie4 gpu9"
    )


def test_uplinks_of_switches_are_shared():
    """Two GPUs of a switch that send out of it halve each other; inside it they do not."""
    built = fabric(8, replace(PCIE, gpus_per_switch=2, hosts=2))
    assert seconds(built, [[0, 2]], 50_000_000) == pytest.approx(1e-3)
    assert seconds(built, [[0, 2], [1, 3]], 50_000_000) == pytest.approx(2e-3)
    assert seconds(built, [[0, 1], [1, 0]], 50_000_000) == pytest.approx(1e-3)


def test_sockets_share_their_interconnect():
    built = fabric(8, replace(PCIE, hosts=2, host_link_bandwidth_bytes_per_s=20e9))
    assert seconds(built, [[0, 3]], 20_000_000) == pytest.approx(0.4e-3)
    crossing = [[0, 4], [1, 5], [2, 6], [3, 7]]
    assert seconds(built, crossing[:1], 20_000_000) == pytest.approx(1e-3)
    assert seconds(built, crossing, 20_000_000) == pytest.approx(4e-3)
    both_ways = crossing + [[b, a] for a, b in crossing]
    assert seconds(built, both_ways, 20_000_000) == pytest.approx(4e-3)


def test_a_ring_over_two_sockets_runs_at_the_rate_between_them():
    machine = ClusterSpec(
        device=DEVICE,
        scale_up=replace(PCIE, hosts=2, host_link_bandwidth_bytes_per_s=20e9),
        scale_out=NETWORK,
        gpus_per_node=8,
    )
    for n_ranks, rate in ((4, 50e9), (8, 20e9)):
        (point,) = collective_points("all_reduce", machine, n_ranks, [1 << 33], ["ring"])
        assert point.bus_bandwidth_bytes_per_s == pytest.approx(rate, rel=1e-3)


# ---- bridged pairs


def test_a_bridge_joins_pairs_and_leaves_the_tree_to_the_others():
    bridge = replace(NVLINK, bus_bandwidth_bytes_per_s=240e9)
    built = fabric(7, replace(PCIE, hosts=2, bridge=bridge))
    assert stations(built, 0, 1) == "gpu0 gpu1"
    assert stations(built, 5, 4) == "gpu5 gpu4"
    assert stations(built, 1, 2) == "gpu1 host0 gpu2"
    assert seconds(built, [[2, 3]], 240_000_000) == pytest.approx(1e-3)
    assert seconds(built, [[1, 2]], 50_000_000) == pytest.approx(1e-3)
    # The last GPU has no partner.
    assert stations(built, 6, 5) == "gpu6 host1 gpu5"


def test_two_ranks_on_a_bridge_start_as_nvlink_does():
    built = fabric(4, replace(PCIE, bridge=NVLINK))
    assert built.latency_s([0, 1], [1, 2])[0].tolist() == pytest.approx([0.6e-6, 1e-6])


# ---- meshes


def test_the_cube_mesh_is_that_of_dgx_1():
    strands = cube_strands(8)
    assert (strands == strands.T).all()
    assert strands.sum(axis=1).tolist() == [6] * 8
    assert (strands > 0).sum(axis=1).tolist() == [4] * 8


def test_gpus_without_a_common_link_go_by_way_of_one_that_has():
    built = fabric(8, replace(NVLINK, topology="cube_mesh", bus_bandwidth_bytes_per_s=120e9))
    assert stations(built, 0, 4) == "gpu0 gpu4"
    assert stations(built, 0, 6) == "gpu0 gpu2 gpu6"
    assert stations(built, 6, 0) == "gpu6 gpu4 gpu0"
    assert built.latency_s([0, 0], [4, 6])[0].tolist() == pytest.approx([0.6e-6, 1.2e-6])
    assert seconds(built, [[0, 1]], 20_000_000) == pytest.approx(1e-3)
    assert seconds(built, [[0, 3]], 40_000_000) == pytest.approx(1e-3)


def test_a_cube_mesh_in_part_passes_on_by_gpus_in_use():
    built = fabric(14, replace(NVLINK, topology="cube_mesh"))
    assert stations(built, 8, 13) == "gpu8 gpu9 gpu13"
    assert stations(built, 11, 12) == "gpu11 gpu8 gpu12"
    with pytest.raises(ValueError, match="a cube mesh has 8 GPUs, not 16"):
        fabric(16, replace(NVLINK, topology="cube_mesh"), per_node=16)


@pytest.mark.parametrize(("n", "rings"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 4), (6, 4), (8, 7)])
def test_rings_of_a_mesh_have_no_link_in_common(n, rings):
    found = disjoint_rings(1 - np.eye(n, dtype=int))
    assert found.shape == (rings, n)
    assert (np.sort(found, axis=1) == np.arange(n)).all()
    hops = [(a, b) for ring in found for a, b in zip(ring, np.roll(ring, -1), strict=True)]
    assert len(set(hops)) == len(hops)


def test_rings_of_large_meshes_take_equal_steps():
    assert disjoint_rings(1 - np.eye(9, dtype=int)).shape == (6, 9)


def test_six_rings_of_a_cube_mesh_use_every_link_once():
    used = np.zeros((8, 8), dtype=int)
    for ring in disjoint_rings(cube_strands(8)):
        np.add.at(used, (ring, np.roll(ring, -1)), 1)
    assert (used == cube_strands(8)).all()


@pytest.mark.parametrize("topology", ["switch", "mesh", "cube_mesh"])
def test_rings_side_by_side_reach_the_bus_bandwidth(topology):
    inside = replace(NVLINK, topology=topology, bus_bandwidth_bytes_per_s=120e9)
    machine = ClusterSpec(device=DEVICE, scale_up=inside, scale_out=NETWORK, gpus_per_node=8)
    (point,) = collective_points("all_gather", machine, 8, [1 << 33], ["ring"])
    assert point.bus_bandwidth_bytes_per_s == pytest.approx(120e9, rel=1e-3)


# ---- NICs, leaves, spines, rails


def test_neighbouring_gpus_share_a_nic():
    built = fabric(16, nics=2)
    assert stations(built, 3, 12) == "gpu3 nic0 leaf0 nic3 gpu12"
    assert seconds(built, [[0, 8]], 46_000_000 * 4) == pytest.approx(1e-3)
    # Rates of the scale-out fabric are a GPU's: a NIC of four GPUs has four times as much.
    assert seconds(built, [[i, 8 + i] for i in range(4)], 46_000_000) == pytest.approx(1e-3)
    with pytest.raises(ValueError, match="8 GPUs cannot share 3 NICs evenly"):
        fabric(16, nics=3)


def test_a_fat_tree_crosses_the_spine_between_leaves():
    built = fabric(32, between=replace(NETWORK, leaf_ports=16, switch_latency_s=0.5e-6))
    assert stations(built, 0, 15) == "gpu0 nic0 leaf0 nic15 gpu15"
    assert stations(built, 0, 16) == "gpu0 nic0 leaf0 spine0 leaf1 nic16 gpu16"
    near, far = built.latency_s([0, 0], [15, 16])[0]
    assert far - near == pytest.approx(1e-6)


def test_a_node_with_more_nics_than_a_leaf_has_ports_takes_several():
    built = fabric(16, between=replace(NETWORK, leaf_ports=3))
    assert stations(built, 0, 10) == "gpu0 nic0 leaf0 spine0 leaf3 nic10 gpu10"
    assert {f"leaf{i}" for i in range(6)} == {v for v in built.vertices if v.startswith("leaf")}


@pytest.mark.parametrize("oversubscription", [1.0, 4.0])
def test_oversubscription_divides_what_leaves_a_leaf(oversubscription):
    network = replace(NETWORK, leaf_ports=16, oversubscription=oversubscription)
    built = fabric(32, between=network)
    below, across = ([[i, i + step] for i in range(16)] for step in (0, 16))
    below = [[i, (i + 8) % 16] for i in range(16)]
    assert seconds(built, below, 46_000_000) == pytest.approx(1e-3)
    assert seconds(built, across, 46_000_000) == pytest.approx(oversubscription * 1e-3)


def test_rails_keep_gpus_of_like_number_below_one_leaf():
    built = fabric(24, between=replace(RAILS, pxn=False, leaf_ports=2))
    assert stations(built, 3, 11) == "gpu3 nic3 leaf3 nic11 gpu11"
    assert stations(built, 3, 19) == "gpu3 nic3 leaf3 spine0 leaf11 nic19 gpu19"
    assert stations(built, 3, 12) == "gpu3 nic3 leaf3 spine0 leaf4 nic12 gpu12"


def test_pxn_changes_rails_inside_the_node():
    built = fabric(16, between=RAILS)
    assert stations(built, 3, 12) == "gpu3 switch0 gpu4 nic4 leaf4 nic12 gpu12"
    assert stations(built, 3, 11) == "gpu3 nic3 leaf3 nic11 gpu11"
    shared = fabric(16, between=RAILS, nics=4)
    assert stations(shared, 2, 11) == "gpu2 nic1 leaf1 nic5 gpu11"
    on, off = (
        fabric(16, between=replace(RAILS, pxn=pxn)).latency_s([3], [12])[:, 0] for pxn in (1, 0)
    )
    assert (on - off).tolist() == pytest.approx(
        (np.array([0.6e-6, 1.9e-6, 3.4e-6]) - 2 * RAILS.switch_latency_s).tolist()
    )


def test_pxn_needs_gpus_that_pass_on():
    assert "spine0" in stations(fabric(16, PCIE, RAILS), 3, 12)
    # The last node has no GPU on the receiver's rail.
    assert "spine0" in stations(fabric(12, between=RAILS), 8, 7)


def test_all_to_all_with_pxn_stays_below_the_leaves():
    """Without it seven of eight blocks for other nodes cross the spine."""
    carried = {}
    for pxn in (True, False):
        built = fabric(32, between=replace(RAILS, pxn=pxn))
        cost = charge(build("all_to_all", "direct", 32, 32 * 100), built, np.arange(32), 1)
        spine = [k for k in range(built.n_links) if "spine0" in built.link_ends(k)]
        carried[pxn] = cost.link_bytes[spine].sum() / 2
    assert carried == {True: 0.0, False: 32 * 24 * 100 * 7 / 8}


def test_oversubscribed_rails_gain_from_pxn():
    thin = replace(RAILS, oversubscription=4.0)
    times = []
    for pxn in (True, False):
        built = fabric(32, between=replace(thin, pxn=pxn))
        (line,) = cost_lines("all_to_all", "direct", built, 32)
        times.append(line.seconds_per_byte)
    assert times[1] == pytest.approx(times[0] * 4 * 7 / 8)


# ---- rings over several nodes


def test_rings_leave_every_node_by_every_nic():
    built = fabric(24, between=RAILS)
    orders = ring_orders(built)
    assert orders.shape == (8, 24)
    assert (np.sort(orders, axis=1) == np.arange(24)).all()
    assert orders[3, :9].tolist() == [3, 4, 5, 6, 7, 0, 1, 2, 11]
    assert ring_orders(fabric(24, nics=2)).shape == (2, 24)


def test_rings_over_nodes_reach_what_all_nics_do_together():
    machine = ClusterSpec(device=DEVICE, scale_up=NVLINK, scale_out=RAILS, gpus_per_node=8)
    (point,) = collective_points("all_reduce", machine, 32, [1 << 34], ["ring"])
    assert point.bus_bandwidth_bytes_per_s == pytest.approx(8 * 46e9, rel=0.02)


def test_a_last_node_in_part_is_visited_too():
    for inside in (NVLINK, replace(NVLINK, topology="mesh"), replace(NVLINK, topology="cube_mesh")):
        orders = ring_orders(fabric(19, inside))
        assert (np.sort(orders, axis=1) == np.arange(19)).all()
