"""The values that fill the placeholders of a step's texts."""

from __future__ import annotations

from collections.abc import Sequence

from gpuflow.cluster.cost import CostModel, decode_shape
from gpuflow.cluster.parameters import kv_bytes_per_token, stage_layers
from gpuflow.collectives.oracle import bus_factor
from gpuflow.engine.cache import CacheFill
from gpuflow.engine.collective_time import TOKEN_ID_BYTES, message_size
from gpuflow.engine.conditions import conditions
from gpuflow.engine.timeline import Span, StepTime, Timeline, tokens_per_s
from gpuflow.scenario.spec import Scenario
from gpuflow.units import Quantity

REFERENCE_BYTES_PER_S = 200e9 / 8
"""The seed's bandwidth class for tensor parallelism, to weigh a step's traffic against."""
NONE = Quantity("–", "text")
"""What a figure is that does not apply, and a condition that does not hold."""
HOLDS = Quantity("", "text")
"""What a condition is that holds: nothing to read."""


def facts(
    timeline: Timeline, step_index: int, messages: Sequence[Span] | None = None
) -> dict[str, Quantity]:
    """Every placeholder's value for one step.

    Args:
        timeline: What is told.
        step_index: Of the step, from 0.
        messages: Whose figures are told; None: those of the step's heaviest traffic class.
    """
    step = timeline.steps[step_index]
    if messages is None:
        messages = heaviest(timeline.spans[step.first_span : step.last_span])
    return {
        **_setup_facts(timeline.scenario),
        **_layer_facts(timeline.scenario, step, timeline),
        **_traffic_facts(step, messages),
        **_memory_facts(timeline),
        **_result_facts(timeline, step),
        **_marks(timeline, step, messages),
    }


def _marks(timeline: Timeline, step: StepTime, messages: Sequence[Span]) -> dict[str, Quantity]:
    marks = {"end": HOLDS}
    for name, holds in conditions(timeline, step, messages).items():
        marks[f"if_{name}"] = HOLDS if holds else NONE
        marks[f"unless_{name}"] = NONE if holds else HOLDS
    return marks


def _count(value: float) -> Quantity:
    return Quantity(float(value), "count")


def _setup_facts(scenario: Scenario) -> dict[str, Quantity]:
    p, w, model, cluster = (
        scenario.parallel,
        scenario.workload,
        scenario.model,
        scenario.cluster,
    )
    moe = model.moe
    return {
        "model": Quantity(model.title, "text"),
        "gpu": Quantity(cluster.device.title, "text"),
        "scale_up": Quantity(cluster.scale_up.title, "text"),
        "scale_out": Quantity(cluster.scale_out.title, "text"),
        "gpus": _count(p.world),
        "tp": _count(p.tp),
        "pp": _count(p.pp),
        "dp": _count(p.dp),
        "ep": _count(p.ep),
        "batch": _count(w.batch),
        "prompt": _count(w.prompt_tokens),
        "output": _count(w.output_tokens),
        "context": _count(round(decode_shape(scenario).context)),
        "model_layers": _count(len(model.layers)),
        "hidden_size": _count(model.hidden_size),
        "vocab_size": _count(model.vocab_size),
        "experts": _count(moe.experts) if moe else NONE,
        "experts_per_token": _count(moe.experts_per_token) if moe else NONE,
    }


def layer_range(first: int, last: int) -> str:
    """Layers as people write them, from 1: `1–16`."""
    return f"{first}–{last}" if last > first else str(first)


def _layer_facts(scenario: Scenario, step: StepTime, timeline: Timeline) -> dict[str, Quantity]:
    first = len(stage_layers(scenario, 0))
    total = len(scenario.model.layers)
    rest = layer_range(first + 1, total) if total > first else "–"
    counts = sorted({len(stage_layers(scenario, s)) for s in range(scenario.parallel.pp)})
    return {
        "stage_layers": Quantity(layer_range(counts[0], counts[-1]), "text"),
        "first_layers": Quantity(layer_range(1, first), "text"),
        "rest_layers": Quantity(rest, "text"),
    }


def heaviest(spans: Sequence[Span]) -> list[Span]:
    """The messages of the traffic class that takes a step the longest; empty without traffic."""
    seconds: dict[tuple[str, str], float] = {}
    for span in spans:
        if span.traffic_class is not None:
            key = (span.traffic_class, span.collective or "")
            seconds[key] = seconds.get(key, 0.0) + span.duration_s
    if not seconds:
        return []
    best = max(seconds, key=lambda key: seconds[key])
    return [s for s in spans if (s.traffic_class, s.collective or "") == best]


def _traffic_facts(step: StepTime, messages: Sequence[Span]) -> dict[str, Quantity]:
    values = {
        "compute_time": Quantity(step.compute_s, "time"),
        "communication_time": Quantity(step.communication_s, "time"),
        "communication_share": Quantity(
            step.communication_s / step.duration_s if step.duration_s else 0.0, "share"
        ),
        "step_time": Quantity(step.duration_s, "time"),
        "messages": _count(len(messages)),
    }
    if not messages:
        names = ("message_size", "message_time", "bus_bandwidth", "message_total", "time_at_200g")
        return values | dict.fromkeys(names, NONE)
    first = messages[0]
    total = sum(s.message_size_bytes for s in messages)
    wire = bus_factor(first.collective or "", len(first.groups[0])) * total
    return values | {
        "message_size": Quantity(first.message_size_bytes, "bytes"),
        "message_time": Quantity(first.duration_s, "time"),
        "bus_bandwidth": Quantity(first.bus_bandwidth_bytes_per_s or 0.0, "rate"),
        "message_total": Quantity(total, "bytes"),
        "time_at_200g": Quantity(wire / REFERENCE_BYTES_PER_S, "time"),
    }


def _memory_facts(timeline: Timeline) -> dict[str, Quantity]:
    scenario = timeline.scenario
    cost, fill = CostModel(scenario), CacheFill(timeline)
    weights = max(cost.stage_weight_bytes(s) for s in range(scenario.parallel.pp))
    held = [fill.bytes_at(s, timeline.ttft_s) for s in range(scenario.parallel.pp)]
    gpus_per_stage = scenario.parallel.tp * scenario.parallel.dp
    whole = kv_bytes_per_token(scenario.model)
    free = min(fill.capacity_bytes(s) for s in range(scenario.parallel.pp))
    return {
        "kv_per_token": Quantity(whole, "bytes"),
        "kv_after_prefill": Quantity(sum(held) * gpus_per_stage, "bytes"),
        "kv_per_gpu": Quantity(max(held), "bytes"),
        "weights_per_gpu": Quantity(weights, "bytes"),
        "free_per_gpu": Quantity(free, "bytes"),
    }


def _result_facts(timeline: Timeline, step: StepTime) -> dict[str, Quantity]:
    scenario = timeline.scenario
    shape = decode_shape(scenario)
    travelling = {s.payload for s in timeline.spans}
    logits = Quantity(message_size(scenario, "logits", shape, 2), "bytes")
    token = Quantity(TOKEN_ID_BYTES * scenario.workload.batch, "bytes")
    hops = [s for s in timeline.spans if s.kind == "send" and s.phase == step.phase]
    return {
        "hop_size": Quantity(hops[0].message_size_bytes, "bytes") if hops else NONE,
        "hop_time": Quantity(hops[0].duration_s, "time") if hops else NONE,
        "logits_size": logits if "logits" in travelling else NONE,
        "token_size": token if travelling & {"token", "output"} else NONE,
        "ttft": Quantity(timeline.ttft_s, "time"),
        "tpot": Quantity(timeline.tpot_s, "time") if timeline.laps else NONE,
        "tokens_per_s": _count(round(tokens_per_s(timeline))) if timeline.laps else NONE,
    }
