"""`gpuflow play`: the eight steps, live in a terminal, as one frame, or as plain text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from gpuflow.cli.options import Request, bad_option, one_of
from gpuflow.cli.output import Output
from gpuflow.draw.theme import THEMES

if TYPE_CHECKING:
    from gpuflow.draw.frame import Frame
    from gpuflow.engine.pace import Pace
    from gpuflow.engine.timeline import Timeline


@dataclass(frozen=True, slots=True)
class ScreenSize:
    """Cells of a screen."""

    columns: int
    rows: int


DEFAULT_SIZE = ScreenSize(100, 30)
_LARGEST_SCREEN = 2000
_FASTEST = 1000


def screen_size(text: str) -> ScreenSize:
    """Columns and rows of `100x30`."""
    match = re.fullmatch(r"(\d{1,4})[xX×](\d{1,4})", text.strip(), re.ASCII)
    columns, rows = map(int, match.groups()) if match else (0, 0)
    if not 0 < min(columns, rows) <= max(columns, rows) <= _LARGEST_SCREEN:
        raise bad_option("--size", "option_size", found=text)
    return ScreenSize(columns, rows)


def speed_factor(text: str) -> float:
    """How many times as fast."""
    try:
        speed = float(text)
    except ValueError:
        speed = 0.0
    if not 0 < speed <= _FASTEST:
        raise bad_option("--speed", "option_speed", found=text, most=_FASTEST)
    return speed


AtOption = Annotated[str | None, typer.Option("--at", metavar="STEP|TIME")]
SizeOption = Annotated[
    ScreenSize | None, typer.Option("--size", parser=screen_size, metavar="COLSxROWS")
]
PrintOption = Annotated[bool, typer.Option("--print")]
PlainOption = Annotated[bool, typer.Option("--plain")]
AsciiOption = Annotated[bool, typer.Option("--ascii")]
SpeedOption = Annotated[float | None, typer.Option("--speed", parser=speed_factor, metavar="X")]
ThemeOption = Annotated[
    str | None,
    typer.Option("--theme", parser=one_of("--theme", THEMES), metavar=f"{{{','.join(THEMES)}}}"),
]


def play(
    output: Output,
    request: Request,
    at: AtOption = None,
    size: SizeOption = None,
    print_: PrintOption = False,
    plain: PlainOption = False,
    ascii_: AsciiOption = False,
    speed: SpeedOption = None,
    theme: ThemeOption = None,
) -> int:
    """Play, or write what would be played."""
    from gpuflow.cli.request import inputs_of, scenario_of, warn_of_shortage
    from gpuflow.engine.pace import Pace
    from gpuflow.engine.simulate import simulate

    scenario = scenario_of(request)
    timeline = simulate(scenario)
    pace = Pace(timeline)
    start_s = _moment(at, timeline, pace)
    if output.format == "json":
        from gpuflow.exporters.plain import step_records

        steps = step_records(timeline, output.language)
        output.document({"inputs": inputs_of(scenario), "steps": steps})
        return 0
    shortage = warn_of_shortage(scenario, output)
    if print_:
        output.write(_frame(pace, start_s, size or DEFAULT_SIZE, output, is_ascii=ascii_).text())
        return 0
    if plain or not output.streams.is_terminal():
        _tell(timeline, output, is_wanted=plain)
        return 0
    from gpuflow.tui.player import run_player

    return run_player(
        timeline,
        language=output.language,
        theme=theme,
        start_s=start_s,
        has_color=output.has_color,
        is_ascii=ascii_,
        speed=speed or 1.0,
        notice=shortage,
    )


def _moment(at: str | None, timeline: Timeline, pace: Pace) -> float:
    """Screen seconds of a step's number or id, or of a simulated time."""
    from gpuflow.units import UnitError, parse_time

    if at is None:
        return 0.0
    ids = [step.id for step in timeline.steps]
    text = at.strip()
    if text in ids:
        return pace.step_start(ids.index(text))
    if text.isascii() and text.isdigit() and 1 <= int(text[:9]) <= len(ids):
        return pace.step_start(int(text) - 1)
    try:
        return pace.at_time(min(parse_time(text), timeline.end_s))
    except UnitError:
        raise bad_option("--at", "option_at", found=at, count=len(ids), allowed=ids) from None


def _frame(
    pace: Pace, start_s: float, size: ScreenSize, output: Output, *, is_ascii: bool
) -> Frame:
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
    return to_ascii(frame) if is_ascii else frame


def _tell(timeline: Timeline, output: Output, *, is_wanted: bool) -> None:
    """The steps as text; where nobody asked for text, why it is not the player."""
    from gpuflow.exporters.plain import steps_text

    if not is_wanted:
        output.say("play.no_terminal")
    output.write(steps_text(timeline, output.language, output.width))
