"""Points over sizes: protocols, fixed costs, launches, and which algorithms machines can run."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from gpuflow.cluster.charge import charge
from gpuflow.cluster.fabric import build_fabric
from gpuflow.cluster.nccl_model import PROTOCOLS
from gpuflow.cluster.points import (
    PIPELINE_CHUNKS,
    collective_points,
    cost_line,
    cost_lines,
    runnable,
)
from gpuflow.cluster.protocols import LAUNCHES, fixed_s, protocol_shares
from gpuflow.cluster.rings import ring_orders
from gpuflow.collectives.algorithms import ALGORITHMS, build, is_pipelined, needs_switch
from gpuflow.scenario import catalog
from gpuflow.scenario.machines import machines
from gpuflow.scenario.spec import ClusterSpec

DEVICE = replace(catalog.device("h100-sxm"), name="no planner knows")
INSIDE = replace(
    catalog.fabric("nvlink-4"),
    name="inside",
    adds_in_switch=False,
    bus_bandwidth_bytes_per_s=370e9,
    hop_bandwidth_bytes_per_s=360e9,
    step_latency_s=1e-6,
)
BETWEEN = replace(
    catalog.fabric("ib-ndr"), name="between", topology="fat_tree", leaf_ports=0, step_latency_s=3e-6
)
KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def cluster(topology="switch", gpus_per_node=4, **changes):
    return ClusterSpec(
        device=DEVICE,
        scale_up=replace(INSIDE, topology=topology, **changes),
        scale_out=BETWEEN,
        gpus_per_node=gpus_per_node,
    )


def point(collective, machine, n_ranks, size, algorithm, **more):
    (found,) = collective_points(collective, machine, n_ranks, [size], [algorithm], **more)
    return found


@pytest.mark.parametrize("collective", ALGORITHMS)
def test_a_line_agrees_with_the_charge_where_sizes_divide(collective):
    machine = cluster("switch", 3)
    fabric = build_fabric(machine, 6)
    for algorithm in runnable(collective, machine, 6):
        line = cost_line(collective, algorithm, fabric, np.arange(6), n_chunks=2)
        for n_elements in (24, 24 * 1000):
            schedule = build(collective, algorithm, 6, n_elements, ranks_per_node=3, n_chunks=2)
            for protocol in PROTOCOLS:
                cost = charge(schedule, fabric, np.arange(6), 2, protocol=protocol)
                assert line.time_s(2 * n_elements, protocol) == pytest.approx(cost.time_s)
            assert (line.rounds, line.messages) == (cost.rounds, cost.messages)


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
        np.testing.assert_allclose(line.latencies_s, charged.latencies_s)
        assert line.rounds == charged.rounds
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
    assert {(p.ranks, p.time_source) for p in points} == {(8, "simulated")}


def test_points_of_nothing_take_no_time():
    (point,) = collective_points("broadcast", cluster(), 4, [0], ["ring"])
    assert (point.time_s, point.bus_bandwidth_bytes_per_s, point.chosen) == (0.0, 0.0, True)


def test_a_group_of_one_takes_no_time_however_it_is_launched():
    for launch in LAUNCHES:
        found = point("all_reduce", cluster(), 1, MIB, "ring", launch=launch)
        assert (found.time_s, found.protocol) == (0.0, "simple")


def test_send_recv_runs_at_the_rate_of_a_lone_transfer():
    found = point("send_recv", cluster(), 2, 360_000_000, "direct")
    assert found.protocol == "simple"
    assert found.time_s == pytest.approx(8.4e-6 + 3.8e-6 + 1e-3)


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


# ---- protocols


def test_protocols_change_from_latency_to_bandwidth():
    """H100: LL at small sizes, LL128 between, Simple where its full rate pays off."""
    points = collective_points(
        "all_reduce", machines("h100", 8), 8, [8 * KIB, 16 * MIB, GIB], ["ring"]
    )
    assert [p.protocol for p in points] == ["ll", "ll128", "simple"]


def test_small_times_are_those_of_nccls_plan():
    """Ring all_reduce of LL: 6.6 us, and 0.6 us for each of 2 (n - 1) steps."""
    for n_ranks, time_s in ((2, 7.8e-6), (4, 10.2e-6), (8, 15.0e-6)):
        found = point("all_reduce", machines("h100", n_ranks), n_ranks, KIB, "ring")
        assert found.time_s == pytest.approx(time_s, rel=0.01)


def test_a_step_between_nodes_pays_the_nic_and_the_host():
    """IB, LL: 2.7 us of NCCL, 2.8 us of the NIC, 1 us of the host; twice and thrice for Simple."""
    machine = machines("h100", 2, 2)
    fabric = build_fabric(machine, 2)
    ll, ll128, simple = fabric.latency_s([0], [1])[:, 0]
    assert (ll, ll128, simple) == pytest.approx((6.5e-6, 7.8e-6, 22.6e-6))
    found = point("all_reduce", machine, 2, KIB, "ring")
    assert found.time_s == pytest.approx(6.6e-6 + 2 * ll, rel=0.01)


@pytest.mark.parametrize(
    ("collective", "inside", "between"), [("all_reduce", 28, 2), ("all_gather", 14, 1)]
)
def test_a_chunk_of_a_ring_pays_for_the_network_where_it_crosses(collective, inside, between):
    """As NCCL counts: of 2 (n - 1) steps of an all_reduce over two nodes two cross, not all."""
    machine = machines("h100", 16)
    found = point(collective, machine, 16, KIB, "ring")
    # The chunk that waits longest leaves out steps inside a node rather than between nodes.
    more = 2 if collective == "all_reduce" else 1
    steps_s = (inside - more) * 0.6e-6 + (between + more) * 6.5e-6
    assert found.time_s == pytest.approx(6.6e-6 + steps_s, rel=0.05)


@pytest.mark.parametrize(
    ("gpu", "n_ranks", "shares"),
    [
        ("h100", 8, (141 / 370.8, 0.92, 1.0)),
        ("h100", 16, (45 / 368, 0.92, 1.0)),
        ("a100", 8, (87.7 / 240, 0.92, 1.0)),
        ("l40s", 8, (0.5, 0.0, 1.0)),
    ],
)
def test_protocols_reach_what_the_planner_says(gpu, n_ranks, shares):
    found = protocol_shares("ring", machines(gpu, n_ranks), n_ranks)
    assert found.tolist() == pytest.approx(shares)


def test_without_a_planners_word_ll_reaches_half():
    shares = protocol_shares("ring", cluster(bus_bandwidth_bytes_per_s=100e9), 4)
    assert shares.tolist() == pytest.approx([0.5, 0.92, 1.0])
    assert protocol_shares("ring", cluster(), 1).tolist() == [0.0, 0.0, 1.0]


def test_trees_nvls_and_own_kernels_have_shares_of_their_own():
    machine = machines("h100", 8)
    tree = protocol_shares("tree", machine, 8)
    assert tree.tolist() == pytest.approx([0.92 / 3.8, 0.92 * 7 / 9, 0.92])
    assert protocol_shares("nvls", machine, 8).tolist() == [0.0, 0.0, 0.85]
    assert protocol_shares("two_shot", machine, 8).tolist() == [0.0, 0.0, 1.0]


def test_ll_takes_twice_the_wire_time():
    machine = cluster(bus_bandwidth_bytes_per_s=100e9)
    found = point("all_gather", machine, 4, 64 * KIB, "ring")
    assert found.protocol == "ll"
    wire_s = 3 / 4 * 64 * KIB / 50e9
    assert found.time_s == pytest.approx(6.6e-6 + 3 * 1e-6 + wire_s)


# ---- fixed costs


def test_own_kernels_start_in_a_few_microseconds():
    one_shot = point("all_reduce", machines("h100", 8), 8, KIB, "one_shot", launch="cuda_graph")
    assert 4e-6 < one_shot.time_s < 6e-6
    assert one_shot.protocol == "simple"


@pytest.mark.parametrize("algorithm", ["ring", "tree", "one_shot", "nvls"])
def test_launches_differ_at_small_sizes(algorithm):
    machine = machines("h100", 8)
    times = {
        launch: point("all_reduce", machine, 8, KIB, algorithm, launch=launch).time_s
        for launch in LAUNCHES
    }
    assert times["eager"] >= 37e-6
    assert times["nccl-tests"] <= times["cuda_graph"] < times["eager"]
    assert times["custom"] < times["fused"] < times["eager"]
    large = [
        point("all_reduce", machine, 8, GIB, algorithm, launch=launch).time_s for launch in LAUNCHES
    ]
    assert max(large) / min(large) < 1.02


def test_nvls_takes_nccls_25_microseconds():
    found = point("all_reduce", machines("h100", 8), 8, KIB, "nvls")
    assert found.time_s == pytest.approx(25e-6, rel=0.01)


def test_many_messages_take_time_to_issue():
    machine = cluster("switch", 8, bus_bandwidth_bytes_per_s=1e15)
    two, eight = (point("all_to_all", machine, n, 512, "direct").time_s for n in (2, 8))
    assert eight - two == pytest.approx(6 * 0.1e-6, rel=0.01)


def test_an_unknown_launch_is_told():
    with pytest.raises(ValueError, match="unknown launch 'lazy'; known: nccl-tests, cuda_graph"):
        fixed_s("ring", "lazy")


# ---- large and special machines


def test_the_switch_saves_a_third_of_the_time_of_a_large_all_reduce():
    machine = cluster("switch", 8, adds_in_switch=True)
    found = point("all_reduce", machine, 8, 1 << 34, "nvls")
    assert found.bus_bandwidth_bytes_per_s == pytest.approx(
        1.75 / (1.125 * 65 / 64) * 370e9, rel=0.01
    )


def test_hierarchical_takes_fewer_steps_over_the_network_than_a_ring():
    sizes = [MIB, 16 * GIB]
    points = collective_points(
        "all_reduce", cluster("switch", 8), 64, sizes, ["ring", "hierarchical"]
    )
    small, large = points[:2], points[2:]
    assert [p.chosen for p in small] == [False, True]
    ring, hierarchical = (p.bus_bandwidth_bytes_per_s for p in large)
    # Rings side by side use all NICs too, and both levels at once.
    assert hierarchical < ring


@pytest.mark.parametrize("collective", ALGORITHMS)
def test_72_gpus_of_one_rack_run_everything(collective):
    n_ranks = 2 if collective == "send_recv" else 72
    machine = cluster("switch", 72, adds_in_switch=True)
    points = collective_points(collective, machine, n_ranks, [KIB, GIB])
    assert {p.algorithm for p in points} == set(runnable(collective, machine, n_ranks))
    assert all(1e-6 < p.time_s < 10 for p in points)


def test_a_ring_line_is_that_of_rings_side_by_side():
    fabric = build_fabric(cluster("mesh", 5), 10)
    orders = ring_orders(fabric)
    schedule = build("all_reduce", "ring", 10, 10 * len(orders))
    cost = charge(schedule, fabric, orders, 1 / len(orders))
    (line,) = cost_lines("all_reduce", "ring", fabric, 10)
    assert (line.latencies_s < cost.latencies_s).all()
    bytes_s = cost.time_s - cost.latency_s
    assert line.seconds_per_byte * schedule.n_elements == pytest.approx(bytes_s)


def test_16384_ranks_compare_every_all_to_all_that_makes_sense():
    machine = cluster("switch", 8)
    assert runnable("all_to_all", machine, 16384) == ALGORITHMS["all_to_all"]
    points = collective_points("all_to_all", machine, 16384, [MIB])
    direct = next(p for p in points if p.algorithm == "direct")
    # 16,376 of 16,384 blocks leave the node, each over its GPU's own NIC.
    wire_s = MIB * 16376 / 16384 / BETWEEN.bus_bandwidth_bytes_per_s
    assert direct.time_s > wire_s
    assert "pairwise" not in runnable("all_to_all", machine, 16380)
