"""The spans of a timeline as records: JSON for programs, CSV with one row a span."""

from __future__ import annotations

from gpuflow.cluster.parameters import stage_layers
from gpuflow.engine.timeline import Span, StepTime, Timeline


def timeline_document(timeline: Timeline, step: int | None = None) -> dict[str, object]:
    """What `export --to json` holds besides schema and inputs.

    Args:
        timeline: The spans of one prefill pass and one decode lap, folds included.
        step: Index of the only step whose spans are wanted; None: all.
    """
    return {
        "ttft_s": timeline.ttft_s,
        "tpot_s": timeline.tpot_s if timeline.laps else None,
        "end_s": timeline.end_s,
        "laps": timeline.laps,
        "steps": [_step(one) for one in timeline.steps if step in {None, one.index}],
        "spans": span_records(timeline, step),
    }


def _step(step: StepTime) -> dict[str, object]:
    return {
        "number": step.index + 1,
        "id": step.id,
        "phase": step.phase,
        "start_s": step.start_s,
        "end_s": step.end_s,
        "is_idle": step.is_idle,
    }


def span_records(timeline: Timeline, step: int | None = None) -> list[dict[str, object]]:
    """One record a span, in the order of time."""
    spans = (span for span in timeline.spans if step in {None, span.step})
    return [span_record(span, timeline) for span in spans]


def span_record(span: Span, timeline: Timeline) -> dict[str, object]:
    """One span; what does not apply is None, times are in seconds, sizes in bytes."""
    is_message = span.collective is not None
    return {
        "index": span.index,
        "start_s": span.start_s,
        "end_s": span.end_s,
        "duration_s": span.duration_s,
        "step": span.step + 1,
        "step_id": timeline.steps[span.step].id,
        "phase": span.phase,
        "kind": span.kind,
        "stage": None if span.stage is None else span.stage + 1,
        "layer": _layer(span, timeline),
        "part": span.part,
        "collective": span.collective,
        "algorithm": span.algorithm or None,
        "class": span.traffic_class,
        "payload": span.payload,
        "ranks": len(span.groups[0]) if span.groups else None,
        "groups": [list(group) for group in span.groups],
        "root": span.root if is_message else None,
        "message_size_bytes": span.message_size_bytes if is_message else None,
        "bus_bandwidth_bytes_per_s": span.bus_bandwidth_bytes_per_s,
        "time_source": None if span.kind == "fold" else span.time_source,
        "host_action": span.host_action or None,
        "fold": span.fold,
        "repeats": span.repeats,
    }


def _layer(span: Span, timeline: Timeline) -> int | None:
    """Layer of the model, from 1; None where the work is not of one layer."""
    if span.stage is None or not span.layer:
        return None
    return stage_layers(timeline.scenario, span.stage).start + span.layer
