"""The matrix of `nvidia-smi topo -m` and of the like of it by other makers of GPUs.

Files come as screens were copied: tabs or spaces, quoted, in Markdown, coloured, without their
header or their end. Columns are told by the header where there is one, else by where the X stands.
What was not understood is left out and named, never guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from gpuflow.errors import ImportFormatError
from gpuflow.importers.topo_lines import (
    KIND,
    Line,
    cells_of,
    gpu_number,
    header_of,
    is_device,
    plain_lines,
)
from gpuflow.importers.topo_makes import as_common, tool_of
from gpuflow.scenario.source import Source, read_source
from gpuflow.scenario.topology import Doubt, Tool, Topology

MAX_BYTES = 2**20
MOST_DEVICES = 256
"""GPUs and NICs of one machine."""
MOST_LINES = 20_000

_COMMAND = re.compile(r"\btopo\s+(--?\w+)")
_REFUSED = {"-mp": "mp", "--matrix_pci": "mp", "-p2p": "p2p", "--p2pstatus": "p2p"}
_P2P = frozenset({"OK", "CNS", "GNS", "TNS", "NS"})
_NUMA_LINE = re.compile(r"GPU ?\[?(\d{1,2})\]?\s*:\s*\(Topology\) Numa (Node|Affinity):\s*(\S+)")
_NIC_NAME = re.compile(r"(NIC\d{1,3}):\s*(\S{1,64})$")


@dataclass(slots=True)
class _Rows:
    """The matrix as far as it has been read."""

    columns: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    """Columns of the header that are no devices, in order."""
    cells: dict[str, dict[str, str]] = field(default_factory=dict)
    rest: dict[str, dict[str, str]] = field(default_factory=dict)
    cut: list[str] = field(default_factory=list)
    shifted: list[str] = field(default_factory=list)
    n_headers: int = 0


def read_topology(path: Path) -> Topology:
    """What a file says of a machine.

    Raises:
        ImportFormatError: It cannot be read at all, or is larger than any such file.
    """
    source = read_source(path, str(path), MAX_BYTES, refuse_hidden=False)
    if isinstance(source, list):
        raise ImportFormatError(source)
    return parse_topology(source)


def parse_topology(source: Source) -> Topology:
    """What a text says of a machine; see `read_topology`."""
    texts = source.lines[:MOST_LINES]
    lines = plain_lines(as_common(texts))
    tool = tool_of(texts) or _tool(lines)
    rows, numa, names = _Rows(), dict[int, str](), dict[str, str]()
    section = ""
    pending: list[Line] = []
    p2p = False
    for line in lines:
        title = line.text.strip()
        if title.startswith("====") and title.endswith("===="):
            section = title.strip("= ").lower()
            continue
        place = _NUMA_LINE.search(line.text)
        if place:
            if place[2] == "Node":
                numa[int(place[1])] = place[3]
            continue
        name = _NIC_NAME.search(line.text.strip())
        if name:
            names[name[1]] = name[2]
            continue
        if tool == "rocm-smi" and not section.startswith("link type"):
            continue
        header = header_of(line)
        if header:
            rows.n_headers += 1
            rows.columns, rows.extra = header
            continue
        label, cells = cells_of(line)
        if not label or len(rows.cells) + len(pending) >= MOST_DEVICES:
            continue
        p2p = p2p or (len(cells) > 1 and bool(_P2P & set(cells)))
        if rows.columns:
            _take(rows, label, cells, line)
        else:
            pending.append(line)
    if pending and not rows.columns:
        rows.columns = _counted(pending)
        for line in pending:
            label, cells = cells_of(line)
            _take(rows, label, cells, line)
    return _topology(source, tool, rows, numa, names, _refusal(lines, rows, p2p=p2p))


def _tool(lines: list[Line]) -> Tool:
    for line in lines:
        if "ROCm System Management" in line.text or "Link Type between two GPUs" in line.text:
            return "rocm-smi"
        if "mx-smi" in line.text or "MetaX" in line.text:
            return "mx-smi"
    return "nvidia-smi"


def _refusal(lines: list[Line], rows: _Rows, *, p2p: bool) -> str:
    # what stands last is what printed the matrix; questions about it stand above
    commands = [found[1] for line in lines for found in _COMMAND.finditer(line.text)]
    if p2p or (commands and commands[-1] in _REFUSED):
        return "p2p" if p2p else _REFUSED[commands[-1]]
    return "" if any(gpu_number(label) is not None for label in rows.cells) else "no_matrix"


def _counted(lines: list[Line]) -> list[str]:
    """Columns of a matrix without its header: where rows have their X, and how long they are."""
    found = [cells_of(line) for line in lines]
    width = max(_run(cells) for _, cells in found)
    n_gpus = 0
    for label, cells in found:
        number = gpu_number(label)
        if number is not None:
            n_gpus = max(n_gpus, number + 1)
        elif "X" in cells[:width] and label.startswith("NIC") and label[3:].isdigit():
            n_gpus = max(n_gpus, cells.index("X") - int(label[3:]))
    n_gpus = min(n_gpus, width)
    return [f"GPU{i}" for i in range(n_gpus)] + [f"NIC{i}" for i in range(width - n_gpus)]


def _run(cells: list[str]) -> int:
    """Cells at the start of a row that are kinds of links."""
    return next((i for i, cell in enumerate(cells) if not KIND.fullmatch(cell)), len(cells))


def _take(rows: _Rows, label: str, cells: list[str], line: Line) -> None:
    """One row: its links, then what stands beside them."""
    width = len(rows.columns)
    links = cells[:width]
    good = min(_run(links), width)
    is_short = gpu_number(label) is not None and len(cells) < width + len(rows.extra)
    is_torn = line.is_torn and is_short
    # the last word of a text that ends within it may be the start of a longer one: NV1 of NV12
    if is_torn and good == len(cells) and good and cells[good - 1].startswith("NV"):
        good -= 1
    found = {
        column: "X" if cell == "0" else cell
        for column, cell in zip(rows.columns, links[:good], strict=False)
    }
    if label in rows.columns and found.get(label, "X") != "X":
        rows.shifted.append(label)
        return
    if good < width or is_torn:
        rows.cut.append(label)
    rows.cells.setdefault(label, {}).update(found)
    rows.rest[label] = {} if is_torn or good < width else _beside(rows.extra, cells[width:], line)


def _beside(extra: list[str], rest: list[str], line: Line) -> dict[str, str]:
    """CPU and NUMA affinity; in lines of words an empty cell leaves no trace."""
    names = extra or ["CPU Affinity", "NUMA Affinity", "GPU NUMA ID"]
    named = dict(line.before)
    if named:
        return named
    if not line.has_columns and len(rest) < len(names) and rest and not _is_list(rest[0]):
        names = [name for name in names if name != "CPU Affinity"]
    return dict(zip(names, rest, strict=False))


def _is_list(text: str) -> bool:
    return "-" in text or "," in text


# ---------------------------------------------------------------- what it comes to


def _topology(
    source: Source,
    tool: Tool,
    rows: _Rows,
    numa: dict[int, str],
    names: dict[str, str],
    refused: str,
) -> Topology:
    every = list(dict.fromkeys([*rows.columns, *rows.cells]))[:MOST_DEVICES]
    numbers = [n for n in map(gpu_number, every) if n is not None]
    n_gpus = max(numbers, default=-1) + 1
    nics = tuple(name for name in every if gpu_number(name) is None and is_device(name))
    doubts = _doubts(rows, every, n_gpus)
    links: dict[tuple[int, int], str] = {}
    nic_links: dict[tuple[int, str], str] = {}
    for label, cells in rows.cells.items():
        for column, kind in cells.items():
            _enter(label, column, kind, links, nic_links, doubts)
    # of more devices than are counted, the rows may name pairs all the same
    links = {pair: kind for pair, kind in links.items() if pair[1] < n_gpus}
    pairs = ((a, b) for a in range(n_gpus) for b in range(a + 1, n_gpus))
    missing = [f"GPU{a}–GPU{b}" for a, b in pairs if (a, b) not in links]
    if missing and not refused:
        doubts.append(Doubt("missing_links", {"pairs": _some(missing)}))
    cpus: dict[int, str] = {}
    for label, beside in rows.rest.items():
        gpu = gpu_number(label)
        if gpu is None or gpu >= n_gpus:
            continue
        node = beside.get("NUMA Affinity") or beside.get("Node Affinity") or ""
        if re.fullmatch(r"[\d,-]{1,64}", node):
            numa[gpu] = node
        if re.fullmatch(r"[\d,-]{1,256}", beside.get("CPU Affinity", "")):
            cpus[gpu] = beside["CPU Affinity"]
    return Topology(
        file=source.file,
        tool=tool,
        n_gpus=n_gpus,
        nics=nics,
        # NVLink is never shown by those two, so what they show between GPUs is misleading
        links={} if refused else dict(sorted(links.items())),
        nic_links={}
        if refused == "p2p"
        else {key: nic_links[key] for key in nic_links if key[0] < n_gpus and key[1] in nics},
        numa={gpu: node for gpu, node in sorted(numa.items()) if gpu < n_gpus},
        cpus=cpus,
        nic_devices=names,
        doubts=tuple(doubts),
        refused=refused,
    )


def _enter(
    label: str,
    column: str,
    kind: str,
    links: dict[tuple[int, int], str],
    nic_links: dict[tuple[int, str], str],
    doubts: list[Doubt],
) -> None:
    """One cell; the first row that names a pair counts, and the other is held against it."""
    a, b = gpu_number(label), gpu_number(column)
    if kind == "X" or kind in {"NA", "N/A"}:
        return
    if a is not None and b is not None and a != b:
        pair = (min(a, b), max(a, b))
        known = links.setdefault(pair, kind)
        if known != kind:
            values = {"pair": f"GPU{pair[0]}–GPU{pair[1]}", "first": known, "second": kind}
            doubts.append(Doubt("not_symmetric", values))
    elif a is not None and b is None:
        nic_links[a, column] = kind
    elif b is not None and a is None:
        nic_links.setdefault((b, label), kind)


def _doubts(rows: _Rows, every: list[str], n_gpus: int) -> list[Doubt]:
    """What the shape of the text gives rise to."""
    found: list[Doubt] = []
    if rows.cells and not rows.n_headers:
        values = {"gpus": n_gpus, "nics": len(every) - n_gpus}
        found.append(Doubt("no_header", values))
    if rows.n_headers > 1:
        found.append(Doubt("header_twice", {"count": rows.n_headers}))
    if rows.cut:
        found.append(Doubt("cut_row", {"rows": _some(rows.cut)}))
    if rows.shifted:
        found.append(Doubt("shifted_row", {"rows": _some(rows.shifted)}))
    without = [name for name in every if name not in rows.cells and name not in rows.shifted]
    if without and rows.cells:
        found.append(Doubt("missing_rows", {"rows": _some(without)}))
    return found


def _some(names: list[str], most: int = 8) -> str:
    rest = f" … (+{len(names) - most})" if len(names) > most else ""
    return ", ".join(names[:most]) + rest
