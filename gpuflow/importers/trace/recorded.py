"""A recorded step as a timeline, to be played on the same screens; every time in it is measured.

One rank was recorded; the others of its group are drawn as doing the same. What a trace does not
hold (the KV cache, TTFT, TPOT) is left out.
"""

from __future__ import annotations

import contextlib
import math
from dataclasses import replace

from gpuflow.collectives.algorithms import ALGORITHMS, default_algorithm
from gpuflow.collectives.oracle import bus_factor
from gpuflow.engine.timeline import Recording, Span, StepTime, Timeline
from gpuflow.errors import ScenarioError
from gpuflow.importers.trace.cut import Cut, Piece, cut_of
from gpuflow.importers.trace.reading import Reading
from gpuflow.importers.trace.recorded_words import Told, step_specs, title_of
from gpuflow.importers.trace.talks import Talk
from gpuflow.scenario.load import DEFAULT_SCENARIO, load_scenario
from gpuflow.scenario.machines import machines
from gpuflow.scenario.model_spec import ModelSpec
from gpuflow.scenario.spec import (
    ClusterSpec,
    Collective,
    ParallelSpec,
    Phase,
    Scenario,
    WorkloadSpec,
)

MOST_SPANS = 20_000
"""More are no play any more."""
MOST_RANKS = 1024
"""A larger group is drawn as so many of its ranks."""


def recorded_timeline(reading: Reading) -> Timeline | None:
    """The step of a trace that is played; None where it has no kernels or is one endless step."""
    cut = cut_of(reading)
    if cut is None or not cut.pieces or len(cut.pieces) > MOST_SPANS:
        return None
    phase = _phase(reading)
    sections = sorted({piece.mark.section for piece in cut.pieces})
    told = Told(reading=reading, cut=cut, sections=tuple(sections))
    n_ranks = _ranks(cut)
    steps = step_specs(told, phase or "decode")
    base = load_scenario(DEFAULT_SCENARIO)
    scenario = replace(
        base,
        name="trace",
        title=title_of(reading),
        model=_model(reading, cut, base.model),
        cluster=_cluster(reading, n_ranks, base.cluster),
        parallel=ParallelSpec(tp=n_ranks),
        workload=_workload(reading, base.workload),
        steps=steps,
    )
    spans = tuple(
        _span(index, piece, sections.index(piece.mark.section), cut, scenario, phase or "decode")
        for index, piece in enumerate(cut.pieces)
    )
    recording = Recording(
        file=reading.file,
        rank=reading.head.rank,
        has_model=reading.model is not None,
        has_layers=cut.n_layers > 0,
        has_phase=phase is not None,
    )
    return Timeline(
        scenario=scenario,
        spans=spans,
        steps=_steps(reading, cut, scenario, spans),
        # No moment of it is known to be the first token.
        ttft_s=math.inf,
        tpot_s=0.0,
        laps=0,
        end_s=spans[-1].end_s,
        recording=recording,
    )


def _phase(reading: Reading) -> Phase | None:
    """What the engine says it did; None where it does not, or mixes both."""
    prompts = any(one.prompt_tokens for one in reading.passes)
    answers = any(one.answer_tokens for one in reading.passes)
    if prompts == answers:
        return None
    return "prefill" if prompts else "decode"


def _workload(reading: Reading, stand_in: WorkloadSpec) -> WorkloadSpec:
    """Sequences and tokens of the first pass, as far as the engine noted them."""
    if not reading.passes:
        return stand_in
    one = reading.passes[0]
    if one.prompts and one.prompt_tokens:
        each = max(one.prompt_tokens // one.prompts, 1)
        return replace(stand_in, batch=one.prompts, prompt_tokens=each, output_tokens=1)
    return replace(stand_in, batch=max(one.answers, 1))


def _ranks(cut: Cut) -> int:
    found = [piece.talk.ranks for piece in cut.pieces if piece.talk is not None]
    return min(max((ranks for ranks in found if ranks), default=1), MOST_RANKS)


def _model(reading: Reading, cut: Cut, stand_in: ModelSpec) -> ModelSpec:
    """The trace's model; where nobody knows it, a stand-in of as many layers that says so."""
    known = reading.model
    n_layers = max(cut.n_layers, 1)
    if known is not None and len(known.layers) == n_layers:
        return known
    kinds = cut.kinds or (0,) * n_layers
    layer = stand_in.layers[0]
    windows = {kind: place or None for place, kind in enumerate(dict.fromkeys(kinds))}
    # Layers of another kind must not be equal, so that each kind is shown once.
    layers = tuple(
        replace(layer, attention=replace(layer.attention, window=windows[kind]))
        if layer.attention is not None
        else layer
        for kind in kinds
    )
    title = known.title if known is not None else f"{stand_in.title} (stand-in)"
    return replace(known or stand_in, title=title, layers=layers)


def _cluster(reading: Reading, n_ranks: int, stand_in: ClusterSpec) -> ClusterSpec:
    """The GPU's usual machines; where the catalogue lacks it, some without a name."""
    head = reading.head
    title = head.gpu_name or "GPU"
    if reading.gpu is not None:
        with contextlib.suppress(ScenarioError):
            return machines(reading.gpu, n_ranks)
    return replace(
        stand_in,
        device=replace(stand_in.device, title=title),
        scale_up=replace(stand_in.scale_up, title="?"),
        gpus_per_node=max(stand_in.gpus_per_node, 1),
    )


def _span(index: int, piece: Piece, step: int, cut: Cut, scenario: Scenario, phase: Phase) -> Span:
    """One piece as a span; communication of an unknown kind has no picture but waiting."""
    layer = piece.mark.layer
    n_ranks = scenario.parallel.tp
    common = Span(
        index=index,
        step=step,
        phase=phase,
        kind="compute",
        start_s=piece.start_s - cut.start_s,
        end_s=piece.end_s - cut.start_s,
        stage=0 if layer else None,
        layer=layer,
        layers=cut.n_layers if layer else 0,
        part=piece.mark.part,
        groups=(tuple(range(n_ranks)),),
        time_source="measured",
    )
    talk = piece.talk
    if talk is None:
        return common
    groups, kind = _groups(talk.ranks or n_ranks, n_ranks), talk.kind
    if kind == "unknown" or kind == "barrier" or not groups:
        return replace(common, part=None, groups=())
    size = float(talk.size_bytes or 0)
    wire = bus_factor(kind, len(groups[0])) * size
    return replace(
        common,
        kind="collective",
        part=None,
        collective=kind,
        algorithm=_algorithm(talk, kind),
        payload="token" if kind == "broadcast" else "activations",
        traffic_class="tp",
        groups=groups,
        message_size_bytes=size,
        bus_bandwidth_bytes_per_s=wire / piece.whole_s if size else None,
    )


def _groups(size: int, n_ranks: int) -> tuple[tuple[int, ...], ...]:
    """Neighbouring ranks together; only the recorded group where sizes do not divide."""
    size = min(size, n_ranks)
    if size < 2:
        return ()
    if n_ranks % size:
        return (tuple(range(size)),)
    return tuple(tuple(range(at, at + size)) for at in range(0, n_ranks, size))


def _algorithm(talk: Talk, kind: Collective) -> str:
    """The schedule by the kernel's name, where it names one that is known."""
    said = talk.algorithm.replace("collnet_", "").replace("nvls_tree", "nvls")
    return said if said in ALGORITHMS[kind] else default_algorithm(kind)


def _steps(
    reading: Reading, cut: Cut, scenario: Scenario, spans: tuple[Span, ...]
) -> tuple[StepTime, ...]:
    """Times of the steps; what is neither kernels nor talk is waiting, for the host as a rule."""
    steps: list[StepTime] = []
    for index, spec in enumerate(scenario.steps):
        own = [span for span in spans if span.step == index]
        whole = sum(span.duration_s for span in own)
        talks = sum(span.duration_s for span in own if span.collective is not None)
        start_s, end_s = cut.start_s + own[0].start_s, cut.start_s + own[-1].end_s
        computing = min(_computing_s(reading, start_s, end_s), whole - talks)
        steps.append(
            StepTime(
                index=index,
                id=spec.id,
                phase=spec.phase,
                start_s=own[0].start_s,
                end_s=own[-1].end_s,
                compute_s=computing,
                communication_s=talks,
                host_s=whole - talks - computing,
                first_span=own[0].index,
                last_span=own[-1].index + 1,
            )
        )
    return tuple(steps)


def _computing_s(reading: Reading, start_s: float, end_s: float) -> float:
    """Seconds in which a kernel of the busiest queue computes."""
    queue = reading.queue
    if queue is None:
        return 0.0
    inside = (queue.start_s >= start_s - 1e-12) & (queue.start_s < end_s) & (queue.talk < 0)
    return float((queue.end_s[inside] - queue.start_s[inside]).sum())
