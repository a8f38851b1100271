"""Chunks and micro-batches that follow the pass shown through the pipeline's stages.

m micro-batches of n chunks each. The pass shown takes all stages one after the other; each further
pass ends one turn of the slowest stage later. In decoding every group goes round once a lap, and a
lap lasts as long as its own way or m turns of the slowest stage, whichever is longer.
Sources: Huang et al. 2019 (GPipe) for the bubble; Agrawal et al. 2024 (Sarathi-Serve) for chunks.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpuflow.cluster.pass_shape import prompt_chunks
from gpuflow.engine.plan import Task
from gpuflow.engine.timeline import Pipelining
from gpuflow.scenario.spec import Phase, Scenario

_OUTPUT_PARTS = frozenset({"head", "sampling"})
_OUTPUT_PAYLOADS = frozenset({"logits", "token", "output"})


def pipelining_of(scenario: Scenario, tasks: Sequence[Task]) -> Pipelining | None:
    """What follows the pass shown; None where nothing does."""
    micro, chunks = scenario.workload.micro_batches, prompt_chunks(scenario)
    if micro == 1 and chunks == 1:
        return None
    prefill, decode = (_Pass(scenario, tasks, phase) for phase in ("prefill", "decode"))
    turn = prefill.turn_s(with_output=False)
    rest = (chunks - 1) * turn
    rest += (micro - 1) * max((chunks - 1) * turn + prefill.turn_s(with_output=True), 0.0)
    lap = max(decode.whole_s, micro * decode.turn_s(with_output=True))
    passes = micro * chunks
    return Pipelining(
        prefill_passes=passes,
        micro_batches=micro,
        prefill_rest_s=rest,
        lap_wait_s=lap - decode.whole_s,
        prefill_bubble_share=prefill.bubble_share(passes, prefill.whole_s + rest),
        decode_bubble_share=decode.bubble_share(micro, lap),
    )


class _Pass:
    """The tasks of one phase, summed up by stage."""

    def __init__(self, scenario: Scenario, tasks: Sequence[Task], phase: Phase) -> None:
        mine = [task for task in tasks if scenario.steps[task.step].phase == phase]
        self.stages = [0.0] * scenario.parallel.pp
        self.output_s = self.host_s = 0.0
        self.whole_s = sum(task.duration_s for task in mine)
        for task in mine:
            if task.kind == "host":
                self.host_s += task.duration_s
            elif task.part in _OUTPUT_PARTS or task.payload in _OUTPUT_PAYLOADS:
                self.output_s += task.duration_s
            elif task.stage is not None and task.kind != "send":
                self.stages[task.stage] += task.duration_s

    def turn_s(self, *, with_output: bool) -> float:
        """What the slowest stage takes for one pass, the output's way included or not."""
        last = self.stages[-1] + (self.output_s if with_output else 0.0)
        return max(*self.stages, last) + self.host_s

    def bubble_share(self, passes: int, whole_s: float) -> float:
        """Part of all stages' time in which they have nothing to do."""
        if len(self.stages) == 1 or not whole_s:
            return 0.0
        return 1 - passes * sum(self.stages) / (len(self.stages) * whole_s)
