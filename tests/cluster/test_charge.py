"""Charging a schedule, against a plain loop over its transfers and against lower bounds."""

from collections import defaultdict
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuflow.cluster.charge import charge
from gpuflow.cluster.fabric import build_fabric
from gpuflow.cluster.nccl_model import PROTOCOLS
from gpuflow.cluster.points import cost_line
from gpuflow.collectives.algorithms import ALGORITHMS, build, needs_switch
from gpuflow.collectives.oracle import bytes_sent, closed_form
from gpuflow.collectives.places import ROOTED
from gpuflow.collectives.routed import build_routed
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
    bus_bandwidth_bytes_per_s=370e9,
    hop_bandwidth_bytes_per_s=360e9,
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
    hop_bandwidth_bytes_per_s=46e9,
    step_latency_s=3e-6,
)
TOPOLOGIES = ["switch", "mesh", "cube_mesh", "pcie"]


def cluster(topology="switch", gpus_per_node=4, **changes):
    return ClusterSpec(
        device=DEVICE,
        scale_up=replace(INSIDE, topology=topology, **changes),
        scale_out=BETWEEN,
        gpus_per_node=gpus_per_node,
    )


def charge_by_hand(schedule, fabric, groups, itemsize, protocol="simple"):
    """The rule in plain words: times of all rounds, bytes of all links."""
    which = PROTOCOLS.index(protocol)
    family = "tree" if schedule.algorithm == "tree" else "ring"
    if schedule.n_switches:
        groups = [[*g, fabric.n_gpus + g[0] // fabric.gpus_per_node] for g in groups]
    times, total = [], defaultdict(float)
    for one in schedule.rounds():
        load, start = defaultdict(float), 0.0
        for group in groups:
            for source, to, count in zip(one.source, one.destination, one.count, strict=True):
                links = [x for x in fabric.route([group[source]], [group[to]])[0] if x >= 0]
                for link in links:
                    load[link] += count * itemsize
                if count:
                    begins = fabric.latency_s([group[source]], [group[to]], family)
                    start = max(start, begins[which, 0])
        slowest = max((b / fabric.capacity_bytes_per_s[k] for k, b in load.items()), default=0.0)
        times.append(start + slowest)
        for link, moved in load.items():
            total[link] += moved
    return times, [total[link] for link in range(fabric.n_links)]


@st.composite
def schedules(draw, largest=9):
    collective = draw(st.sampled_from(sorted(ALGORITHMS)))
    algorithm = draw(st.sampled_from(ALGORITHMS[collective]))
    n_ranks = draw(st.integers(1, largest))
    if needs_switch(collective, algorithm):
        n_ranks = 1  # groups here lie anywhere; switches have tests of their own
    root = draw(st.integers(0, n_ranks - 1)) if collective in ROOTED else 0
    return build(collective, algorithm, n_ranks, draw(st.integers(0, 60)), root)


@st.composite
def machines(draw, n_gpus):
    return build_fabric(cluster(draw(st.sampled_from(TOPOLOGIES)), draw(st.integers(1, 8))), n_gpus)


@settings(max_examples=120, derandomize=True, deadline=None)
@given(st.data())
def test_equals_a_plain_loop_over_transfers(data):
    schedule = data.draw(schedules())
    fabric = data.draw(machines(20))
    places = data.draw(st.permutations(range(20)))
    n = schedule.n_ranks
    groups = [places[:n], places[n : 2 * n]][: data.draw(st.integers(1, 2))]
    protocol = data.draw(st.sampled_from(PROTOCOLS))
    cost = charge(schedule, fabric, groups, 2, protocol=protocol)
    times, link_bytes = charge_by_hand(schedule, fabric, groups, 2, protocol)
    np.testing.assert_allclose(cost.round_times_s, times, rtol=1e-12)
    assert cost.latency_s == cost.latencies_s[PROTOCOLS.index(protocol)]
    np.testing.assert_allclose(cost.link_bytes, link_bytes, rtol=1e-12)
    assert cost.time_s == pytest.approx(sum(times))
    assert cost.rounds == len(times)
    sent = np.zeros(20)
    for group in groups:
        sent[group] = bytes_sent(schedule, 2)
    assert sent.tolist() == cost.bytes_sent.tolist()


@pytest.mark.parametrize(("topology", "hops"), [("switch", 2), ("mesh", 1), ("pcie", 2)])
@pytest.mark.parametrize("collective", ALGORITHMS)
def test_bytes_over_links_are_the_closed_form_times_the_hops(topology, hops, collective):
    fabric = build_fabric(cluster(topology, 8), 8)
    for algorithm in ALGORITHMS[collective]:
        if needs_switch(collective, algorithm):
            continue
        schedule = build(collective, algorithm, 8, 64)
        cost = charge(schedule, fabric, np.arange(8), 4)
        form = closed_form(collective, algorithm, 8, 256, n_chunks=schedule.n_chunks)
        assert cost.link_bytes.sum() == pytest.approx(hops * form.bytes_sent.sum())
        np.testing.assert_allclose(cost.bytes_sent, form.bytes_sent)
        assert cost.rounds == form.rounds


def test_full_duplex_lets_partners_exchange_at_full_rate():
    fabric = build_fabric(cluster(), 2)
    swap = charge(build("all_reduce", "recursive_doubling", 2, 370), fabric, [0, 1], 1e6)
    assert swap.time_s == pytest.approx(3.8e-6 + 1e-3)


def test_a_direct_ring_on_a_mesh_uses_one_link_and_two_shot_all():
    fabric = build_fabric(cluster("mesh", 8), 8)
    ring = cost_line("all_reduce", "ring", fabric, np.arange(8))
    two_shot = cost_line("all_reduce", "two_shot", fabric, np.arange(8))
    assert ring.seconds_per_byte == pytest.approx(7 * two_shot.seconds_per_byte)


def test_ranks_in_two_nodes_pay_the_nic_and_its_latency():
    fabric = build_fabric(cluster("switch", 4), 8)
    near = charge(build("broadcast", "direct", 2, 46000), fabric, [0, 1], 1)
    far = charge(build("broadcast", "direct", 2, 46000), fabric, [0, 4], 1)
    assert near.time_s == pytest.approx(3.8e-6 + 46e3 / 370e9)
    assert far.time_s == pytest.approx(17.3e-6 + 46e3 / 46e9)
    assert near.latencies_s.tolist() == pytest.approx([1e-6, 2.3e-6, 3.8e-6])


def test_the_start_of_a_round_can_be_given():
    fabric = build_fabric(cluster(), 4)
    schedule = build("all_reduce", "ring", 4, 400)
    cost = charge(schedule, fabric, np.arange(4), 1, latency_s=1.0)
    assert cost.latency_s == 6.0
    assert cost.time_s == pytest.approx(6.0 + 6 * 100 / 370e9)


def test_rounds_that_move_nothing_cost_nothing():
    fabric = build_fabric(cluster(), 4)
    cost = charge(build("all_reduce", "ring", 4, 0), fabric, np.arange(4), 4, latency_s=1.0)
    assert cost.time_s == 0.0
    assert cost.rounds == 6
    assert not cost.link_bytes.any()


def test_a_group_of_one_costs_nothing():
    fabric = build_fabric(cluster("mesh", 1), 1)
    cost = charge(build("all_reduce", "ring", 1, 7), fabric, [0], 4)
    assert (cost.time_s, cost.rounds) == (0.0, 0)


def test_rounds_that_share_their_pairs_are_charged_as_if_they_did_not():
    """The ring hands out the same pairs each round; copies of them must cost the same."""
    fabric = build_fabric(cluster("pcie", 4, hosts=2), 8)
    ring = build("all_reduce", "ring", 8, 1003)

    def afresh():
        for one in ring.rounds():
            yield replace(one, source=one.source.copy(), destination=one.destination.copy())

    alike = charge(ring, fabric, np.arange(8), 4)
    apart = charge(replace(ring, make_rounds=afresh), fabric, np.arange(8), 4)
    np.testing.assert_allclose(alike.round_times_s, apart.round_times_s, rtol=1e-12)
    np.testing.assert_allclose(alike.link_bytes, apart.link_bytes)


def test_the_full_ring_of_1024_ranks_adds_up():
    fabric = build_fabric(cluster("switch", 8), 1024)
    cost = charge(build("all_reduce", "ring", 1024, 1024 * 8), fabric, np.arange(1024), 4)
    form = closed_form("all_reduce", "ring", 1024, 1024 * 8 * 4)
    np.testing.assert_allclose(cost.bytes_sent, form.bytes_sent)
    assert cost.rounds == 2046
    assert cost.time_s == pytest.approx(2046 * (17.3e-6 + 32 / 46e9))


def test_the_switch_saves_a_third_of_what_a_large_all_reduce_moves():
    """S + S/n out and in, both at once, instead of the ring's 2(n-1)/n S."""
    machine = cluster("switch", 8, adds_in_switch=True)
    fabric = build_fabric(machine, 16)
    schedule = build("all_reduce", "nvls", 8, 64 * 800, n_chunks=64)
    for first in (0, 8):
        cost = charge(schedule, fabric, np.arange(first, first + 8), 4)
        assert cost.bytes_sent[first : first + 8].tolist() == [64 * 800 * 4 * 9 / 8] * 8
        into = [k for k in range(fabric.n_links) if fabric.link_ends(k)[1].startswith("switch")]
        out_of = [k for k in range(fabric.n_links) if fabric.link_ends(k)[0].startswith("switch")]
        for links in (into, out_of):
            moved = cost.link_bytes[links]
            assert sorted(moved) == [0.0] * 8 + [64 * 800 * 4 * 9 / 8] * 8
        assert cost.latencies_s[0] == pytest.approx(65e-6)


def test_switch_schedules_equal_a_plain_loop_too():
    fabric = build_fabric(cluster("switch", 4), 8)
    for collective in ("all_reduce", "all_gather", "reduce_scatter"):
        for algorithm in (a for a in ALGORITHMS[collective] if needs_switch(collective, a)):
            schedule = build(collective, algorithm, 3, 11)
            groups = [[4, 7, 5], [1, 0, 2]]
            times, link_bytes = charge_by_hand(schedule, fabric, groups, 2)
            cost = charge(schedule, fabric, groups, 2)
            np.testing.assert_allclose(cost.round_times_s, times)
            np.testing.assert_allclose(cost.link_bytes, link_bytes)


def test_16384_ranks_in_nodes_of_eight_add_up():
    n = 16384
    fabric = build_fabric(cluster("switch", 8), n)
    schedule = build("all_reduce", "hierarchical", n, n * 4, ranks_per_node=8)
    cost = charge(schedule, fabric, np.arange(n), 2)
    form = closed_form("all_reduce", "hierarchical", n, n * 8, ranks_per_node=8)
    np.testing.assert_allclose(cost.bytes_sent, form.bytes_sent)
    assert cost.rounds == 2 * 7 + 2 * 2047


@pytest.mark.parametrize(
    ("gpus", "told"), [([0, 1], "need as many GPUs"), ([0, 1, 9], "GPU numbers are 0..3")]
)
def test_gpus_that_do_not_fit_are_told(gpus, told):
    fabric = build_fabric(cluster(), 4)
    with pytest.raises(ValueError, match=told):
        charge(build("all_reduce", "ring", 3, 6), fabric, gpus, 4)


def test_a_hot_expert_makes_its_gpu_the_last_to_finish():
    """Eight GPUs send one of them half of all they have: its port in takes the longest."""
    fabric = build_fabric(cluster("switch", 8), 8)
    even = np.full((8, 8), 1000)
    hot = np.full((8, 8), 4000 // 7)
    hot[:, 3] = 4000
    times = [charge(build_routed("direct", c), fabric, np.arange(8), 1).time_s for c in (even, hot)]
    assert times[0] == pytest.approx(3.8e-6 + 7 * 1000 / 370e9)
    assert times[1] == pytest.approx(3.8e-6 + 7 * 4000 / 370e9)
