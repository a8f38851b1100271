"""Runs of nccl-tests for programs and for people: figures, doubts, fit and verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpuflow.exporters.collective_tables import choice_text
from gpuflow.exporters.figures import ratio, time_or_nothing
from gpuflow.exporters.nccl_said import said_facts
from gpuflow.exporters.tables import NOTHING, Cell, Column, Table
from gpuflow.importers.nccl_fit import NOISY, REPEATED, LogFit, between_columns
from gpuflow.importers.nccl_judge import Verdict
from gpuflow.importers.nccl_reading import Doubt, Measured, Reading
from gpuflow.scenario.spec import Language
from gpuflow.units import format_bytes, format_rate, format_share, format_time
from gpuflow.words import t

Record = dict[str, object]

MOST_SHOWN = 64
"""Rows of one run that the table for people holds; programs get all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadRun:
    """A run with everything that was made of it."""

    reading: Reading
    fit: LogFit | Doubt
    verdict: Verdict | Doubt
    command: str | None

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Those of the reading, and a fit that misses by much."""
        doubts = self.reading.doubts
        if isinstance(self.fit, LogFit) and self.fit.mean_abs_error > NOISY:
            doubts += (self._jumps(self.fit),)
        return doubts

    def _jumps(self, fit: LogFit) -> Doubt:
        """Why no curve fits: steps of the machine where the columns agree, else noise."""
        error = format_share(fit.mean_abs_error)
        apart = between_columns(self.reading)
        if apart is None or apart > REPEATED:
            return Doubt("noisy", {"error": error})
        return Doubt("stepped", {"error": error, "apart": format_share(apart)})


def doubt_text(doubt: Doubt, language: Language) -> str:
    """A doubt or a refusal as a sentence."""
    return t(f"doubt.nccl.{doubt.code}", language, **doubt.values)


def _doubt_record(doubt: Doubt, language: Language) -> Record:
    return {"code": doubt.code, "message": doubt_text(doubt, language)}


# ---------------------------------------------------------------- for programs


def run_record(run: ReadRun, language: Language) -> Record:
    """One run as it stands in the JSON document."""
    reading = run.reading
    peak = reading.peak
    in_place = [r.in_place_bus_bytes_per_s for r in reading.rows if r.in_place_bus_bytes_per_s]
    return {
        "file": reading.raw.file,
        "line": reading.raw.line,
        "collective": reading.collective,
        "gpu": reading.gpu or reading.gpu_name,
        "gpu_name": reading.gpu_name,
        "ranks": reading.ranks,
        "nodes": reading.nodes,
        "dtype": reading.dtypes[0] if len(reading.dtypes) == 1 else list(reading.dtypes) or None,
        "library": reading.raw.library,
        "rows": [
            {
                "size_bytes": row.size_bytes,
                "dtype": row.dtype,
                "operation": row.redop,
                "time_s": row.time_s,
                "bus_bandwidth_bytes_per_s": row.bus_bytes_per_s,
                "in_place_time_s": row.in_place_time_s,
                "in_place_bus_bandwidth_bytes_per_s": row.in_place_bus_bytes_per_s,
                "outlier": row.is_outlier,
            }
            for row in reading.rows
        ],
        "peak_bus_bandwidth_bytes_per_s": peak.bus_bytes_per_s if peak else None,
        "peak_size_bytes": peak.size_bytes if peak else None,
        "peak_in_place_bus_bandwidth_bytes_per_s": max(in_place, default=None),
        "average_bus_bandwidth_bytes_per_s": (
            1e9 * reading.raw.average if reading.raw.average is not None else None
        ),
        "floor_s": reading.floor_s,
        "fit": fit_record(run.fit) if isinstance(run.fit, LogFit) else None,
        "fit_refused": _doubt_record(run.fit, language) if isinstance(run.fit, Doubt) else None,
        "expected": _verdict_record(run.verdict) if isinstance(run.verdict, Verdict) else None,
        "expected_refused": (
            _doubt_record(run.verdict, language) if isinstance(run.verdict, Doubt) else None
        ),
        "debug": reading.raw.debug.record() if reading.raw.debug.lines else None,
        "command": run.command,
        "doubts": [_doubt_record(doubt, language) for doubt in run.doubts],
        "refused": _doubt_record(reading.refused, language) if reading.refused else None,
    }


def fit_record(fit: LogFit) -> Record:
    """The curve, the straight line, the form that is written, and their errors."""
    own = fit.calibration
    return {
        "alpha_s": fit.alpha_s,
        "bandwidth_bytes_per_s": _finite(fit.bandwidth_bytes_per_s),
        "q": fit.q,
        "curve_mean_abs_error": fit.curve_error,
        "line": {
            "alpha_s": fit.line_alpha_s,
            "bandwidth_bytes_per_s": _finite(fit.line_bandwidth_bytes_per_s),
        },
        "form": own.form,
        "mean_abs_error": _finite(fit.mean_abs_error),
        "size_range_bytes": [int(size) for size in own.size_range],
        "rows": len(own.rows),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _verdict_record(verdict: Verdict) -> Record:
    peak = verdict.peak
    return {
        "gpu": verdict.gpu,
        "fabric": verdict.fabric or None,
        "fabric_assumed": verdict.is_fabric_assumed,
        "share_at_peak": peak.share,
        "peak_size_bytes": peak.row.size_bytes,
        "bus_bandwidth_bytes_per_s": peak.bus_bytes_per_s,
        "rows": [
            {
                "size_bytes": one.row.size_bytes,
                "time_s": one.time_s,
                "bus_bandwidth_bytes_per_s": one.bus_bytes_per_s,
                "measured_over_expected": one.share,
                "algorithm": one.algorithm,
                "protocol": one.protocol,
                "time_source": one.time_source,
            }
            for one in verdict.rows
        ],
    }


def row_records(records: Sequence[Mapping[str, object]]) -> list[Record]:
    """Every row of every run as one table, for CSV."""
    found: list[Record] = []
    for number, run in enumerate(records, 1):
        rows = run["rows"]
        names = ("file", "collective", "gpu", "ranks", "nodes")
        about = {"run": number, **{name: run[name] for name in names}}
        found += [{**about, **row} for row in (rows if isinstance(rows, list) else ())]
    return found


# ---------------------------------------------------------------- for people


def run_tables(run: ReadRun, language: Language) -> list[Table]:
    """What was understood and doubted, then the rows beside what was expected."""
    reading = run.reading
    found = [_heading(run, language)]
    if reading.rows:
        found.append(_rows_table(run, language))
    return found


def _heading(run: ReadRun, language: Language) -> Table:
    reading = run.reading
    title = t(
        "import_nccl.title",
        language,
        file=reading.raw.file,
        line=reading.raw.line or 1,
        collective=reading.collective or NOTHING,
    )
    notes = []
    if reading.refused:
        notes.append(t("import_nccl.refused", language, why=doubt_text(reading.refused, language)))
    notes += [
        t("import_nccl.doubt", language, what=doubt_text(doubt, language)) for doubt in run.doubts
    ]
    facts = _facts(run, language)
    rows = tuple((Cell(name), Cell(value)) for name, value in facts)
    columns = (
        Column(t("import_nccl.column.what", language), marks_row=True),
        Column(t("import_nccl.column.value", language)),
    )
    return Table(title=title, columns=columns, rows=rows, notes=tuple(notes))


def _facts(run: ReadRun, language: Language) -> list[tuple[str, str]]:
    reading, fit, verdict = run.reading, run.fit, run.verdict
    peak = reading.peak

    def name(key: str) -> str:
        return t(f"import_nccl.fact.{key}", language)

    gpu = reading.gpu_name or reading.gpu or NOTHING
    found = [
        (name("gpu"), f"{gpu} ({reading.gpu})" if reading.gpu and reading.gpu_name else gpu),
        (name("ranks"), str(reading.ranks or NOTHING)),
        (name("nodes"), str(reading.nodes or NOTHING)),
        (name("dtype"), ", ".join(reading.dtypes) or NOTHING),
    ]
    if peak:
        low, high = (f(row.size_bytes for row in reading.rows) for f in (min, max))
        found += [
            (name("sizes"), f"{format_bytes(low)} – {format_bytes(high)} ({len(reading.rows)})"),
            (
                name("peak"),
                f"{format_rate(peak.bus_bytes_per_s)} @ {format_bytes(peak.size_bytes)}",
            ),
            (name("floor"), time_or_nothing(reading.floor_s)),
        ]
    found += said_facts(reading.raw.debug, language)
    if isinstance(fit, LogFit):
        values = {
            "alpha": format_time(fit.alpha_s),
            "bandwidth": format_rate(fit.bandwidth_bytes_per_s),
            "q": f"{fit.q:.2g}",
            "error": format_share(fit.mean_abs_error),
            "form": fit.calibration.form,
        }
        found.append((name("fit"), t("import_nccl.fit", language, **values)))
    elif peak:
        found.append((name("fit"), doubt_text(fit, language)))
    if isinstance(verdict, Verdict):
        found.append((name("verdict"), _verdict_text(verdict, language)))
    elif peak:
        found.append((name("verdict"), doubt_text(verdict, language)))
    if run.command:
        found.append((name("command"), run.command))
    return found


def _verdict_text(verdict: Verdict, language: Language) -> str:
    """The share at the peak; measurements of a GPU inside one node know of no fabric."""
    values = {
        "share": format_share(verdict.peak.share),
        "expected": format_rate(verdict.peak.bus_bytes_per_s),
    }
    if not verdict.fabric:
        return t("import_nccl.verdict_bare", language, **values)
    key = "assumed" if verdict.is_fabric_assumed else "known"
    return t(f"import_nccl.verdict_{key}", language, fabric=verdict.fabric, **values)


def _kind(row: Measured) -> str:
    """Data type, and operation where there is one."""
    return row.dtype if row.redop in (None, "none") else f"{row.dtype} {row.redop}"


def _rows_table(run: ReadRun, language: Language) -> Table:
    """A row a size; a run of very many rows is shown in part."""
    reading = run.reading
    expected = {}
    if isinstance(run.verdict, Verdict):
        expected = {id(one.row): one for one in run.verdict.rows}
    has_kinds = len({(row.dtype, row.redop) for row in reading.rows}) > 1
    columns = [
        Column(t("column.size", language), "right", marks_row=True),
        *([Column(t("import_nccl.fact.dtype", language))] if has_kinds else []),
        Column(t("column.time", language), "right"),
        Column(t("column.bus_bandwidth", language), "right"),
        Column(t("import_nccl.column.in_place", language), "right"),
    ]
    if expected:
        columns += [
            Column(t("import_nccl.column.expected", language), "right", begins_group=True),
            Column(t("import_nccl.column.share", language), "right"),
            Column(t("column.chosen", language)),
            Column(t("column.time_source", language)),
        ]
    rows = []
    for row in reading.rows[:MOST_SHOWN]:
        role = "tight" if row.is_outlier else ""
        cells = [
            Cell(format_bytes(row.size_bytes)),
            *([Cell(_kind(row))] if has_kinds else []),
            Cell(format_time(row.time_s), role),
            Cell(format_rate(row.bus_bytes_per_s)),
            Cell(time_or_nothing(row.in_place_time_s)),
        ]
        one = expected.get(id(row))
        if one is not None:
            picked = choice_text(one.algorithm, one.protocol or "") if one.algorithm else NOTHING
            cells += [
                Cell(format_time(one.time_s)),
                Cell(ratio(one.share)),
                Cell(picked),
                Cell(t(f"time_source.{one.time_source}", language)),
            ]
        elif expected:
            cells += [Cell(NOTHING)] * 4
        rows.append(tuple(cells))
    left = len(reading.rows) - len(rows)
    notes = [t("import_nccl.more_rows", language, count=left)] if left > 0 else []
    notes += [t("import_nccl.share_note", language)] if expected else []
    return Table(columns=tuple(columns), rows=tuple(rows), notes=tuple(notes), has_parts=True)
