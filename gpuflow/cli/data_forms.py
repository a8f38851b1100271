"""`gpuflow export --to perfetto|json|csv|md`: the timeline and its figures as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gpuflow.cli.options import DEFAULT_OVERHEAD, Request, bad_option
from gpuflow.cli.output import Output

if TYPE_CHECKING:
    from gpuflow.engine.timeline import Timeline

DATA_FORMS = ("perfetto", "json", "csv", "md")
_WITH_STEPS = ("json", "csv")
"""Forms that can be of one step alone."""


def data_text(
    output: Output, request: Request, form: str, step: str | None, of_screens: Mapping[str, object]
) -> str:
    """A play in one of the data forms, without a line end.

    Args:
        output: Language, and what stands in every document.
        request: The scenario and its changes.
        form: One of `DATA_FORMS`.
        step: The only step wanted, by number or id.
        of_screens: Options that only screens have, with their values.

    Raises:
        InputError: An option does not apply to the form, or the scenario is wrong.
    """
    from gpuflow.cli.request import inputs_of, scenario_of, warn_of_shortage
    from gpuflow.engine.simulate import simulate

    given = dict(of_screens) if form in _WITH_STEPS else {**of_screens, "--step": step}
    for option, value in given.items():
        if value:
            raise bad_option(option, "option_not_in_form", form=form)
    scenario = scenario_of(request)
    warn_of_shortage(scenario, output)
    timeline = simulate(scenario)
    if form == "perfetto":
        from gpuflow.exporters.perfetto import perfetto

        return perfetto(timeline, output.language, inputs_of(scenario))
    if form == "md":
        from gpuflow.exporters.report import report

        return report(timeline, output.language, DEFAULT_OVERHEAD)
    return _spans_text(output, timeline, form, step)


def _spans_text(output: Output, timeline: Timeline, form: str, step: str | None) -> str:
    from gpuflow.cli.request import inputs_of
    from gpuflow.cli.screens import step_named
    from gpuflow.exporters.tables import csv_text
    from gpuflow.exporters.timeline import span_records, timeline_document

    index = None if step is None else step_named("--step", step, timeline)
    if form == "csv":
        return csv_text(span_records(timeline, index)).rstrip("\n")
    inputs = inputs_of(timeline.scenario)
    return output.document_text({"inputs": inputs, **timeline_document(timeline, index)})
