"""One machine as its own tools describe it: what joins each two GPUs, and GPUs to NICs and sockets.

Kinds of links are those of `nvidia-smi topo -m` and its likes, nearest first: NV# (a bond of #
NVLinks), XGMI, MX, HCCS; PIX (one PCIe switch), PXB (several), PHB (the host bridge), NODE (several
host bridges of a NUMA node), SYS (between NUMA nodes, of one socket or two); PCIE where a tool does
not tell more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Tool = Literal["nvidia-smi", "rocm-smi", "amd-smi", "mx-smi", "npu-smi"]
Pair = tuple[int, int]

DIRECT = frozenset({"XGMI", "MX", "HCCS", "HCCS_SW", "SIO"})
"""Ways of other makers that are like NVLink."""
NEAREST_FIRST = ("PIX", "PXB", "PHB", "NODE", "PCIE", "SYS")
"""Ways over PCIe."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """What the reader of a file could not be sure of; locale key `topo.doubt.<code>`."""

    code: str
    values: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """What a file says of one machine."""

    file: str
    tool: Tool
    n_gpus: int
    nics: tuple[str, ...]
    """As the matrix names them."""
    links: Mapping[Pair, str]
    """Kind by (a, b), a < b; pairs that the file does not reach are absent."""
    nic_links: Mapping[tuple[int, str], str]
    """Kind by (GPU, NIC)."""
    numa: Mapping[int, str]
    """NUMA nodes of GPUs as printed; absent where the tool knows none."""
    cpus: Mapping[int, str]
    nic_devices: Mapping[str, str]
    """What the legend calls the NICs."""
    doubts: tuple[Doubt, ...] = ()
    refused: str = ""
    """Why it must not be relied on: mp, p2p, no_matrix; empty: it may."""

    def kind(self, a: int, b: int) -> str:
        """What joins two GPUs; empty where the file does not say."""
        return self.links.get((min(a, b), max(a, b)), "")

    def nvlinks(self, a: int, b: int) -> int:
        """NVLinks between two GPUs."""
        kind = self.kind(a, b)
        return int(kind[2:]) if kind.startswith("NV") else 0

    def is_direct(self, a: int, b: int) -> bool:
        """Whether data passes between two GPUs without PCIe."""
        return self.nvlinks(a, b) > 0 or self.kind(a, b) in DIRECT

    def nearest_nics(self, gpu: int) -> tuple[str, tuple[str, ...]]:
        """The shortest kind of way from a GPU to any NIC, and the NICs that have it."""
        kinds = {nic: self.nic_links[gpu, nic] for nic in self.nics if (gpu, nic) in self.nic_links}
        for kind in NEAREST_FIRST:
            found = tuple(nic for nic, its in kinds.items() if its == kind)
            if found:
                return kind, found
        return "", ()
