"""Topology matrices as people copy them: links, NICs, NUMA nodes, doubts and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuflow.errors import ImportFormatError
from gpuflow.exporters.topo import topology_document, warnings
from gpuflow.importers.topo import parse_topology, read_topology
from gpuflow.scenario.source import source_of
from gpuflow.scenario.topology import Topology

DATA = Path(__file__).parent.parent / "data" / "topo"


class Reading(NamedTuple):
    """What a file says, in short."""

    gpus: int
    nics: int
    links: dict[str, int]
    """Pairs of GPUs by kind."""
    numa: str = ""
    """Of the GPUs that have one, in order."""
    nearest: str = ""
    """NICs of the first GPUs, as kind:names."""
    doubts: str = ""
    refused: str = ""


FIELD = {
    "4gpu-two-bridged-pairs-nv12-nv10-trailing-space.txt": Reading(
        4, 0, {"NV12": 1, "NV10": 1, "NODE": 4}
    ),
    "a100-4gpu-polaris-markdown-affinity-first.txt": Reading(
        4, 2, {"NV4": 6}, "3 2 1 0", "SYS:mlx5_0,mlx5_1 PHB:mlx5_1 SYS:mlx5_0,mlx5_1 PHB:mlx5_0"
    ),
    "a800-8gpu-nv8-9nic-truncated.txt": Reading(
        8,
        9,
        {"NV8": 28},
        "0 0 0 0 1 1 1",
        "PIX:NIC2 PIX:NIC4 PIX:NIC6 PIX:NIC8",
        "cut_row missing_rows",
    ),
    "b200-8gpu-8nic-a4-spaces-merged-tail.txt": Reading(
        8, 8, {"NV18": 28}, "0 0 0 0 1 1 1 1", "PIX:NIC0,NIC1 PIX:NIC0,NIC1 PIX:NIC2,NIC3"
    ),
    "dgxa100-8gpu-12nic-numa4-truncated.txt": Reading(
        8,
        12,
        {"NV12": 25},
        "3 3 1 1",
        "PXB:NIC0,NIC1 PXB:NIC0,NIC1 PXB:NIC2,NIC3 PXB:NIC2,NIC3",
        "cut_row missing_rows missing_links",
    ),
    "h100-8gpu-6nic-tabs-empty-cpu-affinity.txt": Reading(
        8,
        6,
        {"NV18": 28},
        "0 0 0 0 1 1 1 1",
        "PIX:NIC0,NIC1 NODE:NIC0,NIC1,NIC2,NIC3,NIC4,NIC5",
    ),
    "h100-8gpu-snc-fragment-no-header.txt": Reading(
        8, 8, {"NV18": 25}, "1 4 6 7 5", "", "no_header missing_rows missing_links"
    ),
    "metax-8gpu-6nic-mxsmi-topo.txt": Reading(
        8, 6, {"MX": 12, "NODE": 16}, "0 0 0 0 0 0 0 0", "PIX:NIC0,NIC1"
    ),
    "mi210-4gpu-rocm-smi-showtopo.txt": Reading(4, 0, {"XGMI": 6}, "0 1 2 3"),
    "mi50-4gpu-pcie-rocm-smi-showtopo.txt": Reading(4, 0, {"PCIE": 6}, "0 0 0 0"),
    "mixed-2x5090-3x4090-pcie.txt": Reading(5, 0, {"SYS": 4, "PHB": 2, "NODE": 4}, "1 0 0 0 0"),
    "power9-1visible-gpu-4mlx-numa-list.txt": Reading(
        1, 4, {}, "0,8,252-255", "SYS:mlx5_0,mlx5_1,mlx5_2,mlx5_3"
    ),
    "quadrortx6000-2gpu-sys-oddeven-header-twice.txt": Reading(
        2, 0, {"SYS": 1}, "0 1", "", "header_twice"
    ),
    "rtxpro6000-8gpu-3switch-pix-pxb-noaffinity.txt": Reading(
        8, 0, {"PIX": 4, "PXB": 8, "NODE": 16}
    ),
    "topo-mp-hides-nvlink-14nic-truncated.txt": Reading(
        8, 14, {}, "0 0 0 0", "PIX:NIC0 PIX:NIC1 PIX:NIC2 PIX:NIC7", "cut_row missing_rows", "mp"
    ),
    "v100-8gpu-hybrid-mesh-tabs-nolegend-hash-prompt.txt": Reading(
        8, 0, {"NV1": 8, "NV2": 8, "SYS": 12}
    ),
    "workstation-2gpu-phb-nolegend.txt": Reading(2, 0, {"PHB": 1}),
}

OWN = {
    "bridged-pairs.txt": Reading(4, 0, {"NV12": 1, "NV9": 1, "SYS": 4}),
    "tabs-empty-cell.txt": Reading(2, 2, {"NV18": 1}, "0 1", "PIX:NIC0 PIX:NIC1"),
    "amd.txt": Reading(4, 0, {"XGMI": 6}),
    "npu.txt": Reading(8, 0, {"HCCS": 28}),
    "doubled-tabs.txt": Reading(
        4,
        2,
        {"NV1": 2, "NV2": 2, "SYS": 2},
        "0 0 1 1",
        "NODE:mlx5_0 PIX:mlx5_0 NODE:mlx5_1 PIX:mlx5_1",
    ),
    "front.md": Reading(2, 1, {"NV4": 1}, "1 0", "SYS:mlx5_0 PHB:mlx5_0"),
    "headless.txt": Reading(
        4, 2, {"NV18": 5}, "1 3", "PIX:NIC0", "no_header missing_rows missing_links"
    ),
    "cube.txt": Reading(8, 0, {"NV1": 8, "NV2": 8, "SYS": 12}),
    "cut.txt": Reading(4, 0, {"NV12": 5}, "0 0", "", "cut_row missing_rows missing_links"),
    "quoted-ansi.txt": Reading(2, 0, {"PHB": 1}),
    "p2p.txt": Reading(2, 0, {}, refused="p2p"),
    "mp.txt": Reading(2, 1, {}, "0 0", "PIX:NIC0 NODE:NIC0", refused="mp"),
    "rocm.txt": Reading(2, 0, {"XGMI": 1}, "0 3"),
    "mx.txt": Reading(2, 1, {"MX": 1}, "0 1", "PIX:NIC0 NODE:NIC0"),
    "switches.txt": Reading(4, 0, {"PIX": 2, "NODE": 4}),
    "switch-nv8.txt": Reading(8, 0, {"NV8": 28}),
}


def _compare(found: Topology, wanted: Reading) -> None:
    kinds = list(found.links.values())
    assert (found.n_gpus, len(found.nics)) == (wanted.gpus, wanted.nics)
    assert {kind: kinds.count(kind) for kind in kinds} == wanted.links
    assert " ".join(found.numa.values()) == wanted.numa
    nearest = [found.nearest_nics(gpu) for gpu in range(len(wanted.nearest.split()))]
    assert " ".join(f"{kind}:{','.join(nics)}" for kind, nics in nearest) == wanted.nearest
    assert " ".join(doubt.code for doubt in found.doubts) == wanted.doubts
    assert found.refused == wanted.refused


@pytest.mark.parametrize("name", sorted(FIELD))
def test_files_of_the_field_read_as_their_sources_say(name: str, inputs: Path) -> None:
    _compare(read_topology(inputs / "topo" / name), FIELD[name])


def test_every_file_of_the_field_has_a_reading(inputs: Path) -> None:
    assert {path.name for path in (inputs / "topo").iterdir()} == set(FIELD)


@pytest.mark.parametrize("name", sorted(OWN))
def test_each_awkward_form_is_read(name: str) -> None:
    _compare(read_topology(DATA / name), OWN[name])


def test_pairs_come_with_the_lower_number_first_and_have_their_kind() -> None:
    found = read_topology(DATA / "bridged-pairs.txt")
    assert list(found.links) == [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert found.kind(3, 2) == "NV9"


def test_the_legend_names_the_devices_of_nics() -> None:
    found = read_topology(DATA / "tabs-empty-cell.txt")
    assert found.nic_devices == {"NIC0": "mlx5_2", "NIC1": "mlx5_4"}
    assert found.cpus == {1: "8-15"}


def test_rows_that_contradict_each_other_are_doubted() -> None:
    text = "GPU0 GPU1\nGPU0 X NV4\nGPU1 SYS X\n"
    found = parse_topology(source_of("-", "  " + text))
    assert [(d.code, d.values["first"], d.values["second"]) for d in found.doubts] == [
        ("not_symmetric", "NV4", "SYS")
    ]


def test_a_row_whose_x_stands_elsewhere_is_left_out() -> None:
    text = "  GPU0 GPU1 GPU2\nGPU0 X PIX SYS\nGPU1 SYS SYS X\nGPU2 SYS SYS X\n"
    found = parse_topology(source_of("-", text))
    assert "shifted_row" in [doubt.code for doubt in found.doubts]
    assert found.links == {(0, 1): "PIX", (0, 2): "SYS", (1, 2): "SYS"}


@pytest.mark.parametrize("text", ["", "hello\n", "GPU0\n", "=" * 8192 + "\n", "{}\n"])
def test_a_text_without_a_matrix_is_refused(text: str) -> None:
    assert parse_topology(source_of("-", text)).refused == "no_matrix"


def test_a_file_beyond_all_bounds_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "topo.txt"
    path.write_bytes(b" " * (2**20 + 1))
    with pytest.raises(ImportFormatError):
        read_topology(path)


_WORDS = (
    *("GPU0", "GPU1", "GPU999", "NIC0", "mlx5_0", "X", "NV18", "SYS", "PIX", "OK", "0", "|", "\t"),
    *("\n", "\n", " ", "====", "NUMA Affinity", "CPU Affinity", "\x1b[31m", "0-3", "N/A", "> "),
    *("GPU[0] : (Topology) Numa Node: 1", "Link Type between two GPUs", "topo -mp", "\u202e"),
)
_WORD = st.sampled_from(_WORDS)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.one_of(_WORD, st.text(max_size=3)), max_size=60).map("".join))
def test_whatever_the_text_it_is_read_or_refused(text: str) -> None:
    found = parse_topology(source_of("-", text))
    assert all(0 <= a < b < found.n_gpus for a, b in found.links)
    assert all(gpu < found.n_gpus for gpu in found.numa)
    assert all(nic in found.nics for _, nic in found.nic_links)


def test_a_second_header_with_fewer_devices_leaves_no_link_to_what_is_not_counted() -> None:
    text = "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV1\tNV2\n\tGPU0\tGPU1\nGPU1\tNV1\t X \n"
    found = parse_topology(source_of("t", text))
    assert (found.n_gpus, found.links) == (2, {(0, 1): "NV1"})


@pytest.mark.parametrize("node", ["²", "٣", "9" * 5000, "0-1", "N/A"])
def test_a_numa_node_that_is_no_number_is_shown_as_it_is(node: str) -> None:
    text = (
        f"\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\tX\tNV4\t0\t{node}\nGPU1\tNV4\tX\t0\t1\n"
    )
    topology = parse_topology(source_of("t", text))
    document = topology_document(topology, "en")
    assert {type(one["node"]) for one in document["numa"]} <= {int, str}


def eight(nics: int = 8) -> str:
    """The matrix of a box of eight, in words, as wide as such matrices are."""
    gpus, names = [f"GPU{i}" for i in range(8)], [f"NIC{i}" for i in range(nics)]
    wide = "{:6}" * (len(gpus) + len(names) + 1) + "{:18}{:15}{}"
    lines = [wide.format("", *gpus, *names, "CPU Affinity", "NUMA Affinity", "GPU NUMA ID")]
    for i, gpu in enumerate(gpus):
        links = ["X" if other == gpu else "NV18" for other in gpus]
        near = ["PIX" if k == i else "SYS" for k in range(nics)]
        lines.append(wide.format(gpu, *links, *near, "0-47,96-143", str(i // 4), "N/A"))
    for k, nic in enumerate(names):
        links = ["PIX" if k == i else "SYS" for i in range(8)]
        beside = ["X" if other == nic else "SYS" for other in names]
        lines.append(wide.format(nic, *links, *beside, "", "", "").rstrip())
    legend = [f"  NIC{k}: mlx5_{k}" for k in range(nics)]
    return "\n".join(
        [*lines, "", "Legend:", "", "  X    = Self", "", "NIC Legend:", "", *legend, ""]
    )


def wrapped(text: str, width: int, *, is_trimmed: bool) -> str:
    """A text as a terminal of that width shows it, with or without blanks at the ends of lines."""
    pieces = [
        line[at : at + width]
        for line in text.split("\n")
        for at in range(0, max(len(line), 1), width)
    ]
    return "\n".join(piece.rstrip() if is_trimmed else piece for piece in pieces)


@pytest.mark.parametrize("is_trimmed", [False, True], ids=["as shown", "trimmed"])
@pytest.mark.parametrize("width", [53, 60, 61, 80, 100, 132, 200])
def test_a_matrix_that_a_terminal_wrapped_reads_as_if_it_had_not(
    width: int, is_trimmed: bool
) -> None:
    whole = parse_topology(source_of("-", eight()))
    found = parse_topology(source_of("-", wrapped(eight(), width, is_trimmed=is_trimmed)))
    assert len(whole.links) == 28
    assert len(whole.numa) == len(whole.cpus) == 8
    assert found == whole


@pytest.mark.parametrize(
    "label",
    [
        "0: ",
        " 3: ",
        "2026-05-01T10:11:12.123456789Z ",
        "2026-05-01T10:11:12.1+08:00 ",
        "[1,0]<stdout>:",
    ],
)
@pytest.mark.parametrize("separator", ["", "\t"], ids=["words", "tabs"])
def test_labels_of_launchers_change_nothing(label: str, separator: str) -> None:
    text = eight()
    if separator:
        lines = text.split("\n")
        lines[:17] = ["\t".join([line[:6].strip(), *line[6:].split()]) for line in lines[:17]]
        lines[0] = (
            lines[0].replace("\tAffinity", " Affinity").replace("GPU\tNUMA\tID", "GPU NUMA ID")
        )
        text = "\n".join(lines)
    labelled = "\n".join(label + line for line in text.split("\n"))
    assert parse_topology(source_of("-", labelled)) == parse_topology(source_of("-", text))


def test_links_that_one_gpu_lost_are_one_warning() -> None:
    lines = eight(0).split("\n")
    for i in range(8):
        cells = lines[i + 1].split()
        for j in range(8):
            if i != j and 3 in (i, j):
                cells[j + 1] = "NV12"
        lines[i + 1] = " ".join(cells)
    found = warnings(parse_topology(source_of("-", "\n".join(lines))), "en")
    assert [code for code, _ in found] == ["lost_link"]
    assert "GPU3 has 12 NVLinks" in found[0][1]
    one = [line.replace("GPU1  NV18", "GPU1  NV17") for line in eight(0).split("\n")]
    one[1] = one[1].replace("X     NV18", "X     NV17")
    (only,) = warnings(parse_topology(source_of("-", "\n".join(one))), "en")
    assert only[1].startswith("GPU0–GPU1 has 17 NVLinks")
