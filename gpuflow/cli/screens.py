"""Options that say what screen is drawn: its size, moment, theme, rate; and their parsers."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from gpuflow.cli.options import bad_option, one_of
from gpuflow.draw.theme import THEMES
from gpuflow.errors import InputError
from gpuflow.units import UnitError, parse_time

if TYPE_CHECKING:
    from gpuflow.draw.focus import Focus
    from gpuflow.engine.pace import Pace
    from gpuflow.engine.timeline import Timeline


@dataclass(frozen=True, slots=True)
class ScreenSize:
    """Cells of a screen."""

    columns: int
    rows: int


DEFAULT_SIZE = ScreenSize(100, 30)


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """A screen that is written instead of shown."""

    size: ScreenSize
    focus: Focus | None
    """What of the cluster it looks at; None: all of it."""
    is_ascii: bool
    is_big: bool


_LARGEST_SCREEN = 2000
_FASTEST = 1000
LEAST = 0.01
"""Less is no motion any more, and an endless recording."""
MOST_FPS = 60
"""More frames than a terminal shows."""


def screen_size(text: str) -> ScreenSize:
    """Columns and rows of `100x30`."""
    match = re.fullmatch(r"(\d{1,4})[xX×](\d{1,4})", text.strip(), re.ASCII)
    columns, rows = map(int, match.groups()) if match else (0, 0)
    if not 0 < min(columns, rows) <= max(columns, rows) <= _LARGEST_SCREEN:
        raise bad_option("--size", "option_size", found=text, most=_LARGEST_SCREEN)
    return ScreenSize(columns, rows)


@dataclass(frozen=True, slots=True)
class SizeChange:
    """A size that a screen takes on after some seconds."""

    after_s: float
    size: ScreenSize


def size_change(text: str) -> SizeChange:
    """Time and size of `5s:80x24`."""
    time, _, size = text.partition(":")
    try:
        return SizeChange(parse_time(time.strip()), screen_size(size))
    except (UnitError, InputError):
        raise bad_option("--resize", "option_resize", found=text) from None


def number_up_to(option: str, most: float) -> Callable[[str], float]:
    """A parser that takes a number from a hundredth up to `most`."""

    def parse(text: str) -> float:
        try:
            number = float(text)
        except ValueError:
            number = 0.0
        if not LEAST <= number <= most:
            raise bad_option(option, "option_range", found=text, least=LEAST, most=most)
        return number

    return parse


AtOption = Annotated[str | None, typer.Option("--at", metavar="STEP|TIME")]
StepOption = Annotated[str | None, typer.Option("--step", metavar="STEP")]
SizeOption = Annotated[
    ScreenSize | None, typer.Option("--size", parser=screen_size, metavar="COLSxROWS")
]
AsciiOption = Annotated[bool, typer.Option("--ascii")]
SpeedOption = Annotated[
    float | None,
    typer.Option("--speed", parser=number_up_to("--speed", _FASTEST), metavar="X"),
]
FpsOption = Annotated[
    float | None, typer.Option("--fps", parser=number_up_to("--fps", MOST_FPS), metavar="N")
]
ThemeOption = Annotated[
    str | None, typer.Option("--theme", parser=one_of("--theme", THEMES), metavar="NAME")
]


def step_named(option: str, text: str, timeline: Timeline) -> int:
    """Index of a step by its number or id.

    Raises:
        InputError: There is no such step.
    """
    ids = [step.id for step in timeline.steps]
    plain = text.strip()
    if plain in ids:
        return ids.index(plain)
    if plain.isascii() and plain.isdigit() and 1 <= int(plain[:9]) <= len(ids):
        return int(plain) - 1
    raise bad_option(option, "option_step", found=text, count=len(ids), allowed=ids)


def moment_of(at: str | None, timeline: Timeline, pace: Pace) -> float:
    """Screen seconds of a step's number or id, or of a simulated time."""
    if at is None:
        return 0.0
    try:
        return pace.step_start(step_named("--at", at, timeline))
    except InputError:
        pass
    try:
        return pace.at_time(min(parse_time(at.strip()), timeline.end_s))
    except UnitError:
        ids = [step.id for step in timeline.steps]
        hint = "time_needs_unit" if _NEARLY_TIME.fullmatch(at.strip()) else ""
        raise bad_option(
            "--at", "option_at", hint=hint, found=at, count=len(ids), allowed=ids
        ) from None


_NEARLY_TIME = re.compile(r"\d*\.?\d+(e-?\d+)?\s*[nuµm]?s?", re.ASCII | re.IGNORECASE)
"""A number without a unit, or with one in the wrong case."""
