"""`gpuflow validate`: all problems of scenario files, without playing them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from gpuflow import words
from gpuflow.cli.failures import problem_records
from gpuflow.cli.output import Output

FilesArgument = Annotated[list[str], typer.Argument(metavar="FILE...")]


def validate(output: Output, files: FilesArgument) -> int:
    """Report every problem of every file; 2 when there is any."""
    from gpuflow.errors import InputError, Problem
    from gpuflow.importers.hf_config import read_model
    from gpuflow.scenario.load import load_scenario

    problems: list[Problem] = []
    for file in files:
        try:
            # Always a path: a shipped name would hide the file somebody has just written.
            load_scenario(Path(file), resolve_model=read_model)
        except InputError as error:
            problems += error.problems
    found = problem_records(problems, output.language)
    if output.format == "json":
        output.document({"inputs": {"files": files}, "problems": found})
    elif output.format == "csv":
        output.records(found)
    elif problems:
        output.tell(words.report(problems, output.language))
    else:
        output.say("validate.fine", count=len(files))
    return InputError.exit_code if problems else 0
