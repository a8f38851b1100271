"""`gpuflow tour`: a play with a guide; without a terminal its words as text, or as records."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import typer

from gpuflow.cli.look import player_look
from gpuflow.cli.options import Request
from gpuflow.cli.output import Output
from gpuflow.cli.screens import AsciiOption, FpsOption, SpeedOption, ThemeOption

PlainOption = Annotated[bool, typer.Option("--plain")]
AutoplayOption = Annotated[bool, typer.Option("--autoplay")]
StillOption = Annotated[bool, typer.Option("--no-animation")]


def tour(
    output: Output,
    request: Request,
    autoplay: AutoplayOption = False,
    plain: PlainOption = False,
    ascii_: AsciiOption = False,
    speed: SpeedOption = None,
    theme: ThemeOption = None,
    fps: FpsOption = None,
    no_animation: StillOption = False,
) -> int:
    """Play with a guide, or write what the guide says."""
    from gpuflow.cli.request import inputs_of, scenario_of, warn_of_shortage
    from gpuflow.engine.pace import Pace
    from gpuflow.engine.simulate import simulate

    scenario = scenario_of(request)
    timeline = simulate(scenario)
    if output.format == "json":
        from gpuflow.exporters.tour import stop_records

        stops = stop_records(Pace(timeline), output.language)
        output.document({"inputs": inputs_of(scenario), "stops": stops})
        return 0
    shortage = warn_of_shortage(scenario, output)
    if plain or not output.streams.is_terminal():
        from gpuflow.exporters.tour import tour_text

        if not plain:
            output.say("tour.no_terminal")
        output.write(tour_text(Pace(timeline), output.language, output.width))
        return 0
    from gpuflow.tui.player import run_player

    look = player_look(output, theme, fps, speed, is_ascii=ascii_, is_still=no_animation)
    options = replace(
        look, notice=shortage, is_playing=False, is_touring=True, tours_by_itself=autoplay
    )
    return run_player(timeline, options)
