"""A recorded step on the screens of the player: live, as one frame, or as text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpuflow.cli.look import player_look
from gpuflow.cli.options import bad_option
from gpuflow.cli.output import Output
from gpuflow.cli.screens import DEFAULT_SIZE, ScreenSize, moment_of

if TYPE_CHECKING:
    from gpuflow.importers.trace.reading import Reading


def play_recorded(
    reading: Reading,
    output: Output,
    at: str | None,
    size: ScreenSize | None,
    *,
    is_frame: bool,
    is_ascii: bool,
) -> int:
    """Play what repeats in a trace, or write what would be played.

    Raises:
        InputError: It has nothing to play, or the moment is none of it.
    """
    from gpuflow.engine.pace import Pace
    from gpuflow.importers.trace.recorded import recorded_timeline

    timeline = recorded_timeline(reading)
    if timeline is None:
        raise bad_option("--play", "trace_play_nothing", file=reading.file)
    pace = Pace(timeline)
    start_s = moment_of(at, timeline, pace)
    is_ascii = is_ascii or output.config.is_ascii
    if is_frame:
        from gpuflow.exporters.film import Film

        shown = size or DEFAULT_SIZE
        film = Film(pace, output.language, shown.columns, shown.rows, is_ascii=is_ascii)
        output.write(film.frame(start_s).text())
        return 0
    if not output.streams.is_terminal():
        from gpuflow.exporters.plain import steps_text

        output.write(steps_text(timeline, output.language, output.width))
        return 0
    from gpuflow.tui.player import run_player

    options = replace(player_look(output, is_ascii=is_ascii), start_s=start_s)
    return run_player(timeline, options)
