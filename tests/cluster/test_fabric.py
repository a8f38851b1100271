"""Vertices, links and routes of small machines, checked by walking them."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuflow.cluster.fabric import build_fabric
from gpuflow.scenario.spec import ClusterSpec, DeviceSpec, FabricSpec

DEVICE = DeviceSpec(
    name="gpu",
    title="GPU",
    memory_bytes=80e9,
    memory_bandwidth_bytes_per_s=3e12,
    peak_flop_per_s={"bf16": 1e15},
    fabric="inside",
    nic="between",
    gpus_per_node=8,
    source="made up",
)
INSIDE = FabricSpec(
    name="inside",
    title="Inside",
    tier="scale_up",
    topology="switch",
    link_bandwidth_bytes_per_s=450e9,
    bus_bandwidth_bytes_per_s=350e9,
    hop_bandwidth_bytes_per_s=400e9,
    collective_latency_s=8e-6,
    hop_latency_s=5e-6,
    step_latency_s=1e-6,
    source="made up",
)
BETWEEN = replace(
    INSIDE,
    name="between",
    tier="scale_out",
    topology="fat_tree",
    bus_bandwidth_bytes_per_s=46e9,
    hop_bandwidth_bytes_per_s=48e9,
    step_latency_s=3e-6,
)


def cluster(topology="switch", gpus_per_node=4):
    return ClusterSpec(
        device=DEVICE,
        scale_up=replace(INSIDE, topology=topology),
        scale_out=BETWEEN,
        gpus_per_node=gpus_per_node,
    )


def named_route(fabric, source, destination):
    links = fabric.route([source], [destination])[0]
    return [fabric.link_ends(link) for link in links if link >= 0]


@pytest.mark.parametrize(
    ("topology", "source", "destination", "stations"),
    [
        ("switch", 0, 3, ["gpu0", "switch0", "gpu3"]),
        ("switch", 6, 4, ["gpu6", "switch1", "gpu4"]),
        ("mesh", 2, 1, ["gpu2", "gpu1"]),
        ("mesh", 5, 7, ["gpu5", "gpu7"]),
        ("pcie", 4, 5, ["gpu4", "host1", "gpu5"]),
        ("cube_mesh", 3, 1, ["gpu3", "gpu1"]),
        ("switch", 1, 6, ["gpu1", "nic1", "leaf0", "nic6", "gpu6"]),
        ("mesh", 7, 0, ["gpu7", "nic7", "leaf0", "nic0", "gpu0"]),
        ("pcie", 3, 4, ["gpu3", "host0", "nic3", "leaf0", "nic4", "host1", "gpu4"]),
    ],
)
def test_a_route_names_every_station(topology, source, destination, stations):
    fabric = build_fabric(cluster(topology), 8)
    expected = list(itertools.pairwise(stations))
    assert expected == named_route(fabric, source, destination)


@settings(max_examples=150, derandomize=True, deadline=None)
@given(st.data())
def test_every_route_is_a_walk_from_source_to_destination(any_fabric, data):
    fabric = data.draw(any_fabric)
    gpu = st.lists(st.integers(0, fabric.n_gpus - 1), min_size=1, max_size=20)
    sources = np.array(data.draw(gpu))
    destinations = np.resize(data.draw(gpu), len(sources))
    routes = fabric.route(sources, destinations)
    for source, destination, links in zip(sources, destinations, routes, strict=True):
        used = links[links >= 0]
        assert (links[: len(used)] >= 0).all()
        assert len(set(used.tolist())) == len(used)
        at = source
        for link in used:
            assert fabric.link_source[link] == at
            at = fabric.link_destination[link]
        assert at == destination
        assert (len(used) == 0) == (source == destination)
        # Only GPUs of the sender's node pass on.
        middle = {fabric.link_destination[link] for link in used[:-1]}
        passing = np.array([v for v in middle if v < fabric.n_gpus], dtype=int)
        assert (fabric.node(passing) == fabric.node(np.array([source]))).all()


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.data())
def test_links_are_full_duplex_and_join_each_pair_once(any_fabric, data):
    fabric = data.draw(any_fabric)
    ends = [fabric.link_ends(link) for link in range(fabric.n_links)]
    assert len(set(ends)) == len(ends)
    assert {(b, a) for a, b in ends} == set(ends)
    assert len(set(fabric.vertices)) == len(fabric.vertices)
    capacity = dict(zip(ends, fabric.capacity_bytes_per_s, strict=True))
    assert all(capacity[b, a] == rate for (a, b), rate in capacity.items())


def test_one_node_has_no_nic():
    assert "nic0" not in build_fabric(cluster(), 4).vertices
    assert "nic4" in build_fabric(cluster(), 5).vertices


def test_a_switch_port_carries_what_collectives_or_lone_transfers_reach():
    assert build_fabric(cluster(), 4).capacity_bytes_per_s.tolist() == [350e9] * 8
    assert build_fabric(cluster(), 4, "hop").capacity_bytes_per_s.tolist() == [400e9] * 8


def test_a_mesh_shares_the_total_among_its_links_even_in_a_node_filled_in_part():
    full = build_fabric(cluster("mesh"), 6)
    assert full.n_links == 4 * 3 + 2 * 1 + 4 * 6
    inside = full.capacity_bytes_per_s[: 4 * 3 + 2]
    np.testing.assert_allclose(inside, 350e9 / 3)
    assert build_fabric(cluster("mesh"), 4, "hop").capacity_bytes_per_s.tolist() == [400e9] * 12


def test_a_start_is_paid_by_protocol():
    """Steps of LL are the fabric's own; others add NCCL's excess, the network the host's cost."""
    fabric = build_fabric(cluster(), 8)
    assert fabric.latency_s([0, 0, 0], [0, 1, 5])[0].tolist() == pytest.approx([0, 1e-6, 4e-6])
    assert fabric.latency_s([0], [1])[:, 0].tolist() == pytest.approx([1e-6, 2.3e-6, 3.8e-6])
    assert fabric.latency_s([0], [5])[:, 0].tolist() == pytest.approx([4e-6, 5.3e-6, 17.3e-6])
    assert fabric.latency_s([0], [5], "tree")[:, 0].tolist() == pytest.approx(
        [6.3e-6, 9.8e-6, 17.3e-6]
    )


def test_a_million_routes_at_once():
    fabric = build_fabric(cluster(gpus_per_node=8), 1024)
    sources = np.repeat(np.arange(1024), 1024)
    destinations = np.tile(np.arange(1024), 1024)
    routes = fabric.route(sources, destinations)
    hops = (routes >= 0).sum(axis=1)
    assert np.bincount(hops).tolist() == [1024, 0, 1024 * 7, 0, 1024 * 1016]


@pytest.mark.parametrize(
    ("machines", "n_gpus", "told"),
    [
        (cluster(), 0, "at least one GPU"),
        (cluster("fat_tree"), 2, "does not join GPUs of a node"),
        (replace(cluster(), scale_out=INSIDE), 8, "does not join nodes"),
    ],
)
def test_impossible_machines_are_told(machines, n_gpus, told):
    with pytest.raises(ValueError, match=told):
        build_fabric(machines, n_gpus)
