"""`run_player`: play a timeline in this terminal until the viewer leaves."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace

from gpuflow.draw.theme import theme_for
from gpuflow.engine.timeline import Timeline
from gpuflow.tui.asking import LINE, EarlyQuestion
from gpuflow.tui.first_picture import first_picture
from gpuflow.tui.kiosk import IDLE_S, seal
from gpuflow.tui.lifecycle import (
    can_draw,
    color_count,
    giving_up,
    leaving_on_signals,
    prepare_environment,
    stop_in_background,
)
from gpuflow.tui.opening import Opening
from gpuflow.tui.options import DEFAULT_FPS, PlayerOptions

SSH_FPS = 8.0
"""Over ssh every frame crosses a network that others use too."""
PATIENCE_S = 0.15
"""For its width; a mute terminal must not be waited for."""


def default_fps(environ: Mapping[str, str]) -> float:
    """Frames per second where nobody says."""
    return SSH_FPS if environ.get("SSH_CONNECTION") else DEFAULT_FPS


def run_player(timeline: Timeline, options: PlayerOptions) -> int:
    """Play until the viewer leaves.

    Args:
        timeline: What to play.
        options: How; what they leave open is decided by the terminal.

    Returns:
        Exit status: 0 when the viewer left, 130 for Ctrl+C, 128 + n for signal n, 129 for the end
        of input (a hang-up), 1 for a mistake of the program, whose traceback is written after
        the terminal is restored.
    """
    if options.is_kiosk:
        seal(os.environ)
    prepare_environment(os.environ)
    if not options.has_color:
        os.environ["NO_COLOR"] = "1"

    encoding = getattr(sys.__stderr__, "encoding", None)
    opening = options.opening
    asked = opening.question if opening else None
    question = asked or EarlyQuestion(LINE, encoding or "ascii")
    # An opening already leaves on signals, and knows how the terminal was before its question.
    with nullcontext() if opening else leaving_on_signals(giving_up()):
        try:
            stop_in_background(0)
            if asked is None and not options.is_ascii and can_draw(encoding):
                question.ask()
            has_waited = bool(opening and _draw_first(opening, question, timeline, options))
            # 0.4 s of widgets, in which the terminal answers; it reads the environment
            # prepared above.
            from gpuflow.tui.app import PlayerApp
            from gpuflow.tui.position import runtime_folder
        except BaseException:
            question.give_back()
            raise
        is_wide = (question.answer(0.0 if has_waited else PATIENCE_S) or 0) > 1
    options = replace(options, is_ascii=options.is_ascii or is_wide, typed_ahead=question.typed)
    app = PlayerApp(timeline, settled(options, os.environ))
    with leaving_on_signals(app.leave, app.announcer.close):
        try:
            app.announcer.open(None if options.is_kiosk else runtime_folder(os.environ))
            app.run(mouse=options.has_mouse)
        finally:
            app.announcer.close()
    return app.return_code or 0


def _draw_first(
    opening: Opening, question: EarlyQuestion, timeline: Timeline, options: PlayerOptions
) -> bool:
    """The first picture on the opening's screen, once the width of its lines is known.

    Returns:
        Whether the answer was waited for; it need not be once more.
    """
    # Where questions are asked, one may stand in front of the picture; the explorer is another.
    size = None if options.is_asking or options.explore else opening.size()
    if size is None:
        return False
    cells = 1 if options.is_ascii else question.listen(PATIENCE_S)
    if cells is None:
        return True
    options = settled(replace(options, is_ascii=options.is_ascii or cells > 1), os.environ)
    opening.draw(
        first_picture(timeline, options, size, colours=color_count(os.environ)),
        getattr(sys.__stderr__, "encoding", None) or "ascii",
    )
    return True


def settled(options: PlayerOptions, environ: Mapping[str, str]) -> PlayerOptions:
    """Options with everything decided that the terminal has a say in."""
    encoding = getattr(sys.__stderr__, "encoding", None)
    is_ascii = options.is_ascii or not can_draw(encoding)
    return replace(
        options,
        language="en" if is_ascii else options.language,
        theme_name=options.theme_name or theme_for(environ, colours=color_count(environ)),
        has_color="NO_COLOR" not in environ,
        is_ascii=is_ascii,
        fps=options.fps or default_fps(environ),
        idle_s=options.idle_s or (IDLE_S if options.is_kiosk else None),
    )
