"""The command line: all verbs, and the one place that catches what goes wrong."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Annotated, Any

import typer

from gpuflow import __version__, words
from gpuflow.cli.config import Config, read_config
from gpuflow.cli.failures import exit_code_of
from gpuflow.cli.kiosk import refuse_readers
from gpuflow.cli.options import FORMATS, Format, look_ahead
from gpuflow.cli.output import Output, output_for
from gpuflow.cli.streams import CHINESE, WriteError, can_show, closing, prepare_streams
from gpuflow.cli.verbs import VerbCommand, VerbGroup, as_command
from gpuflow.errors import InputError

VERBS: dict[str, str | Callable[..., int | None]] = {
    "play": "play:play",
    "tour": "tour:tour",
    "notes": "notes:notes",
    "record": "take_home:record",
    "export": "take_home:export",
    "table": "table:table",
    "estimate": "estimate:estimate",
    "card": "card:card",
    "compare": "compare:compare",
    "sweep": "sweep:sweep",
    "collective": "collective:collective",
    "accuracy": "accuracy:accuracy",
    "probe": "probe:probe",
    "serve": "serve:serve",
    "new": "new:new",
    "list": "listing:list_",
    "show": "show:show",
    "validate": "validate:validate",
    "schema": "schema:schema",
    "doctor": "doctor:doctor",
}
"""By name, the module and the function: a verb loads only what it needs itself."""
FORMATS_OF: dict[str, tuple[Format, ...]] = {
    **dict.fromkeys(("play", "tour", "notes", "serve", "new", "schema"), ("json",)),
    **dict.fromkeys(("record", "export"), ("json",)),
    "card": tuple(name for name in FORMATS if name != "latex"),
    "validate": ("table", "csv", "json"),
}
"""Verbs that have no tables: what is said is text, or one document."""
COMMANDS = {"compare": "compare:CompareCommand"}
"""Verbs that read their arguments in a way of their own."""


def _loaded(place: str | Callable[..., Any]) -> Any:
    """What stands at `module:name`."""
    if not isinstance(place, str):
        return place
    module, _, name = place.partition(":")
    return getattr(import_module(f"gpuflow.cli.{module}"), name)


def build_program(only: str = "") -> Any:
    """The parser of the command line, with every verb, or with only one of them."""
    app = typer.Typer(
        cls=VerbGroup,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback(invoke_without_command=True)(as_command(_program))
    for name in (only,) if only in VERBS else VERBS:
        command = as_command(_loaded(VERBS[name]), formats=FORMATS_OF.get(name, FORMATS))
        kind = _loaded(COMMANDS[name]) if name in COMMANDS else VerbCommand
        app.command(name, cls=kind)(command)
    if only not in VERBS:
        from gpuflow.cli.import_ import import_program

        app.add_typer(import_program(), name="import")
    return typer.main.get_command(app)


VersionOption = Annotated[bool, typer.Option("--version")]


def _program(output: Output, version: VersionOption = False) -> None:
    """Options before the verb; the common ones have been looked at already."""
    if version:
        output.write(f"gpuflow {__version__}")
        raise typer.Exit


def run(arguments: Sequence[str]) -> int:
    """Run one command line.

    Args:
        arguments: What stands behind the program's name.

    Returns:
        The exit status.
    """
    streams = prepare_streams()
    early = look_ahead(arguments)
    verb = early.verb if early.verb in {*VERBS, "import"} else "play"
    if verb == "import":
        from gpuflow.cli.import_ import import_verb

        verb = import_verb(arguments)
    config, trouble = _config(arguments)
    output = output_for(streams, early, verb, config)
    if early.lang == "zh" and not can_show(streams.stdout, CHINESE):
        output.tell(words.t("encoding", "en", encoding=streams.stdout.encoding))
    with closing(streams) as status:
        try:
            if trouble is not None and verb != "doctor" and not _asks_about_program(arguments):
                raise trouble
            status.code = _call(_with_verb(arguments, early.verb), output)
        except WriteError:
            raise
        except SystemExit as leaving:
            status.code = leaving.code if isinstance(leaving.code, int) else 1
        # Ctrl-C and bugs too: here it is decided what is said of them, and nowhere else.
        except BaseException as error:  # noqa: BLE001
            status.code = exit_code_of(error, output)
    return status.code


def _config(arguments: Sequence[str]) -> tuple[Config, InputError | None]:
    """The user's defaults, or what is wrong with them; a kiosk has none."""
    if "--kiosk" in arguments:
        return Config(), None
    try:
        return read_config(os.environ), None
    except InputError as error:
        return Config(), error


def _asks_about_program(arguments: Sequence[str]) -> bool:
    return bool({"--help", "-h", "--version"} & set(arguments))


def _with_verb(arguments: Sequence[str], verb: str) -> list[str]:
    """Without a verb, `play` is meant."""
    return [*arguments] if verb or _asks_about_program(arguments) else ["play", *arguments]


def _call(arguments: list[str], output: Output) -> int:
    refuse_readers(arguments)
    # Where a verb stands in front, the others need not be loaded.
    program = build_program(arguments[0] if arguments else "")
    try:
        # Typer's own main() would catch, print and exit; here that is done in one place.
        with program.make_context("gpuflow", arguments, obj=output) as context:
            return int(program.invoke(context) or 0)
    except typer.Exit as leaving:
        return leaving.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
