"""An estimate as a document for programs and as tables for people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpuflow.draw.scene import step_texts
from gpuflow.engine.curves_used import curves_used
from gpuflow.engine.metrics import Estimate, RankMemory
from gpuflow.exporters.collective_tables import detail_notes
from gpuflow.exporters.collectives import calibration_record
from gpuflow.exporters.figures import (
    count_or_nothing,
    time_or_nothing,
)
from gpuflow.exporters.fitting import fits_document, fits_rows, shortage_text
from gpuflow.exporters.plain import scenario_line, step_record
from gpuflow.exporters.tables import Cell, Column, Table, table_of
from gpuflow.scenario.spec import Language
from gpuflow.units import format_bytes, format_share, format_time
from gpuflow.words import joined, t

_MOST_LINKS = 40
"""Rows of the link table; beyond, the busiest are shown and the rest counted."""
_ONE_PASS = 1.001
"""A TTFT above so many times its steps is more than one pass; below, it is how sums are rounded."""


def estimate_document(estimate: Estimate, language: Language) -> dict[str, object]:
    """What `estimate --format json` holds besides schema and inputs."""
    return {
        "ttft_s": estimate.ttft_s,
        "tpot_s": estimate.tpot_s,
        "tpot_at": [{"position": at.position, "tpot_s": at.tpot_s} for at in estimate.tpot_at],
        "tokens_per_s_per_user": estimate.tokens_per_s_per_user,
        "tokens_per_s": estimate.tokens_per_s,
        "steps": [step_record(step) for step in estimate.steps],
        "traffic": [
            {
                "class": row.traffic_class,
                "phase": row.phase,
                "collective": row.collective,
                "algorithm": row.algorithm,
                "ranks": row.ranks,
                "message_size_bytes": row.message_size_bytes,
                "messages": row.messages,
                "time_s": row.time_s,
                "share": row.share,
                "time_source": row.time_source,
            }
            for row in estimate.traffic
        ],
        "calibrations": [
            {
                "collective": use.collective,
                "ranks": use.ranks,
                "time_sources": list(use.time_sources),
                **(calibration_record(use.detail) or {}),
            }
            for use in curves_used(estimate.timeline)
        ],
        "links": [
            {
                "from": link.source,
                "to": link.destination,
                "phase": link.phase,
                "bytes": link.size_bytes,
            }
            for link in estimate.links
        ],
        "memory": [
            {
                "rank": row.rank,
                "weights_bytes": row.weights_bytes,
                "kv_bytes": row.kv_bytes,
                "free_bytes": row.free_bytes,
                "activations_bytes": row.activations_bytes,
                "spare_bytes": row.spare_bytes,
            }
            for row in estimate.memory
        ],
        "fits": fits_document(estimate.fits),
        "assumed": [
            {
                "key": item.key,
                "value": item.value,
                "reason": item.reason,
                "text": t(f"assumed.{item.reason}", language, key=item.key, value=item.value),
            }
            for item in estimate.assumed
        ],
        "not_modelled": [
            {"id": code, "text": t(f"not_modelled.{code}", language)}
            for code in estimate.not_modelled
        ],
    }


def estimate_tables(estimate: Estimate, language: Language) -> list[Table]:
    """What people read: results, steps, traffic, links, memory; then what was taken for granted."""
    return [
        _results(estimate, language),
        _steps(estimate, language),
        _traffic(estimate, language),
        _links(estimate, language),
        _memory(estimate, language),
    ]


def _results(estimate: Estimate, language: Language) -> Table:
    rows = [
        ("TTFT", time_or_nothing(estimate.ttft_s), t("estimate.about.ttft", language)),
        ("TPOT", time_or_nothing(estimate.tpot_s), t("estimate.about.tpot", language)),
    ]
    for at in estimate.tpot_at:
        name = t("estimate.tpot_at", language, position=at.position)
        rows.append((name, format_time(at.tpot_s), ""))
    for name, value in (
        ("tokens_per_s_per_user", estimate.tokens_per_s_per_user),
        ("tokens_per_s", estimate.tokens_per_s),
    ):
        about = t(f"estimate.about.{name}", language)
        rows.append((t(f"estimate.{name}", language), count_or_nothing(value), about))
    return table_of(
        scenario_line(estimate.timeline.scenario, language),
        [
            Column(t("estimate.figure", language)),
            Column(t("estimate.value", language), "right"),
            Column(t("estimate.meaning", language)),
        ],
        rows,
    )


def _steps(estimate: Estimate, language: Language) -> Table:
    rows = [
        (
            str(step.index + 1),
            t(f"explain.phase.{step.phase}", language),
            step_texts(estimate.timeline, step.index, language).title,
            format_time(step.duration_s),
            format_time(step.compute_s),
            format_time(step.communication_s),
            format_time(step.host_s),
        )
        for step in estimate.steps
    ]
    names = ("step", "phase", "title", "duration", "compute", "communication", "host")
    title = t("estimate.steps", language)
    overhead_s = estimate.timeline.scenario.profile.layer_overhead_s
    notes = [t("estimate.launches", language, time=format_time(overhead_s))] if overhead_s else []
    return table_of(title, _columns(names, 3, language), rows, notes)


def _columns(names: tuple[str, ...], texts: int, language: Language) -> list[Column]:
    """Columns of which the first `texts` hold words, the others figures."""
    return [
        Column(t(f"column.{name}", language), "left" if index < texts else "right")
        for index, name in enumerate(names)
    ]


def _traffic(estimate: Estimate, language: Language) -> Table:
    rows = [
        tuple(
            Cell(text, row.traffic_class if index == 0 else "")
            for index, text in enumerate(
                (
                    t(f"class.{row.traffic_class}", language),
                    t(f"explain.phase.{row.phase}", language),
                    row.collective,
                    row.algorithm or "–",
                    t(f"time_source.{row.time_source}", language),
                    str(row.ranks),
                    format_bytes(row.message_size_bytes),
                    count_or_nothing(row.messages),
                    format_time(row.time_s),
                    format_share(row.share),
                )
            )
        )
        for row in estimate.traffic
    ]
    names = ("class", "phase", "collective", "algorithm", "time_source")
    figures = ("ranks", "message", "messages", "time", "share")
    return Table(
        title=t("estimate.traffic", language),
        columns=tuple(_columns((*names, *figures), len(names), language)),
        rows=tuple(rows),
        notes=(
            t("estimate.share_note", language),
            *_pass_notes(estimate, language),
            *_curve_notes(estimate, language),
        ),
    )


def _pass_notes(estimate: Estimate, language: Language) -> list[str]:
    """What times of messages are of, where that is not the whole TTFT."""
    notes: list[str] = []
    pass_s = sum(step.duration_s for step in estimate.steps if step.phase == "prefill")
    if estimate.ttft_s > pass_s * _ONE_PASS:
        values = {"pass": format_time(pass_s), "ttft": format_time(estimate.ttft_s)}
        notes.append(t("estimate.pass_note", language, **values))
    if estimate.timeline.scenario.workload.overlap:
        notes.append(t("estimate.overlap_note", language))
    return notes


def _curve_notes(estimate: Estimate, language: Language) -> list[str]:
    """What the calibrated times rest on: rows, GPU, source and error of each curve."""
    gpu = estimate.timeline.scenario.cluster.device.title
    notes: list[str] = []
    for use in curves_used(estimate.timeline):
        text = joined(detail_notes(use.detail, gpu, language), language)
        notes.append(
            t(
                "estimate.curve",
                language,
                collective=use.collective,
                ranks=use.ranks,
                text=text,
            )
        )
    return notes


def _links(estimate: Estimate, language: Language) -> Table:
    links = sorted(estimate.links, key=lambda link: -link.size_bytes)
    left_out = len(links) - _MOST_LINKS
    shown = estimate.links if left_out <= 0 else links[:_MOST_LINKS]
    rows = [
        (
            link.source,
            link.destination,
            t(f"explain.phase.{link.phase}", language),
            format_bytes(link.size_bytes),
        )
        for link in shown
    ]
    notes = [t("estimate.links_note", language)]
    if left_out > 0:
        notes.append(t("estimate.links_more", language, count=left_out))
    columns = _columns(("from", "to", "phase", "bytes"), 3, language)
    return table_of(t("estimate.links", language), columns, rows, notes)


def _memory(estimate: Estimate, language: Language) -> Table:
    rows = [
        (
            f"GPU {first.rank}" if first is last else f"GPU {first.rank}–{last.rank}",
            format_bytes(first.weights_bytes),
            format_bytes(first.kv_bytes),
            format_bytes(first.activations_bytes),
            format_bytes(first.spare_bytes),
        )
        for first, last in _alike(estimate.memory)
    ]
    shortage = shortage_text(estimate.timeline.scenario, language)
    notes = [shortage] if shortage else []
    notes += fits_rows(estimate.fits, language)
    notes += closing_notes(estimate, language)
    names = ("gpu", "weights", "kv", "working", "free")
    return table_of(t("estimate.memory", language), _columns(names, 1, language), rows, notes)


def closing_notes(estimate: Estimate, language: Language) -> list[str]:
    """What was taken for granted, a sentence each, and in one what is not modelled."""
    notes: list[str] = []
    for item in estimate.assumed:
        text = t(f"assumed.{item.reason}", language, key=item.key, value=item.value)
        notes.append(t("estimate.assumed", language, text=text))
    # Some of them have commas of their own.
    mark = "；" if language == "zh" else "; "
    left_out = mark.join(t(f"not_modelled.{code}", language) for code in estimate.not_modelled)
    notes.append(t("estimate.not_modelled", language, text=left_out))
    return notes


def _alike(memory: Sequence[RankMemory]) -> list[tuple[RankMemory, RankMemory]]:
    """First and last of each run of neighbours that hold the same."""
    runs: list[tuple[RankMemory, RankMemory]] = []
    for row in memory:
        first = runs[-1][0] if runs else None
        if first is not None and replace(row, rank=first.rank) == first:
            runs[-1] = (first, row)
        else:
            runs.append((row, row))
    return runs
