"""A recorded step on the screens of the player: live, as one frame, or as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuflow.cli.options import bad_option
from gpuflow.cli.output import Output
from gpuflow.cli.screens import DEFAULT_SIZE, ScreenSize, moment_of

if TYPE_CHECKING:
    from gpuflow.engine.pace import Pace
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
    if is_frame:
        output.write(_frame(pace, start_s, size or DEFAULT_SIZE, output, is_ascii=is_ascii))
        return 0
    if not output.streams.is_terminal():
        from gpuflow.exporters.plain import steps_text

        output.write(steps_text(timeline, output.language, output.width))
        return 0
    from gpuflow.tui.options import PlayerOptions
    from gpuflow.tui.player import run_player

    options = PlayerOptions(
        language=output.language,
        start_s=start_s,
        theme_name=output.config.theme,
        has_color=output.has_color,
        is_ascii=is_ascii or output.config.is_ascii,
        fps=output.config.fps,
        keys=output.config.keys,
    )
    return run_player(timeline, options)


def _frame(pace: Pace, start_s: float, size: ScreenSize, output: Output, *, is_ascii: bool) -> str:
    from gpuflow.draw.ascii import to_ascii
    from gpuflow.draw.play import draw_play
    from gpuflow.draw.scene import scene_of
    from gpuflow.draw.view import PlayView
    from gpuflow.engine.moment import Moments

    moments = Moments(pace)
    view = PlayView(
        # What ASCII has no signs for is better said in English than in question marks.
        scene=scene_of(moments, "en" if is_ascii else output.language),
        state=moments.at(start_s),
        width=size.columns,
        height=size.rows,
        is_playing=False,
    )
    frame = draw_play(view)
    return (to_ascii(frame) if is_ascii else frame).text()
