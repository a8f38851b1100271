"""The command line: all verbs, and the one place that catches what goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any

import typer

from gpuflow import __version__, words
from gpuflow.cli.accuracy import accuracy
from gpuflow.cli.card import card
from gpuflow.cli.collective import collective
from gpuflow.cli.compare import CompareCommand, compare
from gpuflow.cli.doctor import doctor
from gpuflow.cli.estimate import estimate
from gpuflow.cli.failures import exit_code_of
from gpuflow.cli.import_ import import_program
from gpuflow.cli.kiosk import refuse_readers
from gpuflow.cli.listing import list_
from gpuflow.cli.new import new
from gpuflow.cli.notes import notes
from gpuflow.cli.options import FORMATS, Format, look_ahead
from gpuflow.cli.output import Output, output_for
from gpuflow.cli.play import play
from gpuflow.cli.probe import probe
from gpuflow.cli.schema import schema
from gpuflow.cli.show import show
from gpuflow.cli.streams import CHINESE, WriteError, can_show, closing, prepare_streams
from gpuflow.cli.sweep import sweep
from gpuflow.cli.table import table
from gpuflow.cli.take_home import export, record
from gpuflow.cli.tour import tour
from gpuflow.cli.validate import validate
from gpuflow.cli.verbs import VerbCommand, VerbGroup, as_command

VERBS: dict[str, Callable[..., int | None]] = {
    "play": play,
    "tour": tour,
    "notes": notes,
    "record": record,
    "export": export,
    "table": table,
    "estimate": estimate,
    "card": card,
    "compare": compare,
    "sweep": sweep,
    "collective": collective,
    "accuracy": accuracy,
    "probe": probe,
    "new": new,
    "list": list_,
    "show": show,
    "validate": validate,
    "schema": schema,
    "doctor": doctor,
}
FORMATS_OF: dict[str, tuple[Format, ...]] = dict.fromkeys(("play", "tour", "notes", "new", "schema"), ("json",))
"""Verbs that have no tables: what is said is text, or one document."""
COMMANDS: dict[str, type[VerbCommand]] = {"compare": CompareCommand}
"""Verbs that read their arguments in a way of their own."""


def build_program() -> Any:
    """The parser of the command line, with every verb."""
    app = typer.Typer(
        cls=VerbGroup,
        add_completion=False,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["--help", "-h"]},
    )
    app.callback(invoke_without_command=True)(as_command(_program))
    for name, function in VERBS.items():
        command = as_command(function, formats=FORMATS_OF.get(name, FORMATS))
        app.command(name, cls=COMMANDS.get(name, VerbCommand))(command)
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
    output = output_for(streams, early, verb)
    if early.lang == "zh" and not can_show(streams.stdout, CHINESE):
        output.tell(words.t("encoding", "en", encoding=streams.stdout.encoding))
    with closing(streams) as status:
        try:
            status.code = _call(_with_verb(arguments, early.verb), output)
        except WriteError:
            raise
        except SystemExit as leaving:
            status.code = leaving.code if isinstance(leaving.code, int) else 1
        except BaseException as error:  # noqa: BLE001 - the program's outermost boundary
            status.code = exit_code_of(error, output)
    return status.code


def _with_verb(arguments: Sequence[str], verb: str) -> list[str]:
    """Without a verb, `play` is meant."""
    is_about_program = {"--help", "-h", "--version"} & set(arguments)
    return [*arguments] if verb or is_about_program else ["play", *arguments]


def _call(arguments: list[str], output: Output) -> int:
    refuse_readers(arguments)
    program = build_program()
    try:
        # Typer's own main() would catch, print and exit; here that is done in one place.
        with program.make_context("gpuflow", arguments, obj=output) as context:
            return int(program.invoke(context) or 0)
    except typer.Exit as leaving:
        return leaving.exit_code
    except typer.Abort:
        raise KeyboardInterrupt from None
