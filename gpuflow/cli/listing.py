"""`gpuflow list`: what the program knows by name."""

from __future__ import annotations

from typing import Annotated

import typer

from gpuflow.cli.options import one_of
from gpuflow.cli.output import Output
from gpuflow.exporters.catalogue import KINDS, NAMED_IN_OPTIONS, listing, records_table
from gpuflow.words import t

KindArgument = Annotated[
    str | None, typer.Argument(parser=one_of("KIND", KINDS), metavar=f"[{'|'.join(KINDS)}]")
]


def list_(output: Output, kind: KindArgument = None) -> None:
    """Print everything of a kind, or of all kinds that options name."""
    kinds = NAMED_IN_OPTIONS if kind is None else KINDS
    found = {name: listing(name, output.language) for name in kinds if kind in {None, name}}
    if output.format == "json":
        output.document(
            {"inputs": {"kind": kind}, **{str(name): rows for name, rows in found.items()}}
        )
    elif output.format == "csv":
        output.records([{"kind": name, **row} for name, rows in found.items() for row in rows])
    else:
        output.tables(
            *(
                records_table(t(f"list.{name}", output.language), rows, output.language)
                for name, rows in found.items()
            )
        )
