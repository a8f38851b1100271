"""How the constants of the engine profiles are found: from which rows, and tested on which others.

Each profile keeps the structure that gpuflow/data/profiles.yaml gives it; only the constants named
in its plan are fitted, to some rows of the project's own tables. For the serving engines all rows
of one GPU type are left out of the fit and tested on; rows beyond 64 requests are for tests too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gpuflow.cluster.cost import decode_shape, prefill_shape
from gpuflow.cluster.measurements import read_tables, shipped_truth
from gpuflow.engine.measured_models import (
    NoCaseError,
    engine_of,
    inference_scenario,
    number,
    profile_of,
    serving_case,
)
from gpuflow.engine.pass_terms import PassTerms
from gpuflow.engine.robust_fit import robust_fit
from gpuflow.engine.serving import ServingModel, ServingTime
from gpuflow.scenario import catalog
from gpuflow.scenario.spec import ProfileSpec

FloatArray = NDArray[np.float64]
Columns = Mapping[str, str]
Table = Literal["serving", "inference"]
Split = Literal["fit", "test"]

SERVING_COLUMNS = frozenset({"backend", "model", "gpu", "concurrency", "ttft_ms", "tpot_ms"})
INFERENCE_COLUMNS = frozenset({"engine", "model", "gpu", "tp", "pp", "batch", "metric", "value"})
"""Columns by which a table is known, whatever its name."""

MOST_REQUESTS = 64
"""Rows with more requests in flight are not fitted on: queues and memory decide there."""
BLOCK_ROWS = (16, 32, 64, 128)
"""Row blocks that grouped GEMM kernels come in; one of them is picked with the fit."""
ENGINE_KERNELS = ("vllm_custom", "trtllm_custom")
"""vLLM and SGLang have a kernel of their own, and can take TensorRT-LLM's from FlashInfer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """One constant to fit: a field of the profile."""

    field: str
    start: float
    least: float
    most: float


HOST = Constant(field="host_s_per_step", start=1e-3, least=1e-5, most=2e-2)
LAYER = Constant(field="layer_overhead_s", start=5e-5, least=1e-6, most=5e-4)
EXPERT_LAYER = Constant(field="quantised_expert_overhead_s", start=5e-5, least=1e-7, most=5e-4)
COMPUTE = Constant(field="compute_fraction", start=0.7, least=0.2, most=0.95)
MEMORY = Constant(field="memory_fraction", start=0.8, least=0.3, most=0.92)
SERVING_CONSTANTS = (HOST, LAYER, EXPERT_LAYER, COMPUTE)


@dataclass(frozen=True, slots=True, kw_only=True)
class FitPlan:
    """Which constants of a profile are fitted to which rows."""

    profile: str
    table: Table
    constants: tuple[Constant, ...]
    blocks: tuple[int, ...] = ()
    """Row blocks of the grouped GEMM to pick from; none: the profile's own."""
    kernels: tuple[str, ...] = ()
    """All_reduce kernels to pick from; none: the profile's own."""
    gpu_left_out: str | None = None
    models: tuple[str, ...] = ()
    """Models of the fit rows; none: all."""
    gpus: tuple[str, ...] = ()
    """GPUs of the fit rows; none: all but the one left out."""

    def takes(self, columns: Columns) -> bool:
        """Whether a row of the project's own table is fitted on."""
        try:
            is_mine = (
                profile_of(columns.get("backend") or columns.get("engine", "")) == self.profile
            )
        except NoCaseError:
            return False
        if not is_mine or columns["gpu"] == self.gpu_left_out:
            return False
        if self.table == "serving" and number(columns["concurrency"]) > MOST_REQUESTS:
            return False
        is_model = not self.models or columns["model"] in self.models
        return is_model and (not self.gpus or columns["gpu"] in self.gpus)


PLANS: tuple[FitPlan, ...] = (
    FitPlan(
        profile="vllm",
        table="serving",
        constants=SERVING_CONSTANTS,
        blocks=BLOCK_ROWS,
        kernels=ENGINE_KERNELS,
        gpu_left_out="h100-sxm",
    ),
    FitPlan(
        profile="trtllm",
        table="serving",
        constants=SERVING_CONSTANTS,
        blocks=BLOCK_ROWS,
        gpu_left_out="h100-sxm",
    ),
    FitPlan(
        profile="sglang",
        table="serving",
        constants=SERVING_CONSTANTS,
        blocks=BLOCK_ROWS,
        kernels=ENGINE_KERNELS,
        gpu_left_out="b200-sxm",
    ),
    FitPlan(
        profile="gpt-fast",
        table="inference",
        constants=(LAYER, MEMORY),
        models=("llama-2-7b",),
    ),
    FitPlan(
        profile="tensorrt-llm-0.5",
        table="inference",
        constants=(LAYER, COMPUTE),
        models=("llama-7b", "gpt-j-6b"),
        gpus=("a100-80gb-sxm",),
    ),
    FitPlan(
        profile="vllm-2024",
        table="inference",
        constants=(LAYER, MEMORY),
        models=("llama-3-8b",),
    ),
    FitPlan(
        profile="fastertransformer",
        table="inference",
        constants=(LAYER,),
        models=("gpt-20b",),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Misses:
    """Errors over rows, as fractions."""

    rows: int
    mean_abs_error: float
    worst_abs_error: float
    bias: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedProfile:
    """A profile with its constants, and how far it misses."""

    profile: ProfileSpec
    fit: Misses
    test: Misses


# ---------------------------------------------------------------- rows


@cache
def _shipped(table: Table) -> tuple[Columns, ...]:
    needed = SERVING_COLUMNS if table == "serving" else INFERENCE_COLUMNS
    return tuple(columns for columns, _ in read_tables(shipped_truth(), needed))


def _identity(columns: Columns) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(columns.items()))


@cache
def _fitted_rows() -> frozenset[tuple[tuple[str, str], ...]]:
    return frozenset(
        _identity(columns)
        for plan in PLANS
        for columns in _shipped(plan.table)
        if plan.takes(columns)
    )


def split_of(columns: Columns) -> Split:
    """Fit for the very rows that a profile was fitted on, test for all others."""
    return "fit" if _identity(columns) in _fitted_rows() else "test"


@dataclass(frozen=True, slots=True)
class _Bundle:
    """Rows of one model on one split, evaluated together."""

    errors: Callable[[ProfileSpec], FloatArray]
    waiting_errors: Callable[[ProfileSpec], FloatArray] | None = None
    """Of TTFT, on loaded servers."""


def _serving_bundles(rows: Iterable[Columns]) -> list[_Bundle]:
    loads: dict[int, tuple[ServingModel, list[tuple[float, ...]]]] = {}
    for columns in rows:
        try:
            case = serving_case(columns)
        except NoCaseError:
            continue
        measured = (1e-3 * number(columns[name]) for name in ("tpot_ms", "ttft_ms"))
        _, found = loads.setdefault(id(case.served), (case.served, []))
        found.append((case.concurrency, case.prompt_tokens, case.output_tokens, *measured))
    return [_serving_bundle(model, np.array(found).T) for model, found in loads.values()]


def _serving_bundle(model: ServingModel, loads: FloatArray) -> _Bundle:
    concurrency, prompt, output, tpot_s, ttft_s = loads

    def times(profile: ProfileSpec) -> ServingTime:
        served = model.with_terms(model.terms.with_profile(profile))
        return served.times(concurrency, prompt, output)

    return _Bundle(
        lambda profile: times(profile).tpot_s / tpot_s - 1,
        lambda profile: times(profile).ttft_s / ttft_s - 1,
    )


def _inference_bundles(rows: Iterable[Columns]) -> list[_Bundle]:
    bundles = []
    for columns in rows:
        try:
            terms = PassTerms(inference_scenario(columns))
        except NoCaseError:
            continue
        bundles.append(_inference_bundle(terms, columns["metric"], number(columns["value"])))
    return bundles


def _inference_bundle(terms: PassTerms, metric: str, measured: float) -> _Bundle:
    def errors(profile: ProfileSpec) -> FloatArray:
        return np.array([static_figure(terms.with_profile(profile), metric) / measured - 1])

    return _Bundle(errors)


def static_figure(terms: PassTerms, metric: str) -> float:
    """A figure of a static batch in the metric's unit.

    Raises:
        NoCaseError: The metric is not known.
    """
    scenario = terms.scenario
    batch, laps = scenario.workload.batch, scenario.workload.output_tokens - 1
    if metric == "decode_tokens_per_s":
        return batch / terms.seconds("decode", decode_shape(scenario))
    first = terms.seconds("prefill", prefill_shape(scenario))
    if metric == "first_token_ms":
        return 1e3 * first
    if metric == "total_ms":
        lap = terms.seconds("decode", decode_shape(scenario)) if laps else 0.0
        return 1e3 * (first + laps * lap)
    raise NoCaseError("not_modelled")


def _bundles(table: Table, rows: Sequence[Columns]) -> list[_Bundle]:
    return _serving_bundles(rows) if table == "serving" else _inference_bundles(rows)


# ---------------------------------------------------------------- the fit


def fit_profile(plan: FitPlan) -> FittedProfile:
    """Fit a profile's constants, and judge them on the fit rows and on the other rows."""
    fit_rows = _bundles(plan.table, [c for c in _rows(plan) if plan.takes(c)])
    base = catalog.profile(plan.profile)
    tries = [
        _fit_one(plan, replace(base, expert_block_rows=n, all_reduce_kernel=kernel), fit_rows)
        for kernel in plan.kernels or (base.all_reduce_kernel,)
        for n in plan.blocks or (base.expert_block_rows,)
    ]
    best, _ = min(tries, key=lambda tried: tried[1])
    return judged(plan, _with_request(best, fit_rows) if plan.table == "serving" else best)


def _with_request(profile: ProfileSpec, bundles: Sequence[_Bundle]) -> ProfileSpec:
    """The time a request spends outside the engine's steps, which TTFT alone shows."""

    def errors(values: FloatArray) -> FloatArray:
        tried = replace(profile, request_s=float(values[0]))
        return np.concatenate([b.waiting_errors(tried) for b in bundles if b.waiting_errors])

    found = robust_fit(errors, [0.02], [(1e-4, 1.0)])
    return replace(profile, request_s=float(found.constants[0]))


def judged(plan: FitPlan, profile: ProfileSpec) -> FittedProfile:
    """How far a profile misses the rows it was fitted to, and the others."""
    rows = _rows(plan)
    fit_rows = _bundles(plan.table, [c for c in rows if plan.takes(c)])
    test_rows = _bundles(plan.table, [c for c in rows if not plan.takes(c)])
    return FittedProfile(
        profile=profile, fit=_misses(profile, fit_rows), test=_misses(profile, test_rows)
    )


def _rows(plan: FitPlan) -> list[Columns]:
    """All rows of the project's tables that the plan's engine ran."""
    return [columns for columns in _shipped(plan.table) if _is_of(plan, columns)]


def _is_of(plan: FitPlan, columns: Columns) -> bool:
    is_mine = profile_of(engine_of(columns)) == plan.profile
    if plan.table == "serving":
        return is_mine and number(columns["concurrency"]) <= MOST_REQUESTS
    return is_mine and columns.get("engine") != "trend"


def _fit_one(
    plan: FitPlan, base: ProfileSpec, bundles: Sequence[_Bundle]
) -> tuple[ProfileSpec, float]:
    def profile_with(values: FloatArray) -> ProfileSpec:
        names = [constant.field for constant in plan.constants]
        changes: dict[str, Any] = dict(zip(names, map(float, values), strict=True))
        return replace(base, **changes)

    def errors(values: FloatArray) -> FloatArray:
        profile = profile_with(values)
        return np.concatenate([bundle.errors(profile) for bundle in bundles])

    found = robust_fit(
        errors,
        [constant.start for constant in plan.constants],
        [(constant.least, constant.most) for constant in plan.constants],
    )
    return profile_with(found.constants), found.loss


def _misses(profile: ProfileSpec, bundles: Sequence[_Bundle]) -> Misses:
    errors = np.concatenate([bundle.errors(profile) for bundle in bundles])
    return Misses(
        rows=len(errors),
        mean_abs_error=float(np.abs(errors).mean()),
        worst_abs_error=float(np.abs(errors).max()),
        bias=float(errors.mean()),
    )
