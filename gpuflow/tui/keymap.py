"""Keys bound anew: what is pressed becomes the key that the screens know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from textual.keys import _character_to_key  # its own parser of keys; there is no public one

from gpuflow.draw.bound import DEFAULT_KEYS, Bound, keys_of, scope_of

Scope = Literal["play", "explore", "page"]
_KNOWN_AS = {"next_step": "l", "previous_step": "h"}
"""Keys by which the screens are told, where the first one means something else at times."""


class Keymap:
    """What every key means on every kind of screen.

    Args:
        bound: Keys by command, as the config file has them.
    """

    def __init__(self, bound: Bound) -> None:
        self._meant: Mapping[Scope, dict[str, str | None]] = {
            scope: _meant(bound, scope) for scope in ("play", "explore", "page")
        }

    def meant(self, key: str, scope: Scope) -> str | None:
        """The key that a screen knows for the one that was pressed; None: nothing any more."""
        return self._meant[scope].get(key, key)


def _meant(bound: Bound, scope: Scope) -> dict[str, str | None]:
    found: dict[str, str | None] = {}
    mine = [name for name in DEFAULT_KEYS if scope in scope_of(name)]
    for name in mine:
        if name in bound:
            found |= {textual_key(key): None for key in DEFAULT_KEYS[name]}
    for name in mine:
        # what is left of the others' keys stays theirs
        kept = keys_of(name, bound) if name not in bound else ()
        found |= {textual_key(key): textual_key(key) for key in kept}
    for name in mine:
        known_as = _KNOWN_AS.get(name, DEFAULT_KEYS[name][0])
        found |= {textual_key(key): textual_key(known_as) for key in bound.get(name, ())}
    return found


def textual_key(key: str) -> str:
    """Textual's name of a key.

    Example:
        >>> textual_key("?"), textual_key("pagedown"), textual_key("G")
        ('question_mark', 'pagedown', 'G')
    """
    return _character_to_key(key) if len(key) == 1 else key
