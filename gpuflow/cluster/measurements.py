"""Measured collectives, as the tables of gpuflow/data/truth hold them.

Sizes follow nccl-tests: the whole vector in all_reduce and broadcast, the gathered total in
all_gather, the input of reduce_scatter, each rank's send buffer in all_to_all.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from gpuflow.collectives.oracle import bus_factor

COLLECTIVE_COLUMNS = frozenset(
    {"gpu", "ranks", "nodes", "collective", "kernel", "launch", "size_bytes", "time_us"}
)
EXPERT_COLUMNS = frozenset({"gpu", "fabric", "ep", "tokens_per_rank", "hidden", "op", "kernel"})
CACHE_COLUMNS = frozenset({"model", "fabric", "tokens", "size_bytes", "time_ms"})
"""Columns by which a table is known, whatever its name."""

_Loader: type[yaml.CSafeLoader] | type[yaml.SafeLoader] = getattr(
    yaml, "CSafeLoader", yaml.SafeLoader
)


@dataclass(frozen=True, slots=True, order=True)
class Key:
    """What a calibration belongs to: everything of a measurement but its size and its time."""

    gpu: str
    collective: str
    kernel: str
    launch: str
    ranks: int
    nodes: int
    fabric: str
    """Fabric between nodes; empty on one node."""


@dataclass(frozen=True, slots=True)
class Row:
    """One measured time."""

    key: Key
    size_bytes: float
    time_s: float
    source: str
    """Who published it: rows of one source come from one machine."""
    place: str
    """File and line, such as collectives.csv:12."""


@cache
def shipped_truth() -> Path:
    """The folder of the project's own copy of the measurements."""
    return Path(str(resources.files("gpuflow"))) / "data" / "truth"


@cache
def settings() -> dict[str, Any]:
    """gpuflow/data/calibrations.yaml: what was fitted on which rows, and what is only tested."""
    text = (resources.files("gpuflow") / "data" / "calibrations.yaml").read_text(encoding="utf-8")
    loaded = yaml.load(text, Loader=_Loader)
    return dict(loaded)


def fabric_of_source(source: str) -> str:
    """Fabric between the nodes of a published machine; the tables name it in `source` only.

    Unlisted sources go by what they mention; "unknown" if that is nothing.
    """
    for setup in settings()["setups"]:
        if setup["source"] == source:
            return str(setup["fabric"])
    for word, fabric in settings()["fabric_words"].items():
        if re.search(rf"\b{re.escape(word)}\b", source, re.IGNORECASE):
            return str(fabric)
    return "unknown"


def is_test_only(source: str) -> bool:
    """Whether rows of a source are kept out of every fit, to test what is predicted for them."""
    return any(s["source"] == source and s["role"] == "test" for s in settings()["setups"])


MOST_SIZE_BYTES = 2.0**60
MOST_TIME_S = 1e9
MOST_RANKS = 1 << 20
"""No message is an exbibyte, none takes thirty years and no group has a million ranks; figures
beyond that are slips."""
LEAST_FIGURE, MOST_FIGURE = 1e-18, 2.0**60
"""Of anything measured, in the units of the tables; what is beyond only overflows."""


def figure(text: str) -> float:
    """A number as a table of measurements has it: nothing, or of a size that something can have.

    Raises:
        ValueError: It is none.
    """
    value = float(text)
    if value != 0 and not LEAST_FIGURE <= abs(value) <= MOST_FIGURE:
        raise ValueError(text)
    return value


def collective_row(columns: Mapping[str, str], place: str) -> Row | None:
    """A row of the tables of collectives; None where it has no readable size or time.

    Args:
        columns: The CSV's own columns.
        place: File and line.
    """
    try:
        ranks, nodes = int(figure(columns["ranks"])), int(figure(columns["nodes"]))
        size = figure(columns["size_bytes"])
        if columns.get("time_us"):
            time_s = 1e-6 * figure(columns["time_us"])
        else:
            rate = 1e9 * figure(columns["busbw_GB_per_s"])
            time_s = bus_factor(columns["collective"], ranks) * size / rate
    except (KeyError, ValueError, ZeroDivisionError):
        return None
    is_sane = 0 < size <= MOST_SIZE_BYTES and 0 < time_s <= MOST_TIME_S
    if not (is_sane and 1 < ranks <= MOST_RANKS and 0 < nodes <= MOST_RANKS):
        return None
    source = columns.get("source", "")
    key = Key(
        gpu=columns["gpu"],
        collective=columns["collective"],
        kernel=columns["kernel"],
        launch=columns.get("launch", ""),
        ranks=ranks,
        nodes=nodes,
        fabric=fabric_of_source(source) if nodes > 1 else "",
    )
    return Row(key, size, time_s, source, place)


def read_tables(folder: Path, needed: frozenset[str]) -> list[tuple[dict[str, str], str]]:
    """Rows of every CSV of a folder that has the columns needed: the columns, and file and line."""
    found: list[tuple[dict[str, str], str]] = []
    for path in sorted(folder.glob("*.csv")):
        with path.open(encoding="utf-8-sig", newline="") as stream:
            lines = csv.DictReader(stream, restval="")
            if needed <= frozenset(lines.fieldnames or ()):
                for row in lines:
                    columns = {name: text or "" for name, text in row.items() if name}
                    found.append((columns, f"{path.name}:{lines.line_num}"))
    return found


def read_collectives(folder: Path) -> tuple[Row, ...]:
    """All readable rows of the tables of collectives in a folder."""
    return tuple(_readable(read_tables(folder, COLLECTIVE_COLUMNS)))


def _readable(rows: Iterable[tuple[dict[str, str], str]]) -> Iterable[Row]:
    for columns, place in rows:
        row = collective_row(columns, place)
        if row is not None:
            yield row


@cache
def shipped_rows() -> tuple[Row, ...]:
    """The project's own rows of collectives."""
    return read_collectives(shipped_truth())
