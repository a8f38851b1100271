"""A screen that is built anew for another size."""

from __future__ import annotations

from abc import abstractmethod

from textual import events
from textual.screen import Screen


class SizedScreen(Screen[None]):
    """Follows the terminal's size, however quickly it changes."""

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
