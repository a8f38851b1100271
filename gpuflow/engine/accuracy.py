"""Predictions of published measurements, row by row, and how far they miss.

Errors are relative: (predicted - measured) / measured. A row that cannot be predicted says why by
a code, locale key `why.<code>`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, cast

from gpuflow.cluster.cost import CostModel
from gpuflow.cluster.row_prediction import (
    collective_seconds,
    exchange_rate,
    exchange_seconds,
    hand_over_seconds,
)
from gpuflow.collectives.oracle import bus_factor
from gpuflow.engine.simulate import simulate
from gpuflow.engine.timeline import Timeline, TimeSource
from gpuflow.errors import ScenarioError
from gpuflow.scenario import catalog
from gpuflow.scenario.load import DEFAULT_SCENARIO, Overrides, load_scenario
from gpuflow.scenario.spec import Scenario

Columns = Mapping[str, str]
PROFILE = "ideal"

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


class _NoPredictionError(Exception):
    """Why a row has no prediction, as a code."""


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
        (row, _prediction(metric, row.columns.get(column, ""), rule, row.columns))
        for row in rows
        for metric, column, rule in _metrics(row)
    ]


_Rule = Callable[[Columns], tuple[float, TimeSource]]
"""From a row to the predicted value in the metric's unit."""


def _metrics(row: Measurement) -> list[tuple[str, str, _Rule]]:
    """Metric, the column it stands in, and how it is predicted."""
    kind, columns = row.kind, row.columns
    if kind == "inference":
        return [(columns.get("metric", ""), "value", _inference)]
    if kind == "serving":
        return [(name, name, _unless("needs_engine_profile")) for name in ("ttft_ms", "tpot_ms")]
    metric, rule = "time_us", cast(_Rule, _gemm_us)
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


def _unless(code: str) -> _Rule:
    def rule(columns: Columns) -> tuple[float, TimeSource]:
        raise _NoPredictionError(code)

    return rule


def _prediction(metric: str, text: str, rule: _Rule, columns: Columns) -> Prediction:
    measured: float | None = None
    try:
        measured = _number(text)
        predicted, source = rule(columns)
    except _NoPredictionError as reason:
        return Prediction(
            metric=metric, measured=measured, predicted=None, time_source=None, why=str(reason)
        )
    return Prediction(
        metric=metric, measured=measured, predicted=predicted, time_source=source, why=None
    )


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise _NoPredictionError("number_unreadable") from None
    if not math.isfinite(value):
        raise _NoPredictionError("number_unreadable")
    return value


def _count(columns: Columns, name: str) -> int:
    """A whole number of at least 1; the tables write some of them as 2.0."""
    value = _number(columns.get(name, ""))
    if value < 1 or value != int(value):
        raise _NoPredictionError("number_unreadable")
    return int(value)


# ---------------------------------------------------------------- curves


def _curve(seconds: Callable[[Columns], tuple[float, TimeSource]], factor: float) -> _Rule:
    """A rule from the fitted curves of the cluster room."""

    def rule(columns: Columns) -> tuple[float, TimeSource]:
        try:
            value, source = seconds(columns)
        except ValueError:
            raise _NoPredictionError("machine_unknown") from None
        return factor * value, source

    return rule


def _collective_rate(columns: Columns) -> tuple[float, TimeSource]:
    """Bus bandwidth (bytes/s) of a row of the tables of collectives."""
    time_s, source = collective_seconds(columns)
    factor = bus_factor(columns["collective"], int(columns["ranks"]))
    return factor * float(columns["size_bytes"]) / time_s, source


# ---------------------------------------------------------------- models


def _gemm_us(columns: Columns) -> tuple[float, TimeSource]:
    if columns["operator"] != "gate_up_projection":
        raise _NoPredictionError("not_modelled")
    scenario = _scenario(
        model=columns["model"], gpu=columns["gpu"], tp=_count(columns, "tp"), precision="bf16"
    )
    layer = scenario.model.layers[0]
    weights = 2 * scenario.model.hidden_size * layer.mlp.ffn_size / scenario.parallel.tp
    cost = CostModel(scenario)
    work = cost.gemm(_count(columns, "tokens"), weights, weights, cost.stored.dense)
    return 1e6 * work.time_s, "assumed"


def _inference(columns: Columns) -> tuple[float, TimeSource]:
    value = {
        "decode_tokens_per_s": lambda t: t.scenario.workload.batch / t.tpot_s,
        "first_token_ms": lambda t: 1e3 * t.ttft_s,
        "total_ms": lambda t: 1e3 * t.end_s,
    }.get(columns["metric"])
    if value is None:
        raise _NoPredictionError("not_modelled")
    timeline = _timeline(
        columns["model"],
        columns["gpu"],
        columns["precision"],
        *(_count(columns, name) for name in ("tp", "pp", "batch", "input_tokens", "output_tokens")),
    )
    return value(timeline), "assumed"


@lru_cache(maxsize=64)
def _timeline(
    model: str, gpu: str, precision: str, tp: int, pp: int, batch: int, prompt: int, output: int
) -> Timeline:
    return simulate(
        _scenario(
            model=model,
            gpu=gpu,
            precision=precision,
            tp=tp,
            pp=pp,
            batch=batch,
            prompt=prompt,
            output=output,
        )
    )


def _scenario(
    *,
    model: str,
    gpu: str,
    precision: str,
    tp: int,
    pp: int = 1,
    batch: int = 1,
    prompt: int | None = None,
    output: int | None = None,
) -> Scenario:
    """The default scenario, whose steps hold for every split, with all else replaced.

    Raises:
        _NoPredictionError: One of them is unknown, or they do not go together.
    """
    wanted: tuple[tuple[Callable[[str], object], str, Literal["model_unknown", "gpu_unknown"]], ...]
    wanted = ((catalog.model, model, "model_unknown"), (catalog.device, gpu, "gpu_unknown"))
    for look_up, name, code in wanted:
        try:
            look_up(name)
        except ScenarioError:
            raise _NoPredictionError(code) from None
    changes = Overrides(
        model=model,
        gpu=gpu,
        precision=precision,
        tp=tp,
        pp=pp,
        dp=1,
        ep=1,
        batch=batch,
        prompt=prompt,
        output=output,
        profile=PROFILE,
    )
    try:
        return load_scenario(DEFAULT_SCENARIO, changes)
    except ScenarioError:
        raise _NoPredictionError("split_impossible") from None
