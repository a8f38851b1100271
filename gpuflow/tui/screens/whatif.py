"""The keys of the what-if panel on the play screen."""

from __future__ import annotations

import asyncio

from textual.binding import Binding

from gpuflow.draw.play import page_count
from gpuflow.scenario.spec import Scenario
from gpuflow.tui.screens.timed import TimedScreen

OPENING = Binding("w", "what_if", show=False)
PANEL_BINDINGS = (
    Binding("up", "what_if_choose(-1)", show=False),
    Binding("down", "what_if_choose(1)", show=False),
    Binding("right", "what_if_turn(1)", show=False),
    Binding("left", "what_if_turn(-1)", show=False),
    Binding("tab", "what_if_page", show=False),
    Binding("backspace", "what_if_put_back(False)", show=False),
    Binding("r", "what_if_put_back(True)", show=False),
    Binding("escape", "what_if_close", show=False),
)
"""Come before the screen's own bindings of these keys, and count only while the panel is open."""
PANEL_KEYS = frozenset(binding.key for binding in PANEL_BINDINGS)
_PANEL_ACTIONS = frozenset(binding.action.partition("(")[0] for binding in PANEL_BINDINGS)


class WhatIfKeys(TimedScreen):
    """What the keys of the panel do."""

    is_unfolded: bool
    """Whether the table covers a part of the screen, and up and down are for it."""
    _is_simulating = False
    """Whether a thread is at it; it takes up what is wanted once it is done."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key may do this now."""
        if action in _PANEL_ACTIONS and not self.player.what_if.is_open:
            return False
        if action == "what_if_choose" and self.is_unfolded:
            return False
        return super().check_action(action, parameters)

    def action_what_if(self) -> None:
        """Open or close the panel; what was changed stays so."""
        what_if = self.player.what_if
        if not what_if.can_change:
            self.app.bell()
            self.notify(self.player.scene.word("whatif.fixed"), markup=False)
            return
        what_if.is_open = not what_if.is_open
        self.redraw()

    def action_what_if_close(self) -> None:
        """Close the panel."""
        self.player.what_if.is_open = False
        self.redraw()

    def action_what_if_choose(self, way: int) -> None:
        """Next or previous knob."""
        self.player.what_if.choose(way)
        self.redraw()

    def action_what_if_page(self) -> None:
        """Next page of the figures."""
        what_if = self.player.what_if
        what_if.page = (what_if.page + 1) % page_count(self.player.view(tab=0, page=0))
        self.redraw()

    def action_what_if_turn(self, way: int) -> None:
        """Next or previous value of the chosen knob."""
        self._take(self.player.what_if.turn(way))

    def action_what_if_put_back(self, is_all: bool) -> None:
        """The chosen knob, or all of them, as they were."""
        self._take(self.player.what_if.put_back(is_all=is_all))

    def _take(self, scenario: Scenario | None) -> None:
        """Play another scenario: at once, or where that takes longer as soon as it is there."""
        player, what_if = self.player, self.player.what_if
        if scenario is None:
            self.app.bell()
        elif what_if.is_quick(scenario):
            what_if.is_busy = False
            player.play_instead(what_if.play(scenario, player.options, player.language))
        else:
            what_if.is_busy = True
            if not self._is_simulating:
                self._is_simulating = True
                self.run_worker(self._simulate())
        self.redraw()

    async def _simulate(self) -> None:
        """Simulate in a thread what is wanted by now, so that keys and pictures go on meanwhile."""
        player, what_if = self.player, self.player.what_if
        try:
            while what_if.is_busy:
                scenario = what_if.wanted
                made = await asyncio.to_thread(
                    what_if.play, scenario, player.options, player.language
                )
                if what_if.is_busy and what_if.wanted is scenario:
                    what_if.is_busy = False
                    player.play_instead(made)
        finally:
            self._is_simulating = False
        self.redraw()
