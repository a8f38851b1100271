"""What is doubtful about the rows and the frame of a run of nccl-tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import mean, median

from gpuflow.importers.nccl_lines import RawRow
from gpuflow.importers.nccl_log import (
    MOST_BYTES,
    MOST_LINES,
    MOST_ROWS,
    MOST_ROWS_LOOKED_AT,
    MOST_RUNS,
    RawRun,
)
from gpuflow.importers.nccl_reading import Doubt, Measured
from gpuflow.importers.nccl_shape import LEAST_RATE
from gpuflow.units import format_bytes, format_rate, format_time

_WRONG = 1.0
"""An error above this is no rounding (nccl-tests up to 2022 print the largest deviation)."""
_ALIKE = 0.9
"""Times and bandwidths that differ by less may be the run's own rounding or clock."""
_LARGE = 64 << 10
"""From here on bandwidth should only grow, but for a change of protocol."""
_FALLEN = 0.5
"""A change of protocol or algorithm costs less than that."""


def doubts_of(raw: RawRun, rows: Sequence[Measured]) -> list[Doubt]:
    """Everything to be wary of, in the order in which people would ask.

    Args:
        raw: The run's lines.
        rows: Its rows that can be used.
    """
    return [*_about_frame(raw), *_about_values(raw), *_about_rows(raw, rows)]


def _about_frame(raw: RawRun) -> Iterator[Doubt]:
    if raw.headers > 1:
        yield Doubt("header_twice", {"count": raw.headers})
    places = Counter((r.host, r.bus_id) for r in raw.ranks if r.bus_id not in {"", "0x00"})
    shared = [place for place, count in places.items() if count > 1]
    if shared and sum(rank.rank == 0 for rank in raw.ranks) < 2:
        yield Doubt("gpu_shared", {"ranks": places[shared[0]]})
    kinds = {rank.gpu for rank in raw.ranks if rank.gpu}
    if len(kinds) > 1:
        yield Doubt("gpus_mixed", {"found": sorted(kinds)[:4]})
    if raw.rows and not raw.has_table:
        yield Doubt("no_header")
    if raw.rows and not raw.has_foot:
        yield Doubt("no_foot")
    if raw.rows and raw.rows[-1].is_cut:
        yield Doubt("row_cut")
    if raw.is_doubled:
        yield Doubt("doubled")
    if raw.is_elided:
        yield Doubt("elided")
    if raw.is_clipped:
        yield Doubt("too_many_rows", {"most": MOST_ROWS})
    if raw.is_last_read:
        yield Doubt("too_many_runs", {"most": MOST_RUNS})
    if raw.is_log_cut:
        values = {"lines": f"{MOST_LINES:,}", "rows": f"{MOST_ROWS_LOOKED_AT:,}"}
        yield Doubt("log_cut", {**values, "mib": MOST_BYTES >> 20})
    if raw.debug.has_sockets:
        yield Doubt("sockets")
    if raw.debug.goes_through_hosts:
        yield Doubt("no_gpu_direct")
    if raw.debug.warnings:
        yield Doubt("warnings", {"count": len(raw.debug.warnings), "found": raw.debug.warnings[0]})
    if raw.failures and raw.rows:
        yield Doubt("failures", {"found": raw.failures[0]})


def _about_values(raw: RawRun) -> Iterator[Doubt]:
    """Whether the data arrived right."""
    errors = [e for row in raw.rows for e in (row.figures[3], row.figures[7]) if e is not None]
    worst = max(errors, default=0.0)
    if raw.wrong:
        yield Doubt("wrong_values", {"count": raw.wrong})
    elif worst >= _WRONG:
        yield Doubt("wrong_data", {"error": f"{worst:g}"})
    odd = [] if raw.is_cpu_time else _against_time(raw.rows)
    if odd:
        yield Doubt("time_against_rate", {"count": len(odd), "found": format_bytes(odd[0])})
    if raw.rows and raw.options.get("check") == 0:
        yield Doubt("unchecked")
    for name, usual in (("graph", 0), ("aggregated", 1)):
        count = raw.options.get(name, usual)
        if raw.rows and isinstance(count, int) and count > usual:
            yield Doubt(name, {"count": count})


def _against_time(rows: Sequence[RawRow]) -> list[int]:
    """Sizes of rows whose time and algorithm bandwidth do not belong together.

    The unit of time is that which most rows mean.
    """
    found = []
    for row in rows:
        time, rate = row.figures[:2]
        if time and rate and rate >= LEAST_RATE and row.size_bytes:
            found.append((row.size_bytes, row.size_bytes / (time * rate)))
    usual = median(share for _, share in found) if found else 0.0
    return [size for size, share in found if not _ALIKE * usual <= share <= usual / _ALIKE]


def _falls(rows: Sequence[Measured]) -> list[tuple[Measured, Measured]]:
    """Sizes with less than half the bandwidth of a smaller message, each behind that one."""
    quickest: dict[int, Measured] = {}
    for row in sorted(rows, key=lambda row: (row.size_bytes, row.bus_bytes_per_s)):
        if row.size_bytes >= _LARGE and not row.is_outlier:
            quickest[row.size_bytes] = row
    found: list[tuple[Measured, Measured]] = []
    best: Measured | None = None
    for row in quickest.values():
        if best is None or row.bus_bytes_per_s > best.bus_bytes_per_s:
            best = row
        elif row.bus_bytes_per_s < _FALLEN * best.bus_bytes_per_s:
            found.append((best, row))
    return found


def _about_rows(raw: RawRun, rows: Sequence[Measured]) -> Iterator[Doubt]:
    empty = sum(row.size_bytes == 0 for row in raw.rows)
    if empty and rows:
        yield Doubt("empty_messages", {"count": empty})
    odd = [row for row in rows if row.is_outlier]
    if odd:
        found = [f"{format_bytes(r.size_bytes)} {format_time(r.time_s)}" for r in odd[:6]]
        yield Doubt("outliers", {"count": len(odd), "found": found})
    falls = _falls(rows)
    if falls:
        before, after = falls[0]
        values = {
            "count": len(falls),
            "size": format_bytes(after.size_bytes),
            "rate": format_rate(after.bus_bytes_per_s),
            "before": format_rate(before.bus_bytes_per_s),
            "smaller": format_bytes(before.size_bytes),
        }
        yield Doubt("bandwidth_falls", values)
    repeated = [size for size, count in Counter(r.size_bytes for r in rows).items() if count > 1]
    if repeated:
        kinds = {(row.dtype, row.redop) for row in rows}
        roots = {row.root for row in raw.rows if row.root is not None}
        code = "sizes_repeated_by_kind" if len(kinds) > 1 else "sizes_repeated"
        code = "sizes_repeated_by_root" if len(roots) > 1 else code
        yield Doubt(code, {"count": len(repeated), "kinds": len(kinds), "roots": len(roots)})
    most = raw.options.get("max_bytes")
    largest = max((row.size_bytes for row in rows), default=0)
    if isinstance(most, int) and largest > most > 0:
        values = {"found": format_bytes(largest), "most": format_bytes(most)}
        yield Doubt("sizes_beyond_header", values)
    if raw.average is not None and rows:
        printed = [
            value
            for row in raw.rows
            for value in (row.figures[2], row.figures[6])
            if value is not None
        ]
        here = mean(printed) if printed else 0.0
        if abs(here - raw.average) > 0.02 * raw.average + 0.01:
            values = {"printed": f"{raw.average:g}", "here": f"{here:.4g}"}
            yield Doubt("average_of_others", values)
