"""From a plan to a timeline: when every task starts and ends."""

from __future__ import annotations

from gpuflow.engine.pipelining import pipelining_of
from gpuflow.engine.plan import Planner, Task
from gpuflow.engine.timeline import FoldKind, Span, StepTime, Timeline
from gpuflow.scenario.spec import Phase, Scenario


def simulate(scenario: Scenario) -> Timeline:
    """Play one prefill pass and one decode lap to the end.

    The lap shown is the mean one; TPOT is its length. Other chunks and micro-batches are one folded
    span at the end of prefill and of the lap, the other laps one at the end of the answer.
    """
    tasks = Planner(scenario).tasks()
    pipelining = pipelining_of(scenario, tasks)
    tape = _Tape(scenario)
    laps = max(scenario.workload.output_tokens - 1, 0)
    phases: tuple[Phase, Phase] = ("prefill", "decode")
    for phase in phases:
        for task in tasks:
            if scenario.steps[task.step].phase == phase:
                tape.add(task)
        if phase == "prefill":
            if pipelining is not None:
                tape.fold("passes", pipelining.prefill_rest_s, pipelining.prefill_passes - 1)
            ttft_s = tape.clock_s
        elif pipelining is not None:
            tape.fold("groups", pipelining.lap_wait_s, pipelining.micro_batches - 1)
    lap_s = tape.clock_s - ttft_s if laps else 0.0
    tape.fold("laps", (laps - 1) * lap_s, laps - 1)
    spans = tuple(tape.spans)
    return Timeline(
        scenario=scenario,
        spans=spans,
        steps=_steps(scenario, spans),
        ttft_s=ttft_s,
        tpot_s=lap_s,
        laps=laps,
        end_s=ttft_s + laps * lap_s,
        pipelining=pipelining,
    )


class _Tape:
    """Spans one after the other, as the tasks of a single pass in flight run."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.spans: list[Span] = []
        self.clock_s = 0.0

    def add(self, task: Task) -> None:
        """The span of a task."""
        start, self.clock_s = self.clock_s, self.clock_s + task.duration_s
        self.spans.append(
            Span(
                index=len(self.spans),
                step=task.step,
                phase=self.scenario.steps[task.step].phase,
                kind=task.kind,
                start_s=start,
                end_s=self.clock_s,
                stage=task.stage,
                layer=task.layer,
                layers=task.layers,
                part=task.part,
                collective=task.collective,
                algorithm=task.algorithm,
                payload=task.payload,
                traffic_class=task.traffic_class,
                groups=task.groups,
                root=task.root,
                message_size_bytes=task.message_size_bytes,
                bus_bandwidth_bytes_per_s=task.bus_bandwidth_bytes_per_s,
                time_source=task.time_source,
                host_action=task.host_action,
                lasts_s=task.duration_s,
            )
        )

    def fold(self, kind: FoldKind, duration_s: float, repeats: int) -> None:
        """A folded span in the step of the last task; nothing where there is nothing to fold."""
        if duration_s <= 0 or repeats < 1 or not self.spans:
            return
        start, self.clock_s = self.clock_s, self.clock_s + duration_s
        last = self.spans[-1]
        self.spans.append(
            Span(
                index=len(self.spans),
                step=last.step,
                phase=last.phase,
                kind="fold",
                start_s=start,
                end_s=self.clock_s,
                stage=None,
                layer=0,
                layers=0,
                repeats=repeats,
                fold=kind,
                lasts_s=duration_s,
            )
        )


def _steps(scenario: Scenario, spans: tuple[Span, ...]) -> tuple[StepTime, ...]:
    """The steps' times; a step owns the folds at its end without counting their time."""
    steps: list[StepTime] = []
    clock, first = 0.0, 0
    for index, step in enumerate(scenario.steps):
        last, end = first, clock
        seconds = {"compute": 0.0, "host": 0.0, "communication": 0.0}
        after = clock
        while last < len(spans) and spans[last].step == index:
            span = spans[last]
            after = span.end_s
            if span.kind != "fold":
                kind = span.kind if span.kind in seconds else "communication"
                seconds[kind] += span.duration_s
                end = span.end_s
            last += 1
        steps.append(
            StepTime(
                index=index,
                id=step.id,
                phase=step.phase,
                start_s=clock,
                end_s=end,
                compute_s=seconds["compute"],
                communication_s=seconds["communication"],
                host_s=seconds["host"],
                first_span=first,
                last_span=last,
            )
        )
        clock, first = after, last
    return tuple(steps)
