"""A play that is written instead of played: one frame, its steps as text, or as records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuflow.cli.options import bad_option
from gpuflow.cli.output import Output
from gpuflow.cli.screens import Screen, moment_of, step_named

if TYPE_CHECKING:
    from gpuflow.engine.pace import Pace


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where a play begins, by --at and --step."""

    pace: Pace
    start_s: float
    """Screen second."""
    only: int | None
    """The only step that is played, from 0."""
    told: int | None
    """The only step that is told; None: all of them."""


def start_of(pace: Pace, at: str | None, step: str | None) -> Start:
    """Where the options want to begin.

    Raises:
        InputError: There is no such moment or step, or both are given.
    """
    if at is not None and step is not None:
        raise bad_option("--step", "option_step_and_at")
    if step is not None:
        only = step_named("--step", step, pace.timeline)
        return Start(pace=pace, start_s=pace.step_start(only), only=only, told=only)
    start_s = moment_of(at, pace.timeline, pace)
    told = None if at is None else pace.stretch(start_s).step
    return Start(pace=pace, start_s=start_s, only=None, told=told)


def write_play(
    start: Start, output: Output, screen: Screen | None, *, is_wanted: bool, is_asking: bool
) -> None:
    """The steps as records or text, or one frame.

    Args:
        start: Where it begins.
        output: Where to, in which form and language.
        screen: That of the frame; None: no frame, but text.
        is_wanted: Whether somebody asked for text; else it is said why there is no player.
        is_asking: Whether the questions are wanted too.
    """
    from gpuflow.cli.request import inputs_of, warn_of_shortage

    scenario = start.pace.timeline.scenario
    if output.format == "json":
        records = step_records_from(start, output, is_asking=is_asking)
        output.document({"inputs": inputs_of(scenario), **records})
        return
    warn_of_shortage(scenario, output)
    if screen is not None:
        write_frame(start, output, screen, is_asking=is_asking)
    else:
        write_text(start, output, is_wanted=is_wanted, is_asking=is_asking)


def write_frame(start: Start, output: Output, screen: Screen, *, is_asking: bool) -> None:
    """The screen at the start, or with the next question that comes there or later."""
    from gpuflow.exporters.film import Film

    film = Film(
        start.pace,
        output.language,
        screen.size.columns,
        screen.size.rows,
        is_ascii=screen.is_ascii,
        is_big=screen.is_big,
        focus=screen.focus,
    )
    frame = film.question(start.start_s) if is_asking else film.frame(start.start_s)
    output.write(frame.text())


def step_records_from(start: Start, output: Output, *, is_asking: bool) -> dict[str, object]:
    """The steps as a document's keys, and the questions where somebody asked for them."""
    from gpuflow.exporters.plain import step_records

    steps = step_records(start.pace.timeline, output.language)
    told = start.told
    records: dict[str, object] = {"steps": steps if told is None else [steps[told]]}
    if is_asking:
        from gpuflow.engine.moment import Moments
        from gpuflow.exporters.questions import question_records

        asked = question_records(Moments(start.pace), output.language)
        records["questions"] = [q for q in asked if told is None or q["step"] == told + 1]
    return records


def write_text(start: Start, output: Output, *, is_wanted: bool, is_asking: bool) -> None:
    """The steps, or only one, as text; where nobody asked for text, why it is not the player."""
    from gpuflow.exporters.plain import steps_text

    if not is_wanted:
        output.say("play.no_terminal")
    timeline, language, width = start.pace.timeline, output.language, output.width
    output.write(steps_text(timeline, language, width, only=start.told))
    if is_asking:
        from gpuflow.engine.moment import Moments
        from gpuflow.exporters.questions import questions_text

        asked = questions_text(Moments(start.pace), language, width, only=start.told)
        output.write(f"\n{asked}")
