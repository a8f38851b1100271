"""A player for strangers: nothing but playing, and an end when nobody is there any more."""

from __future__ import annotations

import time
from collections.abc import Callable, MutableMapping

FORBIDDEN = frozenset(
    {"suspend_process", "command_palette", "screenshot", "change_theme", "toggle_dark"}
)
"""Actions that reach a shell or a file, or show what could."""
IDLE_S = 600.0
"""Without a key for so long, nobody watches."""
_KEPT = frozenset({"TEXTUAL_COLOR_SYSTEM", "TEXTUAL_DISABLE_KITTY_KEY", "TEXTUAL_ANIMATIONS"})


def seal(environ: MutableMapping[str, str]) -> None:
    """Take out what would write files, load code or pass on what a client wants run.

    To be called before Textual is imported: it reads its settings once.
    """
    for name in list(environ):
        if name == "SSH_ORIGINAL_COMMAND" or (name.startswith("TEXTUAL") and name not in _KEPT):
            del environ[name]


class IdleWatch:
    """Knows how long ago the last key was pressed."""

    def __init__(self, patience_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.patience_s = patience_s
        self._clock = clock
        self._last_s = clock()

    def stir(self) -> None:
        """Somebody is there."""
        self._last_s = self._clock()

    @property
    def left_s(self) -> float:
        """Seconds until nobody is taken to be there; 0 or less when that is now."""
        return self.patience_s - (self._clock() - self._last_s)
