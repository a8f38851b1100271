"""Big steps: the play stops at the end of every step, and goes on to the next when asked."""

from __future__ import annotations

from gpuflow.engine.parts import part_of_step, still_moment
from gpuflow.tui.playhead import NEAR_S
from gpuflow.tui.playing import Playing


def hold(playing: Playing, step: int) -> None:
    """Stay at the end of a step that the play has just left by itself."""
    if playing.step_index == step or not playing.playhead.is_playing:
        return
    if playing.is_animated:
        playing.playhead.seek(part_of_step(playing.pace, step)[1])
    else:
        playing.playhead.seek(still_moment(playing.pace, step))
        playing.held_s = _length_s(playing, step)
    playing.playhead.is_playing = False


def go_on(playing: Playing) -> bool:
    """From the end of a step play the next.

    Returns:
        False, with nothing done, anywhere else.
    """
    step = playing.step_index
    if playing.playhead.is_playing or step + 1 >= len(playing.timeline.steps):
        return False
    if playing.is_animated:
        is_at_end = playing.playhead.moment_s >= part_of_step(playing.pace, step)[1] - NEAR_S
    else:
        is_at_end = playing.held_s >= _length_s(playing, step)
    if is_at_end:
        playing.go_step(step + 1)
        playing.playhead.is_playing = True
    return is_at_end


def _length_s(playing: Playing, step: int) -> float:
    return playing.pace.step_end(step) - playing.pace.step_start(step)
