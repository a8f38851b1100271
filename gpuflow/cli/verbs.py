"""Between a verb's plain function and typer: options spelled out, help in two languages.

A verb is a function such as `def table(output: Output, request: Request, overhead: Overhead)`.
`as_command` makes typer see the fields of `Request` and `Common` one by one and hands the function
what it asked for. All texts come from the locale files, so a test can hold both languages equal.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from functools import cache, wraps
from typing import Any, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from gpuflow import words
from gpuflow.cells import cell_width, pad
from gpuflow.cli.failures import usage_problem
from gpuflow.cli.options import (
    DEFAULT_FORMAT,
    FORMATS,
    PARSER_ERRORS,
    Changes,
    Common,
    Format,
    Request,
    format_option,
    nearest,
    one_of,
)
from gpuflow.cli.output import Output
from gpuflow.draw.wrap import wrap
from gpuflow.errors import InputError, Problem
from gpuflow.scenario.spec import Language

Verb = Callable[..., int | None]

_HELP_WIDTH = 100
"""Cells of a help page where the screen is wider, or nobody knows."""
_NAME_WIDTH = 26
_NARROW, _INDENT = 60, 6
"""Below that width, what a name means stands under it."""


def as_command(function: Verb, *, formats: tuple[Format, ...] = FORMATS) -> Callable[..., int]:
    """The function that typer turns into a command.

    Args:
        function: Takes an Output, perhaps a Request or Changes, and options of its own.
        formats: The forms that its output has; others are refused.
    """
    own: dict[str, inspect.Parameter] = {}
    asked: tuple[str, type] | None = None
    # Not get_type_hints: before Python 3.11 it wraps every annotation with a None default anew.
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        if parameter.annotation in {Request, Changes}:
            asked = name, parameter.annotation
        elif parameter.annotation is not Output:
            own[name] = parameter.replace(kind=_BY_NAME)
    request = _parameters(asked[1]) if asked else {}
    common = dict(_parameters(Common))
    common["format"] = common["format"].replace(annotation=format_option(formats))
    arguments = [_CONTEXT, *own.values(), *request.values(), *common.values()]
    # The scenario is an argument and stands before every option.
    arguments.sort(key=lambda parameter: parameter.name not in {"context_", "scenario"})

    @wraps(function)
    def command(context_: typer.Context, **values: Any) -> int:
        if context_.obj.format not in {*formats, DEFAULT_FORMAT}:
            # It stood before the verb.
            one_of("--format", formats)(context_.obj.format)
        given, output = {name: values[name] for name in own}, context_.obj
        if asked:
            name, kind = asked
            changes = kind(**{field: values[field] for field in request})
            given[name] = changes
            if isinstance(changes, Request):
                changes = given[name] = _with_profile(changes, output)
                from gpuflow.cli.calibrated import calibrated

                output = _announced(changes, output)
                with calibrated(changes.calibration, output) as output:
                    return function(output, **given) or 0
        return function(output, **given) or 0

    # Typer reads the options from there; the types of functions do not know the attribute.
    command.__signature__ = inspect.Signature(arguments)  # type: ignore[attr-defined]
    command.__annotations__ = {argument.name: argument.annotation for argument in arguments}
    return command


def _with_profile(request: Request, output: Output) -> Request:
    """The request with the user's own profile, where nothing else says which."""
    own = output.config.profile
    if own is None or request.profile is not None or request.launch is not None:
        return request
    from gpuflow.scenario.load import scenario_names

    is_shipped = request.scenario is None or request.scenario in scenario_names()
    return replace(request, profile=own) if is_shipped else request


def _announced(request: Request, output: Output) -> Output:
    """The output, once it is said what was made of a launch line and of a box's topology."""
    if request.launch is not None:
        from gpuflow.cli.launching import announce

        output = announce(request, output)
    if request.topo is not None:
        from gpuflow.cli.boxes import announce_box

        output = announce_box(request, output)
    return output


_BY_NAME = inspect.Parameter.KEYWORD_ONLY
_CONTEXT = inspect.Parameter("context_", _BY_NAME, annotation=typer.Context)


@cache
def _parameters(options: type) -> dict[str, inspect.Parameter]:
    hints = get_type_hints(options, include_extras=True)
    return {
        field.name: inspect.Parameter(
            field.name, _BY_NAME, default=field.default, annotation=hints[field.name]
        )
        for field in fields(options)
    }


@contextmanager
def _naming(context: Any) -> Iterator[None]:
    """Let every error of the parser say which command it concerns."""
    try:
        yield
    except PARSER_ERRORS.UsageError as error:
        error.ctx = error.ctx or context
        raise


@contextmanager
def _collecting(parameters: Sequence[Any]) -> Iterator[list[Problem]]:
    """Let the value of every option be read, whatever is wrong with those before it.

    Yields:
        What is wrong with them; the block fills it.
    """
    problems: list[Problem] = []

    def patient(process: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def processed(context: Any, value: Any) -> Any:
            try:
                return process(context, value)
            except InputError as error:
                problems.extend(error.problems)
                return None

        return processed

    for parameter in parameters:
        parameter.process_value = patient(parameter.process_value)
    try:
        yield problems
    finally:
        for parameter in parameters:
            del parameter.process_value


class VerbCommand(TyperCommand):
    """One verb; its help page is ours."""

    def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
        """Parse, and say in our own words all that is wrong, and what is left over."""
        context.allow_extra_args = True
        rest: list[str] = []
        with _collecting(self.params) as problems:
            try:
                with _naming(context):
                    rest = super().parse_args(context, arguments)
            except PARSER_ERRORS.UsageError as error:
                problems.append(usage_problem(error))
        if context.args:
            left_over = {"found": list(context.args)}
            problems.append(Problem(code="argument_left_over", values=left_over))
        if problems:
            raise InputError(problems)
        return rest

    def get_help(self, context: Any) -> str:
        """Write the help page in the user's language, and leave."""
        # "gpuflow import nccl" is the verb import-nccl
        words_of_path = context.command_path.split()[1:]
        context.obj.write(
            _verb_page(self, words_of_path, context.obj.language, _width(context.obj))
        )
        # The parser would print what is returned here, and escape what the stream's encoding lacks.
        raise typer.Exit


class VerbGroup(TyperGroup):
    """The program itself."""

    def parse_args(self, context: Any, arguments: list[str]) -> list[str]:
        """Parse what stands before the verb."""
        with _naming(context):
            return super().parse_args(context, arguments)

    def resolve_command(self, context: Any, arguments: list[str]) -> Any:
        """The verb, or an error that names the nearest one."""
        if arguments[0] not in self.commands:
            raise InputError([_unknown_verb(arguments[0], list(self.commands))])
        return super().resolve_command(context, arguments)

    def get_help(self, context: Any) -> str:
        """Write the first help page in the user's language, and leave."""
        context.obj.write(_program_page(self, context.obj.language, _width(context.obj)))
        raise typer.Exit


def _unknown_verb(found: str, verbs: list[str]) -> Problem:
    from gpuflow.scenario.load import scenario_names

    near = nearest(found, verbs)
    hint = "did_you_mean" if near else "verbs"
    if found in scenario_names() or found.endswith((".yaml", ".yml")):
        hint = "play_file"
    values = {"found": found, "allowed": verbs, "suggestion": f"gpuflow {near}"}
    return Problem(code="verb_unknown", values=values, hint=hint)


def _width(output: Output) -> int:
    return min(output.width or _HELP_WIDTH, _HELP_WIDTH)


def _program_page(group: Any, language: Language, width: int) -> str:
    lines = [*wrap(words.t("help.program", language), width), ""]
    lines += [words.t("help.usage", language, usage="gpuflow [VERB] [OPTIONS]"), ""]
    lines += [words.t("help.verbs", language)]
    for name in group.commands:
        lines += _entry(name, words.t(f"verb.{name}.short", language), width)
    lines += ["", words.t("help.options", language), *_options(group.params, "", language, width)]
    lines += [_help_entry(language, width), ""]
    lines += wrap(words.t("help.more", language), width)
    return "\n".join(lines)


def group_page(group: Any, prefix: str, about: str, usage: str, output: Output) -> str:
    """The help page of a verb that has sub-verbs.

    Args:
        group: The verb.
        prefix: What the sub-verbs' names begin with in the locale files.
        about: What the verb is for.
        usage: How to call it.
        output: Language and width.
    """
    language, width = output.language, _width(output)
    lines = [*wrap(about, width), "", words.t("help.usage", language, usage=usage), ""]
    lines += [words.t("help.verbs", language)]
    for name in group.commands:
        lines += _entry(name, words.t(f"verb.{prefix}{name}.short", language), width)
    return "\n".join(lines)


def _verb_page(command: Any, path: list[str], language: Language, width: int) -> str:
    name = "-".join(path)
    arguments = [item for item in command.params if item.param_type_name == "argument"]
    usage = " ".join(["gpuflow", *path, *(item.metavar for item in arguments), "[OPTIONS]"])
    lines = [*wrap(words.t(f"verb.{name}.long", language), width), ""]
    lines += [*wrap(words.t("help.usage", language, usage=usage), width), ""]
    if arguments:
        lines += [words.t("help.arguments", language)]
        for item in arguments:
            lines += _entry(item.metavar, _text(name, item.name, language), width)
        lines += [""]
    for heading, items in _grouped(command.params):
        lines += [words.t(heading, language), *_options(items, name, language, width), ""]
    lines[-1:] = [_help_entry(language, width)]
    examples = words.t(f"verb.{name}.examples", language).splitlines()
    lines += ["", words.t("help.examples", language), *(f"  {example}" for example in examples)]
    return "\n".join(lines)


def _grouped(params: Sequence[Any]) -> Iterator[tuple[str, list[Any]]]:
    """The options of a verb under their headings: its own, those of the scenario, and the rest."""
    options = [item for item in params if item.param_type_name == "option"]
    changes = {field.name for field in fields(Changes)}
    takes_scenario = changes <= {item.name for item in options}
    of_scenario = {field.name for field in fields(Request)} if takes_scenario else set()
    common = {field.name for field in fields(Common)}
    own = {item.name for item in options} - of_scenario - common
    groups = (("help.options", own), ("help.scenario", of_scenario), ("help.common", common))
    for heading, names in groups:
        if found := [item for item in options if item.name in names]:
            yield heading, found


def _options(items: Sequence[Any], name: str, language: Language, width: int) -> list[str]:
    lines: list[str] = []
    for item in items:
        if item.param_type_name == "option" and not item.hidden:
            value = "" if item.is_flag else f" {item.metavar}"
            label = ", ".join([*item.opts, *item.secondary_opts]) + value
            has_text = item.name == "format" and DEFAULT_FORMAT not in item.metavar
            lines += _entry(label, _text(name, item.name, language, has_text=has_text), width)
    return lines


def _help_entry(language: Language, width: int) -> str:
    return "\n".join(_entry("--help", words.t("option.help", language), width))


def _text(verb: str, name: str, language: Language, *, has_text: bool = False) -> str:
    """A verb may say about an option more than all verbs say; one with text has no tables."""
    name = name.rstrip("_")
    special = f"option.{verb}.{name}"
    usual = f"option.text.{name}" if has_text else f"option.{name}"
    return words.t(special if words.has(special, language) else usual, language)


def _entry(label: str, text: str, width: int) -> list[str]:
    if width < _NARROW:
        return [f"  {line}" for line in wrap(label, max(width - 2, 1))] + [
            f"{'':{_INDENT}}{line}" for line in wrap(text, max(width - _INDENT, 1))
        ]
    folded = wrap(text, width - _NAME_WIDTH - 2)
    if cell_width(label) > _NAME_WIDTH - 2:
        first = [f"  {label}"]
    else:
        first = [f"  {pad(label, _NAME_WIDTH)}{folded.pop(0)}"]
    return first + [f"  {'':{_NAME_WIDTH}}{line}" for line in folded]
