"""`gpuflow play`: the eight steps, live in a terminal, as one frame, or as plain text."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from typing import Annotated

import typer

from gpuflow.cli.explore import (
    AlgorithmOption,
    CollectiveOption,
    NodesOption,
    RanksOption,
    asked_moment,
    asked_subject,
    refuse_of_steps,
    write_collective,
)
from gpuflow.cli.kiosk import refuse_files
from gpuflow.cli.look import player_look
from gpuflow.cli.looking import FollowOption, ZoomOption, focus_of
from gpuflow.cli.opening import opening_behind, opening_for
from gpuflow.cli.options import Request, bad_option
from gpuflow.cli.output import Output
from gpuflow.cli.screens import (
    DEFAULT_SIZE,
    AsciiOption,
    AtOption,
    FpsOption,
    Screen,
    SizeOption,
    SpeedOption,
    StepOption,
    ThemeOption,
    number_up_to,
)

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
    if print_ and plain:
        raise bad_option("--plain", "option_print_and_plain")
    is_live = not (print_ or plain) and output.format != "json" and output.streams.is_terminal()
    wishes = (at, step, zoom, follow, collective, algorithm, ranks, nodes)
    with opening_for(output, request, *wishes) if is_live else nullcontext() as opening:
        from gpuflow.cli.request import scenario_of, warn_of_shortage
        from gpuflow.cli.written import start_of, write_play
        from gpuflow.engine.pace import Pace
        from gpuflow.engine.simulate import simulate

        is_ascii = ascii_ or output.config.is_ascii
        frame_size = (size or DEFAULT_SIZE) if print_ else None
        scenario = scenario_of(request)
        focus = focus_of(zoom, follow, scenario)
        timeline = simulate(scenario)
        subject = asked_subject(collective, algorithm, ranks, nodes, timeline)
        first = asked_moment(at if subject else None, subject.rounds if subject else 0)
        if subject and not is_live:
            if print_ or plain:
                refuse_of_steps(step=step, zoom=zoom, follow=follow, ask=ask, big=big)
            write_collective(
                subject, timeline, first, output, frame_size, is_ascii=is_ascii, is_wanted=plain
            )
            return 0
        start = start_of(Pace(timeline), None if subject else at, step)
        if not is_live:
            screen = None
            if frame_size:
                screen = Screen(size=frame_size, focus=focus, is_ascii=is_ascii, is_big=big)
            write_play(start, output, screen, is_wanted=plain, is_asking=ask)
            return 0
        from gpuflow.cli.whatif import locks_of, vary_of
        from gpuflow.tui.player import run_player

        look = player_look(output, theme, fps, speed, is_ascii=ascii_, is_still=no_animation)
        options = replace(
            look,
            start_s=start.start_s,
            only_step=start.only,
            explore=subject,
            explore_round=first.round,
            notice=warn_of_shortage(scenario, output),
            is_playing=look.is_animated if autoplay is None else autoplay,
            loops=loop,
            has_mouse=mouse,
            is_kiosk=kiosk,
            idle_s=idle,
            vary=vary_of(request, scenario),
            locks=locks_of(request),
            is_asking=ask,
            is_big=big,
            focus=focus,
        )
        with opening_behind(opening, output, is_ascii=look.is_ascii) as opening:
            return run_player(timeline, replace(options, opening=opening))
