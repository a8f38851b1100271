"""What libraries and kernels make of a simulated schedule: protocols, fixed costs, launches.

P  protocols: LL, LL128, Simple

time = fixed + starts of all rounds under the protocol + issue of further messages + bytes / rate

Simple fills links; LL sends a flag with every 4 bytes and reaches half of that at most, LL128 one
with every 120 bytes (NCCL's planner: 0.92). Fixed costs are NCCL's, but for kernels that engines
bring themselves.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from gpuflow.cluster.measurements import settings
from gpuflow.cluster.nccl_model import (
    PAT_FACTOR,
    PROTOCOLS,
    Chip,
    LinkKind,
    Nic,
    chip,
    nccl_candidates,
    nvls_efficiency,
)
from gpuflow.cluster.steps import family_of, planned
from gpuflow.cluster.wiring import FloatArray
from gpuflow.scenario.spec import ClusterSpec
from gpuflow.units import parse_time

Launch = Literal["nccl-tests", "cuda_graph", "eager", "custom", "fused"]
"""nccl-tests: back to back in a stream. cuda_graph: replayed. eager: from Python. custom: a kernel
of the engine's own. fused: one that adds the residual and the norm as well."""
LAUNCHES: tuple[Launch, ...] = ("nccl-tests", "cuda_graph", "eager", "custom", "fused")

OWN_KERNELS = frozenset({"one_shot", "two_shot", "nvls_one_shot"})
"""Algorithms of vLLM, TensorRT-LLM and SGLang, which no library picks."""
SIMPLE_ONLY = OWN_KERNELS | {"nvls", "pat"}
"""Algorithms that know one protocol; the engines' own synchronise with flags at full rate."""

OWN_KERNEL_S = 1e-6
"""With one Simple step a one-shot all_reduce of 1 KiB takes 4.4 us on H100 (measured: TensorRT-LLM
2.7 to 3.2, vLLM 4.2 to 4.7; aiconfigurator-core 0.12)."""
FUSED_S = 2.5e-6
"""Within the 5 to 9 us that fused kernels take (SGLang PR 7621)."""
GRAPH_S = 1e-6
"""Gap before a kernel of a replayed graph: lower end of measured NCCL in graphs on 8 x H100 (16 us)
above NCCL's plan (15 us)."""
ISSUE_S = 0.1e-6
"""Each further message that a GPU sends in a round: all_to_all of 512 B on H100 takes 6.5 us with
two ranks and 7.4 us with eight (aiconfigurator-core 0.12)."""
_NVLS_ROUNDS = 2
"""Rounds of the shortest NVLS schedule, which NCCL's planned latency covers."""


def fixed_s(algorithm: str, launch: Launch) -> FloatArray:
    """What a collective costs before its first round, by protocol; shape (P,).

    Raises:
        ValueError: There is no such launch.
    """
    if launch not in LAUNCHES:
        raise ValueError(f"unknown launch {launch!r}; known: {', '.join(LAUNCHES)}")
    if launch == "fused":
        return np.full(len(PROTOCOLS), FUSED_S)
    if launch == "custom" or algorithm in OWN_KERNELS:
        return np.full(len(PROTOCOLS), OWN_KERNEL_S)
    base, _ = planned("nvlink", family_of(algorithm))
    if algorithm == "nvls":
        base = np.maximum(_nvls_plan_s() - _NVLS_ROUNDS * planned("nvlink", "ring")[1], 0.0)
    return base + (GRAPH_S if launch == "cuda_graph" else 0.0)


def _nvls_plan_s() -> float:
    plans = nccl_candidates("all_reduce", 4, 1, Chip("hopper", "nvlink", 1.0))
    return next(one.latency_s for one in plans if one.algorithm == "nvls")


def as_launched(times_s: FloatArray, launch: Launch) -> FloatArray:
    """Times with what the host hides behind: from Python a launch takes it at least so long."""
    if launch != "eager":
        return times_s
    return np.hypot(times_s, parse_time(str(settings()["eager_launch"]["time"])))


def protocol_shares(algorithm: str, cluster: ClusterSpec, n_ranks: int) -> FloatArray:
    """Part of the links' rate that an algorithm reaches by protocol, (P,); 0 where it cannot run.

    Read off the planner's rings and trees: LL at most half, and capped by GPU generation and nodes;
    LL128 only over NVLink; trees less than rings. NVLS and PAT have their own factors there.
    """
    shares = np.zeros(len(PROTOCOLS))
    in_node = min(n_ranks, cluster.gpus_per_node)
    n_nodes = -(-n_ranks // cluster.gpus_per_node)
    is_pcie = cluster.scale_up.topology == "pcie"
    link: LinkKind = "pci" if is_pcie else "nvlink"
    gpu = chip(cluster.device.name)
    gpu = gpu or Chip("other", link, cluster.scale_up.bus_bandwidth_bytes_per_s)
    if algorithm in SIMPLE_ONLY or in_node * n_nodes < 2:
        own = {"nvls": nvls_efficiency(gpu.architecture) or 1.0, "pat": PAT_FACTOR}
        shares[PROTOCOLS.index("simple")] = own.get(algorithm, 1.0)
        return shares
    nic = Nic(cluster.scale_out.bus_bandwidth_bytes_per_s, 0.0)
    plans = nccl_candidates("all_reduce", in_node * n_nodes, n_nodes, gpu, nic)
    rates = {(p.algorithm, p.protocol): p.bandwidth_bytes_per_s for p in plans}
    family = family_of(algorithm)
    # A tree's plan halves the bus; the schedule itself moves what trees move.
    halves = 2 * (in_node * n_nodes - 1) / (in_node * n_nodes) if family == "ring" else 2.0
    bus = 2 * (in_node * n_nodes - 1) / (in_node * n_nodes) * rates["ring", "simple"]
    for which, protocol in enumerate(PROTOCOLS):
        if (family, protocol) in rates and not (protocol == "ll128" and is_pcie):
            shares[which] = halves * rates[family, protocol] / bus
    return shares
