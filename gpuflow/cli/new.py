"""`gpuflow new`: a commented scenario for any model, machines and split."""

from __future__ import annotations

import os
import re
from dataclasses import fields, replace
from pathlib import Path
from typing import Annotated

import typer

from gpuflow.cli.options import Changes, Request, bad_option, named
from gpuflow.cli.output import Output
from gpuflow.cli.streams import put_file

FileArgument = Annotated[str | None, typer.Argument(metavar="[FILE]")]
NameOption = Annotated[str | None, typer.Option(parser=named("--name"), metavar="NAME")]
ForceOption = Annotated[bool, typer.Option("--force")]
_NOT_IN_A_NAME = re.compile(r"[^a-z0-9.-]+")


def new(
    output: Output,
    changes: Changes,
    file: FileArgument = None,
    name: NameOption = None,
    force: ForceOption = False,
) -> None:
    """Write the file, or print it where none is named."""
    from gpuflow.cli.request import inputs_of, scenario_of, warn_of_shortage
    from gpuflow.engine.composition import composed
    from gpuflow.exporters.scenario_file import scenario_file, scenario_title

    if changes.topo is not None:
        raise bad_option("--topo", "new_topo")
    if force and file is None:
        raise bad_option("--force", "new_force")
    path = None if file is None else Path(file)
    if path is not None and path.exists() and not (force or path.is_dir()):
        raise bad_option("FILE", "new_exists", found=file)
    request = Request(**{field.name: getattr(changes, field.name) for field in fields(Changes)})
    if request.launch is not None:
        from gpuflow.cli.launching import announce

        output = announce(request, output)
    asked = scenario_of(request)
    warn_of_shortage(asked, output)
    split = asked.parallel
    usual = f"{asked.model.name}-tp{split.tp}" + (f"-pp{split.pp}" if split.pp > 1 else "")
    usual += (f"-dp{split.dp}" if split.dp > 1 else "") + (f"-ep{split.ep}" if split.ep > 1 else "")
    found = composed(replace(asked, name=_name(name or (path.stem if path else usual))))
    found = replace(found, title=scenario_title(found))
    text = scenario_file(found, _model(changes, asked.model.name, path), output.language)
    if path is not None:
        put_file(str(path), text.encode())
    if output.format == "json":
        inputs = {**inputs_of(found), "file": file}
        output.document({"inputs": inputs, "name": found.name, "text": text})
    elif path is None:
        output.write(text.rstrip("\n"))
    if path is not None:
        output.say("new.written", file=str(path))


def _name(text: str) -> str:
    """A name that a scenario may have, as near to the text as can be."""
    return _NOT_IN_A_NAME.sub("-", text.lower()).strip("-.") or "scenario"


def _model(changes: Changes, name: str, path: Path | None) -> str:
    """How the file names its model: by the catalogue, or by a path from where the file lies."""
    from gpuflow.scenario import catalog

    if catalog.has_model(name):
        return name
    given = Path(changes.model or name)
    folder = Path.cwd() if path is None else path.resolve().parent
    try:
        relative = os.path.relpath(given.resolve(), folder)
    except ValueError:
        return given.resolve().as_posix()
    plain = Path(relative).as_posix()
    return plain if plain.startswith("../") or plain.endswith(".json") else f"./{plain}"
