"""What rows of measured model timings are about: the scenario each of them ran.

serving.csv comes with two notations of the split, side by side in the same table: where ep > 1,
the columns tp or attention_dp may hold the product with ep instead (rows with the very same
measured values appear in both), and attention_dp rows of that kind count requests per rank.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from gpuflow.cluster.measurements import figure
from gpuflow.engine.serving import ServingModel
from gpuflow.errors import ScenarioError
from gpuflow.scenario import catalog
from gpuflow.scenario.load import DEFAULT_SCENARIO, Overrides, load_scenario
from gpuflow.scenario.spec import Scenario

Columns = Mapping[str, str]

PROFILE_OF_ENGINE = {
    "vllm": "vllm",
    "trtllm": "trtllm",
    "sglang": "sglang",
    "gpt-fast": "gpt-fast",
    "tensorrt-llm-0.5": "tensorrt-llm-0.5",
    "vllm-ci": "vllm-2024",
    "fastertransformer": "fastertransformer",
    "trend": "trtllm",
}
"""Profile by the tables' engine or backend."""
ANY_ENGINE = "ideal"
"""Profile of an engine that nothing was fitted for."""


MOST_COUNT = 1_000_000_000
"""Of tokens, sequences or ranks; more than anybody ever had."""


class NoCaseError(Exception):
    """Why a row cannot be predicted, as a code: locale key `why.<code>`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """How a model was split; ep spans tp x dp ranks where attention runs data-parallel."""

    tp: int = 1
    pp: int = 1
    dp: int = 1
    ep: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingCase:
    """A closed loop of requests on a server."""

    served: ServingModel
    """Model, GPU, split and profile."""
    concurrency: float
    """Over all replicas."""
    prompt_tokens: float
    output_tokens: float


def number(text: str) -> float:
    """A number, of a size that something measured can have.

    Raises:
        NoCaseError: It is none.
    """
    try:
        return figure(text)
    except ValueError:
        raise NoCaseError("number_unreadable") from None


def count(columns: Columns, name: str) -> int:
    """A whole number from 1 to a thousand million; the tables write some of them as 2.0.

    Raises:
        NoCaseError: It is none.
    """
    value = number(columns.get(name, ""))
    if not 1 <= value <= MOST_COUNT or value != int(value):
        raise NoCaseError("number_unreadable")
    return int(value)


def serving_case(columns: Columns) -> ServingCase:
    """The closed loop of a row of serving.csv.

    Raises:
        NoCaseError: Something in the row is unknown, or does not go together.
    """
    model, gpu = columns["model"], columns["gpu"]
    tp, concurrency = count(columns, "tp"), number(columns["concurrency"])
    stated = [columns.get(name, "") for name in ("attention_dp", "ep")]
    dp, ep = (number(text) if text else 1.0 for text in stated)
    if dp < 1 or ep < 1:
        raise NoCaseError("split_unknown")
    if dp > 1 and tp == 1 and dp == ep * ep:
        dp, concurrency = ep, concurrency * ep
    precision = columns.get("precision") or None
    if precision is None and model.upper().endswith("FP8"):
        precision = "fp8"
    profile = profile_of(engine_of(columns))
    served = None
    if ep > 1 and tp == ep * ep:
        served = _served(model, gpu, precision, profile, _split(int(ep), int(dp)))
    if served is None or not served.fits():
        served = _served(model, gpu, precision, profile, _split(tp, int(dp)))
    if not served.fits():
        raise NoCaseError("does_not_fit")
    return ServingCase(
        served=served,
        concurrency=concurrency,
        prompt_tokens=count(columns, "input_tokens"),
        output_tokens=max(count(columns, "output_tokens"), 2),
    )


def inference_scenario(columns: Columns) -> Scenario:
    """The scenario of a row of inference.csv, workload included.

    Raises:
        NoCaseError: Something in the row is unknown, or does not go together.
    """
    scenario = scenario_of(
        columns["model"],
        columns["gpu"],
        columns.get("precision") or None,
        profile_of(engine_of(columns)),
        Split(tp=count(columns, "tp"), pp=count(columns, "pp")),
    )
    return scenario.with_workload(
        batch=count(columns, "batch"),
        prompt_tokens=count(columns, "input_tokens"),
        output_tokens=count(columns, "output_tokens"),
    )


def profile_of(engine: str) -> str:
    """The profile of an engine's name in the tables; the ideal one for unknown engines."""
    return PROFILE_OF_ENGINE.get(engine, ANY_ENGINE)


def engine_of(columns: Columns) -> str:
    """The engine's name in a row of either table."""
    return columns.get("backend") or columns.get("engine", "")


def _split(tp: int, dp: int) -> Split:
    """Attention that runs data-parallel reaches experts on all its ranks."""
    return Split(tp=tp, dp=dp, ep=tp * dp if dp > 1 else 1)


def scenario_of(
    model: str, gpu: str, precision: str | None, profile: str, split: Split
) -> Scenario:
    """The default scenario, whose steps hold for every split, with all else replaced.

    Raises:
        NoCaseError: Something is unknown, or does not go together.
    """
    found = _scenario_or_reason(model, gpu, precision, profile, split)
    if isinstance(found, str):
        raise NoCaseError(found)
    return found


@lru_cache(maxsize=256)
def _scenario_or_reason(
    model: str, gpu: str, precision: str | None, profile: str, split: Split
) -> Scenario | str:
    """The scenario, or the code of why there is none, either kept for the next row."""
    for look_up, name, code in (
        (catalog.model, model, "model_unknown"),
        (catalog.device, gpu, "gpu_unknown"),
    ):
        try:
            look_up(name)
        except ScenarioError:
            return code
    has_experts = catalog.model(model).has_experts
    try:
        return load_scenario(
            DEFAULT_SCENARIO,
            Overrides(
                model=model,
                gpu=gpu,
                precision=precision,
                tp=split.tp,
                pp=split.pp,
                dp=split.dp,
                ep=split.ep if has_experts else 1,
                profile=profile,
            ),
        )
    except ScenarioError:
        return "split_impossible"


@lru_cache(maxsize=256)
def _served(
    model: str, gpu: str, precision: str | None, profile: str, split: Split
) -> ServingModel:
    """The closed loop on a split, kept for the next row."""
    return ServingModel(scenario_of(model, gpu, precision, profile, split))
