"""How full the KV cache of each stage is: written layer by layer as attention runs."""

from __future__ import annotations

from bisect import bisect_right

from gpuflow.cluster.cost import CostModel
from gpuflow.cluster.parameters import stage_layers
from gpuflow.engine.timeline import Span, Timeline


class CacheFill:
    """KV bytes of one GPU of each stage over time.

    In prefill a layer's cache grows from nothing to the prompt's length, in the lap by one token a
    sequence; folded passes, groups and laps add theirs evenly. With a fixed context the decode
    phase starts with the cache that context implies. Of a recording nothing is known: it is empty.
    """

    def __init__(self, timeline: Timeline) -> None:
        self.timeline = timeline
        self.cost = CostModel(timeline.scenario)
        self._curves: dict[int, tuple[list[float], list[float]]] = {}

    def bytes_at(self, stage: int, time_s: float) -> float:
        """Bytes held by one GPU of a stage at a simulated second."""
        times, filled = self._curve(stage)
        i = bisect_right(times, time_s)
        if i == 0:
            return 0.0
        if i == len(times):
            return filled[-1]
        t0, t1, b0, b1 = times[i - 1], times[i], filled[i - 1], filled[i]
        return b0 + (b1 - b0) * (time_s - t0) / (t1 - t0)

    def bytes_per_token(self, stage: int) -> float:
        """Bytes one more token of one sequence takes on one GPU, windows aside."""
        layers = self.timeline.scenario.model.layers
        return sum(
            self.cost.kv_bytes_per_token(layers[i].attention)
            for i in stage_layers(self.timeline.scenario, stage)
        )

    def capacity_bytes(self, stage: int) -> float:
        """Memory of one GPU that its weights leave; 0 when they do not fit."""
        device = self.timeline.scenario.cluster.device
        return max(device.memory_bytes - self.cost.stage_weight_bytes(stage), 0.0)

    def _curve(self, stage: int) -> tuple[list[float], list[float]]:
        if stage not in self._curves:
            self._curves[stage] = self._build(stage)
        return self._curves[stage]

    def _build(self, stage: int) -> tuple[list[float], list[float]]:
        times, filled = [0.0], [0.0]
        if self.timeline.recording is not None:
            return times, filled
        workload = self.timeline.scenario.workload
        before = workload.prompt_tokens
        if workload.context_tokens is not None:
            before = workload.context_tokens - 1
        lap_starts = False
        for span in self.timeline.spans:
            if span.phase == "decode" and not lap_starts:
                lap_starts = True
                if workload.context_tokens is not None:
                    _add(times, filled, span.start_s, span.start_s, self._whole(stage, before))
            grown = self._grown(span, stage, before)
            if grown:
                _add(times, filled, span.start_s, span.end_s, filled[-1] + grown)
        return times, filled

    def _whole(self, stage: int, tokens: float) -> float:
        return self.cost.stage_kv_bytes(stage, tokens)

    def _grown(self, span: Span, stage: int, before: int) -> float:
        workload = self.timeline.scenario.workload
        if span.kind == "fold":
            return self._folded(span, stage, before)
        if span.part != "attention" or span.stage != stage:
            return 0.0
        index = stage_layers(self.timeline.scenario, stage)[span.layer - 1]
        layer = self.timeline.scenario.model.layers[index]
        if span.phase == "prefill":
            held = self.cost.layer_kv_bytes(layer, workload.prompt_tokens)
            return workload.batch * held / self._passes
        held = self.cost.layer_kv_bytes(layer, before + 1) - self.cost.layer_kv_bytes(layer, before)
        return workload.batch * held / self._turns

    @property
    def _passes(self) -> int:
        pipelining = self.timeline.pipelining
        return pipelining.prefill_passes if pipelining is not None else 1

    @property
    def _turns(self) -> int:
        """Groups that write one after the other; 1 where the others do so in the lap's own time."""
        pipelining = self.timeline.pipelining
        waits = pipelining is not None and pipelining.lap_wait_s > 0
        return self.timeline.scenario.workload.micro_batches if waits else 1

    def _folded(self, span: Span, stage: int, before: int) -> float:
        workload = self.timeline.scenario.workload
        if span.fold == "passes":
            return self._whole(stage, workload.prompt_tokens) * (1 - 1 / self._passes)
        lap = self._whole(stage, before + 1) - self._whole(stage, before)
        if span.fold == "groups":
            return lap * (1 - 1 / self._turns)
        if workload.context_tokens is not None:
            return 0.0
        end = workload.prompt_tokens + self.timeline.laps
        return self._whole(stage, end) - self._whole(stage, before + 1)


def _add(
    times: list[float], filled: list[float], start_s: float, end_s: float, value: float
) -> None:
    """Extend a piecewise linear curve; equal times make a step."""
    if start_s > times[-1]:
        times.append(start_s)
        filled.append(filled[-1])
    times.append(max(end_s, times[-1]))
    filled.append(value)
