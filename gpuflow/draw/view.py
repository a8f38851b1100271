"""What a drawing is given: the scene (fixed for a timeline and language) and the moment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from gpuflow.cluster.mesh import Mesh, is_dispatched, mesh_of
from gpuflow.draw.bound import Bound
from gpuflow.draw.focus import Focus
from gpuflow.engine.state import State
from gpuflow.engine.timeline import Timeline
from gpuflow.errors import Problem
from gpuflow.scenario.spec import Language, Phase
from gpuflow.words import t

if TYPE_CHECKING:
    from gpuflow.engine.expert_load import ExpertLoad
    from gpuflow.engine.whatif import Difference, Knob, KnobId, Value

Mode = Literal["play", "tour", "question", "what_if"]
"""Whose keys count: those of the play, or of what stands in the place of its texts."""
TABS = ("detail", "network", "latency")
"""The three texts of a step, in the order of the tab key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTexts:
    """The texts of one step with every placeholder filled."""

    title: str
    summary: str
    """Why there is nothing to do, in a step that the split leaves idle."""
    detail: str
    network: str
    latency: str
    takeaway: str = ""
    """The one sentence to remember; empty where the scenario or the split has none."""
    notes: str = ""
    """For whoever presents the step, a paragraph a line; may be empty."""

    def tab(self, index: int) -> str:
        """The text of a tab; see TABS."""
        return (self.detail, self.network, self.latency)[index]


@dataclass(frozen=True, kw_only=True)
class Scene:
    """What does not change from moment to moment."""

    timeline: Timeline
    language: Language
    texts: tuple[StepTexts, ...]
    """One for each step."""
    step_starts: tuple[float, ...]
    """Where each step begins, as a share of the whole screen time, 0..1."""
    duration_s: float
    """Screen seconds in all."""
    kv_full_bytes: Sequence[float]
    """KV cache of each rank once the answer is complete."""
    communication_over: Sequence[float] = ()
    """Share of communication over the screen time, in even parts of it."""
    cache_over: Sequence[float] = ()
    """KV cache as a part of what the answer needs, over the same."""

    bound: Bound = field(default_factory=dict)
    """Keys that were bound anew, by command."""

    @cached_property
    def mesh(self) -> Mesh:
        """Which rank does what."""
        return mesh_of(self.timeline.scenario)

    @cached_property
    def has_dispatch(self) -> bool:
        """Whether tokens travel to experts by all_to_all."""
        return is_dispatched(self.timeline.scenario)

    @cached_property
    def expert_loads(self) -> Mapping[Phase, ExpertLoad]:
        """An example of what the experts of one layer get; empty without experts."""
        # numpy is for those who draw experts.
        from gpuflow.engine.expert_load import expert_load

        phases: tuple[Phase, Phase] = ("prefill", "decode")
        loads = ((phase, expert_load(self.timeline.scenario, phase)) for phase in phases)
        return {phase: load for phase, load in loads if load is not None}

    def t(self, key: str, /, **values: object) -> str:
        """A sentence of the player in the scene's language."""
        return t(f"ui.{key}", self.language, **values)

    def word(self, key: str, /, **values: object) -> str:
        """Any other sentence in the scene's language."""
        return t(key, self.language, **values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caption:
    """Words that stand where the step's own texts do: a question, a stop of a tour."""

    title: str
    """A line; it is cut where it is longer than its room."""
    lead: str
    """What is said first and strongest; may be empty."""
    text: str
    """The rest; paragraphs are separated by line ends."""
    hint: str = ""
    """Which key does what now."""
    needs_room: bool = False
    """Whether it may have the row of the primitive in use, where rows are few."""
    mode: Mode = "play"
    """Whose keys count while it is shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIfPanel:
    """What may be changed of the scenario, and what the changes make of its figures."""

    knobs: tuple[Knob, ...]
    row: int
    """The knob that the keys turn."""
    difference: Difference
    refused: tuple[KnobId, Value, Problem] | None = None
    """What could not be had, and why."""
    page: int = 0
    """Page of the figures, where there are more than rows."""
    is_busy: bool = False
    """Whether what is shown is still the scenario before the last change."""


@dataclass(frozen=True, kw_only=True)
class PlayView:
    """The play screen at one moment, as somebody looks at it."""

    scene: Scene
    state: State
    width: int
    """Of the terminal, in cells."""
    height: int
    """Of the terminal, rows of key hints included."""
    tab: int = 0
    page: int = 0
    """Page of the tab's text, where it is longer than its room."""
    is_playing: bool = True
    speed: float = 1.0
    caption: Caption | None = None
    """Shown instead of the step's texts."""
    focus: Focus | None = None
    """What is looked at; None: all of it, as richly as it fits."""
    is_big: bool = False
    """For a room: little, and that in large, where there is room for it."""
    is_ascii: bool = False
    """Whether what is drawn will be shown in ASCII."""
    is_covered: bool = False
    """Whether what comes next must not be seen yet: it is being asked for."""
    panel: WhatIfPanel | None = None
    """Shown instead of the step's texts."""
    marks: tuple[str, ...] = ()
    """Words for the ways of playing that are switched on."""

    @property
    def texts(self) -> StepTexts:
        """Texts of the step at hand."""
        return self.scene.texts[self.state.step.index]

    @property
    def mode(self) -> Mode:
        """Whose keys count."""
        if self.panel is not None:
            return "what_if"
        return "play" if self.caption is None else self.caption.mode

    @property
    def position(self) -> float:
        """The moment as a share of the whole screen time."""
        return min(max(self.state.screen_s / self.scene.duration_s, 0.0), 1.0)

    @property
    def followed(self) -> int | None:
        """The rank that is followed; None where none is."""
        return self.focus.rank if self.focus is not None and self.focus.is_following else None
