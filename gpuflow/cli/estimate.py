"""`gpuflow estimate`: TTFT, TPOT, traffic, links and memory of a scenario."""

from __future__ import annotations

from gpuflow.cli.options import Request
from gpuflow.cli.output import Output


def estimate(output: Output, request: Request) -> None:
    """Print the figures."""
    from gpuflow.cli.request import inputs_of, scenario_of, warn_of_shortage
    from gpuflow.engine.metrics import estimate as estimate_of
    from gpuflow.engine.simulate import simulate
    from gpuflow.exporters.estimates import estimate_document, estimate_tables
    from gpuflow.exporters.tables import records

    scenario = scenario_of(request)
    warn_of_shortage(scenario, output)
    found = estimate_of(simulate(scenario))
    if output.format in {"json", "csv"}:
        document = {
            "inputs": inputs_of(scenario),
            **estimate_document(found, output.language),
        }
        if output.format == "json":
            output.document(document)
        else:
            output.records(records(document))
    else:
        output.tables(*estimate_tables(found, output.language))
