"""`gpuflow export --to png` and `--to gif`: pictures made of pixels, which need an extra."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from gpuflow.cli.options import bad_option
from gpuflow.cli.output import Output
from gpuflow.cli.screens import moment_of, step_named

if TYPE_CHECKING:
    from gpuflow.draw.frame import Frame
    from gpuflow.draw.theme import Theme
    from gpuflow.exporters.film import Film

PIXEL_FORMS = ("png", "gif")
GIF_FPS = 5.0
"""Chat programs and slides play no more evenly, and twice the frames are nearly twice the file."""

FontOption = Annotated[list[str] | None, typer.Option("--font", metavar="FILE")]


def refuse_needless(
    form: str, fps: float | None, font: Sequence[str] | None, file: str | None, output: Output
) -> None:
    """Options that would do nothing, and a terminal as a place for pixels.

    Raises:
        InputError: There is one.
    """
    if fps is not None and form != "gif":
        raise bad_option("--fps", "option_not_in_form", form=form)
    if font and form not in PIXEL_FORMS:
        raise bad_option("--font", "option_not_in_form", form=form)
    if form in PIXEL_FORMS and file is None and output.streams.stdout.isatty():
        raise bad_option("--file", "option_file_needed")


def animation(
    film: Film,
    at: str | None,
    step: str | None,
    theme: Theme,
    fonts: Sequence[str],
    fps: float | None,
) -> bytes:
    """The play, or a step of it, as a GIF."""
    from gpuflow.exporters.raster import gif

    rate = fps or GIF_FPS
    return gif(_shots(film, at, step, rate), theme, film.scene.language, fonts, fps=rate)


def _shots(film: Film, at: str | None, step: str | None, fps: float) -> Iterator[Frame]:
    """Frames of a step or of all of them as they are played; of one moment, one."""
    timeline, pace = film.pace.timeline, film.pace
    if at is not None:
        yield film.frame(moment_of(at, timeline, pace))
        return
    index = None if step is None else step_named("--step", step, timeline)
    first_s = 0.0 if index is None else pace.step_start(index)
    last_s = pace.duration_s if index is None else pace.step_end(index)
    for number in range(math.ceil((last_s - first_s) * fps)):
        yield film.frame(first_s + number / fps, is_playing=True)
