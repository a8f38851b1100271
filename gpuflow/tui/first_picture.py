"""The player's first picture before Textual is there, whose loading takes as long as the rest."""

from __future__ import annotations

from rich.color import ColorSystem

from gpuflow.draw.ascii import to_ascii
from gpuflow.draw.play import draw_play
from gpuflow.draw.theme import THEMES
from gpuflow.draw.view import PlayView
from gpuflow.engine.timeline import Timeline
from gpuflow.tui.options import PlayerOptions
from gpuflow.tui.playing import Playing
from gpuflow.tui.styles import role_style

_SYSTEMS = {16: ColorSystem.STANDARD, 256: ColorSystem.EIGHT_BIT, 1 << 24: ColorSystem.TRUECOLOR}


def first_picture(
    timeline: Timeline, options: PlayerOptions, size: tuple[int, int], *, colours: int
) -> list[str]:
    """What the player will show first, cell for cell, so that it can take its place unseen.

    Args:
        timeline: What is played.
        options: How; nothing may be left open in them.
        size: Columns and rows of the screen.
        colours: How many the terminal has: 16, 256 or 2^24.

    Returns:
        The rows as a terminal takes them.
    """
    playing = Playing(timeline, options)
    frame = draw_play(
        PlayView(
            scene=playing.scene(options.language),
            state=playing.moments.at(playing.playhead.moment_s),
            width=size[0],
            height=size[1],
            is_playing=playing.playhead.is_playing,
            speed=playing.playhead.speed,
            focus=options.focus,
            is_big=options.is_big,
            is_ascii=options.is_ascii,
        )
    )
    theme = options.theme_name or THEMES[0]
    return [
        "".join(
            role_style(theme, role, has_color=options.has_color).render(
                text, color_system=_SYSTEMS[colours]
            )
            for text, role in row
        )
        for row in (to_ascii(frame) if options.is_ascii else frame).rows
    ]
