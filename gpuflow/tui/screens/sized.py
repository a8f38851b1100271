"""A screen that is built anew for another size."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, cast

from textual import events
from textual.screen import Screen

if TYPE_CHECKING:
    from gpuflow.tui.terminal_app import TerminalApp


class SizedScreen(Screen[None]):
    """Follows the terminal's size, however quickly it changes."""

    @property
    def owner(self) -> TerminalApp:
        """The app, which says how things look."""
        return cast("TerminalApp", self.app)

    @property
    def can_show(self) -> bool:
        """Whether its parts are there: not before they are made, nor once it is taken down.

        Who leaves while a screen is made takes it down half made, and Textual still resumes it.
        """
        return self.is_mounted and not self.owner.is_leaving and self.app.size.width > 0

    @abstractmethod
    async def rebuild(self) -> None:
        """Everything that depends on size or language."""

    def on_resize(self, event: events.Resize) -> None:
        """Build for the new size; one that holds no more is passed over.

        Textual's screens send themselves every size that is new to them once more. Two sizes would
        chase each other for ever, and no key would be heard meanwhile.
        """
        if event.size != self.app.size:
            event.prevent_default().stop()
            return
        self.call_after_refresh(self.rebuild)
