"""A machine's links as a document, as a matrix for people, and what they mean in sentences."""

from __future__ import annotations

import re

from gpuflow.cells import sanitise
from gpuflow.cluster.box import BoxFinding, far_nics, lost_links
from gpuflow.cluster.reach import group_fabric
from gpuflow.exporters.tables import NOTHING, Cell, Column, Table
from gpuflow.scenario.spec import ClusterSpec, Language
from gpuflow.scenario.topology import Pair, Topology
from gpuflow.units import format_rate
from gpuflow.words import t

_ROLES = {"PIX": "", "PXB": "", "PHB": "tight", "NODE": "tight", "PCIE": "tight", "SYS": "short"}
_TOLD = ("nv", "xgmi", "mx", "hccs", "pix", "pxb", "phb", "node", "pcie", "sys")
"""Kinds that the legend explains, nearest first."""
_MOST_NAMED = 6
"""GPUs or pairs of one sentence; the rest is counted."""


def topology_document(topology: Topology, language: Language) -> dict[str, object]:
    """What was read, what is doubtful, and what hurts; links by a < b."""
    return {
        "tool": topology.tool,
        "gpus": topology.n_gpus,
        "nics": list(topology.nics),
        "links": [{"a": a, "b": b, "kind": kind} for (a, b), kind in topology.links.items()],
        "nic_affinity": [
            {"gpu": gpu, "nic": nic, "kind": kind}
            for (gpu, nic), kind in sorted(topology.nic_links.items(), key=lambda item: item[0][0])
        ],
        "numa": [{"gpu": gpu, "node": _node(node)} for gpu, node in topology.numa.items()],
        "cpu_affinity": [{"gpu": gpu, "cpus": cpus} for gpu, cpus in topology.cpus.items()],
        "nic_devices": dict(topology.nic_devices),
        "warnings": [{"code": code, "text": text} for code, text in warnings(topology, language)],
        "doubts": [
            {"code": doubt.code, "text": text}
            for doubt, text in zip(topology.doubts, doubt_texts(topology, language), strict=True)
        ],
        "refused": refusal_text(topology, language) or None,
    }


def _node(text: str) -> int | str:
    # What stands for a digit somewhere, such as a superscript, is no number; nor is any length.
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text


def refusal_text(topology: Topology, language: Language) -> str:
    """Why the file must not be relied on, and which command prints what is needed."""
    return t(f"topo.refused.{topology.refused}", language) if topology.refused else ""


def doubt_texts(topology: Topology, language: Language) -> list[str]:
    """What the reader was not sure of."""
    return [
        t(f"topo.doubt.{doubt.code}", language, **_literal(dict(doubt.values)))
        for doubt in topology.doubts
    ]


def _literal(values: dict[str, object]) -> dict[str, object]:
    return {
        name: sanitise(value) if isinstance(value, str) else value for name, value in values.items()
    }


def warnings(topology: Topology, language: Language) -> list[tuple[str, str]]:
    """What hurts inference on this machine whatever runs on it: (code, sentence)."""
    if topology.refused:
        return []
    found = [("lost_link", text) for text in _lost_links(topology, language)]
    apart = [pair for pair in topology.links if not topology.is_direct(*pair)]
    if apart and len(apart) < len(topology.links):
        island = _islands(topology)
        for name, pairs in (
            ("no_nvlink_pair", [(a, b) for a, b in apart if island[a] != island[b]]),
            ("relayed_pair", [(a, b) for a, b in apart if island[a] == island[b]]),
        ):
            values = {"count": len(pairs), "pairs": pairs_text(pairs)}
            if pairs:
                found.append(("no_nvlink_pair", t(f"topo.warning.{name}", language, **values)))
    elif apart and topology.tool == "nvidia-smi":
        found.append(("no_nvlink", t("topo.warning.no_nvlink", language)))
    far = [pair for pair in apart if topology.kind(*pair) == "SYS"]
    if far and len(apart) == len(topology.links):
        values = {"pairs": pairs_text(far), "count": len(far)}
        found.append(("far_socket", t("topo.warning.far_socket", language, **values)))
    gpus = far_nics(topology) if topology.nics else ()
    if gpus:
        names = ", ".join(f"GPU{gpu}" for gpu in gpus[:_MOST_NAMED])
        found.append(("far_nic", t("topo.warning.far_nic", language, gpus=names)))
    return found


def _lost_links(topology: Topology, language: Language) -> list[str]:
    """A sentence for each number of NVLinks that is too low, and whose they are."""
    most = max((topology.nvlinks(*pair) for pair in topology.links), default=0)
    by_count: dict[int, list[tuple[int, int]]] = {}
    for pair in lost_links(topology):
        by_count.setdefault(topology.nvlinks(*pair), []).append(pair)
    found = []
    for count, pairs in by_count.items():
        values: dict[str, object] = {"pair": pairs_text(pairs), "count": count, "most": most}
        shared = set.intersection(*(set(pair) for pair in pairs))
        key = "lost_link" if len(pairs) == 1 else "lost_links"
        if len(pairs) > 1 and shared:
            key, values["gpu"] = "lost_links_of_gpu", f"GPU{shared.pop()}"
        found.append(t(f"topo.warning.{key}", language, **values))
    return found


def _islands(topology: Topology) -> list[int]:
    """For each GPU the lowest one that direct links lead to, through other GPUs or not."""
    lowest = list(range(topology.n_gpus))
    for a, b in topology.links:
        one, other = lowest[a], lowest[b]
        if topology.is_direct(a, b) and one != other:
            lowest = [min(one, other) if gpu in (one, other) else gpu for gpu in lowest]
    return lowest


def pair_text(pair: Pair) -> str:
    """GPU0–GPU1."""
    return f"GPU{pair[0]}–GPU{pair[1]}"


def pairs_text(pairs: list[Pair]) -> str:
    """Some pairs of many."""
    rest = f" … (+{len(pairs) - _MOST_NAMED})" if len(pairs) > _MOST_NAMED else ""
    return ", ".join(map(pair_text, pairs[:_MOST_NAMED])) + rest


# ---------------------------------------------------------------- for people


def topology_tables(topology: Topology, language: Language) -> tuple[Table, ...]:
    """The matrix, and below it what is to be said about it."""
    notes = [t("topo.refused.line", language, text=refusal_text(topology, language))]
    if not topology.refused:
        notes = [text for _, text in warnings(topology, language)]
    notes += [t("topo.doubt.line", language, text=text) for text in doubt_texts(topology, language)]
    title = t(
        "topo.title",
        language,
        gpus=topology.n_gpus,
        nics=len(topology.nics),
        tool=topology.tool,
    )
    has_matrix = bool(topology.links or topology.nic_links or topology.numa)
    return (
        Table(
            title=title,
            intro=_legend(topology, language),
            columns=_columns(topology) if has_matrix else (),
            rows=_rows(topology) if has_matrix else (),
            notes=tuple(notes),
            has_parts=True,
        ),
    )


def _legend(topology: Topology, language: Language) -> tuple[str, ...]:
    """What the kinds that stand in the matrix mean."""
    kinds = {*topology.links.values(), *topology.nic_links.values()}
    shown = {re.sub(r"NV\d+", "NV", kind).lower() for kind in kinds}
    told = [t(f"topo.kind.{kind}", language) for kind in _TOLD if kind in shown]
    return (("；" if language == "zh" else "; ").join(told),) if told else ()


def _columns(topology: Topology) -> tuple[Column, ...]:
    gpus = [Column(f"GPU{gpu}") for gpu in range(topology.n_gpus)]
    nics = [Column(nic, begins_group=i == 0) for i, nic in enumerate(topology.nics)]
    numa = [Column("NUMA", begins_group=True)] if topology.numa else []
    return (Column("", marks_row=True), *gpus, *nics, *numa)


def _rows(topology: Topology) -> tuple[tuple[Cell, ...], ...]:
    rows = []
    for gpu in range(topology.n_gpus):
        cells = [Cell(f"GPU{gpu}")]
        cells += [
            Cell("·", "dim") if gpu == other else _cell(topology.kind(gpu, other))
            for other in range(topology.n_gpus)
        ]
        cells += [_cell(topology.nic_links.get((gpu, nic), "")) for nic in topology.nics]
        if topology.numa:
            cells.append(Cell(topology.numa.get(gpu, NOTHING)))
        rows.append(tuple(cells))
    return tuple(rows)


def _cell(kind: str) -> Cell:
    return Cell(kind or NOTHING, _ROLES.get(kind, "ok" if kind else "dim"))


# ---------------------------------------------------------------- a split on the machine


def finding_texts(
    finding: BoxFinding, cluster: ClusterSpec, tp: int, pp: int, language: Language
) -> list[str]:
    """What limits the tensor-parallel groups of a split, with figures, and what would be better."""
    fabric = cluster.scale_up
    has_relays = finding.bound == "unbridged" and fabric.topology != "pcie"
    inner = fabric.bridge or fabric
    if finding.bound == "nvlink" or has_relays:
        inner = group_fabric(cluster, (finding.group,))
    host_link = fabric.host_link_bandwidth_bytes_per_s or fabric.hop_bandwidth_bytes_per_s
    values = {
        "tp": tp,
        "group": ", ".join(f"GPU{gpu}" for gpu in finding.group),
        "pair": pair_text(finding.pair) if finding.pair else NOTHING,
        "kind": finding.kind,
        "fabric": inner.title,
        "bus": format_rate(inner.bus_bandwidth_bytes_per_s),
        "port": format_rate(fabric.hop_bandwidth_bytes_per_s),
        "host_link": format_rate(host_link),
        "reached": format_rate(min(host_link, fabric.bus_bandwidth_bytes_per_s)),
        "good": pairs_text(list(finding.good_pairs)),
        "better": finding.better_tp,
        "pp": pp * tp // finding.better_tp if finding.better_tp else pp,
    }
    name: str = "relayed" if has_relays else finding.bound
    if finding.bound == "nvlink" and not finding.kind.startswith("NV"):
        name = "direct"
    found = [t(f"topo.bound.{name}", language, **values)]
    if finding.better_tp:
        found.append(t(f"topo.advice.{name}", language, **values))
    if finding.beyond:
        values |= {"pair": pair_text(finding.beyond), "most": finding.most_below}
        found.append(t("topo.advice.beyond", language, **values))
    return found
