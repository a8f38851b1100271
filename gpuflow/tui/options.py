"""How a player is started: everything that the command line decides before the first frame."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gpuflow.draw.focus import Focus
from gpuflow.scenario.spec import Language
from gpuflow.tui.opening import Opening

if TYPE_CHECKING:
    # What few look at need not be loaded for the first picture.
    from gpuflow.engine.explore import Subject
    from gpuflow.engine.whatif import KnobId, Lock, Vary

DEFAULT_FPS = 12.0
"""Frames per second where nobody says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayerOptions:
    """The settings of one player."""

    language: Language
    """Of the first screen; English where the encoding has no Chinese."""
    theme_name: str | None = None
    """None: the one that suits the terminal."""
    start_s: float = 0.0
    """Screen second to start at."""
    has_color: bool = True
    """False, or NO_COLOR in the environment: no colour code is ever sent."""
    is_ascii: bool = False
    """Draw with ASCII alone; so does an encoding that lacks box drawing."""
    speed: float = 1.0
    """One of the player's speeds, or anything near one."""
    notice: str = ""
    """A warning shown for a while at the start."""
    fps: float | None = None
    """Frames per second; None: 12, over ssh 8."""
    is_playing: bool = True
    """Whether it plays at once."""
    loops: bool = False
    """Whether the end is followed by the start."""
    only_step: int | None = None
    """Play this step alone, counted from 0."""
    is_animated: bool = True
    """False: one picture a step, nothing moves in between."""
    has_mouse: bool = False
    """Whether the mouse is the player's; otherwise it marks text, as anywhere in the terminal."""
    is_kiosk: bool = False
    """No suspending, no command palette, nothing of the environment that writes files."""
    typed_ahead: bytes = b""
    """Keys that were pressed before the player could take them."""
    idle_s: float | None = None
    """Leave after so many seconds without a key; None: never, in a kiosk after 600."""
    focus: Focus | None = None
    """What of the cluster to look at first; None: all of it."""
    keys: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Keys that were bound anew, by command."""
    is_big: bool = False
    """Whether it begins in big mode."""
    is_asking: bool = False
    """Whether the play stops before results and asks for them."""
    vary: Vary | None = None
    """Resolves what the viewer changes; None: nothing can be changed."""
    locks: Mapping[KnobId, Lock] = field(default_factory=dict)
    """What cannot be changed of it, and why."""
    is_touring: bool = False
    """Whether it begins with the guided tour."""
    tours_by_itself: bool = False
    """Whether a tour goes on without keys."""
    opening: Opening | None = None
    """What stands on the screen already."""
    explore: Subject | None = None
    """A collective to open at once; None: the play itself."""
    explore_round: int = 0
    """Its round, paused there; 0: from the start."""
