"""`gpuflow import KIND FILE`: what other tools wrote, one sub-verb for each kind of file.

A sub-verb lives in a module of its own, `gpuflow.cli.import_<kind>`, and is entered in `IMPORTS`.
Its texts are `verb.import-<kind>.*` and `option.import-<kind>.*`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import typer

from gpuflow import words
from gpuflow.cli.import_nccl import import_nccl
from gpuflow.cli.import_topo import import_topo
from gpuflow.cli.import_trace import import_trace
from gpuflow.cli.options import nearest
from gpuflow.cli.output import Output
from gpuflow.cli.verbs import VerbCommand, VerbGroup, as_command, group_page
from gpuflow.errors import InputError, Problem

IMPORTS: dict[str, Callable[..., int | None]] = {
    "nccl": import_nccl,
    "topo": import_topo,
    "trace": import_trace,
}


class ImportGroup(VerbGroup):
    """The verb `import`; what follows it is the kind of file."""

    def resolve_command(self, context: Any, arguments: list[str]) -> Any:
        """The sub-verb, or an error that names the nearest one."""
        found = arguments[0]
        if found in self.commands:
            return super().resolve_command(context, arguments)
        near = nearest(found, list(self.commands))
        values = {
            "found": found,
            "allowed": list(self.commands),
            "suggestion": f"gpuflow import {near}",
        }
        hint = "did_you_mean" if near else ""
        raise InputError([Problem(code="import_unknown", values=values, hint=hint)])

    def get_help(self, context: Any) -> str:
        """Write the page that lists the sub-verbs, and leave."""
        output = context.obj
        about = words.t("verb.import.long", output.language)
        usage = "gpuflow import KIND [OPTIONS] FILE"
        output.write(group_page(self, "import-", about, usage, output))
        raise typer.Exit


def import_program() -> typer.Typer:
    """The sub-verbs, ready to be hung into the program."""
    app = typer.Typer(cls=ImportGroup, no_args_is_help=True, rich_markup_mode=None)
    for name, function in IMPORTS.items():
        app.command(name, cls=VerbCommand)(as_command(function))
    app.callback()(as_command(_nothing))
    return app


def import_verb(arguments: Sequence[str]) -> str:
    """Name of the verb in documents: `import-nccl` where that kind of file is named.

    Example:
        >>> import_verb(["--lang", "zh", "import", "topo", "box.txt"])
        'import-topo'
    """
    after = arguments[list(arguments).index("import") + 1 :]
    kind = next((word for word in after if word in IMPORTS), None)
    return f"import-{kind}" if kind else "import"


def _nothing(output: Output) -> None:
    """`import` by itself does nothing: its sub-verbs do."""
