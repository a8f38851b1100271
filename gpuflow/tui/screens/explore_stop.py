"""A stop of the guided tour in the explorer: rounds go by over and over, the words stand below."""

from __future__ import annotations

from textual.app import ComposeResult

from gpuflow.draw.tour import draw_explorer_stop, explorer_pages
from gpuflow.engine.explore import Subject
from gpuflow.tui.screens.explore import ExploreScreen
from gpuflow.tui.widgets.canvas import FrameCanvas

HOLD_S = 3.0
"""How long the result stands before the rounds begin again."""


class ExploreStop(ExploreScreen, inherit_bindings=False):
    """Shows a collective as the tour wants it; the tour's own keys lead on."""

    def __init__(self, subject: Subject) -> None:
        super().__init__(subject, is_playing=True)
        self.page = 0
        self._held_s = 0.0

    def compose(self) -> ComposeResult:
        """The picture; which key does what is said with the words."""
        yield FrameCanvas(has_color=self.player.has_color)

    @property
    def is_moving(self) -> bool:
        """Rounds go by, unless nothing moves here."""
        return self.player.playing.is_animated

    def pass_time(self, elapsed_s: float) -> None:
        """Go on by so many seconds, and from the start after the result has stood for a while."""
        if self.position < self.rounds:
            self.advance(elapsed_s)
            return
        self._held_s += elapsed_s
        if self._held_s >= HOLD_S:
            self.position, self._held_s = 0.0, 0.0

    def turn_page(self) -> bool:
        """The next page of the words; False where there is none."""
        if self.page + 1 >= self._pages():
            return False
        self.page += 1
        self.redraw()
        return True

    def _pages(self) -> int:
        return explorer_pages(self.player.touring.caption(), *self.app.size)

    async def rebuild(self) -> None:
        """Everything that depends on size or language."""
        self.redraw()

    def redraw(self) -> None:
        """Show the round as it stands, and the words."""
        if not (self.can_show and self.player.touring.is_on):
            return
        if not self.player.playing.is_animated:
            self.position = float(self.rounds)
        has_more = self.page + 1 < self._pages()
        caption = self.player.touring.caption(keys="tour.hint.pages" if has_more else "")
        frame = draw_explorer_stop(self.view(), caption, self.page)
        self.query_one(FrameCanvas).show(frame, self.player.look)
