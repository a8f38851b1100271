"""NCCL_DEBUG=INFO alone: the machines it tells of, and a scenario on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuflow.errors import ScenarioError
from gpuflow.exporters.nccl_said import said_facts, said_scenario
from gpuflow.importers.nccl_judge import fabric_said
from gpuflow.importers.nccl_log import read_log, read_runs
from gpuflow.importers.nccl_reading import Known, Reading, understand
from gpuflow.scenario.load import load_scenario

HEAD = "0: host-a:7:7 [0] NCCL INFO "
SMALL = """NET/IB : Using [0]mlx5_0:1/RoCE [1]mlx5_bond_0:1/RoCE [RO]; OOB eth0:192.0.2.1<0>
Using network IB
ncclCommInitRank comm 0x1 rank 0 nranks 8 cudaDev 0 nvmlDev 0 busId 1000 - Init START
comm 0x1 rank 0 nRanks 8 nNodes 2 localRanks 4 localRank 0 MNNVL 0
Channel 00/04 :    0   1   2   3   4   5   6   7
Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM/read
Channel 01/0 : 0[0] -> 2[2] via SHM/direct/direct
Channel 00/0 : 0[0] -> 4[0] [send] via NET/IB/0(3)/GDRDMA
4 coll channels, 4 collnet channels, 0 nvls channels, 4 p2p channels
NCCL_ALGO set by environment to Ring.
"""


def reading(text: str, known: Known | None = None) -> Reading:
    lines = [HEAD + line for line in text.splitlines()]
    return understand(read_runs(lines, "info.log")[0], known)


def test_what_a_node_is_made_of_and_what_joins_nodes() -> None:
    found = reading(SMALL)
    debug = found.raw.debug
    assert found.is_debug_only
    assert (debug.ranks, debug.nodes, debug.gpus_per_node) == (8, 2, 4)
    assert debug.inside == ("P2P/CUMEM", "SHM/direct")
    assert debug.between == ("NET/IB",)
    assert (debug.nics, debug.nic_kind) == (["mlx5_0", "mlx5_bond_0"], "RoCE")
    assert debug.has_pxn
    assert debug.has_gpu_direct
    assert not debug.has_nvls
    assert (debug.channels, debug.rings) == (4, 4)
    facts = dict(said_facts(debug, "en"))
    assert facts["Inside a node"] == "P2P/CUMEM, SHM/direct"
    assert "2 NICs (RoCE): mlx5_0, mlx5_bond_0" in facts["Between nodes"]
    assert facts["Settings"] == "NCCL_ALGO=Ring"


@pytest.mark.parametrize(
    ("way", "doubts"),
    [
        ("NET/IB/0(3)/GDRDMA", set()),
        ("NET/IB/0", {"no_gpu_direct"}),
        ("NET/Socket/0", {"sockets"}),
        ("NET/AWS Libfabric/0/GDRDMA/Shared", set()),
    ],
)
def test_slow_ways_between_nodes_are_doubted(way: str, doubts: set[str]) -> None:
    found = reading(SMALL.replace("NET/IB/0(3)/GDRDMA", way))
    codes = {doubt.code for doubt in found.doubts}
    assert codes & {"sockets", "no_gpu_direct"} == doubts


def test_the_network_of_aws_has_a_blank_in_its_name() -> None:
    text = SMALL.replace("NET/IB/0(3)", "NET/AWS Libfabric/0").replace(
        "network IB", "network AWS Libfabric"
    )
    debug = reading(text).raw.debug
    assert debug.between == ("NET/AWS Libfabric",)
    assert "AWS Libfabric" in debug.networks
    assert fabric_said(debug) == "efa-400"


def test_communicators_of_groups_do_not_hide_the_whole() -> None:
    group = """ncclCommInitRank comm 0x2 rank 1 nranks 2 cudaDev 1 nvmlDev 1 busId 2000 - Init START
comm 0x2 rank 1 nRanks 2 nNodes 1 localRanks 2 localRank 1 MNNVL 0
"""
    for text in (SMALL + group, group + SMALL):
        debug = reading(text).raw.debug
        assert (debug.ranks, debug.nodes, debug.gpus_per_node) == (8, 2, 4)


def test_a_host_name_does_not_take_sharp_away() -> None:
    assert reading("notebook NET/IB SHARP enabled\n" + SMALL).raw.debug.has_sharp
    assert not reading("SHARP is not there\n" + SMALL).raw.debug.has_sharp


def test_a_scenario_stands_on_these_machines(tmp_path: Path) -> None:
    file = tmp_path / "own.yaml"
    file.write_text(said_scenario(reading(SMALL, Known(gpu="h100-sxm")), "a\x1b[2J\n.log"), "utf-8")
    text = file.read_text("utf-8")
    assert text.count("\x1b") == 0
    scenario = load_scenario(file)
    cluster = scenario.cluster
    assert (cluster.device.name, cluster.gpus_per_node, cluster.nics_per_node) == ("h100-sxm", 4, 2)
    assert cluster.scale_out.name == "roce-400"
    assert (scenario.parallel.tp, scenario.parallel.pp) == (4, 2)
    assert scenario.name == "tp4-pp2"


def test_without_the_gpu_there_is_none() -> None:
    with pytest.raises(ScenarioError):
        said_scenario(reading(SMALL), "info.log")


def test_the_real_log_has_the_reading_of_its_table(inputs: Path, tmp_path: Path) -> None:
    path = inputs / "traces" / "nccl-debug-h100-48rank-6node-ib-sharp.log"
    found = understand(read_log(str(path))[0])
    debug = found.raw.debug
    assert (found.gpu, debug.ranks, debug.nodes, debug.gpus_per_node) == ("h100-sxm", 48, 6, 8)
    assert debug.nvls_heads == 8
    assert debug.has_nvls
    assert debug.has_sharp
    assert debug.has_gpu_direct
    assert debug.has_pxn
    assert (debug.inside, debug.between) == (("P2P/IPC",), ("NET/IBext",))
    assert (len(debug.nics), debug.nic_kind, debug.rings) == (8, "IB", 16)
    file = tmp_path / "six.yaml"
    file.write_text(said_scenario(found, path.name), "utf-8")
    cluster = load_scenario(file).cluster
    assert (cluster.scale_up.name, cluster.scale_out.name) == ("nvlink-4", "ib-ndr")
    assert (cluster.gpus_per_node, cluster.nics_per_node) == (8, 8)
