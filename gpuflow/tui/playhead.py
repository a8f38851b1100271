"""The three values that the player owns: the moment, the speed, and whether it runs."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

SPEEDS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Screen seconds per second of the viewer, slowest first."""
NEAR_S = 1e-6
"""Moments closer than this are the same: a step's start must not count as being ahead of it."""


class Playhead:
    """A place in a play of `duration_s` screen seconds.

    Args:
        duration_s: Length of the play.
        moment_s: Where to start.
        is_playing: Whether it runs at once.
        loops: Whether the end is followed by the start.
        part: (from, to): only that part is played, until the viewer leaves it.
    """

    def __init__(
        self,
        duration_s: float,
        moment_s: float = 0.0,
        *,
        is_playing: bool = True,
        loops: bool = False,
        part: tuple[float, float] | None = None,
    ) -> None:
        self.duration_s = duration_s
        self.first_s, self.last_s = part or (0.0, duration_s)
        self.moment_s = 0.0
        self.speed = 1.0
        self.is_playing = is_playing
        self.loops = loops
        self.seek(moment_s)

    @property
    def is_at_end(self) -> bool:
        """Whether there is nothing left to play."""
        return self.moment_s >= self.last_s

    def seek(self, moment_s: float) -> None:
        """Go to a screen second, within the play; outside the part, all of it is played again."""
        self.moment_s = min(max(moment_s, 0.0), self.duration_s)
        if not self.first_s <= self.moment_s <= self.last_s:
            self.free()

    def free(self) -> None:
        """Play all of it from now on."""
        self.first_s, self.last_s = 0.0, self.duration_s

    def advance(self, elapsed_s: float) -> None:
        """Let so many seconds of the viewer pass; the end stops the play, or starts it again."""
        if self.is_playing:
            self.moment_s = min(self.moment_s + elapsed_s * self.speed, self.last_s)
            if self.is_at_end and self.loops:
                self.moment_s = self.first_s
            self.is_playing = not self.is_at_end

    def toggle(self) -> None:
        """Play or pause; at the end, play from the start again."""
        if self.is_at_end:
            self.seek(self.first_s)
            self.is_playing = True
        else:
            self.is_playing = not self.is_playing

    def restart(self) -> None:
        """Play from the start."""
        self.seek(self.first_s)
        self.is_playing = True

    def change_speed(self, steps: int) -> None:
        """Faster (above 0) or slower by so many places in SPEEDS."""
        index = min(max(SPEEDS.index(self.speed) + steps, 0), len(SPEEDS) - 1)
        self.speed = SPEEDS[index]

    def go_event(self, events: Sequence[float], way: int) -> None:
        """Pause at the next (way above 0) or the previous of some sorted moments."""
        self.is_playing = False
        if way > 0:
            index = bisect_right(events, self.moment_s + NEAR_S)
            self.seek(events[index] if index < len(events) else self.duration_s)
        else:
            index = bisect_left(events, self.moment_s - NEAR_S) - 1
            self.seek(events[index] if index >= 0 else 0.0)
