"""Ranks that do alike, charged through a few of them, against the charge of all transfers."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpuflow.cluster.charge import charge
from gpuflow.cluster.fabric import build_fabric
from gpuflow.cluster.rings import ring_orders
from gpuflow.cluster.symmetry import can_be_charged, charge_alike, is_alike
from gpuflow.collectives.algorithms import ALGORITHMS, build, has_levels
from gpuflow.scenario import catalog
from gpuflow.scenario.spec import ClusterSpec

ALIKE = [(c, a) for c in ALGORITHMS for a in ALGORITHMS[c] if is_alike(c, a)]
NETWORK = replace(catalog.fabric("ib-ndr"), name="between", topology="rail", pxn=True)


def full(collective, algorithm, fabric):
    """The charge of every transfer, and the size it was made for."""
    n = fabric.n_gpus
    size = n * (1 << (n.bit_length() - 1))
    levels = fabric.gpus_per_node if has_levels(collective, algorithm) else None
    gpus = ring_orders(fabric) if algorithm == "ring" else np.arange(n)[np.newaxis]
    size *= len(gpus)
    schedule = build(collective, algorithm, n, size, ranks_per_node=levels)
    return charge(schedule, fabric, gpus, 1 / len(gpus)), size


def test_what_all_ranks_do_alike_is_known():
    assert {c for c, _ in ALIKE} == {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"}
    assert {a for c, a in ALIKE if c == "all_to_all"} == set(ALGORITHMS["all_to_all"])


@pytest.mark.parametrize(("collective", "algorithm"), ALIKE)
@settings(max_examples=25, derandomize=True, deadline=None)
@given(data=st.data())
def test_a_few_stand_for_all(any_fabric, collective, algorithm, data):
    fabric = data.draw(any_fabric)
    if has_levels(collective, algorithm):
        assume(fabric.n_gpus % fabric.gpus_per_node == 0)
    some = charge_alike(collective, algorithm, fabric)
    every, size = full(collective, algorithm, fabric)
    np.testing.assert_allclose(some.latencies_s, every.latencies_s, rtol=1e-9)
    assert some.transfers_s * size == pytest.approx(every.time_s - every.latency_s)
    assert some.rounds == every.rounds
    np.testing.assert_allclose(some.link_shares * size, every.link_bytes, rtol=1e-9)
    if algorithm != "ring":
        assert some.messages == every.messages


@pytest.mark.parametrize("n_gpus", [64, 62, 60, 56])
@pytest.mark.parametrize("leaf_ports", [0, 4, 3])
def test_leaves_and_nodes_in_part_are_told_apart(n_gpus, leaf_ports):
    machine = ClusterSpec(
        device=catalog.device("h100-sxm"),
        scale_up=catalog.fabric("nvlink-4"),
        scale_out=replace(NETWORK, leaf_ports=leaf_ports, oversubscription=3.0),
        gpus_per_node=4,
        nics_per_node=2,
    )
    fabric = build_fabric(machine, n_gpus)
    for algorithm in ("direct", "pairwise", "bruck"):
        some = charge_alike("all_to_all", algorithm, fabric)
        every, size = full("all_to_all", algorithm, fabric)
        assert some.transfers_s * size == pytest.approx(every.time_s - every.latency_s)
        np.testing.assert_allclose(some.latencies_s, every.latencies_s)
        np.testing.assert_allclose(some.link_shares * size, every.link_bytes)


def test_large_fabrics_need_nodes_alike_where_ranks_are_only_moved_on():
    machine = ClusterSpec(
        device=catalog.device("h100-sxm"),
        scale_up=catalog.fabric("nvlink-4"),
        scale_out=NETWORK,
        gpus_per_node=8,
    )
    even, uneven = build_fabric(machine, 4096), build_fabric(machine, 4095)
    assert can_be_charged("all_to_all", "pairwise", even)
    assert not can_be_charged("all_to_all", "pairwise", uneven)
    assert can_be_charged("all_to_all", "direct", uneven)
    all_out = charge_alike("all_to_all", "direct", even)
    assert all_out.messages == 4095
