"""How far predictions miss, for people: a line for each file, thing measured and GPU.

Ranks, models and sources are taken together. What constants were fitted on stands beside what they
have not seen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from gpuflow.cluster.accuracy import AccuracyGroup
from gpuflow.cluster.selection import default_launch
from gpuflow.engine.accuracy import CURVE_KINDS
from gpuflow.engine.profile_fit import MOST_REQUESTS
from gpuflow.exporters.accuracy import Group, Judged, measured_name, pool_name
from gpuflow.exporters.tables import NOTHING, Column, Table, table_of
from gpuflow.scenario.spec import Language
from gpuflow.units import format_count
from gpuflow.words import has, t

_POOLED = "pooled "
_FURTHER_TESTS = frozenset(
    {"left out, sisters measured", "GPU left out", "GPU generation left out"}
)
"""Judged besides the one test that a row has; the pooled groups sum them up."""


def short_tables(
    curves: Sequence[AccuracyGroup],
    judged: Sequence[Judged],
    skipped: Sequence[str],
    language: Language,
) -> list[Table]:
    """What measured curves miss taken together, a table a file, and why rows lack predictions.

    Args:
        curves: Groups of rows that curves are judged on, pooled ones among them.
        judged: Every figure of every row; those of curves count in what was not predicted.
        skipped: Files left out.
        language: In which language.
    """
    pooled = [one for one in curves if one.name.startswith(_POOLED)]
    tables = [_pooled_table(pooled, language)] if pooled else []
    tables += [_file_table(file, lines, language) for file, lines in _by_file(curves, judged)]
    notes = (*_notes(judged, skipped, language), t("accuracy.more", language))
    tables.append(Table(columns=(), rows=(), notes=notes))
    return [Table(title=t("accuracy.title", language), columns=(), rows=()), *tables]


def _notes(judged: Sequence[Judged], skipped: Sequence[str], language: Language) -> list[str]:
    notes = [t("accuracy.note", language), *_not_predicted(judged, language)]
    if skipped:
        notes.append(t("accuracy.skipped", language, files=list(skipped)))
    return notes


def _not_predicted(judged: Iterable[Judged], language: Language) -> Iterator[str]:
    """A sentence for each reason: how many figures it kept from being predicted, and where."""
    reasons: dict[str, Counter[str]] = {}
    for item in judged:
        if item.prediction.why:
            reasons.setdefault(item.prediction.why, Counter())[item.row.file] += 1
    for why, files in reasons.items():
        yield t(
            "accuracy.not_predicted",
            language,
            count=format_count(sum(files.values())),
            why=t(f"why.{why}", language),
            files=[f"{file} {count}" for file, count in files.items()],
        )


@dataclass(slots=True)
class _Errors:
    """Sums over relative errors."""

    rows: int = 0
    sizes: float = 0.0
    signed: float = 0.0
    worst: float = 0.0

    def enter(self, rows: int, mean_abs: float, worst_abs: float, bias: float) -> None:
        self.rows += rows
        self.sizes += rows * mean_abs
        self.signed += rows * bias
        self.worst = max(self.worst, worst_abs)

    def cells(self) -> tuple[str, str, str]:
        """Mean with the number of rows, worst and bias."""
        if not self.rows:
            return (NOTHING, NOTHING, NOTHING)
        mean, bias = percent(self.sizes / self.rows), percent(self.signed / self.rows)
        return (f"{mean} ({format_count(self.rows)})", percent(self.worst), bias)


@dataclass(slots=True)
class _Line:
    fit: _Errors = field(default_factory=_Errors)
    test: _Errors = field(default_factory=_Errors)


def percent(error: float | None) -> str:
    """An error with one decimal; what a fit leaves of rounding is none."""
    return NOTHING if error is None else f"{round(100 * error, 1) + 0.0:.1f} %".replace("-", "−")


_Lines = dict[tuple[str, str], _Line]
"""By what was measured and GPU."""


def _by_file(
    curves: Sequence[AccuracyGroup], judged: Sequence[Judged]
) -> Iterator[tuple[str, _Lines]]:
    files: dict[str, _Lines] = {}

    def errors(file: str, what: str, gpu: str | None, split: str) -> _Errors:
        line = files.setdefault(file, {}).setdefault((what, gpu or NOTHING), _Line())
        return line.fit if split == "fit" else line.test

    for one in curves:
        what, _, how = one.name.partition(": ")
        if one.name.startswith(_POOLED) or how in _FURTHER_TESTS:
            continue
        errors(one.file, _curve_text(what), one.gpu, one.split).enter(
            one.rows, one.mean_abs_error, one.worst_abs_error, one.bias
        )
    for item in judged:
        error = item.prediction.error
        if item.row.kind not in CURVE_KINDS and error is not None:
            gpu = item.row.columns.get("gpu")
            errors(item.row.file, _what(item), gpu, item.prediction.split).enter(
                1, abs(error), abs(error), error
            )
            if pool_name(item):
                errors(item.row.file, pool_name(item), None, item.prediction.split).enter(
                    1, abs(error), abs(error), error
                )
    for file, lines in sorted(files.items()):
        yield file, dict(sorted(lines.items()))


def _curve_text(name: str) -> str:
    """What a curve is of, without what goes without saying: `all_reduce nccl, 2 nodes`."""
    words = name.split(" ")
    if words[0] in {"dispatch", "combine"}:
        # one line for all node counts
        return " ".join(words[:2])
    is_usual = len(words) > 2 and words[2] == default_launch(words[1])
    nodes = f", {' '.join(words[3:])}" if len(words) > 3 else ""
    return " ".join(words[:2] if is_usual else words[:3]) + nodes


def _what(item: Judged) -> str:
    """What a figure of a model or an operator is, whichever the model."""
    columns, kind = item.row.columns, item.row.kind
    metric = item.prediction.metric.replace("_", " ")
    if kind == "gemm":
        return columns.get("operator", "")
    if kind == "inference":
        return f"{columns.get('engine', '')} {metric}"
    crowd = f" >{MOST_REQUESTS}" if item.prediction.is_crowded else ""
    return f"{columns.get('backend', '')} {metric}{crowd}"


def _pooled_table(pooled: Sequence[AccuracyGroup], language: Language) -> Table:
    names = ("rows", "mean_error", "worst_error", "bias")
    columns = [Column(t("column.group", language), marks_row=True)]
    columns += [Column(t("column.left_out", language), marks_row=True)]
    columns += [Column(t(f"column.{name}", language), "right") for name in names]
    rows = []
    for one in pooled:
        what, _, how = one.name.removeprefix(_POOLED).partition(": ")
        key = f"accuracy.how.{how.lower().replace(',', '').replace(' ', '_')}"
        rows.append(
            (
                t("accuracy.engine_kernels", language) if what == "engine kernels" else what,
                t(key, language) if has(key, language) else how,
                format_count(one.rows),
                percent(one.mean_abs_error),
                percent(one.worst_abs_error),
                percent(one.bias),
            )
        )
    return table_of(t("accuracy.pooled_title", language), columns, rows)


def _file_table(file: str, lines: _Lines, language: Language) -> Table:
    columns = [
        Column(t("column.group", language), marks_row=True),
        Column(t("column.gpu", language), marks_row=True),
        Column(t("column.fitted", language), "right"),
        Column(t("column.unseen", language), "right"),
        Column(t("column.worst_error", language), "right"),
        Column(t("column.bias", language), "right"),
    ]
    rows = [
        (what, gpu, line.fit.cells()[0], *line.test.cells()) for (what, gpu), line in lines.items()
    ]
    return table_of(file, columns, rows)


# ---------------------------------------------------------------- all of it


def long_tables(
    groups: Sequence[Group],
    judged: Sequence[Judged],
    skipped: Sequence[str],
    language: Language,
) -> list[Table]:
    """Every group that was predicted, then every figure of every row."""
    names = ("file", "group", "gpu", "ranks", "source", "split")
    figures = ("rows", "mean_error", "worst_error", "bias")
    columns = [Column(t(f"column.{name}", language), marks_row=name == "group") for name in names]
    columns += [Column(t(f"column.{name}", language), "right") for name in figures]
    rows = [
        (
            group.file,
            group.name,
            group.gpu or NOTHING,
            NOTHING if group.ranks is None else str(group.ranks),
            group.source,
            group.split,
            str(group.accuracy.predicted_rows),
            percent(group.accuracy.mean_abs_error),
            percent(group.accuracy.worst_abs_error),
            percent(group.accuracy.bias),
        )
        for group in groups
        if group.accuracy.predicted_rows
    ]
    notes = _notes(judged, skipped, language)
    table = table_of(t("accuracy.title", language), columns, rows, notes)
    return [table, _rows_table(judged, language)]


def _rows_table(judged: Sequence[Judged], language: Language) -> Table:
    names = ("file", "group", "gpu", "metric", "measured", "predicted", "time_source", "why")
    figures = {"measured", "predicted"}
    columns = [
        Column(t(f"column.{name}", language), "right" if name in figures else "left")
        for name in names
    ]
    rows = []
    for item in judged:
        prediction = item.prediction
        source, why = prediction.time_source, prediction.why
        rows.append(
            (
                item.row.file,
                measured_name(item),
                item.row.columns.get("gpu", NOTHING),
                prediction.metric,
                NOTHING if prediction.measured is None else f"{prediction.measured:g}",
                NOTHING if prediction.predicted is None else f"{prediction.predicted:.4g}",
                t(f"time_source.{source}", language) if source else NOTHING,
                t(f"why.{why}", language) if why else "",
            )
        )
    return table_of(t("accuracy.rows_title", language), columns, rows)
