"""`gpuflow table`: what this way of splitting the model asks of the network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gpuflow.cli.options import DEFAULT_OVERHEAD, Overhead, Request, bad_option
from gpuflow.cli.output import Output
from gpuflow.cli.targets import TpotOption, TtftOption, targets_of

if TYPE_CHECKING:
    from gpuflow.exporters.tables import Table

MOST_REQUESTS = 1e9


def request_rate(text: str) -> float:
    """How many requests a second."""
    try:
        rate = float(text)
    except ValueError:
        rate = 0.0
    if not 0 < rate <= MOST_REQUESTS:
        raise bad_option("--rate", "option_rate", found=text, most=f"{MOST_REQUESTS:,.0f}")
    return rate


RateOption = Annotated[float | None, typer.Option("--rate", parser=request_rate, metavar="N")]


def table(
    output: Output,
    request: Request,
    overhead: Overhead = None,
    ttft: TtftOption = None,
    tpot: TpotOption = None,
    rate: RateOption = None,
) -> None:
    """Print the requirement table."""
    # 0.15 s of arrays and YAML that `--help` does without
    from gpuflow.cli.request import inputs_of, scenario_of, warn_of_shortage
    from gpuflow.engine.load import network_load
    from gpuflow.engine.requirements import requirement_table
    from gpuflow.engine.split_choice import split_results
    from gpuflow.exporters.load import load_record, load_rows, load_table
    from gpuflow.exporters.requirements import requirement_document, requirement_view
    from gpuflow.exporters.targets import split_records, splits_table, target_records

    if overhead is not None and ttft is not None and tpot is not None:
        raise bad_option("--overhead", "overhead_and_targets")
    scenario = scenario_of(request)
    warn_of_shortage(scenario, output)
    share = DEFAULT_OVERHEAD if overhead is None else overhead
    targets = targets_of(ttft, tpot)
    found = requirement_table(scenario, share, targets)
    splits = split_results(scenario, targets) if targets.any else ()
    load = None if rate is None else network_load(found, rate)
    if output.format in {"json", "csv"}:
        document = requirement_document(found, output.language)
        if load is not None:
            document["rows"] += load_rows(load, output.language)
        if output.format == "csv":
            output.records(document["rows"])
            return
        inputs = inputs_of(scenario, overhead=share, ttft_s=ttft, tpot_s=tpot, rate=rate)
        output.document(
            {
                "inputs": inputs,
                **document,
                "targets": target_records(found.timeline, targets),
                "splits": split_records(splits),
                "load": load_record(load, output.language) if load is not None else None,
            }
        )
    else:
        width = output.width if output.format == "table" else None
        parts: list[Table] = [*requirement_view(found, output.language, width)]
        if load is not None:
            parts.append(load_table(load, output.language))
        if targets.any:
            parts.append(splits_table(found.timeline, targets, splits, output.language))
        output.tables(*parts)
