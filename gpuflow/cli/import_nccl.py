"""`gpuflow import nccl LOG...`: what nccl-tests and rccl-tests printed."""

from __future__ import annotations

from typing import Annotated

import typer

from gpuflow.cli.output import Output

LogsArgument = Annotated[list[str], typer.Argument(metavar="LOG...")]


def import_nccl(output: Output, logs: LogsArgument) -> int:
    """Print what each log holds."""
    for log in logs:
        output.write(log)
    return 0
