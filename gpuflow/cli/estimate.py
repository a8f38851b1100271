"""`gpuflow estimate`: TTFT, TPOT, traffic, links and memory of a scenario."""

from __future__ import annotations

from typing import Annotated

import typer

from gpuflow.cli.options import Request
from gpuflow.cli.output import Output
from gpuflow.cli.targets import TpotOption, TtftOption, targets_of

ExplainOption = Annotated[bool, typer.Option("--explain")]


def estimate(
    output: Output,
    request: Request,
    explain: ExplainOption = False,
    ttft: TtftOption = None,
    tpot: TpotOption = None,
) -> None:
    """Print the figures, or how each of them comes about."""
    from gpuflow.cli.request import inputs_of, scenario_of, warn_of_shortage
    from gpuflow.engine.explain import explain as explain_all
    from gpuflow.engine.metrics import estimate as estimate_of
    from gpuflow.engine.simulate import simulate
    from gpuflow.engine.split_choice import split_results
    from gpuflow.exporters.estimates import estimate_document, estimate_tables
    from gpuflow.exporters.explanations import explanation_tables, figure_records
    from gpuflow.exporters.tables import records
    from gpuflow.exporters.targets import split_records, splits_table, target_records

    scenario = scenario_of(request)
    warn_of_shortage(scenario, output)
    found = estimate_of(simulate(scenario))
    figures = explain_all(found) if explain else ()
    targets = targets_of(ttft, tpot)
    splits = split_results(scenario, targets) if targets.any else ()
    if output.format in {"json", "csv"}:
        document = {
            "inputs": inputs_of(scenario, ttft_s=ttft, tpot_s=tpot),
            **estimate_document(found, output.language),
            "targets": target_records(found.timeline, targets),
            "splits": split_records(splits),
        }
        if explain:
            document["explained"] = figure_records(figures, output.language)
        if output.format == "json":
            output.document(document)
        else:
            output.records(records(document))
        return
    parts = (
        explanation_tables(found, figures, output.language)
        if explain
        else estimate_tables(found, output.language)
    )
    if targets.any:
        parts.insert(1, splits_table(found.timeline, targets, splits, output.language))
    output.tables(*parts)
