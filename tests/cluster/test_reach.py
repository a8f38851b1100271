"""What groups reach of the fabric they run over."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuflow.cluster.points import schedule_times
from gpuflow.cluster.reach import group_fabric
from gpuflow.scenario import catalog
from gpuflow.scenario.spec import ClusterSpec


def cluster(scale_up: str, nics: int | None = None) -> ClusterSpec:
    """Nodes of eight GPUs; fewer NICs give each GPU a part of one, as the reader has it."""
    network = catalog.fabric("ib-ndr")
    share = 1 if nics is None else nics / 8
    return ClusterSpec(
        device=catalog.device("h100-sxm"),
        scale_up=catalog.fabric(scale_up),
        scale_out=replace(
            network, bus_bandwidth_bytes_per_s=network.bus_bandwidth_bytes_per_s * share
        ),
        gpus_per_node=8,
        nics_per_node=nics,
    )


@pytest.mark.parametrize(
    ("scale_up", "groups", "bus_gb_per_s"),
    [
        ("nvlink-4", ((0, 1), (2, 3)), 370),
        ("nvlink-4", ((0, 8),), 46),
        ("nvlink-4", ((0, 1), (7, 8)), 46),
        ("xgmi-mi300x", (tuple(range(8)),), 310),
        ("xgmi-mi300x", ((0, 1, 2, 3), (4, 5, 6, 7)), 310 * 3 / 7),
        ("xgmi-mi300x", ((0, 1),), 310 / 7),
        ("nvlink-2-cube", (tuple(range(8)),), 120),
        ("nvlink-2-cube", ((0, 1, 2, 3),), 80),
        ("nvlink-2-cube", ((0, 3),), 40),
        ("nvlink-2-cube", ((0, 3), (4, 5)), 20),
        ("nvlink-2-cube", ((0, 5),), 20),
        ("pcie-5-bridge", ((0, 1), (6, 7)), 247),
        ("pcie-5-bridge", ((1, 2),), 50),
        ("pcie-5-bridge", ((0, 1), (2, 4)), 50),
        ("pcie-5", ((0, 1),), 50),
    ],
)
def test_groups_reach_what_joins_their_members(scale_up, groups, bus_gb_per_s) -> None:
    found = group_fabric(cluster(scale_up), groups)
    assert found.bus_bandwidth_bytes_per_s == pytest.approx(bus_gb_per_s * 1e9)


def test_a_fabric_used_in_full_is_itself() -> None:
    machine = cluster("xgmi-mi300x")
    assert group_fabric(machine, (tuple(range(8)),)) is machine.scale_up
    assert group_fabric(machine, ((0,),)).tier == "scale_up"


def test_rings_over_nodes_reach_all_nics_of_a_node_together() -> None:
    """Eight NICs of 46 GB/s, held back by what NVLink reaches inside the node."""
    machines = cluster("nvlink-4")
    whole = (tuple(range(16)),)
    alone = group_fabric(machines, whole)
    together = group_fabric(machines, whole, runs_rings=True)
    assert alone.bus_bandwidth_bytes_per_s == machines.scale_out.bus_bandwidth_bytes_per_s
    wanted = min(8 * alone.bus_bandwidth_bytes_per_s, machines.scale_up.bus_bandwidth_bytes_per_s)
    assert together.bus_bandwidth_bytes_per_s == pytest.approx(wanted)


def test_one_rank_a_node_has_one_nic() -> None:
    machines = cluster("nvlink-4")
    pair = ((0, 8),)
    assert (
        group_fabric(machines, pair, runs_rings=True).bus_bandwidth_bytes_per_s
        == machines.scale_out.bus_bandwidth_bytes_per_s
    )


@pytest.mark.parametrize("nics", [1, 2, 4, 8])
def test_rings_over_nodes_reach_what_the_charged_schedule_does(nics: int) -> None:
    """NICs of 46 GB/s carry their whole rate, however many GPUs share one."""
    machines = cluster("nvlink-4", nics)
    found = group_fabric(machines, (tuple(range(16)),), runs_rings=True)
    assert found.bus_bandwidth_bytes_per_s == pytest.approx(46e9 * nics)
    size = 2.0**34
    charged = schedule_times("all_reduce", machines, 16, [size], ["ring"]).time_s[0, 0]
    assert 2 * 15 / 16 * size / charged == pytest.approx(46e9 * nics, rel=0.02)
