"""How far predictions miss, as a document and as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpuflow.engine.accuracy import Accuracy, Measurement, Prediction, accuracy_of
from gpuflow.exporters.figures import share_or_nothing
from gpuflow.exporters.tables import NOTHING, Column, Table, table_of
from gpuflow.scenario.spec import Language
from gpuflow.words import t


@dataclass(frozen=True, slots=True)
class Judged:
    """A measurement and what was predicted for one of its figures."""

    row: Measurement
    prediction: Prediction


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Rows that measure the same kind of thing on the same hardware."""

    file: str
    source: str
    gpu: str
    ranks: int | None
    name: str
    split: str
    accuracy: Accuracy


def groups_of(judged: Sequence[Judged]) -> list[Group]:
    """Groups in the order in which their first row stands."""
    members: dict[tuple[str, str, str, int | None, str], list[Prediction]] = {}
    for item in judged:
        columns = item.row.columns
        key = (
            item.row.file,
            columns.get("source", ""),
            columns.get("gpu", ""),
            _ranks(item.row),
            _name(item),
        )
        members.setdefault(key, []).append(item.prediction)
    return [
        Group(
            file=file,
            source=source,
            gpu=gpu,
            ranks=ranks,
            name=name,
            # No constant of the program is fitted on these files.
            split="test",
            accuracy=accuracy_of(predictions),
        )
        for (file, source, gpu, ranks, name), predictions in members.items()
    ]


def _ranks(row: Measurement) -> int | None:
    """GPUs that took part, as far as the row says."""
    columns = row.columns
    texts = {
        "collective": ("ranks",),
        "expert": ("ep",),
        "gemm": ("tp",),
        "inference": ("tp", "pp"),
        "serving": ("tp",),
    }.get(row.kind, ())
    try:
        numbers = [float(columns.get(name, "")) for name in texts]
    except ValueError:
        return None
    product = 1.0
    for number in numbers:
        product *= number
    return int(product) if numbers else None


def _name(item: Judged) -> str:
    """What was measured, without size or batch."""
    columns, kind = item.row.columns, item.row.kind
    parts = {
        "collective": ("collective", "kernel", "launch"),
        "expert": ("op", "kernel", "dtype"),
        "gemm": ("operator", "model"),
        "inference": ("engine", "model", "precision"),
        "serving": ("backend", "model"),
        "kv_transfer": ("model", "fabric"),
    }[kind]
    words = [columns.get(part, "") for part in parts]
    if kind == "collective" and columns.get("nodes", "1") != "1":
        words.append(f"{columns['nodes']} nodes")
    if kind in {"inference", "serving"}:
        words.append(item.prediction.metric)
    return " ".join(word for word in words if word)


def group_record(group: Group) -> dict[str, object]:
    """One group for programs; errors are fractions."""
    accuracy = group.accuracy
    return {
        "file": group.file,
        "source": group.source,
        "gpu": group.gpu or None,
        "ranks": group.ranks,
        "name": group.name,
        "split": group.split,
        "rows": accuracy.rows,
        "predicted_rows": accuracy.predicted_rows,
        "mean_abs_error": accuracy.mean_abs_error,
        "worst_abs_error": accuracy.worst_abs_error,
        "bias": accuracy.bias,
    }


def row_record(item: Judged) -> dict[str, object]:
    """One figure of one row for programs: the row's own columns, then the prediction."""
    return {
        **item.row.columns,
        "file": item.row.file,
        "metric": item.prediction.metric,
        "measured": item.prediction.measured,
        "predicted": item.prediction.predicted,
        "time_source": item.prediction.time_source,
        "why": item.prediction.why,
    }


def accuracy_tables(
    groups: Sequence[Group], judged: Sequence[Judged], skipped: Sequence[str], language: Language
) -> list[Table]:
    """The groups; then the rows, where `judged` holds any."""
    names = ("file", "group", "gpu", "ranks", "source", "split")
    figures = ("rows", "predicted_rows", "mean_error", "worst_error", "bias")
    columns = [Column(t(f"column.{name}", language), marks_row=name == "group") for name in names]
    columns += [Column(t(f"column.{name}", language), "right") for name in figures]
    notes = [t("accuracy.note", language)]
    if skipped:
        notes.append(t("accuracy.skipped", language, files=list(skipped)))
    rows = [
        (
            group.file,
            group.name,
            group.gpu or NOTHING,
            NOTHING if group.ranks is None else str(group.ranks),
            group.source,
            group.split,
            str(group.accuracy.rows),
            str(group.accuracy.predicted_rows),
            share_or_nothing(group.accuracy.mean_abs_error),
            share_or_nothing(group.accuracy.worst_abs_error),
            share_or_nothing(group.accuracy.bias),
        )
        for group in groups
    ]
    tables = [table_of(t("accuracy.title", language), columns, rows, notes)]
    return [*tables, _rows_table(judged, language)] if judged else tables


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
        rows.append(
            (
                item.row.file,
                _name(item),
                item.row.columns.get("gpu", NOTHING),
                prediction.metric,
                NOTHING if prediction.measured is None else f"{prediction.measured:g}",
                NOTHING if prediction.predicted is None else f"{prediction.predicted:.4g}",
                t(f"time_source.{prediction.time_source}", language)
                if prediction.time_source
                else NOTHING,
                t(f"why.{prediction.why}", language) if prediction.why else "",
            )
        )
    return table_of(t("accuracy.rows_title", language), columns, rows)
