"""`gpuflow validate`: all problems of scenario files or a launch line, without playing them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from gpuflow import words
from gpuflow.cli.failures import problem_records
from gpuflow.cli.options import Request, launch_line, nearest
from gpuflow.cli.output import Output
from gpuflow.errors import InputError, Problem
from gpuflow.importers.launch.reading import Launch

FilesArgument = Annotated[list[str] | None, typer.Argument(metavar="FILE...")]
LaunchOption = Annotated[
    Launch | None, typer.Option("--launch", parser=launch_line, metavar="LINE|FILE")
]


def validate(output: Output, files: FilesArgument = None, launch: LaunchOption = None) -> int:
    """Report every problem of every file, and of the launch line; 2 when there is any."""
    from gpuflow.importers.hf_config import read_model
    from gpuflow.scenario.load import load_scenario

    files = files or []
    if not files and launch is None:
        values = {"name": "FILE...", "command": "gpuflow validate"}
        raise InputError([Problem(code="argument_missing", values=values, hint="usage")])
    problems: list[Problem] = []
    for file in files:
        if not file:
            # As a path it would be the folder one is in.
            problems.append(Problem(code="file_name_empty"))
            continue
        try:
            # Always a path: a shipped name would hide the file somebody has just written.
            load_scenario(Path(file), resolve_model=read_model)
        except InputError as error:
            problems += error.problems
    problems += _launch_problems(launch)
    found = problem_records(problems, output.language)
    if output.format == "json":
        output.document({"inputs": {"files": files}, "problems": found})
    elif output.format == "csv":
        output.records(found)
    elif problems:
        output.tell(words.report(problems, output.language))
    else:
        output.say("validate.fine", count=len(files) + (launch is not None))
    return InputError.exit_code if problems else 0


def _launch_problems(launch: Launch | None) -> Iterator[Problem]:
    """Flags that the engine does not have, and what does not go together."""
    if launch is None:
        return
    from gpuflow.cli.request import scenario_of
    from gpuflow.importers.launch.engines import engine

    known = engine(launch.engine)
    spellings = [*known.arity, *(known.file.means if known.file else ())]
    for flag in launch.unknown:
        near = nearest(flag, spellings)
        yield Problem(
            code="launch_unknown_flag",
            key=flag,
            values={"engine": launch.title, "suggestion": near},
            hint="did_you_mean" if near else "",
        )
    try:
        scenario_of(Request(launch=launch))
    except InputError as error:
        yield from error.problems
