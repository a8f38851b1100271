"""`gpuflow table`: what this way of splitting the model asks of the network."""

from __future__ import annotations

from gpuflow.cli.options import DEFAULT_OVERHEAD, Overhead, Request
from gpuflow.cli.output import Output


def table(output: Output, request: Request, overhead: Overhead = None) -> None:
    """Print the requirement table."""
    # 0.15 s of arrays and YAML that `--help` does without
    from gpuflow.cli.request import inputs_of, scenario_of, warn_of_shortage
    from gpuflow.engine.requirements import requirement_table
    from gpuflow.exporters.requirements import requirement_document, requirement_view

    scenario = scenario_of(request)
    warn_of_shortage(scenario, output)
    share = DEFAULT_OVERHEAD if overhead is None else overhead
    found = requirement_table(scenario, share)
    if output.format in {"json", "csv"}:
        document = requirement_document(found, output.language)
        if output.format == "json":
            output.document({"inputs": inputs_of(scenario, overhead=share), **document})
        else:
            output.records(document["rows"])
    else:
        width = output.width if output.format == "table" else None
        output.tables(*requirement_view(found, output.language, width))
