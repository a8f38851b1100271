"""The guided tour of a player: which stop it is at, the way there, and what its keys do.

Where the stops are and what is said at them is pure and lives elsewhere; this moves the playhead,
opens the explorer and waits.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from textual.timer import Timer

from gpuflow.draw.play import page_count
from gpuflow.draw.tour import StopWords, explorer_pages, stop_caption, stop_words
from gpuflow.draw.view import Caption, PlayView
from gpuflow.engine.explore import Subject
from gpuflow.engine.tour import Stop, approach, tour_stops
from gpuflow.scenario.spec import Language
from gpuflow.tui.commands import OF_PROGRAM
from gpuflow.tui.screens.explore_stop import ExploreStop
from gpuflow.words import t

if TYPE_CHECKING:
    from gpuflow.tui.app import PlayerApp

READING_S = 25.0
"""Seconds of a stop where the tour goes on by itself; pages of a small screen share them."""
NARROW = 80
"""Cells below which keys are hinted at by themselves, so that the title keeps its room."""
ONWARD = frozenset({"right", "l", "space", "p", "enter"})
BACK = frozenset({"left", "h", "backspace"})
TURNING = {"pagedown": ONWARD, "j": ONWARD, "pageup": BACK, "k": BACK}
"""The keys of a presenter's remote control do the same, while no table is open."""
HEARD_ON_TOUR = ONWARD | BACK | TURNING.keys() | {"escape"}
KEEPING = OF_PROGRAM | {
    *("page", "explore", "tour"),
    *("next_text", "speed", "turn", "big"),
    *("zoom", "focus_next", "follow"),
    *("table", "fold", "scroll_table", "scroll_up", "scroll_down", "scroll_home", "scroll_end"),
    *("page_up", "page_down"),
}
"""Actions that a tour goes on beside; every other one leaves it."""


class Touring:
    """A tour of what a player plays.

    Args:
        app: The player.
        is_by_itself: Whether it goes on without keys.
    """

    def __init__(self, app: PlayerApp, *, is_by_itself: bool = False) -> None:
        self.app = app
        self.is_by_itself = is_by_itself
        self.is_on = False
        self.is_travelling = False
        """Whether the play runs up to the stop."""
        self.stops: tuple[Stop, ...] = ()
        self.index = 0
        self._timer: Timer | None = None
        self._words: dict[tuple[int, Language], StopWords] = {}

    @property
    def stop(self) -> Stop:
        """Where the tour is, or is going."""
        return self.stops[self.index]

    # ------------------------------------------------------------ words

    def caption(self, *, keys: str = "") -> Caption:
        """The words of the stop; on the way there only its title.

        Args:
            keys: Locale key of what is said of keys; without one the usual.
        """
        language = self.app.language
        key = (self.index, language)
        if key not in self._words:
            self._words[key] = stop_words(self.app.pace, self.stop, language)
        words, count = self._words[key], len(self.stops)
        if self.is_travelling:
            words, keys = replace(words, lead="", text=""), "tour.hint.travel"
        is_last = self.index == count - 1
        keys = keys or ("tour.hint.last" if is_last else "tour.hint")
        if self.app.size.width < NARROW:
            keys = "tour.hint.short"
        return stop_caption(words, self.index + 1, count, language, keys=keys)

    def captioned(self, view: PlayView) -> PlayView:
        """The play screen with the words of the stop, where there is a tour."""
        if not self.is_on:
            return view
        told = replace(view, caption=self.caption())
        if self.is_travelling or view.page + 1 >= page_count(told):
            return told
        return replace(view, caption=self.caption(keys="tour.hint.pages"))

    # ------------------------------------------------------------ coming and going

    async def start(self) -> None:
        """From the first stop."""
        if self.app.predicting.is_on:
            self.app.predicting.toggle()
        self.app.what_if.is_open = False
        self.stops = tour_stops(self.app.pace)
        if not self.stops:
            self.app.notify(t("import_trace.play.no_tour", self.app.language), markup=False)
            return
        self._words.clear()
        self.is_on = True
        await self.go(0)

    async def leave(self, *, plays: bool = False) -> None:
        """Back to the ordinary player.

        Args:
            plays: Whether the play goes on at once.
        """
        self._wait_no_more()
        self.is_on = self.is_travelling = False
        self.app.play_screen.page = 0
        await self._close_explorer()
        playhead = self.app.playhead
        playhead.is_playing = plays and not playhead.is_at_end
        self._show()

    async def go(self, index: int) -> None:
        """To a stop: on by playing up to it, back at once."""
        is_onward = index >= self.index
        self.index = index
        self._wait_no_more()
        stop, playhead = self.stop, self.app.playhead
        from_s = approach(self.stops, index) if is_onward else stop.screen_s
        self.is_travelling = self.app.playing.is_animated and from_s < stop.screen_s
        if stop.subject is not None:
            await self._open_explorer(stop.subject)
            return
        await self._close_explorer()
        playhead.seek(from_s)
        playhead.is_playing = self.is_travelling
        if not self.is_travelling:
            self._arrive()
        self._show()

    def look(self) -> None:
        """Stop where the play has come to the moment."""
        if self.is_on and self.is_travelling:
            playhead = self.app.playhead
            if playhead.moment_s >= self.stop.screen_s or not playhead.is_playing:
                self._arrive()

    def _arrive(self) -> None:
        self.is_travelling = False
        self.app.playhead.seek(self.stop.screen_s)
        self.app.playhead.is_playing = False
        self.app.play_screen.page = 0
        self._wait()

    async def onward(self) -> None:
        """Straight to the stop, to the next page of its words, or to the next stop."""
        if self.is_travelling:
            self._arrive()
            self._show()
        elif self._turns_page():
            self._wait()
        elif self.index + 1 < len(self.stops):
            await self.go(self.index + 1)
        else:
            self.app.bell()

    def _turns_page(self) -> bool:
        """Show the next page of the words, if there is one."""
        screen = self.app.screen
        if isinstance(screen, ExploreStop):
            return screen.turn_page()
        play = self.app.play_screen
        if play.page + 1 >= page_count(self.app.view(tab=play.tab, page=play.page)):
            return False
        play.page += 1
        play.redraw()
        return True

    # ------------------------------------------------------------ keys

    async def takes(self, key: str) -> bool:
        """Whether the tour has used a key; a key with another meaning ends it and goes on."""
        screen = self.app.screen
        if not self.is_on or not (
            screen is self.app.play_screen or isinstance(screen, ExploreStop)
        ):
            return False
        is_unfolded = screen is self.app.play_screen and self.app.play_screen.is_unfolded
        turning = None if is_unfolded else TURNING.get(key)
        if key in ONWARD or turning is ONWARD:
            await self.onward()
        elif key in BACK or turning is BACK:
            await self.go(max(self.index - 1, 0))
        elif key == "escape" and not is_unfolded:
            await self.leave(plays=True)
        else:
            bound = screen.active_bindings.get(key)
            await self.mind(bound.binding.action if bound else "")
            return False
        return True

    async def mind(self, action: str) -> None:
        """End the tour before an action that it cannot go on beside."""
        name = action.removeprefix("play.").removeprefix("app.").partition("(")[0]
        if self.is_on and name and name not in KEEPING:
            await self.leave()

    # ------------------------------------------------------------ the explorer

    async def _open_explorer(self, subject: Subject) -> None:
        self.app.playhead.is_playing = self.is_travelling = False
        self.app.playhead.seek(self.stop.screen_s)
        screen = ExploreStop(subject)
        if isinstance(self.app.screen, ExploreStop):
            await self.app.switch_screen(screen)
        else:
            await self.app.push_screen(screen)
        self._wait()

    async def _close_explorer(self) -> None:
        if isinstance(self.app.screen, ExploreStop):
            await self.app.pop_screen()

    # ------------------------------------------------------------ going on by itself

    def _wait(self) -> None:
        """Go on after the time it takes to read what is shown."""
        self._wait_no_more()
        if not self.is_by_itself or self.index + 1 == len(self.stops):
            return
        screen, size = self.app.screen, self.app.size
        if isinstance(screen, ExploreStop):
            pages = explorer_pages(self.caption(), size.width, size.height)
        else:
            play = self.app.play_screen
            pages = page_count(self.app.view(tab=play.tab, page=play.page))
        self._timer = self.app.set_timer(READING_S / max(pages, 1), self.onward)

    def _wait_no_more(self) -> None:
        if self._timer is not None:
            self._timer.stop()
            self._timer = None

    def _show(self) -> None:
        self.app.play_screen.redraw()
        self.app.play_screen.keep_time()
