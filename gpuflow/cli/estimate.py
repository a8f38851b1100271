"""`gpuflow estimate`: TTFT, TPOT, traffic, links and memory of a scenario."""

from __future__ import annotations

from typing import Annotated

import typer

from gpuflow.cli.options import Request
from gpuflow.cli.output import Output

ExplainOption = Annotated[bool, typer.Option("--explain")]


def estimate(output: Output, request: Request, explain: ExplainOption = False) -> None:
    """Print the figures, or how each of them comes about."""
    from gpuflow.cli.request import inputs_of, scenario_of, warn_of_shortage
    from gpuflow.engine.explain import explain as explain_all
    from gpuflow.engine.metrics import estimate as estimate_of
    from gpuflow.engine.simulate import simulate
    from gpuflow.exporters.estimates import estimate_document, estimate_tables
    from gpuflow.exporters.explanations import explanation_tables, figure_records
    from gpuflow.exporters.tables import records

    scenario = scenario_of(request)
    warn_of_shortage(scenario, output)
    found = estimate_of(simulate(scenario))
    figures = explain_all(found) if explain else ()
    if output.format in {"json", "csv"}:
        document = {
            "inputs": inputs_of(scenario),
            **estimate_document(found, output.language),
        }
        if explain:
            document["explained"] = figure_records(figures, output.language)
        if output.format == "json":
            output.document(document)
        else:
            output.records(records(document))
    elif explain:
        output.tables(*explanation_tables(found, figures, output.language))
    else:
        output.tables(*estimate_tables(found, output.language))
