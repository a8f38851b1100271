"""Charging a schedule, against a plain loop over its transfers and against lower bounds."""

from collections import defaultdict
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuflow.cluster.charge import charge
from gpuflow.cluster.fabric import build_fabric
from gpuflow.cluster.points import (
    PIPELINE_CHUNKS,
    collective_points,
    cost_line,
    cost_lines,
    runnable,
)
from gpuflow.collectives.algorithms import ALGORITHMS, build, is_pipelined, needs_switch
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
TOPOLOGIES = ["switch", "mesh", "pcie"]


def cluster(topology="switch", gpus_per_node=4, **changes):
    return ClusterSpec(
        device=DEVICE,
        scale_up=replace(INSIDE, topology=topology, **changes),
        scale_out=BETWEEN,
        gpus_per_node=gpus_per_node,
    )


def charge_by_hand(schedule, fabric, groups, itemsize):
    """The rule in plain words: times of all rounds, bytes of all links."""
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
                    start = max(start, sum(fabric.latency_s[link] for link in links))
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
    cost = charge(schedule, fabric, groups, 2)
    times, link_bytes = charge_by_hand(schedule, fabric, groups, 2)
    np.testing.assert_allclose(cost.round_times_s, times, rtol=1e-12)
    np.testing.assert_allclose(cost.link_bytes, link_bytes, rtol=1e-12)
    assert cost.time_s == pytest.approx(sum(times))
    assert cost.rounds == len(times)
    sent = np.zeros(20)
    for group in groups:
        sent[group] = bytes_sent(schedule, 2)
    assert sent.tolist() == cost.bytes_sent.tolist()


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.data())
def test_time_is_never_below_the_bandwidth_or_the_latency_bound(data):
    schedule = data.draw(schedules())
    fabric = data.draw(machines(9))
    cost = charge(schedule, fabric, np.arange(schedule.n_ranks), 4)
    assert cost.time_s >= (cost.link_bytes / fabric.capacity_bytes_per_s).max() * (1 - 1e-12)
    busy = sum(bool(one.count.any()) for one in schedule.rounds())
    assert cost.time_s >= busy * 1e-6 * (1 - 1e-12)
    assert cost.latency_s >= busy * 1e-6 * (1 - 1e-12)


@pytest.mark.parametrize(("topology", "hops"), [("switch", 2), ("mesh", 1), ("pcie", 4)])
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


def test_a_ring_over_a_node_reaches_the_bus_bandwidth():
    """Large enough for latency not to count, busbw must be the one measured by nccl-tests."""
    for topology in ("switch", "pcie"):
        size = 1 << 34
        machine = cluster(topology, 8, bus_bandwidth_bytes_per_s=300e9)
        (point,) = collective_points("all_reduce", machine, 8, [size], ["ring"])
        assert point.bus_bandwidth_bytes_per_s == pytest.approx(300e9, rel=1e-3)


def test_shared_links_share_their_bandwidth():
    """Two GPUs of four have the host to themselves; four at once overload it."""
    fabric = build_fabric(cluster("pcie", 4, bus_bandwidth_bytes_per_s=90e9), 4)
    pair = build("send_recv", "direct", 2, 360 * 10**6)
    alone = charge(pair, fabric, [0, 1], 1)
    both = charge(pair, fabric, [[0, 1], [2, 3]], 1)
    assert alone.time_s == pytest.approx(1e-6 + 1e-3)
    assert both.time_s == pytest.approx(1e-6 + 2 * 360e6 / 360e9)


def test_full_duplex_lets_partners_exchange_at_full_rate():
    fabric = build_fabric(cluster(), 2)
    swap = charge(build("all_reduce", "recursive_doubling", 2, 370), fabric, [0, 1], 1e6)
    assert swap.time_s == pytest.approx(1e-6 + 1e-3)


def test_a_direct_ring_on_a_mesh_uses_one_link_and_two_shot_all():
    fabric = build_fabric(cluster("mesh", 8), 8)
    ring = cost_line("all_reduce", "ring", fabric, np.arange(8))
    two_shot = cost_line("all_reduce", "two_shot", fabric, np.arange(8))
    assert ring.seconds_per_byte == pytest.approx(7 * two_shot.seconds_per_byte)


def test_ranks_in_two_nodes_pay_the_nic_and_its_latency():
    fabric = build_fabric(cluster("switch", 4), 8)
    near = charge(build("broadcast", "direct", 2, 46000), fabric, [0, 1], 1)
    far = charge(build("broadcast", "direct", 2, 46000), fabric, [0, 4], 1)
    assert near.time_s == pytest.approx(1e-6 + 46e3 / 370e9)
    assert far.time_s == pytest.approx(3e-6 + 46e3 / 46e9)


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
    fabric = build_fabric(cluster("pcie", 4, bus_bandwidth_bytes_per_s=20e9), 8)
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
    assert cost.time_s == pytest.approx(2046 * (3e-6 + 32 / 46e9))


@pytest.mark.parametrize("collective", ALGORITHMS)
def test_a_line_agrees_with_the_charge_where_sizes_divide(collective):
    machine = cluster("switch", 3)
    fabric = build_fabric(machine, 6)
    for algorithm in runnable(collective, machine, 6):
        line = cost_line(collective, algorithm, fabric, np.arange(6), n_chunks=2)
        for n_elements in (24, 24 * 1000):
            schedule = build(collective, algorithm, 6, n_elements, ranks_per_node=3, n_chunks=2)
            cost = charge(schedule, fabric, np.arange(6), 2)
            assert line.time_s(2 * n_elements) == pytest.approx(cost.time_s)


@pytest.mark.parametrize("n_ranks", [2, 5, 6, 12])
@pytest.mark.parametrize(
    ("collective", "algorithm"),
    [(c, a) for c in ALGORITHMS for a in ALGORITHMS[c] if is_pipelined(c, a)],
)
def test_lines_of_a_pipeline_are_those_of_each_chunk_count(collective, algorithm, n_ranks):
    per_node = 12 if needs_switch(collective, algorithm) else 4
    fabric = build_fabric(cluster("switch", per_node), n_ranks)
    lines = cost_lines(collective, algorithm, fabric, n_ranks)
    assert len(lines) == len(PIPELINE_CHUNKS)
    for line, n_chunks in zip(lines, PIPELINE_CHUNKS, strict=True):
        charged = cost_line(collective, algorithm, fabric, np.arange(n_ranks), n_chunks)
        assert line.latency_s == pytest.approx(charged.latency_s)
        assert line.seconds_per_byte == pytest.approx(charged.seconds_per_byte)


def test_points_name_the_quickest_at_each_size():
    machine = cluster("switch", 8)
    points = collective_points("all_reduce", machine, 8, [1024, 1 << 30])
    assert len(points) == 2 * len(runnable("all_reduce", machine, 8))
    for size in (1024, 1 << 30):
        rivals = [p for p in points if p.size_bytes == size]
        (chosen,) = [p for p in rivals if p.chosen]
        assert chosen.time_s == min(p.time_s for p in rivals)
        assert chosen.bus_bandwidth_bytes_per_s == pytest.approx(1.75 * size / chosen.time_s)
    assert {p.algorithm for p in points if p.chosen} == {"one_shot", "two_shot"}
    assert {(p.ranks, p.protocol, p.time_source) for p in points} == {(8, "simple", "simulated")}


def test_points_of_nothing_take_no_time():
    (point,) = collective_points("broadcast", cluster(), 4, [0], ["ring"])
    assert (point.time_s, point.bus_bandwidth_bytes_per_s, point.chosen) == (0.0, 0.0, True)


def test_send_recv_runs_at_the_rate_of_a_lone_transfer():
    (point,) = collective_points("send_recv", cluster(), 2, [360_000_000])
    assert point.time_s == pytest.approx(1e-6 + 1e-3)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (partial(collective_points, "sum", cluster(), 2, [1]), "unknown collective 'sum'"),
        (partial(collective_points, "reduce", cluster(), 2, [1], []), "no algorithm of 'reduce'"),
        (
            partial(collective_points, "all_reduce", cluster("mesh"), 2, [1], ["nvls"]),
            "needs all GPUs of a group behind it",
        ),
        (partial(collective_points, "reduce", cluster(), 2, [1], ["ring"]), "has no algorithm"),
        (partial(collective_points, "reduce", cluster(), 2, [-1]), "0 bytes or more"),
        (partial(collective_points, "reduce", cluster(), 0, [1]), "at least one"),
    ],
)
def test_misuse_of_points_is_told(call, told):
    with pytest.raises(ValueError, match=told):
        call()


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
        assert cost.latency_s == pytest.approx(65e-6)
    size = 1 << 32
    (nvls,) = collective_points("all_reduce", machine, 8, [size], ["nvls"])
    assert nvls.bus_bandwidth_bytes_per_s == pytest.approx(
        1.75 / (1.125 * 65 / 64) * 370e9, rel=0.01
    )


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


@pytest.mark.parametrize(
    ("machine", "n_ranks", "there", "absent"),
    [
        (cluster("switch", 8, adds_in_switch=True), 8, {"nvls", "ring"}, {"hierarchical"}),
        (cluster("switch", 8), 8, {"ring"}, {"nvls", "hierarchical"}),
        (cluster("switch", 8, adds_in_switch=True), 16, {"hierarchical"}, {"nvls"}),
        (cluster("switch", 8), 12, {"ring"}, {"hierarchical"}),
        (cluster("mesh", 8, adds_in_switch=True), 8, {"two_shot"}, {"nvls"}),
        (cluster("switch", 8), 2048, {"ring", "tree", "hierarchical"}, {"one_shot", "two_shot"}),
    ],
)
def test_only_what_machines_can_run_is_compared(machine, n_ranks, there, absent):
    names = set(runnable("all_reduce", machine, n_ranks))
    assert there <= names
    assert not absent & names


def test_hierarchical_beats_the_flat_ring_over_two_nodes():
    points = collective_points(
        "all_reduce", cluster("switch", 8), 16, [1 << 26], ["ring", "hierarchical"]
    )
    assert [p.chosen for p in points] == [False, True]


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
    assert times[0] == pytest.approx(1e-6 + 7 * 1000 / 370e9)
    assert times[1] == pytest.approx(1e-6 + 7 * 4000 / 370e9)
