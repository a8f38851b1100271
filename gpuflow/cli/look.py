"""How a screen looks: what the command line says of it, then the user's own defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuflow.cli.output import Output

if TYPE_CHECKING:
    from gpuflow.tui.options import PlayerOptions


def player_look(
    output: Output,
    theme: str | None = None,
    fps: float | None = None,
    speed: float | None = None,
    *,
    is_ascii: bool = False,
    is_still: bool = False,
) -> PlayerOptions:
    """A player as options and the config file want it; what it plays is added by its verb.

    Args:
        output: Language, colour and the config file.
        theme: Of `--theme`.
        fps: Of `--fps`, frames a second.
        speed: Of `--speed`.
        is_ascii: Whether `--ascii` is given.
        is_still: Whether `--no-animation` is given.
    """
    from gpuflow.tui.options import PlayerOptions

    own = output.config
    return PlayerOptions(
        language=output.language,
        theme_name=theme or own.theme,
        has_color=output.has_color,
        is_ascii=is_ascii or own.is_ascii,
        speed=speed or 1.0,
        fps=fps or own.fps,
        is_animated=not is_still,
        keys=own.keys,
    )
