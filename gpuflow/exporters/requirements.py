"""The requirement table as a document and as tables: the rule of thumb, then this cluster."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import TypedDict

from gpuflow.cluster.cost import decode_shape
from gpuflow.engine.requirements import (
    RULE_OF_THUMB_BITS_PER_S,
    Requirement,
    RequirementTable,
    RowId,
)
from gpuflow.exporters.figures import (
    count_or_nothing,
    rate_both,
    share_or_nothing,
    size_or_nothing,
    time_or_nothing,
)
from gpuflow.exporters.grid import fits
from gpuflow.exporters.tables import NOTHING, Cell, Column, Table
from gpuflow.exporters.targets import target_text, targets_text
from gpuflow.scenario.spec import Language
from gpuflow.units import format_bit_rate, format_count, format_share
from gpuflow.words import joined, t

RULES = ("type", "tier", "bandwidth", "latency", "topology", "hardware")
"""The columns of the rule of thumb."""

CONCLUSION_ROW: dict[str, RowId] = {
    "tp_decode": "tp_decode",
    "tp_prefill": "tp_prefill",
    "pp": "pp_prefill",
    "ep": "ep_decode",
}
"""The row whose figures a conclusion speaks of."""


class RequirementDocument(TypedDict):
    """What `table --format json` holds besides schema and inputs."""

    rows: list[dict[str, object]]
    conclusions: list[dict[str, object]]


def requirement_document(table: RequirementTable, language: Language) -> RequirementDocument:
    """Rows and conclusions for programs; figures in SI base units."""
    return {
        "rows": [_record(row, table, language) for row in table.rows],
        "conclusions": [
            {"id": name, "text": conclusion(name, table, language)} for name in table.conclusions
        ],
    }


def _record(row: Requirement, table: RequirementTable, language: Language) -> dict[str, object]:
    return {
        "id": row.id,
        "type": _rule(row, "type", language),
        "phase": row.phase,
        "tier": _rule(row, "tier", language),
        "bandwidth_rule": _rule(row, "bandwidth", language),
        "latency_rule": _rule(row, "latency", language),
        "topology": _rule(row, "topology", language),
        "hardware": _rule(row, "hardware", language),
        "tier_here": row.tier,
        "fabric_here": row.fabric.name if row.fabric else None,
        "collective": row.collective,
        "ranks": row.ranks,
        "message_size_bytes": row.message_size_bytes,
        "messages_per_pass": row.messages_per_pass,
        "needed_bandwidth_bytes_per_s": row.needed_bandwidth_bytes_per_s,
        "needed_latency_s": row.needed_latency_s,
        "needed_bandwidth_here_bytes_per_s": row.needed_bandwidth_here_bytes_per_s,
        "available_bandwidth_bytes_per_s": row.available_bandwidth_bytes_per_s,
        "available_latency_s": row.available_latency_s,
        "predicted_s": row.predicted_s,
        "predicted_share": row.predicted_share,
        "headroom": row.headroom,
        "verdict": row.verdict,
        "target_s": row.target_s,
        "note": joined(notes(row, table, language), language) or None,
    }


def _rule(row: Requirement, column: str, language: Language) -> str:
    return t(f"table.row.{row.id}.{column}", language)


# ---------------------------------------------------------------- sentences


def notes(row: Requirement, table: RequirementTable, language: Language) -> list[str]:
    """What has to be said about one row, as sentences."""
    values = _values(row, table, language)
    return [t(f"note.{code}", language, **values) for code in row.notes]


def conclusion(name: str, table: RequirementTable, language: Language) -> str:
    """One of the four conclusions: the rule, and what it comes to on this cluster."""
    row = table.row(CONCLUSION_ROW[name])
    colon = "：" if language == "zh" else ": "
    text = t(f"conclusion.{name}.title", language) + colon
    text += t(f"conclusion.{name}.rule", language)
    if row.message_size_bytes is None:
        return text
    here = t(f"conclusion.{name}.here", language, **_values(row, table, language))
    return joined((text, here), language)


def _values(row: Requirement, table: RequirementTable, language: Language) -> dict[str, object]:
    """What notes and conclusions are filled with, written out."""
    rule = RULE_OF_THUMB_BITS_PER_S.get(row.id)
    needed = row.needed_bandwidth_bytes_per_s
    times = 8 * needed / rule if rule and needed else None
    return {
        "type": _rule(row, "type", language),
        "rule": format_bit_rate(rule / 8) if rule else NOTHING,
        "ratio": NOTHING if times is None else format_count(round(times, 1)),
        "needed": rate_both(needed, row.tier),
        "available": rate_both(row.available_bandwidth_bytes_per_s, row.tier),
        "budget": time_or_nothing(row.needed_latency_s),
        "latency": time_or_nothing(row.available_latency_s),
        "message": size_or_nothing(row.message_size_bytes),
        "messages": count_or_nothing(row.messages_per_pass),
        "share": share_or_nothing(row.predicted_share),
        "overhead": _within(row, table, language),
        "batch": format_count(table.timeline.scenario.workload.batch),
    }


def _within(row: Requirement, table: RequirementTable, language: Language) -> str:
    """What communication has to keep within: a share, or a target."""
    if row.target_s is None:
        return format_share(table.overhead)
    return target_text("ttft" if row.phase == "prefill" else "tpot", row.target_s, language)


# ---------------------------------------------------------------- for people


def requirement_view(
    table: RequirementTable,
    language: Language,
    width: int | None,
    before: RequirementTable | None = None,
) -> tuple[Table, Table]:
    """The table and its conclusions.

    Args:
        table: What was computed.
        language: In which language.
        width: Cells of the terminal; None: as wide as it needs to be. Every figure has a column of
            its own, except where bandwidth and time have to stand under each other to fit.
        before: The table before something was changed; verdicts that differ are marked.
    """
    conclusions = Table(
        title=t("conclusion.heading", language),
        columns=(),
        rows=(),
        notes=tuple(conclusion(name, table, language) for name in table.conclusions),
    )
    main = _main(table, language, before, is_stacked=False)
    if width is not None and not fits(main, width, folded=False):
        stacked = _main(table, language, before, is_stacked=True)
        main = stacked if fits(stacked, width, folded=True) else main
    return main, conclusions


def _main(
    table: RequirementTable,
    language: Language,
    before: RequirementTable | None,
    *,
    is_stacked: bool,
) -> Table:
    figures = _stacked if is_stacked else _flat
    names = _STACKED if is_stacked else _FLAT
    columns = [
        Column(t(f"table.column.{name}", language), marks_row=name == "type") for name in RULES
    ]
    columns += [
        Column(_titles(name.split("/"), language), begins_group=index == 0)
        for index, name in enumerate(names)
    ]
    rows = tuple(
        (*_rules(row, language), *figures(row, language, before.row(row.id) if before else None))
        for row in table.rows
    )
    return Table(
        title=t("table.heading", language),
        intro=_intro(table, language),
        columns=tuple(columns),
        rows=rows,
        notes=tuple(_all_notes(table, language)),
    )


_FLAT = (
    "message",
    "messages",
    "needed",
    "budget",
    "needed_here",
    "available",
    "available_latency",
    "predicted_share",
    "verdict",
)
_STACKED = (
    "message/messages",
    "needed/budget",
    "available/available_latency",
    "predicted_share",
    "verdict",
)


def _titles(names: Iterable[str], language: Language) -> str:
    """Titles of the figures that stand in one column, under each other."""
    return "\n".join(t(f"table.column.{name}", language) for name in names)


def _rules(row: Requirement, language: Language) -> Iterable[Cell]:
    role = row.traffic_class if row.traffic_class in {"tp", "pp", "ep"} else ""
    yield Cell(_rule(row, "type", language), role)
    for column in RULES[1:]:
        yield Cell(_rule(row, column, language))


def _flat(row: Requirement, language: Language, was: Requirement | None) -> tuple[Cell, ...]:
    return (
        Cell(size_or_nothing(row.message_size_bytes)),
        Cell(_messages(row, language)),
        Cell(rate_both(row.needed_bandwidth_bytes_per_s, row.tier)),
        Cell(time_or_nothing(row.needed_latency_s)),
        Cell(rate_both(row.needed_bandwidth_here_bytes_per_s, row.tier)),
        Cell(rate_both(row.available_bandwidth_bytes_per_s, row.tier)),
        Cell(time_or_nothing(row.available_latency_s)),
        Cell(share_or_nothing(row.predicted_share)),
        _verdict(row, language, was),
    )


def _stacked(row: Requirement, language: Language, was: Requirement | None) -> tuple[Cell, ...]:
    if row.verdict is None:
        return (*(Cell(NOTHING) for _ in _STACKED[1:]), _verdict(row, language, was))
    needed = rate_both(row.needed_bandwidth_bytes_per_s, row.tier).replace(" (", "\n(")
    available = rate_both(row.available_bandwidth_bytes_per_s, row.tier).replace(" (", "\n(")
    return (
        Cell(f"{size_or_nothing(row.message_size_bytes)}\n{_messages(row, language)}"),
        Cell(f"{needed}\n{time_or_nothing(row.needed_latency_s)}"),
        Cell(f"{available}\n{time_or_nothing(row.available_latency_s)}"),
        Cell(share_or_nothing(row.predicted_share)),
        _verdict(row, language, was),
    )


def _messages(row: Requirement, language: Language) -> str:
    if row.messages_per_pass is None:
        return NOTHING
    return t("table.count", language, messages=format_count(row.messages_per_pass))


def _verdict(row: Requirement, language: Language, was: Requirement | None) -> Cell:
    cell = _judged(row, language)
    if was is None or was.verdict == row.verdict:
        return cell
    word = NOTHING if was.verdict is None else t(f"table.verdict.{was.verdict}", language)
    return replace(cell, text=f"{cell.text}\n{t('table.was', language, verdict=word)}")


def _judged(row: Requirement, language: Language) -> Cell:
    if row.verdict is None or row.headroom is None:
        return Cell(NOTHING, "dim")
    word = t(f"table.verdict.{row.verdict}", language)
    places = 1 if row.headroom < 100 else 0
    # rounded down, so that the figure never says more than the word beside it
    headroom = f"{math.floor(row.headroom * 10**places) / 10**places:.{places}f}"
    return Cell(
        t("table.verdict.with_headroom", language, verdict=word, headroom=headroom), row.verdict
    )


def _intro(table: RequirementTable, language: Language) -> tuple[str, ...]:
    scenario = table.timeline.scenario
    parallel, workload = scenario.parallel, scenario.workload
    return (
        t(
            "table.setup",
            language,
            model=scenario.model.title,
            gpus=parallel.world,
            gpu=scenario.cluster.device.title,
            tp=parallel.tp,
            pp=parallel.pp,
            dp=parallel.dp,
            ep=parallel.ep,
            batch=workload.batch,
            prompt=workload.prompt_tokens,
            context=round(decode_shape(scenario).context),
        ),
        _basis(table, language),
    )


def _basis(table: RequirementTable, language: Language) -> str:
    """What the budgets are made for."""
    profile = table.timeline.scenario.profile.title.in_language(language)
    overhead = format_share(table.overhead)
    if not table.targets.any:
        return t("table.basis", language, overhead=overhead, profile=profile)
    key = "table.basis_targets" if table.targets.all else "table.basis_target"
    wanted = targets_text(table.targets, language)
    return t(key, language, targets=wanted, overhead=overhead, profile=profile)


def _all_notes(table: RequirementTable, language: Language) -> Iterable[str]:
    shared: dict[str, list[str]] = {"ep_replicated": [], "absent_in_scenario": []}
    for row in table.rows:
        code = row.notes[0] if row.notes else ""
        if code in shared:
            shared[code].append(_rule(row, "type", language))
        else:
            yield from notes(row, table, language)
    for code, types in shared.items():
        if types:
            yield t(f"note.{code}", language, type=types)
