from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from gpuflow.cluster.measurements import shipped_rows
from gpuflow.cluster.multi_node import multi_node_seconds, nic_bytes, nic_of
from gpuflow.cluster.nccl_model import Chip, Nic
from gpuflow.cluster.prediction import predict, shipped_book

MIB = 1024 * 1024
H100 = Chip("hopper", "nvlink", 370.8e9)
P5_LOG = "nccl-tests/h100-16gpu-p5-allreduce-srun-label.log"


def test_two_nodes_of_b200_over_roce_without_being_fitted_on() -> None:
    rows = [r for r in shipped_rows() if "GCP A4 RoCE" in r.source and r.size_bytes >= MIB]
    assert len(rows) == 6
    errors = []
    for row in rows:
        found = shipped_book().predict(row.key, row.size_bytes, row.source)
        assert found.time_source == "extrapolated"
        assert found.detail.step == "several_nodes"
        assert row.place not in found.detail.rows
        assert {place.split(":")[0] for place in found.detail.rows} == {"collectives_one_node.csv"}
        errors.append(abs(float(found.seconds) / row.time_s - 1))
    assert np.mean(errors) <= 0.08


def test_two_nodes_of_h100_over_efa(inputs: Path) -> None:
    """16 ranks, from nccl-tests' own table: size, count, type, redop, root, time (us) ..."""
    line = re.compile(r"^\d+: +(\d+) +\d+ +float +sum +-1 +([\d.]+) ")
    text = (inputs / P5_LOG).read_text(encoding="utf-8")
    table = [m.groups() for m in map(line.match, text.splitlines()) if m]
    sizes, times = (np.array([float(row[i]) for row in table]) for i in (0, 1))
    assert len(sizes) == 32
    large = sizes >= MIB
    found = predict(
        "h100", "all_reduce", "nccl", "nccl-tests", 16, 2, sizes[large], fabric="efa-400"
    )
    errors = np.abs(found.seconds / (1e-6 * times[large]) - 1)
    assert errors.mean() <= 0.10
    assert found.time_source == "extrapolated"


def test_tcp_offload_has_a_calibration_of_its_own() -> None:
    found = predict(
        "h100", "all_reduce", "nccl", "nccl-tests", 16, 2, [MIB, 2.0**30], fabric="tcpxo-200"
    )
    assert found.time_source == "calibrated"
    assert found.detail.sources == ("2 x 8 H100, GCP A3-mega, nccl-tests",)
    over_rdma = predict("h100", "all_reduce", "nccl", "nccl-tests", 16, 2, [MIB, 2.0**30])
    assert (found.seconds > over_rdma.seconds).all()


def test_nic_bytes_of_every_collective() -> None:
    size = np.array([32.0])
    assert nic_bytes("all_reduce", 16, 2, size) == pytest.approx(32 / 8)
    assert nic_bytes("all_reduce", 32, 4, size) == pytest.approx(2 * 0.75 * 32 / 8)
    assert nic_bytes("all_gather", 16, 2, size) == pytest.approx(0.5 * 32 / 8)
    assert nic_bytes("all_to_all", 16, 2, size) == pytest.approx(16)
    assert nic_bytes("send_recv", 2, 2, size) == pytest.approx(32)


def test_only_fabrics_between_nodes_have_a_nic() -> None:
    assert nic_of("nvlink-4") is None
    assert nic_of("nowhere") is None
    ndr, efa = nic_of("ib-ndr"), nic_of("efa-400")
    assert ndr is not None
    assert efa is not None
    assert ndr.bytes_per_s == pytest.approx(46e9)
    assert efa.latency_s == pytest.approx(12e-6)


@pytest.mark.parametrize("collective", ["all_reduce", "all_gather", "all_to_all", "send_recv"])
@pytest.mark.parametrize(("n_ranks", "n_nodes"), [(2, 2), (16, 2), (64, 8)])
def test_times_rise_and_never_beat_the_nic(collective: str, n_ranks: int, n_nodes: int) -> None:
    sizes = np.geomspace(8, 1e11, 300)
    nic = Nic(46e9, 3e-6)

    def one_node(at: np.ndarray) -> np.ndarray:
        return 1e-5 + at / 3e11

    found = multi_node_seconds(
        collective, n_ranks, n_nodes, sizes, H100, nic, one_node if n_ranks > n_nodes else None
    )
    assert (np.diff(found) >= 0).all()
    wire = nic_bytes(collective, n_ranks, n_nodes, sizes) / nic.bytes_per_s
    assert (found > wire).all()
    # at last the longer of the two parts is nearly all there is
    share = 1 / n_nodes if collective == "all_to_all" else 1
    longer = max(wire[-1], one_node(sizes[-1:] * share)[0] if n_ranks > n_nodes else 0.0)
    assert found[-1] == pytest.approx(longer, rel=0.01)
