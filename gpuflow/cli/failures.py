"""From whatever went wrong to what the user reads and the exit status; nowhere else.

0 done, 1 failed, 2 the user's input, 3 a missing extra, 130 interrupted.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Sequence
from typing import Any

from gpuflow import words
from gpuflow.cli.options import PARSER_ERRORS, nearest
from gpuflow.cli.output import Output
from gpuflow.cli.streams import WriteError
from gpuflow.errors import GpuflowError, InputError, MissingExtra, Problem
from gpuflow.scenario.spec import Language

INTERRUPTED = 130


def exit_code_of(error: BaseException, output: Output) -> int:
    """Tell the user about an error and say with which status to exit."""
    if isinstance(error, KeyboardInterrupt):
        return INTERRUPTED
    try:
        known = _known(error)
        if known is not None:
            report(known, output)
            return known.exit_code
    except (WriteError, KeyboardInterrupt):
        raise
    # Whatever goes wrong in the report itself must not hide behind what was to be reported.
    except Exception as bug:  # noqa: BLE001
        error = bug
    _confess(error, output)
    return 1


def _known(error: BaseException) -> GpuflowError | None:
    """The error as one of ours; None for a bug."""
    if isinstance(error, GpuflowError):
        return error
    if isinstance(error, PARSER_ERRORS.UsageError):
        return InputError([usage_problem(error)])
    if isinstance(error, OSError) and error.filename is not None:
        values = {"reason": error.strerror or str(error)}
        is_missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
        code = "file_missing" if is_missing else "file_unreadable"
        file = os.fsdecode(error.filename)
        return InputError([Problem(code=code, file=file, values=values)])
    return None


def report(error: GpuflowError, output: Output) -> None:
    """Say what is wrong: as sentences on stderr, or as a document on stdout where JSON is read."""
    if isinstance(error, InputError):
        problems: Sequence[Problem] = error.problems
    elif isinstance(error, MissingExtra):
        problems = [Problem(code="extra_missing", values={"extra": error.extra})]
    else:
        problems = [Problem(code="failed", values={"reason": str(error)})]
    if output.format == "json":
        output.document({"problems": problem_records(problems, output.language)})
    else:
        output.tell(words.report(problems, output.language))


def problem_records(problems: Sequence[Problem], language: Language) -> list[dict[str, object]]:
    """The problems as they stand in a JSON document; a place that is not known is null."""
    found: list[dict[str, object]] = []
    for problem in problems:
        message, hint = words.problem_text(problem, language)
        mark = problem.mark
        found.append(
            {
                "file": (mark.file if mark else problem.file) or None,
                "line": mark.line if mark else None,
                "column": mark.column if mark else None,
                "key": problem.key or None,
                "code": problem.code,
                "message": message,
                "hint": hint or None,
            }
        )
    return found


def usage_problem(error: Any) -> Problem:
    """What the parser of the command line did not like, as a problem of ours."""
    option, context = getattr(error, "option_name", ""), error.ctx
    known = {name: item for item in context.command.params for name in item.opts}
    values = {"found": option, "command": context.command_path}
    if isinstance(error, PARSER_ERRORS.NoSuchOption):
        near = nearest(option, list(known))
        hint = "did_you_mean" if near else "options"
        return Problem(code="option_unknown", values=values | {"suggestion": near}, hint=hint)
    if isinstance(error, PARSER_ERRORS.BadOptionUsage):
        is_flag = option in known and known[option].is_flag
        return Problem(code="option_takes_none" if is_flag else "option_needs_value", key=option)
    if isinstance(error, PARSER_ERRORS.MissingParameter):
        name = error.param.metavar or error.param.name
        return Problem(code="argument_missing", values=values | {"name": name}, hint="usage")
    return Problem(code="command_line", values={"reason": error.format_message()})


def _confess(error: BaseException, output: Output) -> None:
    """A bug of ours: one line, and the traceback for whoever asks for it."""
    if os.environ.get("GPUFLOW_DEBUG", "0") not in {"", "0"}:
        output.tell("".join(traceback.format_exception(error)).rstrip())
    output.say("bug", kind=type(error).__name__, reason=str(error) or "-")
