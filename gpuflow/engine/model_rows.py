"""The predicted figures of a row of measured model timings, from the row's own columns.

Each raises NoCaseError where the row cannot be predicted; its text is a code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

import numpy as np

from gpuflow.cluster.cost import CostModel, PassShape
from gpuflow.engine.collective_time import hop_time, message_size
from gpuflow.engine.measured_models import (
    NoCaseError,
    Split,
    count,
    engine_of,
    inference_scenario,
    profile_of,
    scenario_of,
    serving_case,
)
from gpuflow.engine.pass_terms import PassTerms
from gpuflow.engine.profile_fit import static_figure
from gpuflow.engine.serving import USABLE_MEMORY, ServingModel
from gpuflow.scenario.spec import Scenario

Columns = Mapping[str, str]

GEMM_PROFILE = "vllm"
KERNEL_FLOOR_S = 4e-6
"""Start and end of a kernel run by itself, 2 to 5 us (Vidur profiles). In a whole model it is part
of the layer's overhead."""

_TREND = re.compile(
    r"ratio_tp([1-9]\d{0,3})_over_pp([1-9]\d{0,3})_(throughput|single_user_speed)", re.ASCII
)
TREND_PROMPT, TREND_OUTPUT = 2048, 128
"""Tokens of the requests of NVIDIA's comparison; the table does not give them."""


def inference_figure(columns: Columns) -> float:
    """The figure of a row of inference.csv, in its metric's unit."""
    trend = _TREND.fullmatch(columns.get("metric", ""))
    if trend:
        return _trend(columns, int(trend[1]), int(trend[2]), trend[3])
    return static_figure(PassTerms(inference_scenario(columns)), columns.get("metric", ""))


def serving_figures(columns: Columns) -> tuple[float, float]:
    """TTFT and TPOT of a row of serving.csv, in milliseconds."""
    case = serving_case(columns)
    found = case.served.times(case.concurrency, case.prompt_tokens, case.output_tokens)
    return 1e3 * float(found.ttft_s), 1e3 * float(found.tpot_s)


def gemm_us(columns: Columns) -> float:
    """Time of the operator of a row of gemm.csv, in microseconds."""
    if columns["operator"] != "gate_up_projection":
        raise NoCaseError("not_modelled")
    split = Split(tp=count(columns, "tp"))
    scenario = scenario_of(columns["model"], columns["gpu"], "bf16", GEMM_PROFILE, split)
    layer = scenario.model.layers[0]
    weights = 2 * scenario.model.hidden_size * layer.mlp.ffn_size / scenario.parallel.tp
    cost = CostModel(scenario)
    work = cost.gemm(float(count(columns, "tokens")), weights, weights, cost.stored.dense)
    return 1e6 * (work.time_s + KERNEL_FLOOR_S)


# ---------------------------------------------------------------- tensor against pipeline parallel


def _trend(columns: Columns, tp: int, pp: int, what: str) -> float:
    """Speed with tp ranks over speed with pp stages, of one user or of all together."""
    named = (columns["model"], columns["gpu"], columns.get("precision") or None)
    profile = profile_of(engine_of(columns))
    across = _served(*named, profile, tp)
    along = _served(*named, profile, 1)
    if what == "single_user_speed":
        return _lap_s(along, pp, 1.0) / _lap_s(across, 1, 1.0)
    requests = _room(across.scenario)
    return requests / _lap_s(across, 1, requests) / (requests / _lap_s(along, pp, requests / pp))


@lru_cache(maxsize=16)
def _served(model: str, gpu: str, precision: str | None, profile: str, tp: int) -> ServingModel:
    return ServingModel(scenario_of(model, gpu, precision, profile, Split(tp=tp)))


def _lap_s(served: ServingModel, stages: int, requests: float) -> float:
    """One token of every request while prompts keep coming, on a pipeline of so many stages.

    The stages hold as many groups of requests as there are stages, and the longest stage sets the
    pace: layers that do not divide leave the others waiting.
    """
    scenario = served.scenario
    tpot = float(served.times(requests, TREND_PROMPT, TREND_OUTPUT, limited=False).tpot_s)
    if stages == 1:
        return tpot
    layers = len(scenario.model.layers)
    longest = -(-layers // stages) * stages / layers
    tokens = requests * (1 + TREND_PROMPT / TREND_OUTPUT)
    shape = PassShape(phase="decode", sequences=tokens, tokens=tokens, context=1.0)
    size = message_size(scenario, "activations", shape, 2)
    hop = hop_time(scenario, served.terms.mesh, ((0, 1),), size).time_s
    return tpot * (longest if requests > 1 else 1.0) + (stages - 1) * hop


def _room(scenario: Scenario) -> float:
    """Requests whose cache fits beside the weights."""
    cost, device = CostModel(scenario), scenario.cluster.device
    free = USABLE_MEMORY * device.memory_bytes - cost.stage_weight_bytes(0)
    return float(np.floor(free / cost.stage_sequence_bytes(0, TREND_PROMPT + TREND_OUTPUT / 2)))
