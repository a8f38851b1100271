"""How far predictions miss: groups of rows, and everything for programs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from gpuflow.cluster.accuracy import AccuracyGroup
from gpuflow.engine.accuracy import CURVE_KINDS, Accuracy, Measurement, Prediction, accuracy_of
from gpuflow.engine.profile_fit import MOST_REQUESTS


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


def all_groups(judged: Sequence[Judged], curves: Sequence[AccuracyGroup]) -> list[Group]:
    """Groups of the curves as the cluster room sums them up, then all others."""
    others = [item for item in judged if item.row.kind not in CURVE_KINDS]
    return [*map(_of_curve, curves), *groups_of(others), *_pools_of(others)]


def pool_name(item: Judged) -> str:
    """The model whose TPOT this is, whichever the engine and the GPU; empty for other figures."""
    is_tpot = item.row.kind == "serving" and item.prediction.metric == "tpot_ms"
    if not is_tpot or item.prediction.is_crowded:
        return ""
    return item.row.columns.get("model", "").rpartition("/")[2]


def _pools_of(judged: Sequence[Judged]) -> list[Group]:
    """TPOT of loaded servers by model, all engines and GPUs together."""
    members: dict[tuple[str, str, str], list[Prediction]] = {}
    for item in judged:
        name = pool_name(item)
        if name:
            key = (item.row.file, name, item.prediction.split)
            members.setdefault(key, []).append(item.prediction)
    return [
        Group(
            file=file,
            source="",
            gpu="",
            ranks=None,
            name=f"pooled {name} tpot_ms concurrency <= {MOST_REQUESTS}",
            split=split,
            accuracy=accuracy_of(found),
        )
        for (file, name, split), found in members.items()
    ]


def _of_curve(group: AccuracyGroup) -> Group:
    return Group(
        file=group.file,
        source=group.source,
        gpu=group.gpu or "",
        ranks=group.ranks,
        name=group.name,
        split=group.split,
        accuracy=Accuracy(
            rows=group.rows,
            predicted_rows=group.rows,
            mean_abs_error=group.mean_abs_error,
            worst_abs_error=group.worst_abs_error,
            bias=group.bias,
        ),
    )


def groups_of(judged: Sequence[Judged]) -> list[Group]:
    """Groups in the order of their first row; rows that constants were fitted on stand apart."""
    members: dict[tuple[str, str, str, int | None, str, str], list[Prediction]] = {}
    for item in judged:
        columns = item.row.columns
        key = (
            item.row.file,
            columns.get("source", ""),
            columns.get("gpu", ""),
            _ranks(item.row),
            measured_name(item),
            item.prediction.split,
        )
        members.setdefault(key, []).append(item.prediction)
    return [
        Group(
            file=file,
            source=source,
            gpu=gpu,
            ranks=ranks,
            name=name,
            split=split,
            accuracy=accuracy_of(predictions),
        )
        for (file, source, gpu, ranks, name, split), predictions in members.items()
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
    return int(product) if numbers and math.isfinite(product) else None


def measured_name(item: Judged) -> str:
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
    if kind == "serving":
        sign = ">" if item.prediction.is_crowded else "<="
        words.append(f"concurrency {sign} {MOST_REQUESTS}")
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
