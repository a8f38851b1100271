"""What NCCL_DEBUG=INFO says among the lines of a log: ranks, nodes, channels, transports.

Forms: NVIDIA/nccl src/init.cc, src/transport, src/graph; the same lines come from RCCL.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_RANKS = re.compile(r"\bn[rR]anks (\d{1,7})")
_NODES = re.compile(r"\bnNodes (\d{1,6})")
_RINGS = re.compile(r"Channel (\d{2,4})/(\d{1,4}) : +\d+(?: |$)")
_CHANNELS = re.compile(r"(\d{1,4}) coll channels")
_HEAD = re.compile(r"NVLS Head +(\d{1,4}):(?= +\d)")
_LISTED = re.compile(r"(?: +\d{1,7})+")
_NVLS = re.compile(r"(\d{1,4}) nvls channels")
_VIA = re.compile(r"via (NET/AWS Libfabric|[A-Za-z0-9]{1,20}(?:/[A-Za-z]{1,20})?)")
_NETWORK = re.compile(
    r"Using network (AWS Libfabric|\S{1,40})|NET/(IB|OFI|Socket|FastSocket|GPUDirectTCPX\w*)"
)
_ENVIRONMENT = re.compile(r"(NCCL_\w{1,40}) set by environment to (\S{1,60})")
_NIC = re.compile(r"\[\d{1,3}\]([\w.-]{1,40}?)(?::\d{1,3})?/(IB|RoCE)\b")
_PROXY = re.compile(r"via NET/\w{1,20}/\d{1,3}\(\d{1,6}\)")
"""A number behind the NIC's is the rank that sends for another one: PXN."""
_MOST = 16
_MOST_NICS = 64
_BETWEEN = ("NET", "COLLNET", "CollNet")


@dataclass(slots=True)
class DebugFacts:
    """Collected over the lines of one log; None and empty where nothing was said."""

    ranks: int | None = None
    """Of the largest communicator."""
    nodes: int | None = None
    channels: int | None = None
    rings: int | None = None
    nvls_channels: int | None = None
    nvls_heads: int | None = None
    """Ranks of a node that lead its switch-side adding, each joined to its like elsewhere."""
    has_gpu_direct: bool = False
    """Whether the network writes into GPU memory (GDRDMA)."""
    has_trees: bool = False
    has_sharp: bool = False
    has_nvls: bool = False
    """Whether the NVLink switch multicasts and adds."""
    has_pxn: bool = False
    """Whether data goes through another GPU of the node to reach its NIC."""
    nics: list[str] = field(default_factory=list)
    """NICs that a node's processes use, by device name."""
    nic_kind: str | None = None
    """IB or RoCE."""
    transports: list[str] = field(default_factory=list)
    networks: list[str] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    """NCCL_* variables that the library found set."""
    warnings: list[str] = field(default_factory=list)
    """The first few NCCL WARN."""
    lines: int = 0

    @property
    def gpus_per_node(self) -> int | None:
        """Ranks of a node where all nodes have as many."""
        if not self.ranks or not self.nodes or self.ranks % self.nodes:
            return None
        return self.ranks // self.nodes

    @property
    def inside(self) -> tuple[str, ...]:
        """How data travels inside a node."""
        return tuple(name for name in self.transports if not name.startswith(_BETWEEN))

    @property
    def between(self) -> tuple[str, ...]:
        """How data travels between nodes."""
        return tuple(name for name in self.transports if name.startswith(_BETWEEN))

    @property
    def has_sockets(self) -> bool:
        """Whether data between nodes went over TCP by sockets."""
        return "NET/Socket" in self.transports

    @property
    def goes_through_hosts(self) -> bool:
        """Whether the NICs are InfiniBand's or RoCE's, and did not reach into GPU memory."""
        return "NET/IB" in self.transports and not self.has_gpu_direct

    def read(self, line: str) -> None:
        """Take what one line says."""
        if "NCCL WARN" in line:
            self._keep(self.warnings, line[line.index("NCCL WARN") + 10 :].strip()[:160])
            return
        if "NCCL INFO" not in line:
            return
        self.lines += 1
        # Groups such as those of TP have communicators of their own: the largest counts.
        if "anks " in line and (found := _RANKS.search(line)) is not None:
            self.ranks = max(self.ranks or 0, int(found[1]))
        if "nNodes" in line and (found := _NODES.search(line)) is not None:
            self.nodes = max(self.nodes or 0, int(found[1]))
        if "Channel " in line and (found := _RINGS.search(line)) is not None:
            self.rings = int(found[2])
        if " coll channels" in line and (found := _CHANNELS.search(line)) is not None:
            self.channels = int(found[1])
        if " nvls channels" in line and (found := _NVLS.search(line)) is not None:
            self.nvls_channels = int(found[1])
        if "NVLS Head" in line and (found := _HEAD.search(line)) is not None:
            self.nvls_heads = max(self.nvls_heads or 0, int(found[1]) + 1)
            self.nodes = self.nodes or _count_ranks(line, found.end())
        self.has_gpu_direct |= "/GDRDMA" in line
        self.has_trees |= " Trees [" in line or "all trees" in line
        self.has_sharp |= "SHARP" in line and " not " not in line
        self.has_nvls |= "NVLS multicast support is available" in line or "NVLS comm " in line
        if "NET/" in line:
            self._read_nics(line)
        if "via " in line and (found := _VIA.search(line)) is not None:
            self._keep(self.transports, found[1])
        if ("NET/" in line or "network" in line) and (found := _NETWORK.search(line)) is not None:
            self._keep(self.networks, found[1] or found[2])
        is_free = len(self.settings) < _MOST and "set by environment" in line
        if is_free and (found := _ENVIRONMENT.search(line)) is not None:
            self.settings[found[1]] = found[2].rstrip(".")

    def _read_nics(self, line: str) -> None:
        for name, kind in _NIC.findall(line) if ": Using" in line else ():
            self.nic_kind = kind
            if name not in self.nics and len(self.nics) < _MOST_NICS:
                self.nics.append(name)
        if not self.has_pxn and "via NET/" in line:
            self.has_pxn = _PROXY.search(line) is not None

    def _keep(self, into: list[str], text: str) -> None:
        if text not in into and len(into) < _MOST:
            into.append(text)

    def record(self) -> dict[str, object]:
        """As it stands in a JSON document."""
        return {
            "ranks": self.ranks,
            "nodes": self.nodes,
            "channels": self.channels,
            "rings": self.rings,
            "nvls_channels": self.nvls_channels,
            "nvls_heads": self.nvls_heads,
            "gpu_direct": self.has_gpu_direct,
            "trees": self.has_trees,
            "sharp": self.has_sharp,
            "nvls": self.has_nvls,
            "pxn": self.has_pxn,
            "gpus_per_node": self.gpus_per_node,
            "nics": self.nics,
            "nic_kind": self.nic_kind,
            "inside": list(self.inside),
            "between": list(self.between),
            "transports": self.transports,
            "networks": self.networks,
            "settings": self.settings,
            "warnings": self.warnings,
        }


def _count_ranks(line: str, start: int) -> int | None:
    found = _LISTED.match(line, start)
    return len(found[0].split()) if found else None
