"""`gpuflow record` and `gpuflow export`: a play as a recording, steps as pictures; no terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gpuflow.cli.data_forms import DATA_FORMS, data_text
from gpuflow.cli.looking import FollowOption, ZoomOption, focus_of
from gpuflow.cli.options import Request, bad_option, one_of
from gpuflow.cli.output import Output
from gpuflow.cli.pixels import PIXEL_FORMS, FontOption, animation, refuse_needless
from gpuflow.cli.screens import (
    DEFAULT_SIZE,
    AsciiOption,
    AtOption,
    FpsOption,
    ScreenSize,
    SizeChange,
    SizeOption,
    SpeedOption,
    StepOption,
    ThemeOption,
    moment_of,
    size_change,
    step_named,
)
from gpuflow.cli.streams import put_file, write_bytes
from gpuflow.draw.ascii import ascii_text
from gpuflow.draw.theme import THEMES, Theme, load_theme

if TYPE_CHECKING:
    from gpuflow.draw.frame import Frame
    from gpuflow.exporters.film import Film

FORMS = ("svg", "html", "txt", *PIXEL_FORMS, *DATA_FORMS)
RECORD_FPS = 10.0

FromOption = Annotated[str | None, typer.Option("--from", metavar="STEP")]
UntilOption = Annotated[str | None, typer.Option("--until", metavar="STEP")]
ResizeOption = Annotated[
    list[SizeChange] | None,
    typer.Option("--resize", parser=size_change, metavar="TIME:COLSxROWS"),
]
FileOption = Annotated[str | None, typer.Option("--file", metavar="FILE")]
ToOption = Annotated[
    str | None,
    typer.Option("--to", parser=one_of("--to", FORMS), metavar=f"{{{','.join(FORMS)}}}"),
]


def record(
    output: Output,
    request: Request,
    from_: FromOption = None,
    until: UntilOption = None,
    file: FileOption = None,
    size: SizeOption = None,
    resize: ResizeOption = None,
    fps: FpsOption = None,
    speed: SpeedOption = None,
    theme: ThemeOption = None,
    zoom: ZoomOption = None,
    follow: FollowOption = None,
    ascii_: AsciiOption = False,
) -> int:
    """Write a recording that `asciinema play` shows."""
    from gpuflow.engine.parts import part_of_step
    from gpuflow.exporters.cast import recording

    film = _film(output, request, size, (zoom, follow), is_ascii=ascii_)
    timeline = film.pace.timeline
    first = 0 if from_ is None else step_named("--from", from_, timeline)
    last = len(timeline.steps) - 1 if until is None else step_named("--until", until, timeline)
    if last < first:
        raise bad_option("--until", "option_until", first=first + 1, last=last + 1)
    first_s = film.pace.step_start(first)
    is_whole = last == len(timeline.steps) - 1
    last_s = film.pace.duration_s if is_whole else part_of_step(film.pace, last)[1]
    lines = recording(
        film,
        _theme(output, theme),
        first_s=first_s,
        last_s=last_s,
        fps=fps or output.config.fps or RECORD_FPS,
        speed=speed or 1.0,
        has_color=not output.no_color,
        sizes=[(to.after_s, to.size.columns, to.size.rows) for to in resize or ()],
    )
    _write(output, file, "\n".join(lines))
    return 0


def export(
    output: Output,
    request: Request,
    to: ToOption = None,
    step: StepOption = None,
    at: AtOption = None,
    file: FileOption = None,
    size: SizeOption = None,
    theme: ThemeOption = None,
    zoom: ZoomOption = None,
    follow: FollowOption = None,
    ascii_: AsciiOption = False,
    fps: FpsOption = None,
    font: FontOption = None,
) -> int:
    """Write pictures of one step, one moment, or all steps; or the timeline as data."""
    form = to or _form_of(file, "json" if output.format == "json" else FORMS[0])
    refuse_needless(form, fps, font, file, output)
    if theme is not None and form == "txt":
        raise bad_option("--theme", "option_not_in_form", form=form)
    if form in DATA_FORMS:
        of_screens = {
            "--at": at,
            "--size": size,
            "--theme": theme,
            "--zoom": zoom,
            "--follow": None if follow is None else str(follow),
            "--ascii": ascii_,
        }
        _write(output, file, data_text(output, request, form, step, of_screens))
        return 0
    if at is not None and step is not None:
        raise bad_option("--step", "option_step_and_at")
    film = _film(output, request, size, (zoom, follow), is_ascii=ascii_)
    look, language = _theme(output, theme), film.scene.language
    if form == "gif":
        _write_bytes(output, file, animation(film, at, step, look, font or (), fps))
        return 0
    pictures = _stills(film, at, step)
    if form == "png":
        from gpuflow.exporters.raster import png

        _write_bytes(output, file, png(pictures, look, language, font or ()))
        return 0
    from gpuflow.exporters.pictures import WRITERS, html

    if form == "html":
        _write(output, file, html(pictures, look, language, _closings(film)))
        return 0
    _write(output, file, WRITERS[form](pictures, look, language))
    return 0


def _theme(output: Output, theme: str | None) -> Theme:
    """The theme of --theme, of the config file, or the first; no terminal has a say."""
    return load_theme(theme or output.config.theme or THEMES[0])


def _closings(film: Film) -> dict[str, str]:
    """What is worth remembering of each step, by the title of its picture."""
    found = {}
    for index, step in enumerate(film.scene.texts):
        said = ascii_text(step.takeaway) if film.is_ascii else step.takeaway
        found[_title(film, index)] = said
    return found


def _title(film: Film, index: int) -> str:
    """Number and title of a step, for its picture."""
    title = film.scene.t("text.heading", step=index + 1, title=film.scene.texts[index].title)
    return ascii_text(title) if film.is_ascii else title


def _stills(film: Film, at: str | None, step: str | None) -> list[tuple[str, Frame]]:
    """Pictures of one moment, one step or all steps, with their titles."""
    timeline = film.pace.timeline
    if at is not None:
        moment_s = moment_of(at, timeline, film.pace)
        index = film.pace.stretch(moment_s).step
        frames = [(index, film.frame(moment_s))]
    elif step is not None:
        index = step_named("--step", step, timeline)
        frames = [(index, film.still(index))]
    else:
        frames = [(index, film.still(index)) for index in range(len(timeline.steps))]
    return [(_title(film, index), frame) for index, frame in frames]


def _form_of(file: str | None, usual: str) -> str:
    """The form that a file's name asks for, or the usual one where it asks for none."""
    ending = Path(file).suffix.lower().lstrip(".") if file else ""
    return ending if ending in FORMS else usual


def _film(
    output: Output,
    request: Request,
    size: ScreenSize | None,
    looks: tuple[str | None, int | None],
    *,
    is_ascii: bool,
) -> Film:
    """The play to be drawn.

    Args:
        output: What is said goes there.
        request: What is played.
        size: Of the screen.
        looks: --zoom and --follow.
        is_ascii: Whether it is drawn in ASCII; so it is where the config file says so.
    """
    from gpuflow.cli.request import scenario_of, warn_of_shortage
    from gpuflow.engine.pace import Pace
    from gpuflow.engine.simulate import simulate
    from gpuflow.exporters.film import Film

    scenario = scenario_of(request)
    focus = focus_of(*looks, scenario)
    warn_of_shortage(scenario, output)
    shown = size or DEFAULT_SIZE
    pace = Pace(simulate(scenario))
    language, columns, rows = output.language, shown.columns, shown.rows
    is_ascii = is_ascii or output.config.is_ascii
    return Film(pace, language, columns, rows, is_ascii=is_ascii, focus=focus)


def _write(output: Output, file: str | None, text: str) -> None:
    """To a file in UTF-8, or to stdout."""
    if file is None:
        output.write(text)
    else:
        put_file(file, f"{text}\n".encode())


def _write_bytes(output: Output, file: str | None, data: bytes) -> None:
    """To a file, or to stdout."""
    if file is None:
        write_bytes(output.streams, data)
    else:
        put_file(file, data)
