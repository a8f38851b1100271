"""`gpuflow notes`: a presenter's notes that follow a player, or those of all steps as text."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from gpuflow.cli.look import player_look
from gpuflow.cli.options import Request, bad_option, whole
from gpuflow.cli.output import Output
from gpuflow.cli.screens import AsciiOption, ThemeOption

LARGEST_PID = 2**31 - 1

PlainOption = Annotated[bool, typer.Option("--plain")]
PidOption = Annotated[
    int | None, typer.Option("--pid", parser=whole("--pid", 1, LARGEST_PID), metavar="N")
]


def notes(
    output: Output,
    request: Request,
    pid: PidOption = None,
    plain: PlainOption = False,
    ascii_: AsciiOption = False,
    theme: ThemeOption = None,
) -> int:
    """Follow a player, or write the notes of a scenario."""
    own = Request(profile=output.config.profile)
    follows = request in (Request(), own) and not plain and output.format != "json"
    if pid is not None and not follows:
        raise bad_option("--pid", "option_pid_follows")
    if follows and output.streams.is_terminal():
        from gpuflow.tui.notes import run_notes
        from gpuflow.tui.player import settled
        from gpuflow.tui.position import runtime_folder

        look = player_look(output, theme, is_ascii=ascii_)
        return run_notes(settled(look, os.environ), runtime_folder(os.environ), pid)
    from gpuflow.cli.request import inputs_of, scenario_of
    from gpuflow.engine.simulate import simulate
    from gpuflow.exporters.notes import note_records, notes_text

    scenario = scenario_of(request)
    timeline = simulate(scenario)
    if output.format == "json":
        steps = note_records(timeline, output.language)
        output.document({"inputs": inputs_of(scenario), "steps": steps})
        return 0
    if follows:
        output.say("notes.no_terminal")
    output.write(notes_text(timeline, output.language, output.width))
    return 0
