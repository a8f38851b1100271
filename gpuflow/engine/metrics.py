"""The figures of a timeline: TTFT, TPOT, tokens per second, traffic, links, memory."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from gpuflow.cluster.cost import ACTIVATION_BYTES, CostModel, decode_shape
from gpuflow.cluster.memory import Fits, activation_bytes, tokens_at_once, what_fits
from gpuflow.cluster.mesh import mesh_of
from gpuflow.engine.cache import CacheFill
from gpuflow.engine.link_traffic import LinkBytes, link_traffic
from gpuflow.engine.timeline import Span, StepTime, Timeline, TimeSource, tokens_per_s
from gpuflow.scenario.model_spec import Assumption
from gpuflow.scenario.spec import Phase, Scenario, TrafficClass


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenTime:
    """TPOT at one place of the output."""

    position: int
    """Output token, from 2."""
    tpot_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """All messages of one kind in one pass."""

    traffic_class: TrafficClass
    phase: Phase
    collective: str
    algorithm: str
    ranks: int
    message_size_bytes: float
    messages: int
    """On the critical path of one pass (decode: of one token)."""
    time_s: float
    share: float
    """Of TTFT in prefill, of TPOT in decode."""
    time_source: TimeSource


@dataclass(frozen=True, slots=True, kw_only=True)
class RankMemory:
    """Memory of one GPU once the whole answer is there."""

    rank: int
    weights_bytes: float
    kv_bytes: float
    free_bytes: float
    """What weights and cache leave; negative when they do not fit."""
    activations_bytes: float
    """Working memory of the largest pass, which has to fit into what is free."""
    spare_bytes: float
    """What is left of it all; negative when it does not fit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """Everything `gpuflow estimate` says."""

    timeline: Timeline
    ttft_s: float
    tpot_s: float | None
    """None when only one token is asked for."""
    tpot_at: tuple[TokenTime, ...]
    tokens_per_s_per_user: float | None
    tokens_per_s: float | None
    steps: tuple[StepTime, ...]
    traffic: tuple[Traffic, ...]
    links: tuple[LinkBytes, ...]
    memory: tuple[RankMemory, ...]
    fits: Fits
    assumed: tuple[Assumption, ...]
    not_modelled: tuple[str, ...]
    """Codes: locale keys `not_modelled.<code>`."""


def estimate(timeline: Timeline) -> Estimate:
    """All figures of a timeline."""
    has_laps = timeline.laps > 0
    return Estimate(
        timeline=timeline,
        ttft_s=timeline.ttft_s,
        tpot_s=timeline.tpot_s if has_laps else None,
        tpot_at=_tpot_at(timeline) if has_laps else (),
        tokens_per_s_per_user=1 / timeline.tpot_s if has_laps else None,
        tokens_per_s=tokens_per_s(timeline) if has_laps else None,
        steps=timeline.steps,
        traffic=traffic(timeline),
        links=link_traffic(timeline),
        memory=memory(timeline),
        fits=what_fits(timeline.scenario),
        assumed=(*timeline.scenario.model.assumed, *_assumptions(timeline)),
        not_modelled=not_modelled(timeline),
    )


def _tpot_at(timeline: Timeline) -> tuple[TokenTime, ...]:
    """TPOT of the first, the middle and the last lap: the mean lap with its own attention."""
    last = timeline.scenario.workload.output_tokens
    places = sorted({2, (2 + last) // 2, last})
    return tuple(TokenTime(position=n, tpot_s=lap_seconds(timeline, n)) for n in places)


def lap_seconds(timeline: Timeline, position: int) -> float:
    """Length of one decode lap.

    Only attention changes from lap to lap, so the mean lap is corrected by its difference.
    """
    scenario = timeline.scenario
    cost = CostModel(scenario)
    shape, mean_shape = decode_shape(scenario, position), decode_shape(scenario)
    counts = Counter(map(id, scenario.model.layers))
    kinds = {id(layer): layer for layer in scenario.model.layers}
    difference = 0.0
    for key, layer in kinds.items():
        there, mean = cost.attention(layer, shape), cost.attention(layer, mean_shape)
        difference += counts[key] * (there.time_s - mean.time_s)
    # other groups in flight make the lap longer than the way of one
    turns = timeline.tpot_s / timeline.pass_s("decode")
    return timeline.tpot_s + turns * difference


def communication_share(timeline: Timeline, phase: Phase, traffic_class: TrafficClass) -> float:
    """Part of a pass that a traffic class takes; of TTFT or TPOT where nothing is folded."""
    whole = timeline.pass_s(phase)
    spent = sum(
        s.duration_s
        for s in timeline.spans
        if s.phase == phase and s.traffic_class == traffic_class
    )
    return spent / whole if whole else 0.0


def traffic(timeline: Timeline) -> tuple[Traffic, ...]:
    """Messages by kind, in the order in which they first occur."""
    kinds: dict[tuple[object, ...], list[Span]] = {}
    for span in timeline.spans:
        if span.traffic_class is None:
            continue
        key = (
            span.traffic_class,
            span.phase,
            span.collective,
            span.message_size_bytes,
            len(span.groups[0]),
            span.time_source,
        )
        kinds.setdefault(key, []).append(span)
    rows: list[Traffic] = []
    for spans in kinds.values():
        first = spans[0]
        whole = timeline.pass_s(first.phase)
        seconds = sum(s.duration_s for s in spans)
        if first.traffic_class is None:
            continue
        rows.append(
            Traffic(
                traffic_class=first.traffic_class,
                phase=first.phase,
                collective=first.collective or "",
                algorithm=first.algorithm,
                ranks=len(first.groups[0]),
                message_size_bytes=first.message_size_bytes,
                messages=len(spans),
                time_s=seconds,
                share=seconds / whole if whole else 0.0,
                time_source=first.time_source,
            )
        )
    return tuple(rows)


def memory(timeline: Timeline) -> tuple[RankMemory, ...]:
    """Weights, KV cache at the end of the answer, and what is left, rank by rank."""
    scenario = timeline.scenario
    mesh, cost, fill = mesh_of(scenario), CostModel(scenario), CacheFill(timeline)
    stages = range(scenario.parallel.pp)
    weights = [cost.stage_weight_bytes(s) for s in stages]
    kv = [fill.bytes_at(s, timeline.end_s) for s in stages]
    working = [activation_bytes(scenario, s) for s in stages]
    whole = scenario.cluster.device.memory_bytes
    rows: list[RankMemory] = []
    for rank in range(mesh.n_ranks):
        stage = mesh.position(rank).stage
        rows.append(
            RankMemory(
                rank=rank,
                weights_bytes=weights[stage],
                kv_bytes=kv[stage],
                free_bytes=whole - weights[stage] - kv[stage],
                activations_bytes=working[stage],
                spare_bytes=whole - weights[stage] - kv[stage] - working[stage],
            )
        )
    return tuple(rows)


def _assumptions(timeline: Timeline) -> tuple[Assumption, ...]:
    """What the figures take for granted in this scenario."""
    scenario = timeline.scenario
    peaks = scenario.cluster.device.peak_flop_per_s
    name = "bf16" if scenario.precision == "fp16" else scenario.precision
    made = [
        Assumption(key="profile", value=scenario.profile.name, reason="profile"),
        _cache_assumption(scenario),
    ]
    at_once = str(tokens_at_once(scenario))
    made.append(Assumption(key="activations", value=at_once, reason="tokens_at_once"))
    if scenario.parallel.tp > 1:
        made.append(Assumption(key="embedding", value="replicated", reason="embedding_replicated"))
    if name not in peaks:
        made.append(Assumption(key="precision", value=name, reason="weight_only"))
    if scenario.model.has_experts:
        made.append(Assumption(key="routing", value="uniform", reason="uniform_routing"))
    if scenario.workload.context_tokens is None:
        context = round(decode_shape(scenario).context)
        made.append(Assumption(key="context", value=str(context), reason="mean_context"))
    return tuple(made)


def _cache_assumption(scenario: Scenario) -> Assumption:
    """How wide the cache's values are."""
    bits = round(8 * CostModel(scenario).cache_bytes)
    if bits < 8 * ACTIVATION_BYTES:
        return Assumption(key="kv_precision", value=str(bits), reason="kv_precision_narrow")
    return Assumption(key="kv_precision", value="bf16", reason="kv_precision")


def not_modelled(timeline: Timeline) -> tuple[str, ...]:
    """Codes of what the figures leave out, most important first."""
    profile = timeline.scenario.profile
    workload = timeline.scenario.workload
    codes = ["queueing", "sampling"]
    if not workload.overlap:
        codes.insert(1, "overlap")
    if not profile.host_s_per_step:
        codes.insert(0, "host_time")
    if not profile.elementwise:
        codes.append("elementwise")
    if timeline.scenario.parallel.pp > 1 and workload.micro_batches == 1:
        codes.append("micro_batches")
    codes.append("memory_reserve")
    if timeline.scenario.model.has_experts:
        codes.append("expert_imbalance")
    return tuple(codes)
