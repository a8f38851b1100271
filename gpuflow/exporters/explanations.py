"""Explained figures as a document and as tables: formula, inputs, who says so, time's origin."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from gpuflow.engine.explanation import Figure, Group, Input
from gpuflow.engine.metrics import Estimate
from gpuflow.exporters.estimates import closing_notes
from gpuflow.exporters.plain import scenario_line
from gpuflow.exporters.tables import Cell, Column, Table
from gpuflow.scenario.spec import Language
from gpuflow.units import Kind, Quantity, format_quantity, format_share
from gpuflow.words import t

UNITS: Mapping[Kind, str] = {
    "bytes": "B",
    "time": "s",
    "rate": "B/s",
    "flop": "FLOP",
    "flops": "FLOP/s",
    "count": "1",
    "share": "1",
}
"""SI units of values in the document."""

GROUPS: tuple[Group, ...] = (
    "result",
    "step",
    "compute",
    "message",
    "traffic",
    "link",
    "memory",
)


def figure_records(figures: Sequence[Figure], language: Language) -> list[dict[str, object]]:
    """What `estimate --explain --format json` adds under `explained`."""
    return [
        {
            "id": figure.id,
            "group": figure.group,
            "text": _figure_text(figure, language),
            "value": figure.value.value,
            "unit": UNITS[figure.value.kind],
            "formula": figure.formula,
            "inputs": [_input_record(one, language) for one in figure.inputs],
            "time_sources": dict(figure.time_sources),
        }
        for figure in figures
    ]


def _input_record(one: Input, language: Language) -> dict[str, object]:
    return {
        "symbol": one.symbol,
        "id": one.name,
        "text": _input_text(one, language),
        "value": one.value.value,
        "unit": UNITS[one.value.kind],
        "origin": one.origin,
        "source": one.source or None,
    }


def explanation_tables(
    estimate: Estimate, figures: Sequence[Figure], language: Language
) -> list[Table]:
    """One table a group of figures, then what is assumed and what is not modelled."""
    tables = [
        _table(group, [figure for figure in figures if figure.group == group], language)
        for group in GROUPS
    ]
    first = Table(
        title=scenario_line(estimate.timeline.scenario, language),
        intro=(t("explain.intro", language),),
        columns=(),
        rows=(),
    )
    last = Table(columns=(), rows=(), notes=tuple(closing_notes(estimate, language)))
    return [first, *(table for table in tables if table.rows), last]


def _table(group: Group, figures: Iterable[Figure], language: Language) -> Table:
    names = ("figure", "value", "formula", "inputs", "from", "time")
    return Table(
        title=t(f"explain.group.{group}", language),
        columns=tuple(
            Column(t(f"explain.column.{name}", language), marks_row=name == "figure")
            for name in names
        ),
        rows=tuple(_row(figure, language) for figure in figures),
    )


def _row(figure: Figure, language: Language) -> tuple[Cell, ...]:
    role = str(figure.values.get("class", ""))
    return (
        Cell(_figure_text(figure, language), role if role in {"tp", "pp", "ep"} else ""),
        Cell(format_quantity(figure.value)),
        Cell(shown(figure.formula)),
        Cell("\n".join(_input_line(one, language) for one in figure.inputs)),
        Cell("\n".join(_source_lines(figure.inputs, language))),
        Cell(_time_text(figure, language)),
    )


def sources_table(figures: Sequence[Figure], language: Language) -> Table:
    """Who published what the figures rest on, and for which of their inputs."""
    behind: dict[tuple[str, str], dict[str, None]] = {}
    for one in (one for figure in figures for one in figure.inputs):
        if one.source:
            origin = t(f"explain.origin.{one.origin}", language)
            behind.setdefault((one.source, origin), {})[_input_text(one, language)] = None
    mark = "；" if language == "zh" else "; "
    return Table(
        title=t("report.sources", language),
        columns=tuple(
            Column(t(f"report.column.{name}", language)) for name in ("source", "origin", "inputs")
        ),
        rows=tuple(
            (Cell(source), Cell(origin), Cell(mark.join(texts)))
            for (source, origin), texts in behind.items()
        ),
    )


def shown(formula: str) -> str:
    """A formula as people write it.

    Example:
        >>> shown("n * (α + f * S / BW)"), shown("x ** q")
        ('n × (α + f × S / BW)', 'x ^ q')
    """
    return formula.replace("**", "^").replace("*", "×")


def _figure_text(figure: Figure, language: Language) -> str:
    key = f"explain.figure.{figure.name}"
    return t(key, language, **_words(figure.values, language))


def _input_text(one: Input, language: Language) -> str:
    return t(f"explain.input.{one.name}", language, **_words(one.values, language))


def _words(values: Mapping[str, object], language: Language) -> dict[str, object]:
    """Values in the reader's words where they are codes."""
    found = dict(values)
    if "class" in found:
        found["class"] = t(f"class.{found['class']}", language)
    if "phase" in found:
        found["phase"] = t(f"explain.phase.{found['phase']}", language)
    if "tokens" in found:
        found["tokens"] = Quantity(float(str(found["tokens"])), "count")
    return found


def _input_line(one: Input, language: Language) -> str:
    text = _input_text(one, language)
    return t("explain.line", language, symbol=one.symbol, value=one.value, text=text)


def _source_lines(inputs: Sequence[Input], language: Language) -> Iterable[str]:
    """Who says so, with the symbols each stands behind."""
    behind: dict[str, list[str]] = {}
    for one in inputs:
        source = t(f"explain.origin.{one.origin}", language)
        if one.source:
            source = t("explain.source", language, origin=source, source=one.source)
        behind.setdefault(source, []).append(one.symbol)
    for source, symbols in behind.items():
        yield t("explain.behind", language, symbols=symbols, source=source)


def _time_text(figure: Figure, language: Language) -> str:
    """Where a time comes from; with its share where it comes from several places."""
    whole = sum(figure.time_sources.values())
    names = {
        t(f"time_source.{source}", language): seconds
        for source, seconds in figure.time_sources.items()
    }
    if len(names) < 2:
        return next(iter(names), "")
    return "\n".join(f"{name} {format_share(s / whole)}" for name, s in names.items())
