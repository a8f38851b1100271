"""The footer: every key with its word, in as many rows as the width asks for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from textual.app import ComposeResult
from textual.containers import HorizontalGroup
from textual.screen import Screen
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

from gpuflow.draw.keys import ASCII_KEYS, pack, plain_hints, row_gap

if TYPE_CHECKING:
    from gpuflow.tui.terminal_app import TerminalApp

Hint = tuple[str, str]
"""What to press, as written, and the word beside it."""

_TEXTUAL_KEYS = {
    "←→": "right",
    "␣": "space",
    "+-": "plus",
    "⇥": "tab",
    "r": "r",
    "T": "T",
    "?": "question_mark",
    "↑↓": "down",
    "Esc": "escape",
    **{name: name.lower() for name in ASCII_KEYS.values()},
}
"""What a click on a hint presses; keys that are missing here are their own names."""


class KeyBar(Footer):
    """Textual's footer with rows instead of scrolling, so that no key is out of sight."""

    def __init__(self, hints: Callable[[], Sequence[Hint]]) -> None:
        super().__init__(show_command_palette=False, compact=True)
        self.hints = hints
        self._composed: tuple[int, tuple[Hint, ...]] | None = None

    def compose(self) -> ComposeResult:
        """One group a row, laid out as the Frame's own key rows are."""
        width = self.app.size.width
        hints = self._plain()
        self._composed = (width, hints)
        for pairs in pack(hints, width):
            gap = row_gap(pairs, width)
            keys = []
            for key, word in pairs:
                item = FooterKey(_TEXTUAL_KEYS.get(key, key), key, word, "")
                item.compact = True
                item.styles.margin = (0, gap, 0, 0)
                keys.append(item)
            yield HorizontalGroup(*keys, classes="keys")

    def _plain(self) -> tuple[Hint, ...]:
        """The hints, as ASCII can write them where nothing else can be shown."""
        hints = tuple(self.hints())
        return plain_hints(hints) if cast("TerminalApp", self.app).is_ascii else hints

    async def rebuild(self) -> None:
        """Compose again, if language or width have changed."""
        if self._composed != (self.app.size.width, self._plain()):
            await self.recompose()

    def bindings_changed(self, screen: Screen[object]) -> None:
        """Focus changes nothing here: all hints are always shown."""
