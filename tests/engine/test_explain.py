"""Every formula evaluates to its figure, for models and engines of every kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gpuflow.engine.explain import explain
from gpuflow.engine.explanation import Figure
from gpuflow.engine.metrics import estimate
from gpuflow.engine.simulate import simulate
from gpuflow.scenario.load import Overrides, load_scenario

CASES = [
    ("tp2-pp2", {}),
    ("moe-ep4", {}),
    ("tp2-pp2", {"profile": "vllm"}),
    ("moe-ep4", {"profile": "sglang", "precision": "fp8", "batch": 8}),
    ("tp2-pp2", {"model": "deepseek-v3", "gpu": "h200", "tp": 8, "pp": 1, "profile": "trtllm"}),
    ("tp2-pp2", {"model": "deepseek-v3", "gpu": "h200", "tp": 1, "pp": 1, "dp": 16, "ep": 16}),
    ("tp2-pp2", {"model": "gpt-oss-120b", "gpu": "h200", "tp": 2, "pp": 1, "profile": "vllm"}),
    ("tp2-pp2", {"batch": 8, "micro_batches": 4, "chunk": 512, "profile": "vllm"}),
    ("tp2-pp2", {"batch": 8, "overlap": True, "profile": "vllm"}),
    ("moe-ep4", {"batch": 8, "overlap": True, "profile": "ideal"}),
    ("tp2-pp2", {"model": "llama-3-70b", "tp": 8, "layers": (21, 20, 20, 19)}),
    ("tp2-pp2", {"tp": 1, "pp": 1, "output": 1}),
]


def figures_of(name: str, **changes: Any) -> dict[str, Figure]:
    scenario = load_scenario(name, Overrides(**changes))
    figures = explain(estimate(simulate(scenario)))
    found = {figure.id: figure for figure in figures}
    assert len(found) == len(figures)
    return found


def evaluated(figure: Figure) -> float:
    symbols = {one.symbol: one.value.value for one in figure.inputs}
    return float(eval(figure.formula, {"__builtins__": {}, "max": max}, symbols))


@pytest.mark.parametrize(("name", "changes"), CASES)
def test_every_formula_gives_its_figure(name: str, changes: dict[str, object]) -> None:
    for figure in figures_of(name, **changes).values():
        value = figure.value.value
        assert evaluated(figure) == pytest.approx(value, rel=1e-6, abs=1e-15), figure.id


def test_every_figure_of_an_estimate_is_explained() -> None:
    scenario = load_scenario("tp2-pp2")
    found = estimate(simulate(scenario))
    figures = {figure.id: figure.value.value for figure in explain(found)}
    assert figures["ttft_s"] == found.ttft_s
    assert figures["tpot_s"] == found.tpot_s
    assert figures["tokens_per_s"] == pytest.approx(found.tokens_per_s)
    for step in found.steps:
        assert figures[f"steps.{step.id}.duration_s"] == step.duration_s
        assert figures.get(f"steps.{step.id}.compute_s", 0.0) == step.compute_s
        assert figures.get(f"steps.{step.id}.communication_s", 0.0) == step.communication_s
    for row in found.traffic:
        name = f"traffic.{row.phase}.{row.traffic_class}.{row.collective}"
        assert figures[f"{name}.time_s"] == row.time_s
        assert figures[f"{name}.share"] == row.share
    linked = sum(figure.startswith("links.") for figure in figures)
    assert 0 < linked <= len(found.links)
    assert figures["memory.1.weights_bytes"] == found.memory[0].weights_bytes
    assert figures["memory.2.spare_bytes"] == found.memory[2].spare_bytes
    assert figures["fits.max_batch"] == found.fits.max_batch


def test_copies_for_latent_experts_travel_in_the_size_that_they_work_on() -> None:
    """LatentMoE: 2 copies of 1,024 values instead of 4,096, out and back."""
    scenario = load_scenario("moe-ep4")
    layers = tuple(
        replace(layer, mlp=replace(layer.mlp, latent_size=1024)) for layer in scenario.model.layers
    )
    narrow = replace(scenario, model=replace(scenario.model, layers=layers))
    figures = {figure.id: figure for figure in explain(estimate(simulate(narrow)))}
    sizes = [f for name, f in figures.items() if "ep.all_to_all" in name and "size" in name]
    decoded = [f.value.value for f in sizes if ".decode." in f.id]
    assert decoded
    assert set(decoded) == {2 * 1024 * 2}
    for figure in figures.values():
        assert evaluated(figure) == pytest.approx(figure.value.value, rel=1e-6, abs=1e-15)


def test_rates_name_who_published_them() -> None:
    figure = figures_of("tp2-pp2", profile="ideal")["messages.prefill.tp.all_reduce.message_time_s"]
    origins = {one.symbol: (one.origin, one.source) for one in figure.inputs}
    assert origins["α"][0] == origins["BW"][0] == "fabric"
    assert "H100 data sheet" in origins["BW"][1]
    assert origins["f"][0] == "rule"
    assert "nccl-tests" in origins["f"][1]


def test_a_time_read_off_a_measured_curve_names_the_measurement() -> None:
    figure = figures_of("tp2-pp2", profile="vllm")["messages.decode.tp.all_reduce.message_time_s"]
    curve = next(one for one in figure.inputs if one.symbol == "t_S")
    assert curve.origin == "measured"
    assert curve.source
    assert set(figure.time_sources) <= {"calibrated", "extrapolated"}


def test_sums_say_how_much_of_them_comes_from_where() -> None:
    figure = figures_of("tp2-pp2", profile="vllm")["tpot_s"]
    assert set(figure.time_sources) >= {"assumed", "calibrated"}
    assert sum(figure.time_sources.values()) == pytest.approx(figure.value.value)


def test_hand_written_formulas_of_the_default_scenario() -> None:
    """The figures of the worked example, from the inputs that are printed."""
    figures = figures_of("tp2-pp2", profile="ideal")
    check: dict[str, Callable[[dict[str, float]], float]] = {
        "messages.prefill.tp.all_reduce.message_size_bytes": lambda i: i["T"] * i["h"] * i["b_a"],
        "messages.prefill.tp.all_reduce.message_time_s": lambda i: (
            i["α"] + i["f"] * i["S"] / i["BW"]
        ),
        "compute.prefill.mlp": lambda i: max(
            2 * i["T"] * i["w"] / (i["P"] * i["μ"]), i["w"] * i["b"] / (i["M"] * i["ν"])
        ),
        "tokens_per_s": lambda i: i["N"] * i["dp"] / i["TPOT"],
    }
    for name, formula in check.items():
        inputs = {one.symbol: float(one.value.value) for one in figures[name].inputs}
        assert formula(inputs) == pytest.approx(figures[name].value.value)
