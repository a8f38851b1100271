"""`run_player`: play a timeline in this terminal until the viewer leaves."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from gpuflow.draw.theme import theme_for
from gpuflow.engine.explore import Subject
from gpuflow.engine.timeline import Timeline
from gpuflow.scenario.spec import Language
from gpuflow.tui.kiosk import IDLE_S, seal
from gpuflow.tui.lifecycle import (
    can_draw,
    color_count,
    leaving_on_signals,
    prepare_environment,
)

DEFAULT_FPS = 12.0
SSH_FPS = 8.0
"""Over ssh every frame crosses a network that others use too."""


def default_fps(environ: Mapping[str, str]) -> float:
    """Frames per second where nobody says."""
    return SSH_FPS if environ.get("SSH_CONNECTION") else DEFAULT_FPS


def run_player(
    timeline: Timeline,
    *,
    language: Language,
    theme: str | None = None,
    start_s: float = 0.0,
    has_color: bool = True,
    is_ascii: bool = False,
    speed: float = 1.0,
    notice: str = "",
    fps: float | None = None,
    is_playing: bool = True,
    loops: bool = False,
    only_step: int | None = None,
    is_animated: bool = True,
    is_kiosk: bool = False,
    idle_s: float | None = None,
    explore: Subject | None = None,
    explore_round: int = 0,
) -> int:
    """Play until the viewer leaves.

    Args:
        timeline: What to play.
        language: Of the first screen; English where the encoding has no Chinese.
        theme: Name of a theme; None: the one that suits the terminal.
        start_s: Screen second to start at.
        has_color: False, or NO_COLOR in the environment: no colour code is ever sent.
        is_ascii: Draw with ASCII alone; so does an encoding that lacks box drawing.
        speed: One of the player's speeds, or anything near one.
        notice: A warning shown for a while at the start.
        fps: Frames per second; None: 12, over ssh 8.
        is_playing: Whether it plays at once.
        loops: Whether the end is followed by the start.
        only_step: Play this step alone, counted from 0.
        is_animated: False: one picture a step, nothing moves in between.
        is_kiosk: No suspending, no command palette, nothing of the environment that writes files.
        idle_s: Leave after so many seconds without a key; None: never, in a kiosk after 600.
        explore: A collective to open at once; None: the play itself.
        explore_round: Its round, paused there; 0: from the start.

    Returns:
        Exit status: 0 when the viewer left, 130 for Ctrl+C, 128 + n for signal n, 129 for the end
        of input (a hang-up), 1 for a mistake of the program, whose traceback is written after
        the terminal is restored.
    """
    if is_kiosk:
        seal(os.environ)
    prepare_environment(os.environ)
    if not has_color:
        os.environ["NO_COLOR"] = "1"
    encoding = getattr(sys.__stderr__, "encoding", None)
    is_ascii = is_ascii or not can_draw(encoding)

    # 0.4 s of widgets, and it reads the environment prepared above.
    from gpuflow.tui.app import PlayerApp

    app = PlayerApp(
        timeline,
        language="en" if is_ascii else language,
        theme_name=theme or theme_for(os.environ, colours=color_count(os.environ)),
        start_s=start_s,
        has_color="NO_COLOR" not in os.environ,
        is_ascii=is_ascii,
        speed=speed,
        notice=notice,
        explore=explore,
        explore_round=explore_round,
        fps=fps or default_fps(os.environ),
        is_playing=is_playing,
        loops=loops,
        only_step=only_step,
        is_animated=is_animated,
        is_kiosk=is_kiosk,
        idle_s=idle_s or (IDLE_S if is_kiosk else None),
    )
    with leaving_on_signals(app.leave):
        app.run(mouse=False)
    return app.return_code or 0
