"""A comparison as a document and as tables, with a sentence for every reason."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields

from gpuflow.engine.comparison import Cause, Comparison, Messages, Metric, MetricId
from gpuflow.exporters.comparison_reasons import (
    METRIC_OF,
    part_text,
    reason,
    signed_share,
    signed_time,
)
from gpuflow.exporters.plain import scenario_line
from gpuflow.exporters.tables import NOTHING, Cell, Column, Table
from gpuflow.scenario.spec import AUTO, Language, Phase, Scenario
from gpuflow.units import (
    Kind,
    Quantity,
    format_quantity,
    format_time,
)
from gpuflow.words import t

LEAST_SHARE = 5e-4
"""Of TTFT or TPOT: smaller differences have no sentence."""
LEAST_PART = 1e-4
"""Of TTFT or TPOT: smaller parts stand in one row."""
LEAST_SPELT = 5e-5
"""Of TTFT or TPOT: smaller differences are next to nothing."""
MOST_REASONS = 5
"""Sentences a phase."""
KINDS: Mapping[MetricId, Kind] = {
    "gpus": "count",
    "ttft_s": "time",
    "tpot_s": "time",
    "tokens_per_s_per_user": "count",
    "tokens_per_s": "count",
    "tokens_per_s_per_gpu": "count",
    "weights_bytes": "bytes",
    "spare_bytes": "bytes",
    "max_batch": "count",
}
LESS_IS_BETTER = frozenset({"gpus", "ttft_s", "tpot_s", "weights_bytes"})

Names = tuple[str, str]
"""What A and B are called."""


def comparison_document(found: Comparison, names: Names, language: Language) -> dict[str, object]:
    """What `compare --format json` holds besides schema and inputs."""
    return {
        "differs": [
            {"name": name, "a": one, "b": other}
            for name, one, other in differing(found.a.scenario, found.b.scenario)
        ],
        "metrics": [_metric_record(metric) for metric in found.metrics],
        "reasons": [
            _cause_record(cause, found, language) for cause in found.causes if cause.difference_s
        ],
        "conclusions": [
            {"phase": phase, "text": _verdict(found, phase, names, language)}
            for phase in found.work
        ],
    }


def _metric_record(metric: Metric) -> dict[str, object]:
    return {
        "id": metric.id,
        "a": metric.a,
        "b": metric.b,
        "difference": metric.difference,
        "ratio": metric.ratio,
    }


def _cause_record(cause: Cause, found: Comparison, language: Language) -> dict[str, object]:
    return {
        "phase": cause.phase,
        "bound": cause.bound,
        "class": cause.traffic_class,
        "a_s": cause.a_s,
        "b_s": cause.b_s,
        "difference_s": cause.difference_s,
        "share": cause.share,
        "a_messages": _messages_record(cause.a_messages),
        "b_messages": _messages_record(cause.b_messages),
        "text": reason(cause, found, language),
    }


def _messages_record(messages: Messages | None) -> dict[str, object] | None:
    if messages is None:
        return None
    return {
        "messages": messages.count,
        "collective": messages.collective,
        "message_size_bytes": messages.size_bytes,
        "ranks": messages.ranks,
        "fabric": messages.fabric,
        "across_nodes": messages.is_across_nodes,
        "empty_message_s": messages.floor_s,
        "time_source": messages.time_source,
    }


def differing(a: Scenario, b: Scenario) -> Iterator[tuple[str, object, object]]:
    """What was asked differently: name, A's value, B's value."""
    for name in (
        *("scenario", "model", "precision", "gpu", "scale_up", "scale_out", "gpus_per_node"),
        *("tp", "pp", "dp", "ep", "layers", "batch", "prompt", "output", "context", "chunk"),
        *("micro_batches", "overlap", "profile", "all_reduce"),
    ):
        one, other = _asked(a)[name], _asked(b)[name]
        if one != other:
            yield name, one, other


def _asked(scenario: Scenario) -> dict[str, object]:
    cluster, parallel, workload = scenario.cluster, scenario.parallel, scenario.workload
    degrees = {field.name: getattr(parallel, field.name) for field in fields(parallel)}
    degrees["layers"] = list(degrees.pop("stage_layers")) or None
    return {
        "scenario": scenario.name,
        "model": scenario.model.title,
        "precision": scenario.precision,
        "gpu": cluster.device.title,
        "scale_up": cluster.scale_up.title,
        "scale_out": cluster.scale_out.title,
        "gpus_per_node": cluster.gpus_per_node,
        **degrees,
        "batch": workload.batch,
        "prompt": workload.prompt_tokens,
        "output": workload.output_tokens,
        "context": workload.context_tokens,
        "chunk": workload.chunk_tokens,
        "micro_batches": workload.micro_batches,
        "overlap": workload.overlap,
        "profile": scenario.profile.name,
        "all_reduce": scenario.all_reduce or AUTO,
    }


# ---------------------------------------------------------------- for people


def comparison_tables(found: Comparison, names: Names, language: Language) -> list[Table]:
    """The figures of both, then for each phase what makes the difference."""
    return [
        _metrics_table(found, names, language),
        *(_phase_table(found, phase, names, language) for phase in found.work),
    ]


def _metrics_table(found: Comparison, names: Names, language: Language) -> Table:
    a, b = found.a.scenario, found.b.scenario
    differences = [
        t("compare.changed", language, name=_name(name, language), a=_value(one), b=_value(other))
        for name, one, other in differing(a, b)
    ]
    key = "compare.differs" if differences else "compare.same"
    columns = ("figure", "a", "b", "difference")
    return Table(
        title=t("compare.heading", language, a=names[0], b=names[1]),
        intro=(
            t("compare.side", language, name="A", setup=scenario_line(a, language)),
            t("compare.side", language, name="B", setup=scenario_line(b, language)),
            t(key, language, differences=differences),
        ),
        columns=_columns(columns, names, language),
        rows=tuple(_metric_row(metric, language) for metric in found.metrics),
    )


def _columns(keys: tuple[str, ...], names: Names, language: Language) -> tuple[Column, ...]:
    return tuple(
        Column(
            t(f"compare.column.{key}", language, a=names[0], b=names[1]),
            "left" if key in {"figure", "part"} else "right",
        )
        for key in keys
    )


def _name(name: str, language: Language) -> str:
    return t(f"compare.name.{name}", language)


def _value(value: object) -> str:
    if value is None:
        return NOTHING
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value)


def _metric_row(metric: Metric, language: Language) -> tuple[Cell, ...]:
    kind = KINDS[metric.id]
    return (
        Cell(t(f"compare.metric.{metric.id}", language)),
        Cell(_written(metric.a, kind)),
        Cell(_written(metric.b, kind)),
        _difference_cell(metric, kind),
    )


def _written(value: float | None, kind: Kind) -> str:
    return NOTHING if value is None else format_quantity(Quantity(value, kind))


def _difference_cell(metric: Metric, kind: Kind) -> Cell:
    if metric.difference is None or metric.ratio is None:
        return Cell(NOTHING, "dim")
    if not metric.difference:
        return Cell("=", "dim")
    sign = "+" if metric.difference > 0 else "−"
    text = f"{sign}{_written(abs(metric.difference), kind)}"
    if metric.a and metric.a > 0 and metric.id != "gpus":
        text += f" ({signed_share(metric.ratio - 1)})"
    if metric.id == "gpus":
        return Cell(text)
    is_better = (metric.difference < 0) == (metric.id in LESS_IS_BETTER)
    return Cell(text, "ok" if is_better else "short")


def _phase_table(found: Comparison, phase: Phase, names: Names, language: Language) -> Table:
    causes = found.of(phase)
    least_s = LEAST_PART * causes[0].whole_a_s
    small = [cause for cause in causes if max(cause.a_s, cause.b_s) < least_s]
    rows = [_cause_row(cause, language) for cause in causes if cause not in small]
    if small:
        name = t("compare.smaller", language, count=len(small))
        rows.append((Cell(name), *_cause_row(_sum(small), language)[1:]))
    rows.append((Cell(METRIC_OF[phase], "head"), *_cause_row(_sum(causes), language)[1:]))
    told = [cause for cause in causes if abs(cause.share) >= LEAST_SHARE]
    notes = [_verdict(found, phase, names, language)]
    notes += [reason(cause, found, language) for cause in told[:MOST_REASONS]]
    notes += _shift(causes, language)
    return Table(
        title=t("compare.phase", language, metric=METRIC_OF[phase]),
        columns=_columns(("part", "a", "b", "difference", "share"), names, language),
        rows=tuple(rows),
        notes=tuple(notes),
    )


def _sum(causes: Sequence[Cause]) -> Cause:
    """Several parts as one, which has no name of its own."""
    return Cause(
        phase=causes[0].phase,
        bound="waiting",
        traffic_class=None,
        a_s=sum(cause.a_s for cause in causes),
        b_s=sum(cause.b_s for cause in causes),
        whole_a_s=causes[0].whole_a_s,
        a_messages=None,
        b_messages=None,
    )


def _shift(causes: Sequence[Cause], language: Language) -> list[str]:
    """Where parts of the model change from one bound to the other, both together."""
    bounds = {cause.bound: cause for cause in causes if cause.bound in {"memory", "arithmetic"}}
    if len(bounds) < 2:
        return []
    memory, arithmetic = bounds["memory"], bounds["arithmetic"]
    both = _sum([memory, arithmetic])
    smaller = min(abs(memory.share), abs(arithmetic.share))
    if memory.difference_s * arithmetic.difference_s >= 0 or smaller < LEAST_SHARE:
        return []
    key = "compare.shift.to_memory" if memory.difference_s > 0 else "compare.shift.to_arithmetic"
    return [
        t(
            key,
            language,
            a=format_time(both.a_s),
            b=format_time(both.b_s),
            difference=signed_time(both.difference_s),
            share=signed_share(both.share),
        )
    ]


def _share_text(cause: Cause) -> str:
    """The difference in per cent of A's whole; next to nothing is not spelt out."""
    if not cause.difference_s:
        return "="
    return signed_share(cause.share) if abs(cause.share) >= LEAST_SPELT else "≈ 0 %"


def _cause_row(cause: Cause, language: Language) -> tuple[Cell, ...]:
    role = "" if not cause.difference_s else "short" if cause.difference_s > 0 else "ok"
    kind = cause.traffic_class or ""
    return (
        Cell(part_text(cause, language), kind if kind in {"tp", "pp", "ep"} else ""),
        Cell(format_time(cause.a_s) if cause.a_s else NOTHING),
        Cell(format_time(cause.b_s) if cause.b_s else NOTHING),
        Cell(signed_time(cause.difference_s) if cause.difference_s else "=", role),
        Cell(_share_text(cause), role),
    )


def _verdict(found: Comparison, phase: Phase, names: Names, language: Language) -> str:
    """How TTFT or TPOT of B stands to A's, and the part that makes most of the difference."""
    metric = found.metric("ttft_s" if phase == "prefill" else "tpot_s")
    a, b = metric.a or 0.0, metric.b or 0.0
    values: dict[str, object] = {
        "metric": METRIC_OF[phase],
        "a": format_time(a),
        "b": format_time(b),
        "difference": signed_time(b - a),
        "share": signed_share((b - a) / a if a else 0.0),
    }
    causes = [cause for cause in found.of(phase) if (cause.difference_s > 0) == (b > a)]
    if abs(b - a) < LEAST_SHARE * a or not causes:
        return t("compare.verdict.same", language, **values)
    first = causes[0]
    return t(
        "compare.verdict.mostly",
        language,
        part=part_text(first, language),
        part_difference=signed_time(first.difference_s),
        part_share=signed_share(first.share),
        **values,
    )
