"""What `estimate --explain` prints is enough to work its figures out again."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from gpuflow.engine.explain import explain
from gpuflow.engine.metrics import Estimate, estimate
from gpuflow.engine.simulate import simulate
from gpuflow.exporters.explanations import explanation_tables, figure_records, shown
from gpuflow.exporters.tables import Table
from gpuflow.scenario.spec import Language, Scenario
from gpuflow.units import FLOPS_UNITS, SIZE_UNITS, TIME_UNITS
from gpuflow.words import t

UNITS = {
    **TIME_UNITS,
    **SIZE_UNITS,
    **{f"{unit}/s": factor for unit, factor in SIZE_UNITS.items()},
    **FLOPS_UNITS,
    "%": 0.01,
    "": 1.0,
}
PRINTED = re.compile(r"^(\S+) = (-?[\d,.]+) ?([^\s,，]*)[,，]", re.MULTILINE)


def printed(cell: str) -> dict[str, float]:
    """Symbols and values as they stand in the cell of the inputs."""
    return {
        symbol: float(number.replace(",", "")) * UNITS[unit]
        for symbol, number, unit in PRINTED.findall(cell)
    }


def tables_of(scenario: Scenario, language: Language) -> tuple[Estimate, list[Table]]:
    found = estimate(simulate(scenario))
    return found, explanation_tables(found, explain(found), language)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_figures_are_worked_out_again_from_what_is_printed(
    language: Language, load: Callable[..., Scenario]
) -> None:
    found, tables = tables_of(load(), language)
    rows = {row[0].text: [cell.text for cell in row] for table in tables for row in table.rows}
    wanted = {
        t("explain.figure.ttft", language): found.ttft_s,
        t("explain.figure.tokens_per_s", language): found.tokens_per_s,
    }
    kind = {"class": "TP", "collective": "all_reduce", "ranks": 2}
    prefill = t("explain.phase.prefill", language)
    time_of_one = t("explain.figure.message_time", language, phase=prefill, **kind)
    tp = next(row for row in found.traffic if row.traffic_class == "tp")
    wanted[time_of_one] = tp.time_s / tp.messages
    part = t("explain.figure.part.mlp", language, phase=prefill, count=32)
    wanted[part] = next(s.duration_s for s in found.timeline.spans if s.part == "mlp")
    for name, value in wanted.items():
        _, _, formula, inputs, source, _ = rows[name]
        expression = formula.replace("×", "*").replace("^", "**")
        again = eval(expression, {"__builtins__": {}, "max": max}, printed(inputs))
        # every input is printed with three digits
        assert again == pytest.approx(value, rel=0.01), name
        assert source


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_last_line_says_what_is_not_modelled(
    language: Language, load: Callable[..., Scenario]
) -> None:
    found, tables = tables_of(load(), language)
    last = tables[-1].notes[-1]
    assert last.startswith(t("estimate.not_modelled", language, text="").rstrip("。. "))
    assert all(t(f"not_modelled.{code}", language) in last for code in found.not_modelled)


def test_every_row_says_its_formula_and_its_source(load: Callable[..., Scenario]) -> None:
    _, tables = tables_of(load("moe-ep4"), "en")
    for row in (row for table in tables for row in table.rows):
        name, value, formula, inputs, source, _ = (cell.text for cell in row)
        assert name
        assert value
        assert formula
        assert source
        symbols = set(re.findall(r"[^\W\d]\w*", shown(formula))) - {"max"}
        assert symbols <= set(printed(inputs)), name


def test_records_have_units_and_the_same_ids_in_both_languages(
    load: Callable[..., Scenario],
) -> None:
    found = estimate(simulate(load()))
    english, chinese = (figure_records(explain(found), language) for language in ("en", "zh"))
    assert [one["id"] for one in english] == [one["id"] for one in chinese]
    assert {str(one["unit"]) for one in english} <= {"s", "B", "1"}
    assert english[0]["text"] == "TTFT"
