"""Lines of a topology matrix as cells, whatever they were copied through."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gpuflow.importers.topo_copies import unwrapped, without_label

KIND = re.compile(
    r"X|SYS|NODE|PHB|PXB|PIX|PIB|SOC|C2C|NV\d{1,2}|MX|ETH|NA|N/A|XGMI|HCCS(?:_SW)?|SIO|PCIE|0|OK|CNS|GNS|TNS|NS"
)
"""Whatever may stand in a cell of the matrix; 0 is X in rocm-smi."""

_GPU = re.compile(r"GPU(\d{1,2})")
# a rack of one NVLink domain has 72
_NIC = re.compile(r"NIC\d{1,3}|(?:mlx|ib|hfi|bnxt|irdma|efa|rdmap|hns|qedr|cxgb|roce)\w{0,24}")
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_QUOTE = re.compile(r"^\s*(?:>\s?)+")
_ALIGNED = re.compile(r"\S {2,}\S")
_EXTRA = re.compile(r"CPU Affinity|NUMA Affinity|Node Affinity|GPU NUMA ID", re.IGNORECASE)
_SPELLED = {
    name.lower(): name for name in ("CPU Affinity", "NUMA Affinity", "Node Affinity", "GPU NUMA ID")
}
_MOST_CHARACTERS = 8192
"""Of a line; a row of 256 devices has some two thousand."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line without colours, quotes and the like."""

    text: str
    words: tuple[str, ...]
    """Its cells, empty ones included where columns are marked."""
    has_columns: bool
    """Whether tabs or bars mark the columns."""
    is_torn: bool
    """Whether the text ends here, within a line."""
    before: tuple[tuple[str, str], ...] = ()
    """Affinities that stand in front of the matrix."""


def gpu_number(name: str) -> int | None:
    """The number of GPU7; None for what is no GPU."""
    found = _GPU.fullmatch(name)
    return int(found[1]) if found else None


def is_device(name: str) -> bool:
    """Whether it is the name of a GPU or NIC."""
    return bool(_GPU.fullmatch(name) or _NIC.fullmatch(name))


def plain_lines(lines: Sequence[str]) -> list[Line]:
    """All lines of a text; affinities in front of a Markdown matrix are taken along."""
    found: list[Line] = []
    front: list[str] = []
    n_devices = 0
    plain = (_QUOTE.sub("", _ESCAPE.sub("", raw[:_MOST_CHARACTERS])) for raw in lines)
    texts = unwrapped([without_label(text) for text in plain])
    for number, text in enumerate(texts):
        words = _cells(text)
        n_devices = _devices_named(words) or n_devices
        if "" in words[1 : n_devices + 1] and n_devices <= sum(map(_is_link, words)):
            # No cell is missing: tabs were doubled, to have the columns one below the other.
            words = tuple(word for word in words if word)
        is_last = number == len(texts) - 1 and bool(text)
        marked = "\t" in text or text.strip().startswith("|")
        names = [_SPELLED.get(word.lower(), "") for word in words]
        first_device = next((i for i, word in enumerate(words) if is_device(word)), 0)
        if any(names[:first_device]):
            front = names[:first_device]
        before: tuple[tuple[str, str], ...] = ()
        if front and marked and not any(names):
            pairs = zip(front, words, strict=False)
            before = tuple((name, word) for name, word in pairs if name)
        found.append(Line(text, words, marked, is_last, before))
    return found


def _cells(text: str) -> tuple[str, ...]:
    if text.strip().startswith("|"):
        inner = text.strip().strip("|")
        return tuple(cell.strip() for cell in inner.split("|"))
    if "\t" in text:
        cells = tuple(cell.strip() for cell in text.split("\t"))
        # Blanks within a cell make the columns, whatever the tabs do.
        return tuple(text.split()) if any(map(_ALIGNED.search, cells)) else cells
    return tuple(text.split())


def _is_link(word: str) -> bool:
    """Whether it is a cell of the matrix and cannot be a NUMA node."""
    return KIND.fullmatch(word) is not None and word not in {"0", "NA", "N/A"}


def _devices_named(words: Sequence[str]) -> int:
    """Devices that a header names; 0 for another line."""
    is_row = any(word and KIND.fullmatch(word) for word in words)
    named = 0 if is_row else sum(map(is_device, words))
    return named if named > 1 else 0


def header_of(line: Line) -> tuple[list[str], list[str]] | None:
    """The devices that a header names, and its other columns in order; None for another line."""
    devices = [word for word in line.words if is_device(word)]
    if not devices or any(KIND.fullmatch(word) for word in line.words if word):
        return None
    first = next(i for i, word in enumerate(line.words) if is_device(word))
    after = " ".join(word for word in line.words[first:] if not is_device(word))
    if _EXTRA.sub("", after).strip() or (first > 1 and not line.has_columns):
        return None
    # one device alone at the start of a line is a row that was cut
    if len(devices) == 1 and first == 0 and line.text[:1].strip():
        return None
    extra = [_SPELLED[found[0].lower()] for found in _EXTRA.finditer(after)]
    return devices, extra


def cells_of(line: Line) -> tuple[str, list[str]]:
    """The device a row is of, and its cells; an empty name for a line that is no row."""
    words = list(line.words)
    start = next((i for i, word in enumerate(words) if word and is_device(word)), None)
    if start is None or (start > 0 and not line.has_columns):
        return "", []
    rest = words[start + 1 :]
    if not rest or not KIND.fullmatch(rest[0]):
        return "", []
    return words[start], rest
