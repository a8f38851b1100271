"""Two logs of nccl-tests beside each other, for programs and for people."""

from __future__ import annotations

import math
from collections.abc import Sequence

from gpuflow.exporters.tables import Cell, Column, Table
from gpuflow.importers.nccl_compare import Change, Comparison, Pair, RegimeChange
from gpuflow.importers.nccl_reading import Reading
from gpuflow.scenario.spec import Language
from gpuflow.units import format_bytes, format_rate, format_share, format_time
from gpuflow.words import t

Record = dict[str, object]

MOST_SHOWN = 64
"""Sizes of the table for people."""
_MOST_NAMED = 4
"""Sizes of a sentence."""
_ROLES: dict[Change, str] = {"slower": "short", "faster": "ok", "same": ""}


def comparison_record(found: Comparison) -> Record:
    """As it stands in the JSON document; ratios are second over first."""
    return {
        "collective": found.collective,
        "first": found.first,
        "second": found.second,
        "noise": found.noise,
        "unlike": list(found.unlike),
        "regimes": [_regime_record(one) for one in found.regimes],
        "rows": [_row_record(pair) for pair in found.pairs],
    }


def _regime_record(one: RegimeChange) -> Record:
    first, last = one.sizes_bytes
    return {
        "regime": one.regime,
        "first_size_bytes": first,
        "last_size_bytes": last,
        "rows": len(one.pairs),
        "second_over_first": one.ratio,
        "change": one.change,
        "rows_slower": sum(pair.change == "slower" for pair in one.pairs),
        "rows_faster": sum(pair.change == "faster" for pair in one.pairs),
    }


def _row_record(pair: Pair) -> Record:
    return {
        "size_bytes": pair.first.size_bytes,
        "dtype": pair.first.dtype,
        "operation": pair.first.redop,
        "first_time_s": pair.first.time_s,
        "second_time_s": pair.second.time_s,
        "first_bus_bandwidth_bytes_per_s": pair.first.bus_bytes_per_s,
        "second_bus_bandwidth_bytes_per_s": pair.second.bus_bytes_per_s,
        "second_over_first": pair.ratio,
        "regime": pair.regime,
        "change": pair.change,
    }


def compared_rows(found: Sequence[Comparison], readings: Sequence[Reading]) -> list[Record]:
    """All comparisons as one table, for CSV."""
    return [
        {
            "collective": one.collective,
            "first": readings[one.first].raw.file,
            "second": readings[one.second].raw.file,
            **_row_record(pair),
        }
        for one in found
        for pair in one.pairs
    ]


def comparison_table(found: Comparison, readings: Sequence[Reading], language: Language) -> Table:
    """One comparison for people: size by size, then what became of each regime."""
    names = ("first", "second", "first_rate", "second_rate", "change", "regime")
    columns = (
        Column(t("column.size", language), "right", marks_row=True),
        *(
            Column(
                t(f"import_nccl.column.{name}", language), "left" if name == "regime" else "right"
            )
            for name in names
        ),
    )
    before, after = readings[found.first], readings[found.second]
    title = t(
        "import_nccl.compare",
        language,
        collective=found.collective,
        first=before.raw.file,
        second=after.raw.file,
    )
    return Table(
        title=title,
        columns=columns,
        rows=tuple(_cells(pair, language) for pair in found.pairs[:MOST_SHOWN]),
        notes=tuple(_notes(found, before, after, language)),
    )


def _cells(pair: Pair, language: Language) -> tuple[Cell, ...]:
    return (
        Cell(format_bytes(pair.first.size_bytes)),
        Cell(format_time(pair.first.time_s), "tight" if pair.first.is_outlier else ""),
        Cell(format_time(pair.second.time_s), "tight" if pair.second.is_outlier else ""),
        Cell(format_rate(pair.first.bus_bytes_per_s)),
        Cell(format_rate(pair.second.bus_bytes_per_s)),
        Cell(change_text(pair.ratio), _ROLES[pair.change]),
        Cell(t(f"import_nccl.regime.{pair.regime}", language)),
    )


def change_text(of: float) -> str:
    """How much longer the second takes, in per cent of the first.

    Example:
        >>> change_text(1.042), change_text(0.45), change_text(3.0)
        ('+4.2 %', '−55 %', '+200 %')
    """
    sign = "+" if of >= 1 else "−"
    return sign + format_share(round(abs(of - 1), 4))


def _notes(found: Comparison, before: Reading, after: Reading, language: Language) -> list[str]:
    if not found.pairs:
        return [t("import_nccl.nothing_common", language)]
    left = len(found.pairs) - MOST_SHOWN
    notes = [t("import_nccl.more_rows", language, count=left)] if left > 0 else []
    notes += [_sentence(one, language) for one in found.regimes]
    notes.append(t("import_nccl.noise", language, noise=format_share(found.noise)))
    for name in found.unlike:
        one, other = (
            (run.raw.library if name == "library" else getattr(run, name))
            for run in (before, after)
        )
        notes.append(t(f"import_nccl.unlike.{name}", language, first=one, second=other))
    return notes


def _sentence(one: RegimeChange, language: Language) -> str:
    first, last = one.sizes_bytes
    sizes = format_bytes(first)
    if last != first:
        sizes = f"{sizes} – {format_bytes(last)}"
    said = t(
        f"import_nccl.changed.{one.change}",
        language,
        regime=t(f"import_nccl.regime.{one.regime}", language),
        sizes=sizes,
        change=change_text(one.ratio),
    )
    return said + _exceptions(one, language)


def _exceptions(one: RegimeChange, language: Language) -> str:
    """The sizes that differ most from what is said of their regime; often none."""
    most = sorted(one.against, key=lambda pair: -abs(math.log(pair.ratio)))[:_MOST_NAMED]
    if not most:
        return ""
    named = sorted(most, key=lambda pair: pair.first.size_bytes)
    found = [f"{format_bytes(p.first.size_bytes)} {change_text(p.ratio)}" for p in named]
    return t("import_nccl.exceptions", language, count=len(one.against), found=found)
