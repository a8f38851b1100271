"""`gpuflow play`: the eight steps, live in a terminal, as one frame, or as plain text."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from gpuflow.cli.explore import (
    AlgorithmOption,
    CollectiveOption,
    NodesOption,
    RanksOption,
    asked_moment,
    asked_subject,
    write_collective,
)
from gpuflow.cli.kiosk import refuse_files
from gpuflow.cli.looking import FollowOption, ZoomOption, focus_of
from gpuflow.cli.opening import opening_for
from gpuflow.cli.options import Request, bad_option
from gpuflow.cli.output import Output
from gpuflow.cli.screens import (
    DEFAULT_SIZE,
    AsciiOption,
    AtOption,
    FpsOption,
    ScreenSize,
    SizeOption,
    SpeedOption,
    StepOption,
    ThemeOption,
    moment_of,
    number_up_to,
    step_named,
)

if TYPE_CHECKING:
    from gpuflow.draw.focus import Focus
    from gpuflow.draw.frame import Frame
    from gpuflow.engine.pace import Pace
    from gpuflow.engine.timeline import Timeline


LONGEST_IDLE_S = 86400

PrintOption = Annotated[bool, typer.Option("--print")]
PlainOption = Annotated[bool, typer.Option("--plain")]
StillOption = Annotated[bool, typer.Option("--no-animation")]
LoopOption = Annotated[bool, typer.Option("--loop")]
KioskOption = Annotated[bool, typer.Option("--kiosk")]
IdleOption = Annotated[
    float | None,
    typer.Option("--idle", parser=number_up_to("--idle", LONGEST_IDLE_S), metavar="SECONDS"),
]
BigOption = Annotated[bool, typer.Option("--big")]
AskOption = Annotated[bool, typer.Option("--ask")]
MouseOption = Annotated[bool, typer.Option("--mouse/--no-mouse")]
AutoplayOption = Annotated[bool | None, typer.Option("--autoplay/--no-autoplay")]


def play(
    output: Output,
    request: Request,
    at: AtOption = None,
    step: StepOption = None,
    size: SizeOption = None,
    print_: PrintOption = False,
    plain: PlainOption = False,
    ascii_: AsciiOption = False,
    speed: SpeedOption = None,
    theme: ThemeOption = None,
    zoom: ZoomOption = None,
    follow: FollowOption = None,
    fps: FpsOption = None,
    no_animation: StillOption = False,
    loop: LoopOption = False,
    autoplay: AutoplayOption = None,
    ask: AskOption = False,
    big: BigOption = False,
    mouse: MouseOption = False,
    kiosk: KioskOption = False,
    idle: IdleOption = None,
    collective: CollectiveOption = None,
    algorithm: AlgorithmOption = None,
    ranks: RanksOption = None,
    nodes: NodesOption = None,
) -> int:
    """Play, or write what would be played."""
    if kiosk:
        refuse_files(request)
    is_live = not (print_ or plain) and output.format != "json" and output.streams.is_terminal()
    wishes = (at, step, zoom, follow, collective, algorithm, ranks, nodes)
    with opening_for(output, request, *wishes) if is_live else nullcontext() as opening:
        from gpuflow.cli.request import inputs_of, scenario_of, warn_of_shortage
        from gpuflow.engine.pace import Pace
        from gpuflow.engine.simulate import simulate

        config = output.config
        ascii_ = ascii_ or config.is_ascii
        scenario = scenario_of(request)
        focus = focus_of(zoom, follow, scenario)
        timeline = simulate(scenario)
        subject = asked_subject(collective, algorithm, ranks, nodes, timeline)
        pace = Pace(timeline)
        first = asked_moment(at if subject else None, subject.rounds if subject else 0)
        if subject and (
            print_ or plain or output.format == "json" or not output.streams.is_terminal()
        ):
            from gpuflow.engine.explore import outlook

            shown = size or DEFAULT_SIZE
            write_collective(
                outlook(subject, timeline, 0),
                scenario,
                first,
                output,
                size=(shown.columns, shown.rows) if print_ else None,
                is_ascii=ascii_,
                is_wanted=plain,
            )
            return 0
        if at is not None and step is not None:
            raise bad_option("--step", "option_step_and_at")
        only = None if step is None else step_named("--step", step, timeline)
        if only is None:
            start_s = moment_of(None if subject else at, timeline, pace)
        else:
            start_s = pace.step_start(only)
        told = only if at is None or subject else pace.stretch(start_s).step
        if output.format == "json":
            from gpuflow.exporters.plain import step_records

            steps = step_records(timeline, output.language)
            steps = steps if told is None else [steps[told]]
            asked = _asked(pace, output, told) if ask else {}
            output.document({"inputs": inputs_of(scenario), "steps": steps, **asked})
            return 0
        shortage = warn_of_shortage(scenario, output)
        if print_:
            shown = size or DEFAULT_SIZE
            frame = _frame(
                pace,
                start_s,
                shown,
                output,
                is_ascii=ascii_,
                is_asking=ask,
                is_big=big,
                focus=focus,
            )
            output.write(frame.text())
            return 0
        if plain or not output.streams.is_terminal():
            _tell(timeline, output, told, is_wanted=plain)
            if ask:
                _tell_questions(pace, output, told)
            return 0
        from gpuflow.cli.whatif import locks_of, vary_of
        from gpuflow.tui.options import PlayerOptions
        from gpuflow.tui.player import run_player

        return run_player(
            timeline,
            PlayerOptions(
                language=output.language,
                theme_name=theme or config.theme,
                start_s=start_s,
                has_color=output.has_color,
                is_ascii=ascii_,
                speed=speed or 1.0,
                explore=subject,
                explore_round=first.round,
                notice=shortage,
                fps=fps or config.fps,
                is_playing=not no_animation if autoplay is None else autoplay,
                loops=loop,
                only_step=only,
                is_animated=not no_animation,
                has_mouse=mouse,
                is_kiosk=kiosk,
                idle_s=idle,
                vary=vary_of(request, scenario),
                locks=locks_of(request),
                is_asking=ask,
                is_big=big,
                keys=config.keys,
                opening=opening,
                focus=focus,
            ),
        )


def _frame(
    pace: Pace,
    start_s: float,
    size: ScreenSize,
    output: Output,
    *,
    is_ascii: bool,
    is_asking: bool,
    is_big: bool,
    focus: Focus | None,
) -> Frame:
    """The screen at a moment, or with the next question that comes there or later."""
    from gpuflow.draw.ascii import to_ascii
    from gpuflow.draw.play import draw_play
    from gpuflow.draw.scene import scene_of
    from gpuflow.draw.view import PlayView
    from gpuflow.engine.moment import Moments

    moments = Moments(pace)
    # What ASCII has no signs for is better said in English than in question marks.
    scene = scene_of(moments, "en" if is_ascii else output.language)
    caption = None
    if is_asking:
        from gpuflow.draw.questions import caption_from

        start_s, caption = caption_from(scene, moments, start_s, (size.columns, size.rows))
    view = PlayView(
        scene=scene,
        state=moments.at(start_s, is_covered=caption is not None),
        caption=caption,
        is_covered=caption is not None,
        marks=(scene.word("ask.on"),) if is_asking else (),
        is_big=is_big,
        is_ascii=is_ascii,
        width=size.columns,
        height=size.rows,
        is_playing=False,
        focus=focus,
    )
    frame = draw_play(view)
    return to_ascii(frame) if is_ascii else frame


def _asked(pace: Pace, output: Output, only: int | None) -> dict[str, object]:
    from gpuflow.engine.moment import Moments
    from gpuflow.exporters.questions import question_records

    found = question_records(Moments(pace), output.language)
    return {"questions": [q for q in found if only is None or q["step"] == only + 1]}


def _tell_questions(pace: Pace, output: Output, only: int | None) -> None:
    from gpuflow.engine.moment import Moments
    from gpuflow.exporters.questions import questions_text

    output.write("\n" + questions_text(Moments(pace), output.language, output.width, only=only))


def _tell(timeline: Timeline, output: Output, only: int | None, *, is_wanted: bool) -> None:
    """The steps, or only one, as text; where nobody asked for text, why it is not the player."""
    from gpuflow.exporters.plain import steps_text

    if not is_wanted:
        output.say("play.no_terminal")
    output.write(steps_text(timeline, output.language, output.width, only=only))
