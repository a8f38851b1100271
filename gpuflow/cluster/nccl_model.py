"""What NCCL's own planner expects of each algorithm and protocol, and so what it picks.

time = latency + bytes / bandwidth for every algorithm and protocol allowed; the least wins. All
constants and rules are facts of NVIDIA/nccl 2.30 (src/graph/tuning.cc, src/graph/topo.h, read June
2026). Left out: the table that corrects trees by 0.4 to 1.0 between 64 B and 256 MB, and the
per-channel cap on tree bandwidth. NVLS is given the bytes it really sends. Planned times rank the
choices; measured times are longer.

n ranks    k nodes    g = n / k GPUs a node
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gpuflow.cluster.curves import FloatArray
from gpuflow.errors import ScenarioError
from gpuflow.scenario import catalog

Architecture = Literal["volta", "ampere", "hopper", "blackwell", "other"]
LinkKind = Literal["nvlink", "pci"]
Algorithm = Literal["tree", "ring", "nvls", "nvls_tree", "pat", "direct"]
Protocol = Literal["ll", "ll128", "simple"]

US = 1e-6
GB = 1e9


@dataclass(frozen=True, slots=True)
class Chip:
    """What the planner knows of a GPU."""

    architecture: Architecture
    link: LinkKind
    bus_bytes_per_s: float
    """Per direction, as the planner counts NVLinks: 20 GB/s each on Ampere, 20.6 on Hopper, 40.1 on
    Blackwell; PCIe 3 x16 12 GB/s and twice that a generation."""


_CHIPS: Mapping[str, Chip] = {
    "v100-sxm2": Chip("volta", "nvlink", 120 * GB),
    "a100-40gb-sxm": Chip("ampere", "nvlink", 240 * GB),
    "a100-80gb-sxm": Chip("ampere", "nvlink", 240 * GB),
    "h100-sxm": Chip("hopper", "nvlink", 370.8 * GB),
    "h200-sxm": Chip("hopper", "nvlink", 370.8 * GB),
    "h20": Chip("hopper", "nvlink", 370.8 * GB),
    "h800": Chip("hopper", "nvlink", 164.8 * GB),
    "b200-sxm": Chip("blackwell", "nvlink", 721.8 * GB),
    "b300-sxm": Chip("blackwell", "nvlink", 721.8 * GB),
    "gb200": Chip("blackwell", "nvlink", 721.8 * GB),
    "gb300": Chip("blackwell", "nvlink", 721.8 * GB),
    "rtx-pro-6000": Chip("blackwell", "pci", 48 * GB),
    "rtx-5090": Chip("blackwell", "pci", 48 * GB),
    "rtx-4090": Chip("ampere", "pci", 24 * GB),
    "l40s": Chip("ampere", "pci", 24 * GB),
}
"""Ada counts as Ampere: the planner tells compute capability 7, 8, 9 and 10 apart."""


def chip(gpu: str) -> Chip | None:
    """The planner's view of a GPU by id; other vendors' by the catalogue; None if unknown."""
    if gpu in _CHIPS:
        return _CHIPS[gpu]
    try:
        device = catalog.device(gpu)
    except ScenarioError:
        return None
    if device.name in _CHIPS:
        return _CHIPS[device.name]
    return Chip("other", "nvlink", catalog.fabric(device.fabric).bus_bandwidth_bytes_per_s)


@dataclass(frozen=True, slots=True)
class Nic:
    """The network between nodes as one GPU has it."""

    bytes_per_s: float
    """Reached per GPU and direction."""
    latency_s: float
    """NIC and wire, once."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One algorithm with one protocol."""

    algorithm: Algorithm
    protocol: Protocol
    latency_s: float
    bandwidth_bytes_per_s: float
    """Bytes of the collective (not of the bus) a second."""
    long_ring_ranks: int = 0
    """Ranks, where a ring over several nodes slows down for large messages; else 0."""

    def seconds(self, size_bytes: FloatArray | float) -> FloatArray:
        """Planned time."""
        size = np.asarray(size_bytes, dtype=float)
        latency = np.full(size.shape, self.latency_s)
        if self.long_ring_ranks:
            is_long = size / (CHANNELS * self.long_ring_ranks) >= 64
            latency = np.where(is_long, LONG_RING_FACTOR * latency, latency)
        return np.asarray(latency + size / self.bandwidth_bytes_per_s)


PROTOCOLS: tuple[Protocol, ...] = ("ll", "ll128", "simple")
_BASE: Mapping[Algorithm, tuple[float, float, float]] = {
    "tree": (6.8, 14.0, 8.4),
    "ring": (6.6, 14.0, 8.4),
    "nvls": (0.0, 0.0, 0.0),
    "nvls_tree": (0.0, 0.0, 0.0),
    "pat": (8.0, 8.0, 8.0),
    "direct": (6.6, 14.0, 8.4),
}
"""Microseconds once, by protocol; direct (all_to_all) as ring."""
_INSIDE: Mapping[LinkKind, Mapping[Algorithm, tuple[float, float, float]]] = {
    "nvlink": {
        "tree": (0.6, 1.25, 4.0),
        "ring": (0.6, 1.9, 3.4),
        "nvls": (25.0, 25.0, 25.0),
        "nvls_tree": (25.0, 25.0, 25.0),
    },
    "pci": {"tree": (1.0, 1.9, 4.0), "ring": (1.0, 2.5, 5.7)},
}
"""Microseconds a step between GPUs of a node."""
_NETWORK: Mapping[Algorithm, tuple[float, float, float]] = {
    "tree": (5.0, 8.5, 14.0),
    "ring": (2.7, 4.0, 14.0),
    "nvls": (18.0, 18.0, 18.0),
    "nvls_tree": (20.9, 20.9, 20.9),
    "pat": (14.0, 14.0, 14.0),
    "direct": (2.7, 4.0, 14.0),
}
"""Microseconds a step between nodes, the NIC's own latency apart."""
_LL_CAP: Mapping[Architecture, tuple[float, float, float]] = {
    "volta": (39.0, 39.0, 20.4),
    "ampere": (87.7, 22.5, 19.0),
    "hopper": (141.0, 45.0, 35.0),
    "blackwell": (282.0, 90.0, 70.0),
    "other": (87.7, 22.5, 19.0),
}
"""GB/s of bus that LL reaches on 1, 2, and 4 or more nodes."""
_LL128_CHANNEL: Mapping[Architecture, float] = {
    "volta": 20.0,
    "ampere": 20.0,
    "hopper": 36.7,
    "blackwell": 40.0,
    "other": 20.0,
}
"""GB/s a channel."""
_NVLS_EFFICIENCY: Mapping[Architecture, float] = {"hopper": 0.85, "blackwell": 0.74}
CHANNELS = 24
"""Channels taken for the LL128 cap and the long-ring rule; NCCL plans 16 to 32."""
LONG_RING_FACTOR = 1.4
TREE_FACTOR = 0.92
PAT_FACTOR = 0.75


def nvls_efficiency(architecture: Architecture) -> float:
    """Part of the bus that switch-side adding reaches; 0 where the switch cannot add."""
    return _NVLS_EFFICIENCY.get(architecture, 0.0)


def network_step_s(algorithm: Algorithm, protocol: Protocol, nic_latency_s: float) -> float:
    """One step between nodes: NCCL's constant and the NIC's latency, twice for Simple."""
    crossings = 2 if protocol == "simple" else 1
    return _NETWORK[algorithm][PROTOCOLS.index(protocol)] * US + crossings * nic_latency_s


def nccl_candidates(
    collective: str, n_ranks: int, n_nodes: int, gpu: Chip, nic: Nic | None = None
) -> tuple[Candidate, ...]:
    """Everything the planner would consider, with its planned latency and bandwidth.

    Args:
        collective: all_reduce, all_gather, reduce_scatter, broadcast, reduce or all_to_all.
        n_ranks: Ranks, at least 2, as many on each node.
        n_nodes: Nodes.
        gpu: The GPU.
        nic: The network; needed with more than one node.

    Raises:
        ValueError: The collective is none of these, ranks do not divide among nodes, or several
            nodes have no network.
    """
    if n_ranks < 2 or n_ranks % n_nodes:
        raise ValueError(f"{n_ranks} ranks on {n_nodes} nodes")
    if n_nodes > 1 and nic is None:
        raise ValueError("several nodes need a network")
    if collective not in _STEPS:
        raise ValueError(f"no plan for {collective}")
    plan = _Plan(collective, n_ranks, n_nodes, gpu, nic or Nic(math.inf, 0.0))
    return tuple(plan.candidates())


_STEPS = {
    "all_reduce": lambda n: 2 * (n - 1),
    "all_gather": lambda n: n - 1,
    "reduce_scatter": lambda n: n - 1,
    "broadcast": lambda n: n,
    "reduce": lambda n: n,
    "all_to_all": lambda n: n - 1,
}


@dataclass(frozen=True, slots=True)
class _Plan:
    collective: str
    n: int
    k: int
    gpu: Chip
    nic: Nic

    @property
    def g(self) -> int:
        return self.n // self.k

    @property
    def bus(self) -> float:
        """Bus of a ring through all nodes: the network of a whole node joins in."""
        inside = self.gpu.bus_bytes_per_s
        return inside if self.k == 1 else min(inside, self.g * self.nic.bytes_per_s)

    @property
    def steps(self) -> int:
        return int(_STEPS[self.collective](self.n))

    def candidates(self) -> Iterator[Candidate]:
        """Each algorithm and protocol the planner allows here."""
        if self.collective == "all_to_all":
            yield from self._direct()
            return
        for protocol in PROTOCOLS:
            # LL128 needs stores of 128 B that arrive whole: NVLink only
            if protocol == "ll128" and self.gpu.link != "nvlink":
                continue
            yield self._ring(protocol)
            if self.collective == "all_reduce":
                yield self._tree(protocol)
        if self.collective in {"all_reduce", "all_gather", "reduce_scatter"}:
            yield from self._in_switch()
            if self.k > 1 and self.g == 1 and self.collective != "all_reduce":
                yield self._pat()

    def _net(self, algorithm: Algorithm, protocol: Protocol) -> float:
        return network_step_s(algorithm, protocol, self.nic.latency_s)

    def _inside(self, algorithm: Algorithm, protocol: Protocol) -> float:
        return _INSIDE[self.gpu.link][algorithm][PROTOCOLS.index(protocol)] * US

    def _base(self, algorithm: Algorithm, protocol: Protocol) -> float:
        return _BASE[algorithm][PROTOCOLS.index(protocol)] * US

    def _ll_cap(self) -> float:
        return _LL_CAP[self.gpu.architecture][min(self.k - 1, 2)] * GB

    def _ring(self, protocol: Protocol) -> Candidate:
        between = 0
        if self.k > 1:
            between = 2 * (self.k - 1) if self.collective == "all_reduce" else self.k - 1
        latency = (
            self._base("ring", protocol)
            + (self.steps - between) * self._inside("ring", protocol)
            + between * self._net("ring", protocol)
        )
        bus = self.bus
        if protocol == "ll":
            bus = min(0.5 * bus, self._ll_cap())
        elif protocol == "ll128":
            bus = min(0.92 * bus, CHANNELS * _LL128_CHANNEL[self.gpu.architecture] * GB)
        is_long = protocol == "simple" and self.k > 1 and self.collective == "all_reduce"
        rate = bus * self.n / self.steps
        return Candidate("ring", protocol, latency, rate, self.n if is_long else 0)

    def _tree(self, protocol: Protocol) -> Candidate:
        depth = (self.g - 1) * self._inside("tree", protocol)
        depth += math.log2(self.k) * self._net("tree", protocol)
        bus = TREE_FACTOR * self.bus
        if protocol == "ll":
            bus = min(bus / 3.8, self._ll_cap())
        elif protocol == "ll128":
            bus *= 7 / 9 if self.k == 1 else 120 / 128
        return Candidate("tree", protocol, self._base("tree", protocol) + 2 * depth, 0.5 * bus)

    def _in_switch(self) -> Iterator[Candidate]:
        """NVLS inside a node; between nodes a tree of switches for all_reduce.

        The switch adds and multicasts, so a rank sends S + S/g instead of 2 (g-1)/g S.
        """
        efficiency = nvls_efficiency(self.gpu.architecture)
        if not efficiency or self.gpu.link != "nvlink" or self.g <= 2:
            return
        inside = self._inside("nvls", "simple")
        rate = efficiency * self.gpu.bus_bytes_per_s
        if self.collective == "all_reduce":
            rate /= 1 + 1 / self.g
        else:
            rate *= self.n / self.steps
        if self.k == 1:
            yield Candidate("nvls", "simple", inside, rate)
        elif self.collective == "all_reduce":
            net = 2 * math.log2(self.k) * self._net("nvls_tree", "simple")
            between = self.g * self.nic.bytes_per_s / (2 * (self.k - 1) / self.k)
            yield Candidate("nvls_tree", "simple", inside + net, min(rate, between))

    def _pat(self) -> Candidate:
        net = math.log2(self.k) * self._net("pat", "simple") / 3.5
        latency = self._base("pat", "simple") + net + 2.8 * self.n * US
        return Candidate("pat", "simple", latency, PAT_FACTOR * self.bus * self.n / self.steps)

    def _direct(self) -> Iterator[Candidate]:
        """Sends to all peers at once: one step of a ring, and the network where there is one."""
        for protocol in ("ll", "simple"):
            name: Protocol = "ll" if protocol == "ll" else "simple"
            latency = self._base("direct", name) + self._inside("ring", name)
            rate = self.gpu.bus_bytes_per_s * (0.5 if name == "ll" else 1.0)
            share = (self.n - 1) / self.n
            if self.k > 1:
                latency += self._net("direct", name)
                rate = min(rate, self.nic.bytes_per_s * share / ((self.k - 1) / self.k))
            yield Candidate("direct", name, latency, rate / share)


def nccl_predict(
    collective: str,
    n_ranks: int,
    n_nodes: int,
    size_bytes: FloatArray | float,
    gpu: str,
    nic: Nic | None = None,
) -> dict[tuple[Algorithm, Protocol], FloatArray]:
    """Planned time of every choice at every size.

    Args:
        collective: As for `nccl_candidates`.
        n_ranks: Ranks in all.
        n_nodes: Nodes.
        size_bytes: By nccl-tests' convention; any shape.
        gpu: Id of the GPU.
        nic: The network of one GPU.

    Raises:
        ValueError: The GPU is unknown, or as for `nccl_candidates`.
    """
    known = chip(gpu)
    if known is None:
        raise ValueError(f"unknown GPU {gpu}")
    found = nccl_candidates(collective, n_ranks, n_nodes, known, nic)
    return {(one.algorithm, one.protocol): one.seconds(size_bytes) for one in found}
