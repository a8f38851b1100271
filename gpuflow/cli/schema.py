"""`gpuflow schema`: JSON Schemas of scenario files and of what `--format json` prints."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from gpuflow.cli.options import bad_option, nearest
from gpuflow.cli.output import Output

VerbArgument = Annotated[str | None, typer.Argument(metavar="[VERB]")]


def schema(output: Output, verb: VerbArgument = None) -> None:
    """Print the schema of scenario files, or of a verb's JSON documents."""
    if verb is None:
        from gpuflow.scenario.schema import json_schema

        output.write(json.dumps(json_schema(), indent=2))
        return
    from gpuflow.exporters.schemas import document_names, document_schema

    names = document_names()
    if verb not in names:
        near = nearest(verb, names)
        values = {"found": verb, "allowed": list(names), "suggestion": near}
        raise bad_option("VERB", "option_choice", hint="did_you_mean" if near else "", **values)
    output.write(json.dumps(document_schema(verb), indent=2, ensure_ascii=True))
