"""Which keys do what: the keys of every command, as they are and as somebody has bound them."""

from __future__ import annotations

import re
from collections.abc import Mapping

Bound = Mapping[str, tuple[str, ...]]
"""Keys by the command's name, for those that were bound anew."""

DEFAULT_KEYS: Bound = {
    "next_step": ("right", "l", "j", "pagedown"),
    "previous_step": ("left", "h", "k", "pageup", "backspace"),
    "first_step": ("home",),
    "last_step": ("end", "G"),
    "play": ("space", "p"),
    "faster": ("+", "="),
    "slower": ("-",),
    **{f"jump.{n}": (str(n),) for n in range(1, 9)},
    "next_event": (".",),
    "previous_event": (",",),
    "next_text": ("tab",),
    "restart": ("r",),
    "table": ("t",),
    "zoom_in": ("z",),
    "zoom_out": ("Z",),
    "focus_next": ("]",),
    "focus_previous": ("[",),
    "follow": ("f",),
    "ask": ("a",),
    "big": ("B",),
    "what_if": ("w",),
    "primitives": ("c",),
    "basics": ("b",),
    "glossary": ("g",),
    "explore": ("x",),
    "tour": ("n",),
    "explore.next_collective": ("down", "]"),
    "explore.previous_collective": ("up", "["),
    "explore.next_algorithm": ("a",),
    "explore.previous_algorithm": ("A",),
    "explore.more": ("+", "="),
    "explore.fewer": ("-",),
    "explore.nodes": ("n",),
    "explore.next_round": ("right", ".", "l"),
    "explore.previous_round": ("left", ",", "h"),
    "explore.first": ("home", "g"),
    "explore.last": ("end", "G"),
    "explore.play": ("space",),
    "explore.restart": ("r",),
    "theme": ("T",),
    "language": ("L",),
    "help": ("?", "f1"),
    "quit": ("q", "ctrl+q"),
}
"""The keys of each command of the player, as a config file writes them."""
_SHOWN = {
    "space": "␣",
    "tab": "⇥",
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "pageup": "PgUp",
    "pagedown": "PgDn",
    "enter": "Enter",
    "escape": "Esc",
    "backspace": "Backspace",
    "delete": "Del",
    "insert": "Ins",
    "home": "Home",
    "end": "End",
}
KEY_NAMES = tuple(_SHOWN)
"""Keys that are written by name; all others are their character, f1 to f12, or ctrl+ a letter."""
RESERVED = ("ctrl+c", "ctrl+z", "ctrl+p")
"""Keys that keep what they do whatever is bound."""
_COMMANDS: Bound = {
    "step": ("previous_step", "next_step"),
    "edge": ("first_step", "last_step"),
    "speed": ("faster", "slower"),
    "jump": tuple(f"jump.{n}" for n in range(1, 9)),
    "event": ("next_event", "previous_event"),
    "tab": ("next_text",),
    "zoom": ("zoom_in", "zoom_out"),
    "focus": ("focus_previous", "focus_next"),
    "explore.collective": ("explore.previous_collective", "explore.next_collective"),
    "explore.round": ("explore.previous_round", "explore.next_round"),
    "explore.algorithm": ("explore.next_algorithm", "explore.previous_algorithm"),
    "explore.ranks": ("explore.more", "explore.fewer"),
    "explore.edge": ("explore.first", "explore.last"),
}
"""Commands of the hints that stand for more than the one of their own name."""


def is_key(text: str) -> bool:
    """Whether a key can be written so."""
    if text in KEY_NAMES or (len(text) == 1 and text.isprintable() and text.isascii()):
        return text != " "
    return re.fullmatch(r"f([1-9]|1[0-2])|ctrl\+[a-z]", text, re.ASCII) is not None


def shown_key(key: str) -> str:
    """A key as it is written on the screen.

    Example:
        >>> shown_key("pagedown"), shown_key("ctrl+x"), shown_key("n")
        ('PgDn', 'Ctrl+X', 'n')
    """
    if key.startswith("ctrl+"):
        return f"Ctrl+{key[5:].upper()}"
    if re.fullmatch(r"f[0-9]+", key):
        return key.upper()
    return _SHOWN.get(key, key)


def keys_shown(hint: str, show: str, bound: Bound, *, is_short: bool) -> str:
    """The keys of a hint: as they always are, or those that were bound.

    Args:
        hint: Its id; `explore.` stands before those of the explorer.
        show: What is written where nothing was bound.
        bound: What was.
        is_short: Whether one key of each command is enough.
    """
    commands = _COMMANDS.get(hint, (hint,))
    if not any(is_changed(name, bound) for name in commands):
        return show
    most = 1 if is_short else None
    shown = [shown_key(key) for name in commands for key in keys_of(name, bound)[:most]]
    return ("" if is_short and all(len(key) == 1 for key in shown) else " ").join(shown) or "–"


def is_changed(command: str, bound: Bound) -> bool:
    """Whether a command has other keys than it always has: bound anew, or taken from it."""
    return keys_of(command, bound) != DEFAULT_KEYS.get(command, ())


def first_key(command: str, bound: Bound) -> str:
    """The key that a sentence names for a command; a dash where it has none any more."""
    return next((shown_key(key) for key in keys_of(command, bound)), "–")


def keys_of(command: str, bound: Bound) -> tuple[str, ...]:
    """The keys that do a command; those taken for another are no longer its own."""
    if command in bound:
        return bound[command]
    rivals = (name for name in bound if scope_of(name) & scope_of(command))
    taken = {key for name in rivals for key in bound[name]}
    return tuple(key for key in DEFAULT_KEYS.get(command, ()) if key not in taken)


def scope_of(command: str) -> frozenset[str]:
    """The screens on which a command's keys count."""
    if command.startswith("explore."):
        return frozenset({"explore"})
    everywhere = {"primitives", "basics", "glossary", "explore", "tour"}
    everywhere |= {"theme", "language", "help", "quit"}
    return frozenset({"play", "explore", "page"} if command in everywhere else {"play"})
