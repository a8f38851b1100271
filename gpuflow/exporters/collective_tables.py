"""One collective by size for people: tables, what wins where, and where times are from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpuflow.cluster.calibration import Calibration
from gpuflow.cluster.prediction import Detail
from gpuflow.cluster.selection import RULE_SOURCES, Selection
from gpuflow.cluster.winners import Winner
from gpuflow.exporters.collectives import (
    bus_bandwidth,
    is_same_way,
    left_out_error,
    measured_rows,
)
from gpuflow.exporters.figures import rate_both
from gpuflow.exporters.grid import fits
from gpuflow.exporters.tables import NOTHING, Cell, Column, Table
from gpuflow.scenario.spec import FabricSpec, Language
from gpuflow.units import format_bytes, format_count, format_share, format_time
from gpuflow.words import t

PROTOCOL_NAMES = {"ll": "LL", "ll128": "LL128", "simple": "Simple"}


def tier_of(selection: Selection) -> FabricSpec:
    """The slowest fabric that the ranks must cross."""
    cluster = selection.case.cluster
    return cluster.scale_out if selection.case.n_nodes > 1 else cluster.scale_up


def choice_text(algorithm: str, protocol: str) -> str:
    """An algorithm and its protocol: `ring LL128`."""
    return f"{algorithm} {PROTOCOL_NAMES.get(protocol, protocol)}"


# ---------------------------------------------------------------- tables


def selected_table(selection: Selection, language: Language) -> Table:
    """A row a size: what is chosen, its figures, and what was measured at that very size."""
    case, tier = selection.case, tier_of(selection)
    alike = [row for row in measured_rows(selection) if is_same_way(row, case)]
    columns = [
        Column(t("column.size", language), "right", marks_row=True),
        Column(t("column.chosen", language)),
        Column(t("column.time", language), "right"),
        Column(t("column.bus_bandwidth", language), "right"),
        Column(t("column.time_source", language)),
    ]
    columns += [Column(t("column.measured", language), "right")] if alike else []
    rows = []
    for which, size in enumerate(selection.sizes.tolist()):
        time_s = float(selection.time_s[which])
        cells = [
            Cell(format_bytes(size)),
            Cell(choice_text(*selection.choices[int(selection.choice[which])])),
            Cell(format_time(time_s)),
            Cell(rate_both(bus_bandwidth(case, size, time_s), tier.tier)),
            Cell(t(f"time_source.{selection.time_source[which]}", language)),
        ]
        if alike:
            here = [format_time(row.time_s) for row in alike if row.size_bytes == size]
            cells.append(Cell("\n".join(here) or NOTHING, "" if here else "dim"))
        rows.append(tuple(cells))
    return Table(
        columns=tuple(columns), rows=tuple(rows), notes=tuple(selection_notes(selection, language))
    )


def heading(selection: Selection, language: Language) -> Table:
    """What was asked, before everything else."""
    case = selection.case
    return Table(
        title=t(
            "collective.title",
            language,
            collective=case.collective,
            ranks=case.n_ranks,
            gpu=case.cluster.device.title,
            nodes=case.n_nodes,
            fabric=tier_of(selection).title,
        ),
        intro=(t("collective.way", language, kernel=case.kernel, launch=case.launch),),
        columns=(),
        rows=(),
    )


def schedules_table(
    selection: Selection, letters: Mapping[str, str], language: Language, width: int | None
) -> Table:
    """The simulated time of every schedule; letters for names where the screen is narrow."""
    names, times = selection.simulated.algorithms, selection.simulated.time_s
    rows = []
    for which, size in enumerate(selection.sizes.tolist()):
        rows.append((Cell(format_bytes(size)), *_times(times[:, which].tolist())))
    title = t("collective.schedules_title", language)
    note = t("collective.schedules_note", language)
    whole = _rivals(title, names, rows, (note,), language)
    if width is None or fits(whole, width, folded=False):
        return whole
    key = ", ".join(f"{letters[name]} {name}" for name in names)
    return _rivals(title, [letters[name] for name in names], rows, (key, note), language)


def plans_table(selection: Selection, language: Language) -> Table:
    """What the library's planner expects of each algorithm and protocol."""
    names = [choice_text(*one) for one in selection.planned]
    times = list(selection.planned.values())
    rows = []
    for which, size in enumerate(selection.sizes.tolist()):
        here = [float(one[which]) for one in times]
        rows.append((Cell(format_bytes(size)), *_times(here)))
    title = t("collective.plans_title", language, source=RULE_SOURCES["nccl_planner"])
    return _rivals(title, names, rows, (), language)


def _times(times_s: Sequence[float]) -> Iterator[Cell]:
    """Times beside each other, the least in the colour of what is well."""
    for time_s in times_s:
        yield Cell(format_time(time_s), "ok" if time_s == min(times_s) else "")


def _rivals(
    title: str,
    names: Sequence[str],
    rows: Sequence[tuple[Cell, ...]],
    notes: Sequence[str],
    language: Language,
) -> Table:
    columns = [Column(t("column.size", language), "right", marks_row=True)]
    columns += [Column(name, "right", begins_group=i == 0) for i, name in enumerate(names)]
    return Table(title=title, columns=tuple(columns), rows=tuple(rows), notes=tuple(notes))


# ---------------------------------------------------------------- who wins where


def winners_table(
    selection: Selection, winners: Mapping[str, Sequence[Winner]], language: Language
) -> Table:
    """One sentence for each way of telling the winner."""
    sentences = []
    for name, ranges in winners.items():
        if not ranges:
            continue
        key = f"choice.{selection.rule}" if name == "choice" else name
        source = RULE_SOURCES.get(selection.rule, "")
        who = t(f"winners.{key}", language, source=source, kernel=selection.case.kernel)
        is_kernel = name == "measured"
        sentences.append(who + _ranges(ranges, language, is_kernel=is_kernel))
    return Table(title=t("winners.title", language), columns=(), rows=(), notes=tuple(sentences))


def _ranges(winners: Sequence[Winner], language: Language, *, is_kernel: bool) -> str:
    """Ranges in words, such as `ring LL up to 1.08 MiB; nvls Simple from 1.08 MiB.`."""
    parts = []
    for index, one in enumerate(winners):
        first, second = one.label.split(" ", 1)
        name = f"{first} ({second})" if is_kernel else choice_text(first, second)
        place = (
            "everywhere"
            if len(winners) == 1
            else "first"
            if index == 0
            else "last"
            if index == len(winners) - 1 and not is_kernel
            else "between"
        )
        parts.append(
            t(
                f"winners.{place}",
                language,
                name=name,
                first=format_bytes(one.first_bytes),
                end=format_bytes(one.end_bytes),
            )
        )
    comma, stop = ("；", "。") if language == "zh" else ("; ", ".")
    return comma.join(parts) + stop


# ---------------------------------------------------------------- where times are from


def selection_notes(selection: Selection, language: Language) -> Iterable[str]:
    """Where the times come from, how they are measured, and what was left out."""
    detail, case = selection.detail, selection.case
    if detail is None:
        basis = "planner" if selection.planned and selection.rule != "schedules" else "schedules"
        key = "asked" if selection.rule == "asked" else basis
        yield t(f"collective.from.{key}", language, source=RULE_SOURCES["nccl_planner"])
    else:
        yield from detail_notes(detail, case.cluster.device.title, language)
        if detail.step == "fit" and "extrapolated" in selection.time_source:
            key = "fused" if case.launch == "fused" else "outside"
            yield t(f"collective.{key}", language)
    others = [row for row in measured_rows(selection) if not is_same_way(row, case)]
    if others:
        ways = dict.fromkeys(_way(row.key.kernel, row.key.launch, row.key.fabric) for row in others)
        count = format_count(len(others))
        yield t("collective.others", language, count=count, ways=list(ways))
    yield t("collective.note", language)


def detail_notes(detail: Detail, gpu: str, language: Language) -> Iterable[str]:
    """How measured curves gave the times on a GPU, and a sentence for each curve."""
    if detail.step != "fit":
        yield t(
            f"collective.from.{detail.step}",
            language,
            gpu=gpu,
            gpus=list(detail.gpus),
            ranks=list(dict.fromkeys(one.key.ranks for one in detail.calibrations)),
            launches=list(dict.fromkeys(one.key.launch for one in detail.calibrations)),
        )
    yield from _curve_notes(detail.calibrations, language)


def _way(kernel: str, launch: str, fabric: str) -> str:
    return f"{kernel} ({launch}, {fabric})" if fabric else f"{kernel} ({launch})"


_MOST_CURVES = 4


def _curve_notes(curves: Sequence[Calibration], language: Language) -> Iterable[str]:
    """A sentence for each curve; of many the first ones and how many there are."""
    for curve in curves[:_MOST_CURVES]:
        error = left_out_error(curve)
        low, high = curve.size_range
        key = "curve_no_error" if error is None else "curve_error"
        yield t(
            "collective.curve",
            language,
            form=t(f"collective.form.{curve.form}", language),
            rows=len(curve.rows),
            low=format_bytes(low),
            high=format_bytes(high),
            gpu=curve.key.gpu,
            ranks=curve.key.ranks,
            kernel=_way(curve.key.kernel, curve.key.launch, curve.key.fabric),
            error=t(f"collective.{key}", language, error=format_share(error or 0.0)),
            source=curve.source,
        )
    if len(curves) > _MOST_CURVES:
        yield t("collective.more_curves", language, count=len(curves) - _MOST_CURVES)
