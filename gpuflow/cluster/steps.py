"""What it takes to start a transfer, by protocol: the part of a round that bytes do not change.

P  protocols: LL, LL128, Simple      K  kinds of routes (`gpuflow.cluster.wiring.Start`)

A fabric's own step latency is that of a ring under LL. How much longer LL128, Simple and trees take
is read off NCCL's planner (`gpuflow.cluster.nccl_model`), and so is what a NIC adds.
"""

from __future__ import annotations

from functools import cache
from typing import Literal

import numpy as np

from gpuflow.cluster.multi_node import nic_of
from gpuflow.cluster.nccl_model import PROTOCOLS, Chip, LinkKind, nccl_candidates, network_step_s
from gpuflow.cluster.wiring import FloatArray, Start
from gpuflow.scenario.spec import FabricSpec

Family = Literal["ring", "tree"]
"""Trees hand on what they get from two children; everything else steps as rings do."""
FAMILIES: tuple[Family, ...] = ("ring", "tree")

HOST_OVERHEAD_S = 1e-6
"""What the host's proxy thread adds to a network step, three times that for Simple (NCCL, Intel
hosts)."""
_SWITCHES_BEYOND_LEAF = 2


def family_of(algorithm: str) -> Family:
    """Whether an algorithm steps as trees do."""
    return "tree" if algorithm == "tree" else "ring"


@cache
def planned(link: LinkKind, family: Family) -> tuple[FloatArray, FloatArray]:
    """NCCL's fixed latency and its step inside a node, both (P,), in seconds.

    Read off the planner's latencies for two and three ranks: base + 2 (n - 1) steps. LL128, which
    PCIe cannot, is given as Simple's there.
    """
    chip = Chip("other", link, 1.0)
    plans = [
        {
            one.protocol: one.latency_s
            for one in nccl_candidates("all_reduce", n, 1, chip)
            if one.algorithm == family
        }
        for n in (2, 3)
    ]
    two, three = (np.array([plan.get(p, plan["simple"]) for p in PROTOCOLS]) for plan in plans)
    return np.asarray(2 * two - three), np.asarray((three - two) / 2)


def inside_step_s(fabric: FabricSpec, family: Family) -> FloatArray:
    """A step between GPUs of a node; shape (P,)."""
    link: LinkKind = "pci" if fabric.topology == "pcie" else "nvlink"
    longer_s = planned(link, family)[1] - planned(link, "ring")[1][0]
    return np.asarray(fabric.step_latency_s + longer_s)


def network_step(fabric: FabricSpec, family: Family) -> FloatArray:
    """A step between nodes below one leaf: NCCL's, the NIC's latency and the host's; (P,)."""
    nic = nic_of(fabric.name)
    nic_latency_s = nic.latency_s if nic else 0.0
    planned_s = np.array([network_step_s(family, p, nic_latency_s) for p in PROTOCOLS])
    host_s = HOST_OVERHEAD_S * np.array([1.0, 1.0, 3.0])
    longer_s = planned_s - network_step_s("ring", "ll", 0.0)
    return np.asarray(fabric.step_latency_s + longer_s + host_s)


def start_table(scale_up: FabricSpec, scale_out: FabricSpec) -> FloatArray:
    """Seconds by family, protocol and kind of route; shape (2, P, K)."""
    table = np.zeros((len(FAMILIES), len(PROTOCOLS), len(Start)))
    for which, family in enumerate(FAMILIES):
        inside = inside_step_s(scale_up, family)
        network = network_step(scale_out, family)
        spine = network + _SWITCHES_BEYOND_LEAF * scale_out.switch_latency_s
        by_kind = {
            Start.INSIDE: inside,
            Start.INSIDE_TWICE: 2 * inside,
            Start.BRIDGE: inside_step_s(scale_up.bridge or scale_up, family),
            Start.NETWORK: network,
            Start.SPINE: spine,
            Start.RELAYED: inside + network,
            Start.RELAYED_SPINE: inside + spine,
        }
        for kind, seconds in by_kind.items():
            table[which, :, kind] = seconds
    return table
