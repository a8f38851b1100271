"""From a plan to a timeline: when every task starts and ends."""

from __future__ import annotations

from dataclasses import replace

from gpuflow.engine.plan import Planner, Task
from gpuflow.engine.timeline import Span, StepTime, Timeline
from gpuflow.scenario.spec import Scenario


def simulate(scenario: Scenario) -> Timeline:
    """Play one prefill pass and one decode lap to the end.

    The lap shown is the mean one; TPOT is its length. The other laps are one folded span at the
    end of the last decode step.
    """
    planner = Planner(scenario)
    tasks = planner.tasks()
    spans = _spans(scenario, tasks)
    steps = _steps(scenario, spans)
    prefill_ends = [s.end_s for s in steps if s.phase == "prefill"]
    ttft_s = max(prefill_ends, default=0.0)
    laps = max(scenario.workload.output_tokens - 1, 0)
    lap_s = max((s.end_s for s in spans), default=ttft_s) - ttft_s
    if laps == 0:
        lap_s = 0.0
    if laps > 1:
        spans = (*spans, _fold(scenario, spans, laps - 1, lap_s))
    return Timeline(
        scenario=scenario,
        spans=spans,
        steps=_with_fold(steps, spans),
        ttft_s=ttft_s,
        tpot_s=lap_s,
        laps=laps,
        end_s=ttft_s + laps * lap_s,
    )


def _spans(scenario: Scenario, tasks: tuple[Task, ...]) -> tuple[Span, ...]:
    ends: list[float] = []
    spans: list[Span] = []
    for index, task in enumerate(tasks):
        start = max((ends[i] for i in task.after), default=0.0)
        ends.append(start + task.duration_s)
        spans.append(
            Span(
                index=index,
                step=task.step,
                phase=scenario.steps[task.step].phase,
                kind=task.kind,
                start_s=start,
                end_s=ends[-1],
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
            )
        )
    return tuple(spans)


def _fold(scenario: Scenario, spans: tuple[Span, ...], laps: int, lap_s: float) -> Span:
    start = spans[-1].end_s
    return Span(
        index=len(spans),
        step=len(scenario.steps) - 1,
        phase="decode",
        kind="fold",
        start_s=start,
        end_s=start + laps * lap_s,
        stage=None,
        layer=0,
        layers=0,
        repeats=laps,
    )


def _steps(scenario: Scenario, spans: tuple[Span, ...]) -> tuple[StepTime, ...]:
    steps: list[StepTime] = []
    clock, first = 0.0, 0
    for index, step in enumerate(scenario.steps):
        last = first
        seconds = {"compute": 0.0, "host": 0.0, "communication": 0.0}
        while last < len(spans) and spans[last].step == index:
            span = spans[last]
            kind = span.kind if span.kind in seconds else "communication"
            seconds[kind] += span.duration_s
            last += 1
        end = spans[last - 1].end_s if last > first else clock
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
        clock, first = end, last
    return tuple(steps)


def _with_fold(steps: tuple[StepTime, ...], spans: tuple[Span, ...]) -> tuple[StepTime, ...]:
    """Let the last step own the folded span without counting its time."""
    last = steps[-1]
    if not spans or spans[-1].kind != "fold":
        return steps
    return (*steps[:-1], replace(last, last_span=last.last_span + 1))
