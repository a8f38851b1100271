"""The explorer: one collective round by round, with keys for everything that can be chosen."""

from __future__ import annotations

import math
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from gpuflow.draw.explore import draw_explore, has_keys
from gpuflow.draw.explore_view import ExploreView
from gpuflow.draw.keys import explore_hints
from gpuflow.engine.explore import (
    Outlook,
    Subject,
    other_algorithm,
    other_collective,
    other_node_size,
    other_ranks,
    outlook,
)
from gpuflow.engine.timeline import Timeline
from gpuflow.tui.screens.timed import TimedScreen
from gpuflow.tui.widgets.canvas import FrameCanvas
from gpuflow.tui.widgets.keybar import KeyBar

ROUND_S = 2.0
"""How long a round is shown: the flight of its numbers, then what has become of them."""
LONGEST_S = 60.0
"""Many rounds go by more quickly, so that all of them take no longer than this."""


class ExploreScreen(TimedScreen):
    """Shows one collective; the play stands still meanwhile."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down,right_square_bracket", "collective(1)", show=False),
        Binding("up,left_square_bracket", "collective(-1)", show=False),
        Binding("right,full_stop,l", "round(1)", show=False),
        Binding("left,comma,h", "round(-1)", show=False),
        Binding("home,g", "edge(0)", show=False),
        Binding("end,G", "edge(1)", show=False),
        Binding("space", "play", show=False),
        Binding("a", "algorithm(1)", show=False),
        Binding("A", "algorithm(-1)", show=False),
        Binding("plus,equals_sign", "ranks(1)", show=False),
        Binding("minus", "ranks(-1)", show=False),
        Binding("n", "nodes", show=False),
        Binding("r", "restart", show=False),
        Binding("escape", "app.close_page", show=False),
    ]

    def __init__(self, subject: Subject, *, round_: int = 0, is_playing: bool = False) -> None:
        super().__init__()
        self.subject = subject
        self.position = float(round_)
        """Rounds passed: 2.3 is the third round, three tenths on its way; 2 is what it starts
        from."""
        self.is_playing = is_playing
        self._outlooks: dict[Subject, Outlook] = {}
        self._timeline: Timeline | None = None

    @property
    def outlook(self) -> Outlook:
        """The subject with its costs; the message is that of the play's step."""
        timeline = self.player.timeline
        if timeline is not self._timeline:
            self._timeline, self._outlooks = timeline, {}
        if self.subject not in self._outlooks:
            found = outlook(self.subject, timeline, self.player.step_index)
            self._outlooks[self.subject] = found
        return self._outlooks[self.subject]

    @property
    def rounds(self) -> int:
        """Rounds in all."""
        return self.outlook.own.rounds

    def view(self) -> ExploreView:
        """What is to be drawn."""
        number = math.ceil(self.position)
        return ExploreView(
            language=self.player.language,
            outlook=self.outlook,
            round=number,
            fraction=1.0 - (number - self.position) if self.player.playing.is_animated else 1.0,
            width=self.app.size.width,
            height=self.app.size.height,
            is_playing=self.is_playing,
            is_ascii=self.player.is_ascii,
        )

    def compose(self) -> ComposeResult:
        """Picture and footer."""
        yield FrameCanvas(has_color=self.player.has_color)
        yield KeyBar(lambda: explore_hints(self.player.language))

    # ------------------------------------------------------------ time

    @property
    def is_moving(self) -> bool:
        """Whether rounds go by."""
        return self.is_playing

    def pass_time(self, elapsed_s: float) -> None:
        """Go on by so many seconds."""
        self.advance(elapsed_s)

    def advance(self, elapsed_s: float) -> None:
        """Let so many seconds of the viewer pass; the last round stops the play."""
        round_s = min(ROUND_S, LONGEST_S / max(self.rounds, 1))
        self.position = min(self.position + elapsed_s / round_s, float(self.rounds))
        self.is_playing = self.is_playing and self.position < self.rounds

    # ------------------------------------------------------------ picture

    async def rebuild(self) -> None:
        """Everything that depends on size or language."""
        if not self.can_show:
            return
        bar = self.query_one(KeyBar)
        bar.set_class(not has_keys(*self.app.size), "-hidden")
        await bar.rebuild()
        self.redraw()

    def redraw(self) -> None:
        """Show the round as it stands."""
        if self.can_show:
            self.query_one(FrameCanvas).show(draw_explore(self.view()), self.player.look)

    # ------------------------------------------------------------ keys

    def _choose(self, subject: Subject) -> None:
        """Another subject begins at its start; the same one goes on."""
        if subject != self.subject:
            self.subject, self.position = subject, 0.0
        self.redraw()

    def action_collective(self, way: int) -> None:
        """Next or previous collective."""
        self._choose(other_collective(self.subject, way))

    def action_algorithm(self, way: int) -> None:
        """Next or previous algorithm."""
        self._choose(other_algorithm(self.subject, way))

    def action_ranks(self, way: int) -> None:
        """More or fewer GPUs."""
        per_node = self.player.timeline.scenario.cluster.gpus_per_node
        self._choose(other_ranks(self.subject, way, per_node))

    def action_nodes(self) -> None:
        """The next node size, of algorithms that have nodes."""
        if self.subject.has_levels:
            self._choose(other_node_size(self.subject))
        else:
            self.app.bell()

    def action_round(self, way: int) -> None:
        """One round on or back, and pause."""
        self.is_playing = False
        here = math.floor(self.position) if way > 0 else math.ceil(self.position)
        self.position = float(min(max(here + way, 0), self.rounds))
        self.redraw()
        self.keep_time()

    def action_edge(self, end: int) -> None:
        """To the start (0) or past the last round (1), and pause."""
        self.is_playing = False
        self.position = float(self.rounds * end)
        self.redraw()
        self.keep_time()

    def action_play(self) -> None:
        """Play or pause; after the last round, from the start."""
        if not self.is_playing and self.position >= self.rounds:
            self.position = 0.0
        self.is_playing = not self.is_playing
        self.redraw()
        self.keep_time()

    def action_restart(self) -> None:
        """Play from the start."""
        self.position, self.is_playing = 0.0, True
        self.redraw()
        self.keep_time()
