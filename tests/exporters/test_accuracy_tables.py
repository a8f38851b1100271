"""The short table of accuracy: one line for each file, thing and GPU, one sentence a reason."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gpuflow.cluster.accuracy import AccuracyGroup
from gpuflow.engine.accuracy import Measurement, Prediction
from gpuflow.exporters.accuracy import Judged
from gpuflow.exporters.accuracy_tables import long_tables, short_tables

GROUP = AccuracyGroup(
    file="one.csv",
    source="somebody",
    gpu="h100-sxm",
    ranks=8,
    name="all_reduce nccl nccl-tests",
    split="fit",
    rows=10,
    mean_abs_error=0.01,
    worst_abs_error=0.02,
    bias=0.0,
)


def serving(measured: float | None, predicted: float | None, **more: Any) -> Judged:
    columns = {"backend": "vllm", "model": more.pop("model", "a"), "gpu": "b200-sxm"}
    prediction = Prediction(
        metric="tpot_ms",
        measured=measured,
        predicted=predicted,
        time_source=None,
        **{"why": None, **more},
    )
    return Judged(Measurement(file="serving.csv", kind="serving", columns=columns), prediction)


def lines(tables: list[Any], title: str) -> list[list[str]]:
    table = next(table for table in tables if table.title == title)
    return [[cell.text for cell in row] for row in table.rows]


def test_groups_of_a_gpu_are_one_line_with_fitted_and_unseen_beside_each_other() -> None:
    curves = [
        GROUP,
        replace(GROUP, ranks=4, rows=30, mean_abs_error=0.03, worst_abs_error=0.4),
        replace(GROUP, name=f"{GROUP.name}: left out", split="test", mean_abs_error=0.1, bias=-0.1),
        # judged once more in another way: the pooled groups sum that up
        replace(GROUP, name=f"{GROUP.name}: GPU left out", split="test", mean_abs_error=9.0),
        replace(GROUP, gpu="b200-sxm", name="all_reduce nccl eager"),
    ]
    assert lines(short_tables(curves, [], [], "en"), "one.csv") == [
        ["all_reduce nccl", "h100-sxm", "2.5 % (40)", "10.0 % (10)", "2.0 %", "−10.0 %"],
        ["all_reduce nccl eager", "b200-sxm", "1.0 % (10)", "–", "–", "–"],
    ]


def test_several_nodes_and_exchanges_have_short_names() -> None:
    curves = [
        replace(GROUP, name="all_reduce nccl nccl-tests 2 nodes: several_nodes", split="test"),
        replace(GROUP, name="dispatch deepep_low_latency 1 nodes"),
        replace(GROUP, name="dispatch deepep_low_latency 4 nodes"),
        replace(GROUP, name="kv_transfer", gpu=None),
    ]
    assert [line[:3] for line in lines(short_tables(curves, [], [], "en"), "one.csv")] == [
        ["all_reduce nccl, 2 nodes", "h100-sxm", "–"],
        ["dispatch deepep_low_latency", "h100-sxm", "1.0 % (20)"],
        ["kv_transfer", "–", "1.0 % (10)"],
    ]


def test_models_of_a_gpu_are_taken_together_and_crowds_apart() -> None:
    judged = [
        serving(10.0, 11.0),
        serving(10.0, 8.0, model="b"),
        serving(10.0, 15.0, is_crowded=True),
        serving(10.0, 10.5, split="fit"),
    ]
    assert lines(short_tables([], judged, [], "en"), "serving.csv") == [
        ["a", "–", "5.0 % (1)", "10.0 % (1)", "10.0 %", "10.0 %"],
        ["b", "–", "–", "20.0 % (1)", "20.0 %", "−20.0 %"],
        ["vllm tpot ms", "b200-sxm", "5.0 % (1)", "15.0 % (2)", "20.0 %", "−5.0 %"],
        ["vllm tpot ms >64", "b200-sxm", "–", "50.0 % (1)", "50.0 %", "50.0 %"],
    ]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_rows_without_prediction_are_one_sentence_a_reason(language: Any) -> None:
    judged = [serving(1.0, None, why="model_unknown") for _ in range(1200)]
    judged += [serving(None, None, why="number_unreadable")]
    notes = short_tables([], judged, ["other.csv"], language)[-1].notes
    assert len(notes) == 5
    assert "1,200" in notes[1]
    assert "serving.csv 1200" in notes[1]
    assert "other.csv" in notes[3]
    assert "--rows" in notes[4]


def test_pooled_groups_say_what_was_left_out_in_words() -> None:
    pooled = [
        replace(GROUP, name="pooled engine kernels: left out", gpu=None),
        replace(GROUP, name="pooled all_reduce nccl: GPU left out", gpu=None),
    ]
    tables = short_tables(pooled, [], [], "en")
    assert [row[:3] for row in lines(tables, tables[1].title)] == [
        ["engines' own kernels", "each row in turn", "10"],
        ["all_reduce nccl", "the GPU", "10"],
    ]


def test_the_long_form_holds_every_figure_of_every_row() -> None:
    judged = [serving(10.0, 11.0), serving(1.0, None, why="model_unknown")]
    _, rows = long_tables([], judged, [], "en")
    assert len(rows.rows) == 2
    assert rows.rows[1][-1].text == "the catalogue lacks this model"


SMALL = Path(__file__).parents[1] / "data" / "truth"


def test_no_table_of_the_small_folder_is_empty() -> None:
    from gpuflow.cluster.accuracy import accuracy_groups
    from gpuflow.engine.accuracy import predict
    from gpuflow.importers.truth import read_truth

    found = read_truth(SMALL)
    judged = [Judged(row, prediction) for row, prediction in predict(found.rows)]
    tables = short_tables(accuracy_groups(SMALL), judged, found.skipped, "en")
    assert {table.title for table in tables[1:-1]} <= {row.file for row in found.rows}
    assert all(table.rows for table in tables[1:-1])
