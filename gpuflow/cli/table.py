"""`gpuflow table`: what this way of splitting the model asks of the network."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuflow.cli.options import DEFAULT_OVERHEAD, Overhead, Request
from gpuflow.cli.output import Output
from gpuflow.cli.targets import TpotOption, TtftOption, targets_of

if TYPE_CHECKING:
    from gpuflow.exporters.tables import Table


def table(
    output: Output,
    request: Request,
    overhead: Overhead = None,
    ttft: TtftOption = None,
    tpot: TpotOption = None,
) -> None:
    """Print the requirement table."""
    # 0.15 s of arrays and YAML that `--help` does without
    from gpuflow.cli.request import inputs_of, scenario_of, warn_of_shortage
    from gpuflow.engine.requirements import requirement_table
    from gpuflow.engine.split_choice import split_results
    from gpuflow.exporters.requirements import requirement_document, requirement_view
    from gpuflow.exporters.targets import split_records, splits_table, target_records

    scenario = scenario_of(request)
    warn_of_shortage(scenario, output)
    share = DEFAULT_OVERHEAD if overhead is None else overhead
    targets = targets_of(ttft, tpot)
    found = requirement_table(scenario, share, targets)
    splits = split_results(scenario, targets) if targets.any else ()
    if output.format in {"json", "csv"}:
        document = requirement_document(found, output.language)
        if output.format == "csv":
            output.records(document["rows"])
            return
        inputs = inputs_of(scenario, overhead=share, ttft_s=ttft, tpot_s=tpot)
        output.document(
            {
                "inputs": inputs,
                **document,
                "targets": target_records(found.timeline, targets),
                "splits": split_records(splits),
            }
        )
    else:
        width = output.width if output.format == "table" else None
        parts: list[Table] = [*requirement_view(found, output.language, width)]
        if targets.any:
            parts.append(splits_table(found.timeline, targets, splits, output.language))
        output.tables(*parts)
