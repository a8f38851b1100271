"""Collectives over several nodes, put together from one node's times and the network's figures.

n ranks    k nodes    g = n / k GPUs a node    S bytes    b bytes/s a NIC reaches

A collective works on every node and on the NICs at once, in chunks. So the longer of the two parts
counts in full, of the shorter one only what is not yet overlapped while the first chunks fill the
pipe, and the network's steps come on top:

    t = longer + shorter / (1 + S / in flight) + steps

NIC bytes of a GPU: all_reduce 2 (k-1)/k S/g, all_gather and reduce_scatter (k-1)/k S/g, all_to_all
(k-1)/k S. Steps are NCCL's planned ones: all_reduce in a tree 2 log2 k, others k-1 in a ring.
Nothing here is fitted to times over several nodes.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from gpuflow.cluster.curves import FloatArray
from gpuflow.cluster.measurements import settings
from gpuflow.cluster.nccl_model import Algorithm, Chip, Nic, network_step_s, nvls_efficiency
from gpuflow.errors import ScenarioError
from gpuflow.scenario import catalog
from gpuflow.units import parse_time

MIB = 1024 * 1024
IN_FLIGHT_BYTES = 64 * MIB
"""NCCL's buffers: 16 channels of 4 MiB (NCCL_BUFFSIZE)."""
BASE_LL_S, BASE_SIMPLE_S = 6.6e-6, 8.4e-6
"""NCCL's fixed latency of a ring, by protocol."""
LL_UP_TO_BYTES = 64 * 1024
"""Across nodes LL is quickest up to about here ("Demystifying NCCL", arXiv 2507.04786)."""
SIMPLE_FROM_BYTES = MIB
"""From here on Simple for certain; in between the two are joined in logarithms."""


def nic_of(fabric: str) -> Nic | None:
    """The network of a fabric of the catalogue as one GPU has it; None if it is not known."""
    try:
        spec = catalog.fabric(fabric)
    except ScenarioError:
        return None
    if spec.tier != "scale_out":
        return None
    for entry in settings()["nic_latency"]:
        if spec.name.split("-")[0] == entry["fabric"]:
            return Nic(spec.bus_bandwidth_bytes_per_s, parse_time(str(entry["time"])))
    return Nic(spec.bus_bandwidth_bytes_per_s, spec.step_latency_s)


def nic_bytes(collective: str, n_ranks: int, n_nodes: int, size_bytes: FloatArray) -> FloatArray:
    """Bytes one GPU sends over its NIC."""
    away = (n_nodes - 1) / n_nodes
    if collective == "all_to_all":
        return np.asarray(away * size_bytes)
    per_gpu = size_bytes / (n_ranks // n_nodes)
    if collective in {"broadcast", "reduce", "send_recv"}:
        return np.asarray(per_gpu)
    return np.asarray((2 if collective == "all_reduce" else 1) * away * per_gpu)


def multi_node_seconds(
    collective: str,
    n_ranks: int,
    n_nodes: int,
    size_bytes: FloatArray,
    gpu: Chip,
    nic: Nic,
    one_node: Callable[[FloatArray], FloatArray] | None,
) -> FloatArray:
    """Times over several nodes.

    Args:
        collective: all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all or
            send_recv.
        n_ranks: Ranks in all.
        n_nodes: Nodes, at least 2, with as many ranks on each.
        size_bytes: By nccl-tests' convention; any shape.
        gpu: The GPU.
        nic: The network of one GPU.
        one_node: Times of the same collective among the ranks of one node, by size; None with one
            GPU a node.
    """
    size = np.asarray(size_bytes, dtype=float)
    wire = nic_bytes(collective, n_ranks, n_nodes, size) / nic.bytes_per_s
    if one_node is None:
        # no kernel time inside the node to count on: NCCL's fixed latency instead
        inside, floor, base = np.zeros(size.shape), BASE_LL_S, BASE_SIMPLE_S
    else:
        base = 0.0
        # all_to_all leaves only what stays in the node to its links
        share = 1 / n_nodes if collective == "all_to_all" else 1.0
        inside = one_node(size * share)
        floor = float(one_node(np.zeros(1) + 8)[0])
    filling = np.minimum(inside, wire) / (1 + size / IN_FLIGHT_BYTES)
    steps = base + _steps_s(collective, n_nodes, gpu, nic, "simple")
    simple = np.maximum(inside, wire) + filling + steps
    low = floor + wire + _steps_s(collective, n_nodes, gpu, nic, "ll")
    span = np.log(SIMPLE_FROM_BYTES / LL_UP_TO_BYTES)
    part = np.clip(np.log(np.maximum(size, 1) / LL_UP_TO_BYTES) / span, 0, 1)
    return np.asarray(np.exp((1 - part) * np.log(np.minimum(low, simple)) + part * np.log(simple)))


def _steps_s(collective: str, n_nodes: int, gpu: Chip, nic: Nic, protocol: str) -> float:
    """What the steps between nodes cost, bytes apart."""
    is_simple = protocol == "simple"
    algorithm: Algorithm = "ring"
    steps = float(n_nodes - 1)
    if collective == "all_reduce":
        steps = 2 * math.log2(n_nodes)
        algorithm = "nvls_tree" if is_simple and nvls_efficiency(gpu.architecture) else "tree"
    elif collective in {"all_to_all", "send_recv"}:
        steps = 1.0
    return steps * network_step_s(algorithm, "simple" if is_simple else "ll", nic.latency_s)
