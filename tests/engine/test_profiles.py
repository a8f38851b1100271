"""The engine profiles against published timings, those they were fitted on and the others."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable

import pytest

from gpuflow.engine.accuracy import Measurement, Prediction, predict
from gpuflow.engine.profile_fit import PLANS, fit_profile, split_of
from gpuflow.importers.truth import read_truth, shipped_truth
from gpuflow.scenario import catalog

Judged = list[tuple[Measurement, Prediction]]

SERVING_BOUNDS = {
    "meta-llama/Llama-3.1-70B": 0.10,
    "meta-llama/Llama-3.1-8B-Instruct": 0.10,
    "Qwen/Qwen3-32B": 0.10,
    "openai/gpt-oss-120b": 0.15,
    "deepseek-ai/DeepSeek-R1": 0.20,
    "Qwen/Qwen3-235B-A22B-FP8": 0.20,
}


@pytest.fixture(scope="module")
def judged() -> Judged:
    kinds = {"inference", "serving", "gemm"}
    rows = [row for row in read_truth(shipped_truth()).rows if row.kind in kinds]
    return predict(rows)


def mean_error(found: Iterable[Prediction]) -> float:
    errors = [abs(one.error) for one in found if one.error is not None]
    assert errors, "no rows"
    return math.fsum(errors) / len(errors)


def chosen(
    judged: Judged, kind: str, condition: Callable[[Measurement, Prediction], bool]
) -> list[Prediction]:
    return [p for row, p in judged if row.kind == kind and condition(row, p)]


def is_tpot(prediction: Prediction) -> bool:
    return prediction.metric == "tpot_ms" and not prediction.is_crowded


# ---------------------------------------------------------------- loaded servers


@pytest.mark.parametrize(("model", "bound"), SERVING_BOUNDS.items())
def test_tpot_of_rows_not_fitted_on(judged: Judged, model: str, bound: float) -> None:
    found = chosen(
        judged,
        "serving",
        lambda row, p: is_tpot(p) and p.split == "test" and row.columns["model"] == model,
    )
    assert len(found) >= 15
    assert mean_error(found) <= bound


@pytest.mark.parametrize(("model", "bound"), SERVING_BOUNDS.items())
def test_tpot_of_all_rows(judged: Judged, model: str, bound: float) -> None:
    found = chosen(judged, "serving", lambda row, p: is_tpot(p) and row.columns["model"] == model)
    assert mean_error(found) <= bound


@pytest.mark.parametrize(
    ("engine", "gpu", "bound"),
    [("vllm", "h100-sxm", 0.07), ("trtllm", "h100-sxm", 0.08), ("sglang", "b200-sxm", 0.16)],
)
def test_a_gpu_type_was_left_out_of_every_engines_fit(
    judged: Judged, engine: str, gpu: str, bound: float
) -> None:
    rows = [
        (row, p)
        for row, p in judged
        if row.kind == "serving" and is_tpot(p) and row.columns["backend"] == engine
    ]
    there = [p for row, p in rows if row.columns["gpu"] == gpu]
    assert {p.split for p in there} == {"test"}
    assert mean_error(there) <= bound
    assert {p.split for row, p in rows if row.columns["gpu"] != gpu} == {"fit"}


def test_nearly_every_row_up_to_64_requests_is_predicted(judged: Judged) -> None:
    found = chosen(judged, "serving", lambda row, p: is_tpot(p))
    unknown = [p.why for p in found if p.predicted is None]
    assert len(unknown) <= 0.03 * len(found)
    assert set(unknown) <= {"split_unknown", "split_impossible", "does_not_fit"}


def test_a_row_that_was_not_there_when_fitting_is_a_test(judged: Judged) -> None:
    row = next(row for row, p in judged if row.kind == "serving" and p.split == "fit")
    assert split_of(row.columns) == "fit"
    assert split_of({**row.columns, "tpot_ms": "1.0"}) == "test"


# ---------------------------------------------------------------- fixed batches


@pytest.mark.parametrize(
    ("engine", "gpu", "bound"),
    [
        ("gpt-fast", "a100-80gb-sxm", 0.10),
        ("vllm-ci", None, 0.10),
        ("tensorrt-llm-0.5", "a100-80gb-sxm", 0.10),
        ("tensorrt-llm-0.5", "h100-sxm", 0.20),
        ("fastertransformer", "a100-80gb-sxm", 0.20),
    ],
)
def test_static_batches_not_fitted_on(
    judged: Judged, engine: str, gpu: str | None, bound: float
) -> None:
    found = chosen(
        judged,
        "inference",
        lambda row, p: (
            row.columns["engine"] == engine
            and p.split == "test"
            and gpu in (None, row.columns["gpu"])
        ),
    )
    assert len(found) >= 2
    assert mean_error(found) <= bound


def test_tensor_against_pipeline_parallel_has_the_right_sign(judged: Judged) -> None:
    found = chosen(judged, "inference", lambda row, p: row.columns["engine"] == "trend")
    assert len(found) == 2
    for one in found:
        assert one.measured is not None
        assert one.predicted is not None
        assert abs(one.error or 0.0) <= 0.25
        assert (one.measured > 1) == (one.predicted > 1)


def test_matrix_products(judged: Judged) -> None:
    assert mean_error(chosen(judged, "gemm", lambda row, p: True)) <= 0.15


# ---------------------------------------------------------------- the fit itself


@pytest.mark.parametrize("name", ["gpt-fast", "fastertransformer", "tensorrt-llm-0.5"])
def test_the_file_holds_what_the_fit_finds(name: str) -> None:
    plan = next(plan for plan in PLANS if plan.profile == name)
    fitted, kept = fit_profile(plan), catalog.profile(name)
    for constant in plan.constants:
        found = getattr(fitted.profile, constant.field)
        assert getattr(kept, constant.field) == pytest.approx(found, rel=0.01)


def test_few_constants_are_fitted_to_many_rows(judged: Judged) -> None:
    counts: dict[str, int] = defaultdict(int)
    for row, p in judged:
        if p.split == "fit":
            counts[row.columns.get("backend") or row.columns["engine"]] += 1
    for plan in PLANS:
        if plan.table == "serving":
            assert len(plan.constants) <= 5
            assert counts[plan.profile] >= 30
