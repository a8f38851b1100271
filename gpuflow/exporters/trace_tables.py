"""Traces for people: what was read, the table of communication, computing, and what grew."""

from __future__ import annotations

from collections.abc import Iterator

from gpuflow.cells import sanitise
from gpuflow.exporters.figures import (
    ratio,
    share_or_nothing,
    size_or_nothing,
    time_or_nothing,
)
from gpuflow.exporters.tables import NOTHING, Cell, Column, Table
from gpuflow.exporters.trace_document import bus_bandwidth, doubt_text, share_of_step
from gpuflow.importers.trace.doubt import Doubt
from gpuflow.importers.trace.reading import Found, Reading
from gpuflow.importers.trace.runs import Change, Comparison, Merged, Run
from gpuflow.scenario.spec import Language
from gpuflow.units import format_count, format_rate, format_share, format_time
from gpuflow.words import t

MOST_ROWS = 40
"""Rows of one table for people; programs get all of them."""
_KERNEL_WIDTH = 44
_LARGE_GROWTH = 0.05
"""Of a step; what grows by more is marked."""


def run_tables(run: Run, language: Language) -> Iterator[Table]:
    """All tables of one run."""
    yield _heading(run, language)
    if run.collectives:
        yield _communication(run, language)
    if run.computes:
        yield _computing(run, language)
    if len(run.ranks) > 1:
        yield _ranks(run, language)


def _word(key: str, language: Language, **values: object) -> str:
    return t(f"import_trace.{key}", language, **values)


# ---------------------------------------------------------------- what was read


def _heading(run: Run, language: Language) -> Table:
    first = run.first
    title = _word("title", language, file=first.file)
    if len(run.ranks) > 1:
        title = _word("title_ranks", language, file=first.file, count=len(run.ranks))
    notes = []
    if first.refused is not None:
        notes.append(_word("refused", language, why=doubt_text(first.refused, language)))
    notes += [_word("doubt", language, what=doubt_text(one, language)) for one in _doubts(run)]
    rows = tuple((Cell(name), Cell(value)) for name, value in _facts(run, language))
    columns = (
        Column(_word("column.what", language), marks_row=True),
        Column(_word("column.value", language)),
    )
    return Table(title=title, columns=columns, rows=rows, notes=tuple(notes))


def _doubts(run: Run) -> list[Doubt]:
    """Each doubt once, however many ranks have it."""
    found = list(run.doubts)
    for one in run.ranks:
        found += [doubt for doubt in one.doubts if doubt not in found]
    return found


def _facts(run: Run, language: Language) -> list[tuple[str, str]]:
    first, head = run.first, run.first.head

    def name(key: str) -> str:
        return _word(f"fact.{key}", language)

    gpu = head.gpu_name or first.gpu or NOTHING
    found = [(name("gpu"), f"{gpu} ({first.gpu})" if first.gpu and head.gpu_name else gpu)]
    if head.rank is not None:
        ranks = ", ".join(str(one.head.rank) for one in run.ranks[:16])
        found.append((name("rank"), f"{ranks} / {head.world or NOTHING}"))
    if first.host_collectives:
        parts = [f"{count} × {label}" for label, count, _ in first.host_collectives[:6]]
        found.append((name("host"), ", ".join(parts)))
    if first.model is not None:
        found.append((name("model"), first.model.title))
    if not first.n_kernels:
        return found
    found.append((name("kernels"), format_count(first.n_kernels)))
    busy_s, span_s = run.mean("busy_s"), run.mean("span_s")
    share = format_share(busy_s / span_s if span_s else 0.0)
    busy = _word("busy", language, busy=format_time(busy_s), span=format_time(span_s), share=share)
    found.append((name("busy"), busy))
    talk_s, exposed_s = run.mean("communication_s"), run.mean("exposed_s")
    if talk_s:
        values = {
            "time": format_time(talk_s),
            "share": format_share(talk_s / busy_s),
            "exposed": format_time(exposed_s),
            "overlapped": format_time(max(talk_s - exposed_s, 0.0)),
        }
        found.append((name("communication"), _word("communication", language, **values)))
    for unit, repeat in (("step", first.step), ("layer", first.layer)):
        if repeat is not None:
            found.append((name(unit), _repeat_text(repeat, language)))
    if first.passes:
        found.append((name("passes"), _passes_text(first, language)))
    return found


def _repeat_text(found: Found, language: Language) -> str:
    kinds = len(set(found.repeat.kinds))
    key = "repeat_kinds" if kinds > 1 else "repeat"
    return _word(
        key,
        language,
        count=found.repeat.count,
        time=format_time(found.duration_s),
        kernels=found.n_kernels,
        kinds=kinds,
    )


def _passes_text(first: Reading, language: Language) -> str:
    one = first.passes[0]
    return _word(
        "passes",
        language,
        count=len(first.passes),
        prompt=one.prompt_tokens,
        answer=one.answer_tokens,
    )


# ---------------------------------------------------------------- communication


def kind_text(kind: str, role: str, language: Language) -> str:
    """A kind of communication, with what an exchange of experts does."""
    if kind in {"unknown", "barrier"}:
        return _word(f"kind.{kind}", language)
    return f"{kind} ({role})" if role else kind


def _compute_text(kind: str, language: Language) -> str:
    return _word(f"compute.{kind}", language)


def _communication(run: Run, language: Language) -> Table:
    has_waiting = any(one.waiting_s is not None for one in run.collectives)
    columns = [
        Column(_word("column.kind", language), marks_row=True),
        Column(_word("column.kernel", language)),
        Column(_word("column.count", language), "right"),
        Column(_word("column.bytes", language), "right"),
        Column(_word("column.time", language), "right"),
        Column(_word("column.median", language), "right"),
        Column(t("column.bus_bandwidth", language), "right"),
        Column(_word("column.expected", language), "right"),
        Column(_word("column.ratio", language), "right"),
        Column(_word("column.of_step", language), "right", begins_group=True),
        Column(_word("column.share", language), "right"),
        Column(_word("column.exposed", language), "right"),
        Column(_word("column.overlapped", language), "right"),
    ]
    columns += [Column(_word("column.waiting", language), "right")] if has_waiting else []
    rows = [
        _collective_row(one, run, language, has_waiting=has_waiting)
        for one in run.collectives[:MOST_ROWS]
    ]
    left = len(run.collectives) - len(rows)
    notes = [_word("more_rows", language, count=left)] if left > 0 else []
    if any(one.collective.predicted_s is not None for one in run.collectives):
        notes.append(_word("expected_note", language, gpu=run.first.gpu or NOTHING))
    else:
        key = "no_gpu" if run.first.gpu is None else "no_expected"
        notes.append(_word(key, language))
    return Table(
        title=_word("communication_title", language),
        columns=tuple(columns),
        rows=tuple(rows),
        notes=tuple(notes),
    )


def _collective_row(
    merged: Merged, run: Run, language: Language, *, has_waiting: bool
) -> tuple[Cell, ...]:
    one, busy_s = merged.collective, run.mean("busy_s")
    rate = bus_bandwidth(one.kind, one.sizes)
    expected = one.predicted_s
    role = "tight" if merged.exposed_s > 0.5 * merged.time_s else ""
    cells = [
        Cell(kind_text(one.kind, one.named.role, language)),
        Cell(sanitise(one.kernel)[:_KERNEL_WIDTH]),
        Cell(format_count(one.count)),
        Cell(size_or_nothing(one.bytes)),
        Cell(format_time(merged.time_s)),
        Cell(format_time(one.median_s)),
        Cell(format_rate(rate) if rate is not None else NOTHING),
        Cell(time_or_nothing(expected)),
        Cell(ratio(one.time_s / expected) if expected else NOTHING),
        Cell(share_or_nothing(share_of_step(merged, run))),
        Cell(format_share(merged.time_s / busy_s) if busy_s else NOTHING),
        Cell(format_time(merged.exposed_s), role),
        Cell(format_time(merged.overlapped_s)),
    ]
    return (*cells, *([Cell(time_or_nothing(merged.waiting_s))] if has_waiting else []))


def _computing(run: Run, language: Language) -> Table:
    busy_s = run.mean("busy_s")
    columns = (
        Column(_word("column.kind", language), marks_row=True),
        Column(_word("column.count", language), "right"),
        Column(_word("column.time", language), "right"),
        Column(_word("column.share", language), "right"),
        Column(_word("column.longest", language)),
    )
    rows = tuple(
        (
            Cell(_compute_text(one.kind, language)),
            Cell(format_count(one.count)),
            Cell(format_time(one.time_s)),
            Cell(format_share(one.time_s / busy_s) if busy_s else NOTHING),
            Cell(sanitise(one.longest_kernel)[:_KERNEL_WIDTH]),
        )
        for one in run.computes
    )
    return Table(title=_word("computing_title", language), columns=columns, rows=rows)


def _ranks(run: Run, language: Language) -> Table:
    """Rank beside rank: the one that waits least for the others is the one they wait for."""
    columns = (
        Column(_word("column.rank", language), "right", marks_row=True),
        Column(_word("column.kernels", language), "right"),
        Column(_word("column.busy", language), "right"),
        Column(_word("column.computing", language), "right"),
        Column(_word("column.communication", language), "right"),
        Column(_word("column.exposed", language), "right"),
    )
    rows = tuple(
        (
            Cell(str(one.head.rank)),
            Cell(format_count(one.n_kernels)),
            Cell(format_time(one.busy_s)),
            Cell(format_time(one.busy_s - one.exposed_s)),
            Cell(format_time(one.communication_s)),
            Cell(format_time(one.exposed_s)),
        )
        for one in run.ranks[:MOST_ROWS]
    )
    notes = [_word("ranks_note", language)]
    left = len(run.ranks) - len(rows)
    notes += [_word("more_rows", language, count=left)] if left > 0 else []
    title = _word("ranks_title", language)
    return Table(title=title, columns=columns, rows=rows, notes=tuple(notes))


# ---------------------------------------------------------------- two runs


def comparison_table(comparison: Comparison, language: Language) -> Table:
    """What grew, the most first, per step of each run."""
    first, second = comparison.first, comparison.second
    columns = (
        Column(_word("column.kind", language), marks_row=True),
        Column(_word("column.first", language), "right"),
        Column(_word("column.second", language), "right"),
        Column(_word("column.grown", language), "right"),
        Column(_word("column.counts", language), "right"),
    )
    rows = tuple(_change_row(one, comparison, language) for one in comparison.changes)
    title = _word("compare", language, first=first.first.file, second=second.first.file)
    whole = _word(
        "compare_steps",
        language,
        first=_few(first.first.n_steps),
        second=_few(second.first.n_steps),
        before=format_time(comparison.first_step_s),
        after=format_time(comparison.second_step_s),
    )
    stepless = [
        _word("compare_whole", language, file=run.first.file)
        for run in (first, second)
        if run.first.step is None and not run.first.passes
    ]
    return Table(title=title, columns=columns, rows=rows, notes=(whole, *stepless))


def _change_row(one: Change, comparison: Comparison, language: Language) -> tuple[Cell, ...]:
    is_talk = one.is_communication
    kind = kind_text(one.kind, "", language) if is_talk else _compute_text(one.kind, language)
    is_large = one.grown_s > _LARGE_GROWTH * comparison.first_step_s
    sign = "+" if one.grown_s >= 0 else "−"
    grown = f"{sign}{format_time(abs(one.grown_s))}"
    counts = f"{_few(one.first_count)} → {_few(one.second_count)}"
    return (
        Cell(kind, "tp" if one.is_communication else ""),
        Cell(format_time(one.first_s)),
        Cell(format_time(one.second_s)),
        Cell(grown, "short" if is_large else ""),
        Cell(counts),
    )


def _few(count: float) -> str:
    return f"{count:.1f}".removesuffix(".0")
