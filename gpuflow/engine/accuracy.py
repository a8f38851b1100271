"""Predictions of published measurements, row by row, and how far they miss.

Errors are relative: (predicted - measured) / measured. A row that cannot be predicted says why by
a code, locale key `why.<code>`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gpuflow.cluster.measurements import figure
from gpuflow.cluster.row_prediction import (
    collective_seconds,
    exchange_rate,
    exchange_seconds,
    hand_over_seconds,
)
from gpuflow.collectives.oracle import bus_factor
from gpuflow.engine.measured_models import (
    ANY_ENGINE,
    NoCaseError,
    engine_of,
    number,
    profile_of,
)
from gpuflow.engine.model_rows import gemm_us, inference_figure, serving_figures
from gpuflow.engine.profile_fit import MOST_REQUESTS, Split, split_of
from gpuflow.engine.timeline import TimeSource

Columns = Mapping[str, str]

CURVE_KINDS = frozenset({"collective", "expert", "kv_transfer"})
"""Kinds whose groups the cluster room sums up, with what each curve has not seen told apart."""

MeasurementKind = Literal["collective", "gemm", "inference", "kv_transfer", "expert", "serving"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One row of a table of measurements."""

    file: str
    """Name of the file it stands in."""
    kind: MeasurementKind
    columns: Columns
    """The row as written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One figure of one row."""

    metric: str
    """Name of the column it is compared with, unit included."""
    measured: float | None
    predicted: float | None
    """In the metric's unit."""
    time_source: TimeSource | None
    why: str | None
    """Code, when nothing was predicted."""
    split: Split = "test"
    """fit: a constant was fitted on this very figure."""
    is_crowded: bool = False
    """More requests in flight than the profiles are made for."""

    @property
    def error(self) -> float | None:
        """Relative; None when there is nothing to compare."""
        if self.predicted is None or not self.measured:
            return None
        return (self.predicted - self.measured) / self.measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Accuracy:
    """How well a group of rows is predicted."""

    rows: int
    predicted_rows: int
    mean_abs_error: float | None
    worst_abs_error: float | None
    bias: float | None


def accuracy_of(predictions: Iterable[Prediction]) -> Accuracy:
    """Sum up the errors of a group; None where nothing was predicted."""
    found = list(predictions)
    errors = [item.error for item in found if item.error is not None]
    if not errors:
        return Accuracy(
            rows=len(found),
            predicted_rows=0,
            mean_abs_error=None,
            worst_abs_error=None,
            bias=None,
        )
    sizes = [abs(error) for error in errors]
    return Accuracy(
        rows=len(found),
        predicted_rows=len(errors),
        mean_abs_error=math.fsum(sizes) / len(sizes),
        worst_abs_error=max(sizes),
        bias=math.fsum(errors) / len(errors),
    )


def predict(rows: Sequence[Measurement]) -> list[tuple[Measurement, Prediction]]:
    """The figures of every row: one each, but TTFT and TPOT of a serving row."""
    return [
        (row, _told(row, _prediction(metric, row.columns.get(column, ""), rule, row.columns)))
        for row in rows
        for metric, column, rule in _metrics(row)
    ]


def _told(row: Measurement, found: Prediction) -> Prediction:
    """A prediction with what the fit of the profiles has seen of it."""
    if row.kind == "inference":
        return replace(found, split=split_of(row.columns))
    if row.kind != "serving":
        return found
    return replace(found, split=split_of(row.columns), is_crowded=_is_crowded(row.columns))


def _is_crowded(columns: Columns) -> bool:
    try:
        return number(columns.get("concurrency", "")) > MOST_REQUESTS
    except NoCaseError:
        return False


_Rule = Callable[[Columns], tuple[float, TimeSource]]
"""From a row to the predicted value in the metric's unit."""


def _metrics(row: Measurement) -> list[tuple[str, str, _Rule]]:
    """Metric, the column it stands in, and how it is predicted."""
    kind, columns = row.kind, row.columns
    if kind == "inference":
        return [(columns.get("metric", ""), "value", _profile(inference_figure))]
    if kind == "serving":
        return [
            ("ttft_ms", "ttft_ms", _profile(lambda columns: serving_figures(columns)[0])),
            ("tpot_ms", "tpot_ms", _profile(lambda columns: serving_figures(columns)[1])),
        ]
    metric, rule = "time_us", _profile(gemm_us)
    if kind == "collective":
        rule = _curve(collective_seconds, 1e6)
        if not columns.get("time_us") and columns.get("busbw_GB_per_s"):
            metric, rule = "busbw_GB_per_s", _curve(_collective_rate, 1e-9)
    elif kind == "expert":
        rule = _curve(exchange_seconds, 1e6)
        if not columns.get("time_us"):
            metric, rule = "bandwidth_GB_per_s", _curve(exchange_rate, 1e-9)
    elif kind == "kv_transfer":
        metric, rule = "time_ms", _curve(hand_over_seconds, 1e3)
    return [(metric, metric, rule)]


def _profile(figure: Callable[[Columns], float]) -> _Rule:
    """A rule from the engine profiles; all but the ideal one are fitted to measurements."""

    def rule(columns: Columns) -> tuple[float, TimeSource]:
        is_fitted = "operator" in columns or profile_of(engine_of(columns)) != ANY_ENGINE
        return figure(columns), "calibrated" if is_fitted else "assumed"

    return rule


def _prediction(metric: str, text: str, rule: _Rule, columns: Columns) -> Prediction:
    measured: float | None = None
    try:
        measured = number(text)
        predicted, source = rule(columns)
    except NoCaseError as reason:
        return Prediction(
            metric=metric, measured=measured, predicted=None, time_source=None, why=str(reason)
        )
    return Prediction(
        metric=metric, measured=measured, predicted=predicted, time_source=source, why=None
    )


# ---------------------------------------------------------------- curves


def _curve(seconds: Callable[[Columns], tuple[float, TimeSource]], factor: float) -> _Rule:
    """A rule from the fitted curves of the cluster room."""

    def rule(columns: Columns) -> tuple[float, TimeSource]:
        try:
            value, source = seconds(columns)
        except ValueError:
            raise NoCaseError("machine_unknown") from None
        return factor * value, source

    return rule


def _collective_rate(columns: Columns) -> tuple[float, TimeSource]:
    """Bus bandwidth (bytes/s) of a row of the tables of collectives."""
    time_s, source = collective_seconds(columns)
    factor = bus_factor(columns["collective"], int(figure(columns["ranks"])))
    return factor * figure(columns["size_bytes"]) / time_s, source
