"""`gpuflow accuracy`: predictions against published measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpuflow.cli.output import Output

TruthOption = Annotated[Path | None, typer.Option("--truth", metavar="DIR")]
RowsOption = Annotated[bool, typer.Option("--rows")]


def accuracy(output: Output, truth: TruthOption = None, rows: RowsOption = False) -> None:
    """Print how far the predictions miss."""
    from gpuflow.engine.accuracy import predict
    from gpuflow.exporters.accuracy import (
        Judged,
        accuracy_tables,
        group_record,
        groups_of,
        row_record,
    )
    from gpuflow.importers.truth import read_truth, shipped_truth

    found = read_truth(truth or shipped_truth())
    judged = [Judged(row, prediction) for row, prediction in predict(found.rows)]
    groups = groups_of(judged)
    if output.format == "json":
        output.document(
            {
                "inputs": {"truth": None if truth is None else str(truth), "rows": rows},
                "groups": [group_record(group) for group in groups],
                "skipped": list(found.skipped),
                **({"rows": [row_record(item) for item in judged]} if rows else {}),
            }
        )
    elif output.format == "csv":
        output.records(list(map(row_record, judged)) if rows else list(map(group_record, groups)))
    else:
        shown = judged if rows else []
        output.tables(*accuracy_tables(groups, shown, found.skipped, output.language))
