from __future__ import annotations

import numpy as np
import pytest

from gpuflow.cluster.engine_kernels import (
    engine_kernel,
    kernel_changes,
    trtllm_limit,
    vllm_custom_limit,
    vllm_multimem_limit,
)
from gpuflow.cluster.nccl_model import (
    Chip,
    Nic,
    chip,
    nccl_candidates,
    nccl_predict,
    network_step_s,
    nvls_efficiency,
)

H100 = Chip("hopper", "nvlink", 370.8e9)
NDR = Nic(46e9, 2.8e-6)
KIB, MIB = 1024, 1024 * 1024


def latency_us(algorithm: str, protocol: str, n_ranks: int, n_nodes: int = 1) -> float:
    found = nccl_candidates("all_reduce", n_ranks, n_nodes, H100, NDR)
    one = next(c for c in found if (c.algorithm, c.protocol) == (algorithm, protocol))
    return 1e6 * one.latency_s


@pytest.mark.parametrize(("n_ranks", "us"), [(2, 7.8), (4, 10.2), (8, 15.0)])
def test_ring_with_ll_inside_a_node(n_ranks: int, us: float) -> None:
    assert latency_us("ring", "ll", n_ranks) == pytest.approx(us)


def test_latencies_of_the_others() -> None:
    assert latency_us("ring", "simple", 8) == pytest.approx(56.0)
    assert latency_us("tree", "ll", 8) == pytest.approx(6.8 + 2 * 7 * 0.6)
    assert latency_us("nvls", "simple", 8) == pytest.approx(25.0)
    # two nodes: 28 steps inside, 2 over the network, the NIC's own latency added
    assert latency_us("ring", "ll", 16, 2) == pytest.approx(6.6 + 28 * 0.6 + 2 * (2.7 + 2.8))
    assert latency_us("nvls_tree", "simple", 16, 2) == pytest.approx(25 + 2 * (20.9 + 2 * 2.8))


def test_small_messages_go_by_ll_and_large_ones_by_the_switch() -> None:
    sizes = np.array([1.0 * KIB, 1024.0 * MIB])
    times = nccl_predict("all_reduce", 8, 1, sizes, "h100-sxm")
    best = [min(times, key=lambda name: times[name][i]) for i in range(2)]
    assert best == [("ring", "ll"), ("nvls", "simple")]
    # the bus bandwidth that 8 x H100 reach by NVLS, about 480 GB/s (nccl-tests PERFORMANCE.md)
    assert 1.75 * sizes[1] / times[best[1]][1] == pytest.approx(480e9, rel=0.03)


def test_ampere_has_no_adding_switch_and_pcie_no_ll128() -> None:
    names = {c.algorithm for c in nccl_candidates("all_reduce", 8, 1, chip_of("a100-80gb-sxm"))}
    assert names == {"ring", "tree"}
    protocols = {c.protocol for c in nccl_candidates("all_reduce", 8, 1, chip_of("rtx-pro-6000"))}
    assert protocols == {"ll", "simple"}
    assert nvls_efficiency("ampere") == 0.0


def chip_of(gpu: str) -> Chip:
    found = chip(gpu)
    assert found is not None
    return found


@pytest.mark.parametrize(
    "collective",
    ["all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce", "all_to_all"],
)
@pytest.mark.parametrize(("n_ranks", "n_nodes"), [(2, 1), (8, 1), (6, 1), (16, 2), (4, 4)])
def test_plans_rise_with_size_and_never_beat_the_links(
    collective: str, n_ranks: int, n_nodes: int
) -> None:
    sizes = np.geomspace(64, 8e9, 60)
    times = nccl_predict(collective, n_ranks, n_nodes, sizes, "h100-sxm", NDR)
    assert times
    for found in times.values():
        assert found.shape == sizes.shape
        assert (np.diff(found) > 0).all()
        assert (found > sizes / n_ranks / 450e9).all()


def test_all_gather_is_no_tree_and_pat_needs_one_gpu_a_node() -> None:
    names = {c.algorithm for c in nccl_candidates("all_gather", 16, 2, H100, NDR)}
    assert names == {"ring"}
    assert "pat" in {c.algorithm for c in nccl_candidates("all_gather", 4, 4, H100, NDR)}


def test_simple_pays_for_the_nic_twice() -> None:
    assert network_step_s("tree", "simple", 1e-6) == pytest.approx(16e-6)
    assert network_step_s("tree", "ll", 1e-6) == pytest.approx(6e-6)


def test_what_cannot_be_planned_is_refused() -> None:
    for bad in [
        ("all_reduce", 1, 1, None),
        ("all_reduce", 9, 2, NDR),
        ("all_reduce", 16, 2, None),
        ("gather", 8, 1, None),
    ]:
        with pytest.raises(ValueError, match=r"ranks|network|plan"):
            nccl_candidates(bad[0], bad[1], bad[2], H100, bad[3])
    with pytest.raises(ValueError, match="unknown GPU"):
        nccl_predict("all_reduce", 8, 1, 1e6, "abacus")


def test_other_vendors_are_known_by_the_catalogue() -> None:
    assert chip_of("mi300x").bus_bytes_per_s == pytest.approx(310e9)
    assert chip_of("h100") == H100
    assert chip("abacus") is None


def test_vllm_hands_over_where_its_tables_say() -> None:
    assert vllm_custom_limit("h100-sxm", 2) == 8 * MIB
    assert vllm_custom_limit("h100-sxm", 8) == 256 * KIB
    assert vllm_custom_limit("b200-sxm", 8) == MIB
    assert vllm_custom_limit("b300-sxm", 6) == 8 * MIB
    assert vllm_custom_limit("a100-80gb-sxm", 8) == 8 * MIB
    assert vllm_multimem_limit("b200-sxm", 8) == 128 * MIB
    assert vllm_multimem_limit("a100-80gb-sxm", 8) == 0
    sizes = [128 * KIB, 256 * KIB, 64 * MIB]
    found = [engine_kernel("vllm", "h100-sxm", 8, size) for size in sizes]
    assert found == ["vllm_custom", "nvls_multimem", "nccl"]
    assert engine_kernel("vllm", "h100-sxm", 3, KIB) == "nccl"


def test_tensorrt_llm_keeps_what_fits_its_workspace() -> None:
    assert engine_kernel("tensorrt_llm", "h100-sxm", 2, 8 * MIB) == "trtllm_custom"
    assert engine_kernel("tensorrt_llm", "h100-sxm", 8, 8 * MIB) == "nccl"
    assert trtllm_limit(2) == 16_000_001


def test_changes_of_kernel_rise() -> None:
    assert kernel_changes("nccl", "h100-sxm", 8) == ()
    for gpu in ("a100-80gb-sxm", "h100-sxm", "b200-sxm", "gb200"):
        for n_ranks in (2, 4, 8):
            sizes = [size for size, _ in kernel_changes("vllm_custom", gpu, n_ranks)]
            assert sizes == sorted(set(sizes))
