"""`gpuflow compare`: two scenarios side by side, and where their difference comes from."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from gpuflow.cli.options import CalibrationOption, Changes
from gpuflow.cli.output import Output
from gpuflow.cli.sides import Side, side_of
from gpuflow.cli.verbs import VerbCommand
from gpuflow.errors import InputError, Problem

SideA = Annotated[str, typer.Argument(metavar="A")]
SideB = Annotated[str, typer.Argument(metavar="B")]
_QUOTED_OPTIONS = re.compile(r"--[a-z-]+[\s=].*\s", re.DOTALL)


class CompareCommand(VerbCommand):
    """Takes a side that is written as options in quotes, too."""

    def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
        """Parse; a blank in front keeps `"--tp 8 --pp 1"` from being taken for an option."""
        plain = [f" {a}" if _QUOTED_OPTIONS.match(a) else a for a in arguments]
        return super().parse_args(context, plain)


def compare(
    output: Output, a: SideA, b: SideB, changes: Changes, calibration: CalibrationOption = None
) -> None:
    """Print both sides and their difference."""
    from gpuflow.cli.calibrated import calibrated

    with calibrated(calibration, output) as output:
        _compare(_sides(a, b, changes), output)


def _compare(sides: Sequence[Side], output: Output) -> None:
    from gpuflow.cli.request import inputs_of, scenario_of, warn_of_shortage
    from gpuflow.engine.comparison import compare as compare_timelines
    from gpuflow.engine.simulate import simulate
    from gpuflow.exporters.comparisons import comparison_document, comparison_tables
    from gpuflow.exporters.tables import records

    scenarios = [scenario_of(side.request) for side in sides]
    for scenario in scenarios:
        warn_of_shortage(scenario, output)
    found = compare_timelines(*map(simulate, scenarios))
    names = (sides[0].text, sides[1].text)
    if output.format in {"json", "csv"}:
        inputs = {
            name: {"text": side.text, **inputs_of(scenario)}
            for name, side, scenario in zip("ab", sides, scenarios, strict=True)
        }
        document = {"inputs": inputs, **comparison_document(found, names, output.language)}
        if output.format == "json":
            output.document(document)
        else:
            output.records(records(document))
    else:
        output.tables(*comparison_tables(found, names, output.language))


def _sides(a: str, b: str, changes: Changes) -> list[Side]:
    """Both sides, or all that is wrong with either."""
    sides: list[Side] = []
    problems: list[Problem] = []
    for place, text in (("A", a), ("B", b)):
        try:
            sides.append(side_of(place, text, changes))
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return sides
