"""A fabric for one real machine, from the matrix of its links.

What the catalogue knows of a GPU's links is scaled by how many of them the machine has; PCIe trees
take their switches and host bridges from PIX, PXB, PHB, NODE and SYS.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gpuflow.cluster.meshes import CUBE_STRANDS, cube_strands
from gpuflow.errors import Problem, ScenarioError
from gpuflow.scenario import catalog
from gpuflow.scenario.spec import CUBE_MESH_GPUS, ClusterSpec, DeviceSpec, FabricSpec, ParallelSpec
from gpuflow.scenario.topology import NEAREST_FIRST, Pair, Topology

Bound = Literal["nvlink", "unbridged", "host_bridge", "pcie", "none"]

_LINKS = {
    "nvlink-2-cube": 6,
    "nvlink-3-cube": 12,
    "nvlink-3": 12,
    "nvlink-4": 18,
    "nvlink-4-h800": 8,
    "nvlink-5": 18,
    "pcie-4-bridge": 12,
    "pcie-4-bridge-3090": 4,
    "pcie-5-bridge": 12,
    "xgmi-mi300x": 7,
    "hccs": 7,
}
"""Links of a GPU that a fabric of the catalogue has its figures for."""
_BRIDGED = {"nvlink-3": "pcie-4-bridge", "nvlink-4": "pcie-5-bridge", "pcie-5": "pcie-5-bridge"}
_MESH_OF = {"XGMI": "xgmi-mi300x", "HCCS": "hccs"}
"""The catalogue's mesh of links of that kind."""
_WITHOUT_FIGURES = frozenset({"MX", "PCIE", "ETH", "HCCS_SW", "SIO"})
_MESHES = {"nvlink-2-cube": "nvlink-2-cube", "nvlink-3": "nvlink-3-cube"}
_NEWER = frozenset({"nvlink-4", "nvlink-4-h800", "nvlink-5", "pcie-5", "pcie-5-bridge"})
"""Fabrics of GPUs that sit in PCIe 5.0 slots."""
_SYS_FROM = {"pcie-5": "pcie-5-switch"}
"""Whose figure between sockets is taken; else it is that of the same fabric."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxFinding:
    """What a machine means for the tensor-parallel groups on it."""

    bound: Bound
    """What limits their collectives: NVLink as it should be; a pair in the group that NVLink does
    not join; a host bridge; PCIe ports; or nothing, where a group is one GPU."""
    group: tuple[int, ...]
    """The first group that is limited so."""
    pair: Pair | None
    """GPUs of that group that are farthest from each other."""
    kind: str
    """What joins them."""
    better_tp: int
    """The largest smaller degree all of whose groups stay on NVLink, else below one host bridge;
    0: there is none, or none is needed."""
    good_pairs: tuple[Pair, ...]
    """Pairs that NVLink joins, where it does not join all."""
    beyond: Pair | None
    """GPUs of the machine that only a host bridge joins, where the groups do not cross any."""
    most_below: int
    """GPUs below the host bridge of the group's first one: no larger group avoids crossing it."""


def assumed_gpu(topology: Topology) -> str:
    """The catalogue's GPU that has such links; the matrix itself does not name any.

    Raises:
        ScenarioError: No GPU of the catalogue has.
    """
    n = topology.n_gpus
    totals = [sum(topology.nvlinks(a, b) for b in range(n)) for a in range(n)]
    counts = {topology.nvlinks(*pair) for pair in topology.links} - {0}
    kinds = set(topology.links.values())
    if "XGMI" in kinds:
        return "mi300x"
    if kinds == {"HCCS"}:
        return "ascend-910b"
    if kinds & _WITHOUT_FIGURES:
        raise _refusal("topo_no_figures", kind=", ".join(sorted(kinds & _WITHOUT_FIGURES)))
    if not counts:
        return "rtx-pro-6000"
    most = max(counts)
    if _pairs_only(topology, n):
        return "h100-pcie" if most > 4 else "rtx-3090"
    if most >= 16:
        return "h100-sxm"
    return "v100-sxm2" if max(totals) <= 6 else "a100-80gb-sxm"


def box_cluster(cluster: ClusterSpec, topology: Topology, parallel: ParallelSpec) -> ClusterSpec:
    """The machine as a cluster of one node.

    Args:
        cluster: Its GPU, and the network it would have.
        topology: Its links; the first GPUs are used.
        parallel: The split, no larger than the machine.

    Raises:
        ScenarioError: The machine has too few GPUs, links among those used are not known, or they
            form nothing that can be charged.
    """
    world = parallel.world
    if world > topology.n_gpus:
        raise _refusal("topo_too_few", found=topology.n_gpus, needed=world)
    unknown = _unknown(topology, world)
    if unknown:
        raise _refusal("topo_unknown_pair", pair=_pair_text(unknown))
    for g in dict.fromkeys((topology.n_gpus, world)):
        found = None if _unknown(topology, g) else _fabric(cluster.device, topology, g, parallel)
        if found is not None:
            return replace(cluster, scale_up=found, gpus_per_node=g, nics_per_node=None)
    raise _refusal("topo_shape", gpus=world)


def box_finding(topology: Topology, parallel: ParallelSpec) -> BoxFinding:
    """What the links mean for the tensor-parallel groups of a split."""
    n, tp = parallel.world, parallel.tp
    hosts = _host_of(topology, n)
    has_direct = any(topology.is_direct(a, b) for a, b in topology.links if b < n)
    groups = _groups(n, tp)
    bad = [
        (group, pair) for group in groups for pair in _pairs(group) if not topology.is_direct(*pair)
    ]
    if tp < 2:
        return _finding("none", topology, n, groups[0], None, 0)
    if not bad:
        return _finding("nvlink", topology, n, groups[0], (groups[0][0], groups[0][1]), 0)
    crossing = [(group, (a, b)) for group, (a, b) in bad if hosts[a] != hosts[b]]
    group, pair = (crossing or bad)[0]
    if has_direct:
        better = _better(n, tp, lambda a, b: topology.is_direct(a, b))
        return _finding("unbridged", topology, n, group, pair, better)
    if crossing:
        better = _better(n, tp, lambda a, b: hosts[a] == hosts[b])
        return _finding("host_bridge", topology, n, group, pair, better)
    # where all is PCIe, the farthest of the group's ways says most
    way = NEAREST_FIRST.index
    farthest = max(_pairs(group), key=lambda pair: way(topology.kind(*pair)))
    return _finding("pcie", topology, n, group, farthest, 0)


def lost_links(topology: Topology) -> tuple[Pair, ...]:
    """Pairs with fewer NVLinks than others, on GPUs with fewer in all: perhaps a lost link."""
    n = topology.n_gpus
    totals = [sum(topology.nvlinks(a, b) for b in range(n)) for a in range(n)]
    most = max((topology.nvlinks(*pair) for pair in topology.links), default=0)
    if _unknown(topology, n) or len({total for total in totals if total}) < 2:
        return ()
    return tuple(
        (a, b)
        for a, b in topology.links
        if 0 < topology.nvlinks(a, b) < most and min(totals[a], totals[b]) < max(totals)
    )


def far_nics(topology: Topology) -> tuple[int, ...]:
    """GPUs whose every NIC is behind the other socket; those whose NICs are not known are not."""
    complete = [
        gpu
        for gpu in range(topology.n_gpus)
        if all((gpu, nic) in topology.nic_links for nic in topology.nics)
    ]
    return tuple(gpu for gpu in complete if topology.nearest_nics(gpu)[0] == "SYS")


# ---------------------------------------------------------------- pieces


def _finding(
    bound: Bound,
    topology: Topology,
    n: int,
    group: tuple[int, ...],
    pair: Pair | None,
    better_tp: int,
) -> BoxFinding:
    hosts = _host_of(topology, topology.n_gpus)
    good = tuple((a, b) for a, b in topology.links if b < n and topology.is_direct(a, b))
    return BoxFinding(
        bound=bound,
        group=group,
        pair=pair,
        kind=topology.kind(*pair) if pair else "",
        better_tp=better_tp,
        good_pairs=good if bound == "unbridged" else (),
        beyond=_across(topology) if bound == "pcie" else None,
        most_below=hosts.count(hosts[group[0]]),
    )


def _across(topology: Topology) -> Pair | None:
    ways = {"NODE", "SYS"}
    return next((pair for pair, kind in topology.links.items() if kind in ways), None)


def _groups(n: int, tp: int) -> list[tuple[int, ...]]:
    return [tuple(range(first, first + tp)) for first in range(0, n - tp + 1, tp)]


def _pairs(group: Sequence[int]) -> list[Pair]:
    return [(a, b) for i, a in enumerate(group) for b in group[i + 1 :]]


def _better(n: int, tp: int, is_good: Callable[[int, int], bool]) -> int:
    for smaller in range(tp - 1, 1, -1):
        if tp % smaller == 0:
            groups = _groups(n, smaller)
            if all(is_good(a, b) for group in groups for a, b in _pairs(group)):
                return smaller
    return 0


def _unknown(topology: Topology, g: int) -> Pair | None:
    return next((pair for pair in _pairs(range(g)) if not topology.kind(*pair)), None)


def _pair_text(pair: Pair) -> str:
    return f"GPU{pair[0]}–GPU{pair[1]}"


def _refusal(code: str, **values: object) -> ScenarioError:
    return ScenarioError([Problem(code=code, key="--topo", values=values)])


def _pairs_only(topology: Topology, g: int) -> bool:
    """Whether NVLink joins GPUs 2i and 2i + 1 and no others."""
    direct = [(a, b) for a, b in topology.links if b < g and topology.is_direct(a, b)]
    return bool(direct) and all(a % 2 == 0 and b == a + 1 for a, b in direct)


def _fabric(
    device: DeviceSpec, topology: Topology, g: int, parallel: ParallelSpec
) -> FabricSpec | None:
    """What joins the first `g` GPUs; None for a shape there are no figures for."""
    own = catalog.fabric(device.fabric)
    pairs = _pairs(range(g))
    if not pairs:
        return own
    kinds = {topology.kind(*pair) for pair in pairs}
    counts = [topology.nvlinks(*pair) for pair in pairs]
    if {_MESH_OF.get(kind) for kind in kinds} == {own.name}:
        return own if g == device.gpus_per_node else _mesh(own, 1, g)
    is_other_make = own.name.startswith(("xgmi", "hccs"))
    if kinds & (_MESH_OF.keys() | _WITHOUT_FIGURES) or (any(counts) and is_other_make):
        return None
    if min(counts) and not (g == 2 and own.topology == "pcie"):
        return _all_direct(own, min(counts), g)
    if not any(counts):
        return _tree(own, topology, g, parallel, None)
    if g == CUBE_MESH_GPUS and own.name in _MESHES:
        mesh = catalog.fabric(_MESHES[own.name])
        if _is_cube(topology, _LINKS[mesh.name] // CUBE_STRANDS):
            return mesh
    if _pairs_only(topology, g):
        used = [topology.nvlinks(a, a + 1) for a in range(0, parallel.world - 1, 2)]
        return _tree(own, topology, g, parallel, min(used, default=0) or None)
    return None


def _is_cube(topology: Topology, width: int) -> bool:
    """Whether eight GPUs form a hybrid cube mesh, however its second quad is numbered."""
    places = range(CUBE_MESH_GPUS)
    table = np.array([[topology.nvlinks(a, b) for b in places] for a in places])
    cube = cube_strands(CUBE_MESH_GPUS) * width
    orders = ([0, 1, 2, 3, *far] for far in itertools.permutations(range(4, CUBE_MESH_GPUS)))
    return any(bool((table[np.ix_(order, order)] == cube).all()) for order in orders)


def _all_direct(own: FabricSpec, count: int, g: int) -> FabricSpec | None:
    """NVLink between all pairs: through switches, or straight where a GPU has links for all."""
    links = _LINKS.get(own.name)
    if links is None or own.topology == "pcie":
        return None
    if own.topology == "switch" and count == links:
        return own
    if count * (g - 1) <= links:
        return _mesh(own, count, g)
    if count > links:
        return None
    return _scaled(own, count / links, f"topo-nv{count}", f"{own.title} × {count}")


def _mesh(own: FabricSpec, count: int, g: int) -> FabricSpec:
    """A link of `count` strands to each other GPU."""
    per_gpu, links = count * (g - 1), _LINKS[own.name]
    spec = _scaled(own, per_gpu / links, f"topo-mesh-{per_gpu}", f"{own.title} × {count}")
    hop = own.hop_bandwidth_bytes_per_s
    # of a switch the hop is that of all links; of a mesh it is that of one link already
    hop *= count / links if own.topology == "switch" else count
    return replace(spec, topology="mesh", hop_bandwidth_bytes_per_s=hop, adds_in_switch=False)


def _scaled(fabric: FabricSpec, share: float, name: str, title: str) -> FabricSpec:
    return replace(
        fabric,
        name=name,
        title=title,
        link_bandwidth_bytes_per_s=fabric.link_bandwidth_bytes_per_s * share,
        bus_bandwidth_bytes_per_s=fabric.bus_bandwidth_bytes_per_s * share,
        hop_bandwidth_bytes_per_s=fabric.hop_bandwidth_bytes_per_s * share,
    )


# ---------------------------------------------------------------- PCIe trees


def _host_of(topology: Topology, g: int) -> list[int]:
    return _joined(topology, g, {"PIX", "PXB", "PHB", "PIB"})


def _joined(topology: Topology, g: int, kinds: set[str]) -> list[int]:
    """Number of each GPU's group, where links of those kinds join a group."""
    group = list(range(g))
    for a, b in _pairs(range(g)):
        if topology.kind(a, b) in kinds and group[a] != group[b]:
            low, high = sorted((group[a], group[b]))
            group = [low if number == high else number for number in group]
    order = list(dict.fromkeys(group))
    return [order.index(number) for number in group]


def _is_regular(groups: list[int]) -> int:
    """GPUs of a group, where all groups are neighbours and as large as one another; else 0."""
    size = groups.count(0)
    return size if groups == [i // size for i in range(len(groups))] else 0


def _tree(
    own: FabricSpec, topology: Topology, g: int, parallel: ParallelSpec, bridged: int | None
) -> FabricSpec | None:
    """Ports, switches and host bridges; with `bridged` NVLinks between GPUs 2i and 2i + 1."""
    base = catalog.fabric("pcie-5" if own.name in _NEWER else "pcie-4")
    hosts = _hosts_with_bridges(topology, g) if bridged else _host_of(topology, g)
    switches = _joined(topology, g, {"PIX", "PXB", "PIB"})
    per_host, below = _is_regular(hosts), _is_regular(switches)
    if not per_host:
        return None
    n_hosts = max(hosts) + 1
    is_far = any(topology.kind(a, b) == "SYS" for a, b in _pairs(range(g)))
    between = catalog.fabric(_SYS_FROM.get(base.name, base.name) if is_far else base.name)
    host_link = between.host_link_bandwidth_bytes_per_s or base.hop_bandwidth_bytes_per_s
    crosses = any(
        len({hosts[gpu] for gpu in group}) > 1 for group in _groups(parallel.world, parallel.tp)
    )
    bus = base.bus_bandwidth_bytes_per_s
    kind = ("SYS" if is_far else "NODE") if n_hosts > 1 else "PHB"
    bridge = _bridge(own, bridged) if bridged else None
    title = f"{base.title} ({kind})" + (f" + {bridge.title}" if bridge else "")
    return replace(
        base,
        name="topo-pcie",
        title=title,
        hosts=n_hosts,
        host_link_bandwidth_bytes_per_s=host_link if n_hosts > 1 else None,
        gpus_per_switch=below if below > 1 else 0,
        bus_bandwidth_bytes_per_s=min(bus, host_link) if crosses else bus,
        bridge=bridge,
    )


def _hosts_with_bridges(topology: Topology, g: int) -> list[int]:
    """Host bridges where the matrix shows NVLink instead: a pair is taken to share one.

    Pairs that NVLink joins show no PCIe way; what is shown to the others decides between them.
    """
    group = _host_of(topology, g)
    for a in range(0, g - 1, 2):
        if topology.is_direct(a, a + 1):
            group = [group[a] if number == group[a + 1] else number for number in group]
    order = list(dict.fromkeys(group))
    return [order.index(number) for number in group]


def _bridge(own: FabricSpec, count: int) -> FabricSpec | None:
    """NVLink bridges of a pair, scaled to how many links it has."""
    source = (
        own if own.bridge is not None else catalog.fabric(_BRIDGED.get(own.name, "pcie-4-bridge"))
    )
    if source.bridge is None:
        return None
    share = count / _LINKS[source.name]
    title = f"NVLink × {count}"
    return source.bridge if share == 1 else _scaled(source.bridge, share, "topo-bridge", title)
