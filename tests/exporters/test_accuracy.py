"""Predictions of a small folder of made-up measurements, and how their errors are summed up."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuflow.engine.accuracy import Prediction, accuracy_of, predict
from gpuflow.exporters.accuracy import Judged, groups_of, row_record
from gpuflow.importers.truth import read_truth, shipped_truth

SMALL = Path(__file__).parents[1] / "data" / "truth"


@pytest.fixture(scope="module")
def judged() -> list[Judged]:
    return [Judged(row, prediction) for row, prediction in predict(read_truth(SMALL).rows)]


def by_file(judged: list[Judged], name: str) -> list[Prediction]:
    return [item.prediction for item in judged if item.row.file == name]


def test_files_are_told_apart_by_their_columns() -> None:
    truth = read_truth(SMALL)
    kinds = {row.file: row.kind for row in truth.rows}
    assert kinds == {
        "collectives.csv": "collective",
        "models.csv": "inference",
        "one_operator.csv": "gemm",
        "server.csv": "serving",
    }
    assert truth.skipped == ("something_else.csv",)


def test_a_row_without_prediction_says_why(judged: list[Judged]) -> None:
    assert [item.why for item in by_file(judged, "collectives.csv")] == [
        None,
        None,
        "machine_unknown",
        "machine_unknown",
        "machine_unknown",
        "number_unreadable",
    ]
    assert [item.why for item in by_file(judged, "one_operator.csv")] == [None, "model_unknown"]
    assert by_file(judged, "models.csv")[3].why == "split_impossible"
    assert {item.why for item in by_file(judged, "server.csv")} == {None}


def test_a_serving_row_has_two_figures(judged: list[Judged]) -> None:
    metrics = [(item.metric, item.measured) for item in by_file(judged, "server.csv")]
    assert metrics == [("ttft_ms", 50.0), ("tpot_ms", 8.0)]


def test_predictions_come_in_the_unit_of_their_metric(judged: list[Judged]) -> None:
    time, rate = by_file(judged, "collectives.csv")[:2]
    assert time.metric == "time_us"
    assert time.predicted == pytest.approx(1000, rel=0.5)
    assert rate.metric == "busbw_GB_per_s"
    assert rate.predicted == pytest.approx(400, rel=0.5)
    speed, first, whole = by_file(judged, "models.csv")[:3]
    assert speed.predicted == pytest.approx(150, rel=0.5)
    assert first.predicted == pytest.approx(14, rel=0.5)
    assert whole.predicted == pytest.approx(900, rel=0.5)


def test_a_gemm_of_one_token_takes_the_time_to_read_its_weights(judged: list[Judged]) -> None:
    found = by_file(judged, "one_operator.csv")[0]
    weights_bytes = 2 * 4096 * 14336 * 2
    kernel_us = 4
    reading_us = 1e6 * weights_bytes / (0.92 * 3.35e12)
    assert found.predicted == pytest.approx(reading_us + kernel_us, rel=1e-3)


def test_errors_are_relative_and_bias_keeps_their_sign() -> None:
    pairs = [(10.0, 11.0), (10.0, 7.0), (10.0, None)]
    found = accuracy_of(
        Prediction(metric="time_us", measured=m, predicted=p, time_source=None, why=None)
        for m, p in pairs
    )
    assert (found.rows, found.predicted_rows) == (3, 2)
    assert found.mean_abs_error == pytest.approx(0.2)
    assert found.worst_abs_error == pytest.approx(0.3)
    assert found.bias == pytest.approx(-0.1)


def test_a_group_without_prediction_has_no_errors() -> None:
    found = accuracy_of(
        [Prediction(metric="x", measured=1.0, predicted=None, time_source=None, why="gpu_unknown")]
    )
    assert found.mean_abs_error is found.worst_abs_error is found.bias is None


def test_rows_of_a_group_add_up_to_all_rows(judged: list[Judged]) -> None:
    assert sum(group.accuracy.rows for group in groups_of(judged)) == len(judged)


def test_a_row_keeps_its_own_columns(judged: list[Judged]) -> None:
    record = row_record(judged[0])
    assert record["kernel"] == "nccl"
    assert record["size_bytes"] == "268435456"
    assert record["file"] == "collectives.csv"


def test_the_shipped_measurements_are_all_read() -> None:
    truth = read_truth(shipped_truth())
    assert truth.skipped == ()
    assert {row.kind for row in truth.rows} == {
        "collective",
        "gemm",
        "inference",
        "kv_transfer",
        "expert",
        "serving",
    }
    assert all(row.columns["source"] for row in truth.rows)
