"""Memory of each kind of GPU as formulas: weights, KV cache, and what they leave."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from gpuflow.cluster.cost import ACTIVATION_BYTES, CostModel
from gpuflow.cluster.memory import (
    LOGIT_BYTES,
    last_tokens,
    stage_memories,
    tokens_at_once,
    widest_values,
)
from gpuflow.cluster.parameters import stage_layers
from gpuflow.engine.explanation import Figure, Inputs, total
from gpuflow.engine.metrics import Estimate, RankMemory
from gpuflow.scenario.spec import Scenario
from gpuflow.units import Quantity


def memory_figures(estimate: Estimate) -> Iterable[Figure]:
    """Each pipeline stage's GPUs, stages that hold the same taken together."""
    scenario = estimate.timeline.scenario
    pp, tp = scenario.parallel.pp, scenario.parallel.tp
    first = [estimate.memory[stage * tp] for stage in range(pp)]
    seen: list[tuple[float, ...]] = []
    for stage, row in enumerate(first):
        if _held(row) in seen:
            continue
        seen.append(_held(row))
        alike = [s + 1 for s in range(pp) if _held(first[s]) == _held(row)]
        yield from _stage_figures(scenario, stage, row, alike)
    yield from _fits_figures(estimate)


def _held(row: RankMemory) -> tuple[float, ...]:
    return row.weights_bytes, row.kv_bytes, row.activations_bytes


def _stage_figures(
    scenario: Scenario, stage: int, row: RankMemory, alike: list[int]
) -> Iterable[Figure]:
    cost, layers = CostModel(scenario), scenario.model.layers
    counts = Counter(id(layers[i]) for i in stage_layers(scenario, stage))
    kinds = {id(layer): layer for layer in layers}
    named = {"stage": ", ".join(map(str, alike)) if len(alike) < 5 else f"{alike[0]}–{alike[-1]}"}
    tokens = last_tokens(scenario)

    weights, kv = Inputs(scenario), Inputs(scenario)
    weight_terms, kv_terms, in_layers = [], [], 0.0
    for place, (kind, count) in enumerate(counts.items(), 1):
        mark = str(place) if len(counts) > 1 else ""
        held = cost.layer_weight_bytes(kinds[kind])
        in_layers += count * held
        n = weights.model(f"n{mark}", "layers_alike", count)
        weight_terms.append(f"{n} * {weights.add(f'w{mark}', 'layer_weights', held, 'bytes')}")
        n = kv.model(f"n{mark}", "layers_alike", count)
        said = {"tokens": tokens}
        cached = cost.layer_kv_bytes(kinds[kind], tokens)
        kv_terms.append(f"{n} * {kv.add(f'k{mark}', 'layer_kv', cached, 'bytes', values=said)}")
    outer = row.weights_bytes - in_layers
    if outer > 1e-6 * row.weights_bytes:
        weight_terms.append(weights.add("w_outer", "outer_weights", outer, "bytes", "model"))
    batch = kv.asked("N", "batch", scenario.workload.batch)

    def figure(name: str, value: float, formula: str, inputs: Inputs) -> Figure:
        return Figure(
            id=f"memory.{stage + 1}.{name}_bytes",
            group="memory",
            name=name,
            values=named,
            value=Quantity(value, "bytes"),
            formula=formula,
            inputs=inputs.all,
        )

    yield figure("weights", row.weights_bytes, total(weight_terms), weights)
    yield figure("kv", row.kv_bytes, f"{batch} * ({total(kv_terms)})", kv)
    working = Inputs(scenario)
    formula = _working_formula(scenario, stage, working)
    yield figure("activations", row.activations_bytes, formula, working)
    left = Inputs(scenario)
    terms = [
        left.gpu("M", "device_memory", scenario.cluster.device.memory_bytes, "bytes"),
        left.add("W", "weights", row.weights_bytes, "bytes"),
        left.add("K", "kv", row.kv_bytes, "bytes"),
    ]
    yield figure("free", row.free_bytes, " - ".join(terms), left)
    spare = Inputs(scenario)
    terms = [
        spare.add("M_left", "free", row.free_bytes, "bytes"),
        spare.add("A", "activations", row.activations_bytes, "bytes"),
    ]
    yield figure("spare", row.spare_bytes, " - ".join(terms), spare)


def _working_formula(scenario: Scenario, stage: int, inputs: Inputs) -> str:
    """Working memory of the largest pass; on the last stage perhaps that of the logits."""
    tokens = inputs.add("T", "tokens_at_once", tokens_at_once(scenario), "count", "rule")
    width = inputs.add("b_a", "activation_bytes", ACTIVATION_BYTES, "bytes", "rule")
    hidden = inputs.model("h", "hidden_size", scenario.model.hidden_size)
    widest = inputs.add("w", "widest_values", widest_values(scenario, stage), "count", "model")
    formula = f"{tokens} * {width} * (2 * {hidden} + {widest})"
    if stage < scenario.parallel.pp - 1:
        return formula
    batch = inputs.asked("N", "batch", scenario.workload.batch)
    vocabulary = inputs.model("V", "vocabulary", scenario.model.vocab_size)
    ranks = inputs.asked("p", "tp", scenario.parallel.tp)
    logit = inputs.add("b_l", "logit_bytes", LOGIT_BYTES, "bytes", "rule")
    logits = f"{batch} * {vocabulary} / {ranks} * {logit} + {tokens} * {width} * {hidden}"
    return f"max({formula}, {logits})"


def _fits_figures(estimate: Estimate) -> Iterable[Figure]:
    """The largest batch and context, with what they and the next larger ones leave."""
    scenario, fits = estimate.timeline.scenario, estimate.fits
    yield _largest(scenario, "max_batch", fits.max_batch)
    if fits.max_context_tokens is not None:
        yield _largest(scenario, "max_context_tokens", fits.max_context_tokens)


def _largest(scenario: Scenario, name: str, found: int) -> Figure:
    inputs = Inputs(scenario)
    largest = inputs.add("N", name, found, "count")
    for symbol, value in (("M_N", found), ("M_more", found + 1)):
        if value:
            said = {"number": value}
            inputs.add(symbol, f"{name}_left", _left(scenario, name, value), "bytes", values=said)
    return Figure(
        id=f"fits.{name}",
        group="memory",
        name=name,
        value=Quantity(float(found), "count"),
        formula=largest,
        inputs=inputs.all,
    )


def _left(scenario: Scenario, name: str, value: int) -> float:
    """Memory left on the fullest GPU at that batch or context."""
    if name == "max_batch":
        tried = scenario.with_workload(batch=value)
    else:
        tried = scenario.with_workload(prompt_tokens=value, context_tokens=value)
    return min(stage.spare_bytes for stage in stage_memories(tried))
