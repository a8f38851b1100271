"""What a run of nccl-tests was: collective, ranks, figures, and what is doubtful about them.

n ranks    r bus bandwidth over algorithm bandwidth    S size    E bytes of an element

Collective and ranks come from a program's name, the device list, NCCL's own lines, S / (count E)
and r, in that order; where two of them differ, that is a doubt. Bus factors: nccl-tests,
doc/PERFORMANCE.md.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import PurePath
from statistics import median
from types import MappingProxyType

from gpuflow.collectives.oracle import bus_factor
from gpuflow.errors import ScenarioError
from gpuflow.importers.nccl_lines import RawRow
from gpuflow.importers.nccl_log import RawRun
from gpuflow.importers.nccl_names import catalog_gpu, collective_in, ranks_in
from gpuflow.importers.nccl_shape import (
    by_bandwidth,
    collective_by_shape,
    could_be,
    ranks_by_ratio,
    rounding_of,
    shares,
)
from gpuflow.scenario import catalog

GB = 1e9
FLOOR_BYTES = 1024
"""Largest message whose time counts as latency."""
LEAST_TIME = 1e-6
"""In the log's own unit; a shorter time is damage."""
MOST_IN_A_HOST = 16
"""GPUs; a node of the catalogue with more of them is an NVLink domain of several hosts."""
OUTLIER = 1.5
"""A time so many times that of a larger message is none of the size's doing."""
_NOTHING: Mapping[str, object] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something to be wary of; `code` is the locale key `doubt.nccl.<code>`."""

    code: str
    values: Mapping[str, object] = field(default_factory=lambda: _NOTHING)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One row that can be used."""

    size_bytes: int
    dtype: str
    redop: str | None
    time_s: float
    bus_bytes_per_s: float
    """As printed; from size and time where two decimals are too few."""
    in_place_time_s: float | None
    in_place_bus_bytes_per_s: float | None
    """Likewise; None where there is no time in place."""
    is_outlier: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One run, understood."""

    raw: RawRun
    collective: str | None
    gpu: str | None
    """Id in the catalogue or the measurements; None where the name is not known."""
    gpu_name: str | None
    """As printed."""
    ranks: int | None
    nodes: int | None
    dtypes: tuple[str, ...]
    rows: tuple[Measured, ...]
    doubts: tuple[Doubt, ...]
    refused: Doubt | None
    """Why nothing of the run can be used."""

    @property
    def usable(self) -> tuple[Measured, ...]:
        """Rows without the outliers."""
        return tuple(row for row in self.rows if not row.is_outlier)

    @property
    def is_debug_only(self) -> bool:
        """Whether the log is NCCL's own lines of a program that is no test."""
        return _is_debug_only(self.raw)

    @property
    def peak(self) -> Measured | None:
        """The row of the highest bus bandwidth, out of place."""
        return max(self.rows, key=lambda row: row.bus_bytes_per_s, default=None)

    @property
    def floor_s(self) -> float | None:
        """Median time of messages up to 1 KiB; None where there are none."""
        small = [row.time_s for row in self.rows if row.size_bytes <= FLOOR_BYTES]
        return median(small) if small else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What the user knows of a log and the log may not say."""

    gpu: str | None = None
    ranks: int | None = None
    nodes: int | None = None
    collective: str | None = None


def understand(raw: RawRun, known: Known | None = None) -> Reading:
    """Conclude what a run was.

    Args:
        raw: The run's lines.
        known: What the user says; it stands above the log.

    Raises:
        ScenarioError: The user names a GPU that nobody knows.
    """
    known = known or Known()
    doubts: list[Doubt] = []
    rows = [row for row in raw.rows if row.size_bytes > 0 and (row.figures[0] or 0) > LEAST_TIME]
    if raw.is_cpu_time:
        timed = len(rows)
        rows = by_bandwidth(rows)
        doubts.append(Doubt("cpu_time", {"count": timed - len(rows)}))
    share, per_rank = shares(rows)
    name = PurePath(raw.file).name.lower()
    collective = known.collective or raw.collective or collective_by_shape(rows, share, per_rank)
    guessed: list[str] = []
    if raw.collective is None and known.collective is None and rows:
        by_file = collective_in(name)
        if by_file and could_be(by_file, rows, share, per_rank):
            guessed += [by_file] if by_file != collective else []
            collective = by_file
        elif collective:
            doubts.append(Doubt("collective_by_shape", {"collective": collective}))
    ranks = known.ranks or _ranks(raw, collective, share, per_rank, doubts)
    gpu_name = next((rank.gpu for rank in raw.ranks if rank.gpu), None)
    gpu = catalog_gpu(gpu_name or "")
    if known.gpu:
        gpu = catalog.device(known.gpu).name
    elif gpu is None and (gpu_name is None or "Graphics Device" in gpu_name):
        gpu = catalog_gpu(name)
        guessed += [gpu] if gpu else []
    if ranks is None and rows:
        ranks = ranks_in(name)
        guessed += [f"n = {ranks}"] if ranks else []
    if guessed:
        doubts.append(Doubt("by_file_name", {"found": guessed}))
    nodes = known.nodes or _nodes(raw, ranks, gpu, name, doubts)
    found = _measured(raw, rows, collective, ranks, doubts)
    doubts += _doubts(raw, found)
    doubts += [Doubt("debug_only")] if _is_debug_only(raw) else []
    return Reading(
        raw=raw,
        collective=collective,
        gpu=gpu,
        gpu_name=gpu_name,
        ranks=ranks,
        nodes=nodes,
        dtypes=tuple(dict.fromkeys(row.dtype for row in raw.rows)),
        rows=found,
        doubts=tuple(doubts),
        refused=None if found or _is_debug_only(raw) else _refusal(raw),
    )


def _ranks(
    raw: RawRun,
    collective: str | None,
    share: float | None,
    per_rank: int | None,
    doubts: list[Doubt],
) -> int | None:
    """Ranks n by everything that knows it; what disagrees becomes a doubt."""
    listed = len({rank.rank for rank in raw.ranks})
    highest = max((rank.rank for rank in raw.ranks), default=-1) + 1
    zeros = sum(rank.rank == 0 for rank in raw.ranks)
    if zeros > 1:
        doubts.append(Doubt("rank_zero_twice", {"count": zeros}))
    elif highest > listed:
        doubts.append(Doubt("rank_list_partial", {"listed": listed, "ranks": highest}))
    shared = collective in {"all_gather", "reduce_scatter", "all_to_all"}
    exact = per_rank if shared and per_rank and per_rank > 1 else None
    ratio = ranks_by_ratio(collective, share, rounding_of(raw.rows))
    said = highest or raw.debug.ranks
    if not said and exact is None and ratio and not _is_near(collective, ratio, share):
        return None  # the columns mean no number of ranks at all
    found = said or exact or ratio
    if not said and raw.rows and found:
        doubts.append(Doubt("ranks_concluded", {"ranks": found}))
    if found and exact is None and ratio and share is not None:
        if not _is_near(collective, found, share):
            values = {"ranks": found, "ratio": ratio, "share": f"{share:.3f}"}
            doubts.append(Doubt("ranks_against_ratio", values))
    elif found and exact and found != exact:
        values = {"ranks": found, "ratio": exact, "share": f"{share or 0:.3f}"}
        doubts.append(Doubt("ranks_against_ratio", values))
    if raw.said_ranks and found and raw.said_ranks != found:
        doubts.append(Doubt("ranks_said", {"said": raw.said_ranks, "ranks": found}))
    if shared and share is not None and abs(share - 1) < 0.005 and found and found < 100:
        doubts.append(Doubt("old_all_gather", {"collective": collective}))
    return found


def _is_near(collective: str | None, ranks: int, share: float | None) -> bool:
    """Whether so many ranks have that share of bus bandwidth over algorithm bandwidth."""
    return share is not None and abs(bus_factor(collective or "", ranks) - share) <= 0.012


def _nodes(
    raw: RawRun, ranks: int | None, gpu: str | None, name: str, doubts: list[Doubt]
) -> int | None:
    """Nodes by the hosts of the device list, NCCL's own lines, the file's name, or the GPU."""
    if ranks is None:
        return None
    listed = {rank.rank for rank in raw.ranks}
    hosts = len({rank.host for rank in raw.ranks})
    if raw.debug.nodes:
        return raw.debug.nodes
    per_node = _gpus_per_node(gpu)
    if hosts > 1 or (listed and len(listed) == ranks):
        return _domains(ranks, hosts, per_node, doubts)
    named = re.search(r"(?<!\d)(\d{1,4})[-_ ]?nodes?\b", name)
    if named and int(named[1]) and ranks % int(named[1]) == 0:
        doubts.append(Doubt("nodes_assumed", {"nodes": int(named[1])}))
        return int(named[1])
    if not raw.rows:
        return None
    nodes = math.ceil(ranks / per_node)
    doubts.append(Doubt("nodes_assumed", {"nodes": nodes}))
    return nodes


def _gpus_per_node(gpu: str | None) -> int:
    try:
        return catalog.device(gpu or "").gpus_per_node
    except ScenarioError:
        return 8


def _domains(ranks: int, hosts: int, per_node: int, doubts: list[Doubt]) -> int:
    """Nodes as the catalogue has them: of a rack with one NVLink domain, all hosts are one."""
    if per_node <= MOST_IN_A_HOST or hosts * per_node < ranks:
        return hosts
    nodes = min(hosts, math.ceil(ranks / per_node))
    if nodes < hosts:
        doubts.append(Doubt("hosts_of_domain", {"hosts": hosts, "nodes": nodes}))
    return nodes


def _measured(
    raw: RawRun,
    rows: Sequence[RawRow],
    collective: str | None,
    ranks: int | None,
    doubts: list[Doubt],
) -> tuple[Measured, ...]:
    """Rows in SI units, outliers marked."""
    unit = _unit(raw, rows, doubts)
    factor = bus_factor(collective or "", ranks) if ranks else 1.0
    found = []
    for row in rows:
        time, _, bus, _, in_time, _, in_bus, _ = row.figures
        if time is None:
            continue
        seconds = time * unit
        inside = in_time * unit if in_time and in_time > LEAST_TIME else None
        moved = factor * row.size_bytes
        found.append(
            Measured(
                size_bytes=row.size_bytes,
                dtype=row.dtype,
                redop=row.redop,
                time_s=seconds,
                bus_bytes_per_s=_rate(bus, moved, seconds),
                in_place_time_s=inside,
                in_place_bus_bytes_per_s=_rate(in_bus, moved, inside) if inside else None,
            )
        )
    return tuple(_with_outliers(found))


def _rate(printed: float | None, moved: float, time_s: float) -> float:
    """Bus bandwidth (bytes/s): as printed (GB/s), from the time where two decimals are too few."""
    return printed * GB if printed is not None and printed >= 1 else moved / time_s


def _unit(raw: RawRun, rows: Sequence[RawRow], doubts: list[Doubt]) -> float:
    """Seconds of one unit of time: what size, time and bandwidth of a row agree on."""
    powers = [
        round(math.log10(row.size_bytes / (row.figures[0] * row.figures[1] * GB)) / 3)
        for row in rows
        if row.figures[0] and row.figures[1] and row.figures[1] >= 0.1
    ]
    if not powers:
        return raw.units or 1e-6
    unit = float(10.0 ** (3 * median(powers)))
    if unit not in (1e-6, 1e-3, 1.0):
        return raw.units or 1e-6
    if unit == 1e-3 or (raw.units and not math.isclose(unit, raw.units)):
        doubts.append(Doubt("time_unit", {"unit": {1e-6: "µs", 1e-3: "ms", 1.0: "s"}[unit]}))
    return unit


def _with_outliers(rows: Sequence[Measured]) -> list[Measured]:
    """Rows in their order; one that took far longer than any larger message is marked."""
    least: dict[int, float] = {}
    shortest = larger = math.inf
    for size, same in groupby(sorted(rows, key=_by_size, reverse=True), key=_by_size):
        least[size] = larger = shortest
        shortest = min(larger, *(row.time_s for row in same))
    return [replace(r, is_outlier=r.time_s > OUTLIER * least[r.size_bytes]) for r in rows]


def _by_size(row: Measured) -> int:
    return row.size_bytes


def _doubts(raw: RawRun, rows: Sequence[Measured]) -> list[Doubt]:
    from gpuflow.importers.nccl_doubts import doubts_of

    return doubts_of(raw, rows)


def _is_debug_only(raw: RawRun) -> bool:
    """Whether the log is one of NCCL's own lines, of a program that is no test."""
    return raw.is_empty and raw.debug.ranks is not None and not raw.failures


def _refusal(raw: RawRun) -> Doubt:
    if raw.failures:
        return Doubt("failed", {"found": raw.failures[0]})
    if raw.rows:
        return Doubt("only_empty_messages", {"count": len(raw.rows)})
    if raw.options or raw.ranks or raw.has_table:
        warned = raw.debug.warnings
        return Doubt("no_rows_warned", {"found": warned[0]}) if warned else Doubt("no_rows")
    return Doubt("no_table")
