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
    from gpuflow.cluster.accuracy import accuracy_groups
    from gpuflow.engine.accuracy import predict
    from gpuflow.exporters.accuracy import Judged, all_groups, group_record, row_record
    from gpuflow.exporters.accuracy_tables import long_tables, short_tables
    from gpuflow.importers.truth import read_truth, shipped_truth

    folder = truth or shipped_truth()
    found = read_truth(folder)
    judged = [Judged(row, prediction) for row, prediction in predict(found.rows)]
    curves = accuracy_groups(folder)
    groups = all_groups(judged, curves)
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
    elif rows:
        output.tables(*long_tables(groups, judged, found.skipped, output.language))
    else:
        output.tables(*short_tables(curves, judged, found.skipped, output.language))
