"""The keys of the play screen: what the hint rows, the help screen and the player agree on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from gpuflow.cells import cell_width
from gpuflow.draw.bound import Bound, keys_shown
from gpuflow.draw.canvas import Canvas
from gpuflow.draw.view import Mode, PlayView
from gpuflow.scenario.spec import Language
from gpuflow.words import t


@dataclass(frozen=True, slots=True)
class Key:
    """One hint: what to press, and the locale keys `ui.key.<id>` and `ui.help.<id>`."""

    id: str
    show: str
    """As it is written."""


NOTHING_BOUND: Bound = MappingProxyType({})
ASCII_KEYS = {"␣": "Space", "⇥": "Tab"}
"""Keys whose signs have no likeness in ASCII that says which key it is."""
LOOSE, TIGHT = 2, 1
"""Blanks between two hints."""
KEYS: tuple[Key, ...] = (
    Key("step", "←→"),
    Key("play", "␣"),
    Key("speed", "+-"),
    Key("tab", "⇥"),
    Key("table", "t"),
    Key("ask", "a"),
    Key("glossary", "g"),
    Key("what_if", "w"),
    Key("primitives", "c"),
    Key("basics", "b"),
    Key("explore", "x"),
    Key("language", "L"),
    Key("help", "?"),
    Key("quit", "q"),
)
"""What the hint rows show: one row of 120 cells, two of 80. The help screen lists all keys."""
TOUR_KEYS: tuple[Key, ...] = (Key("stop", "←→"), Key("leave", "Esc"))
"""What comes first while a tour is on."""
_OTHERS: Mapping[Mode, frozenset[str]] = {
    "play": frozenset(key.id for key in KEYS),
    "tour": frozenset(key.id for key in KEYS) - {"step", "play", "ask", "what_if"},
    "what_if": frozenset(key.id for key in KEYS) - {"step", "tab"},
    "question": frozenset({"ask", "language", "quit"}),
}
"""Keys that keep what they do beside a tour, the panel of what if, an open question.

The keys of the panel stand in its frame, those of a question in its words.
"""
HELP_KEYS: tuple[Key, ...] = (
    Key("step", "← →  h l  PgUp PgDn"),
    Key("edge", "Home End  G"),
    Key("play", "␣ Space  p"),
    Key("speed", "+ -"),
    Key("jump", "1-8"),
    Key("event", ". ,"),
    Key("tab", "⇥ Tab"),
    Key("restart", "r"),
    Key("table", "t"),
    Key("zoom", "z Z"),
    Key("focus", "[ ]"),
    Key("follow", "f"),
    Key("ask", "a"),
    Key("big", "B"),
    Key("glossary", "g"),
    Key("what_if", "w"),
    Key("primitives", "c"),
    Key("basics", "b"),
    Key("explore", "x"),
    Key("tour", "n"),
    Key("theme", "T"),
    Key("language", "L"),
    Key("help", "?"),
    Key("scroll", "↑ ↓"),
    Key("back", "Esc"),
    Key("palette", "Ctrl+P"),
    Key("suspend", "Ctrl+Z"),
    Key("quit", "q  Ctrl+C"),
)
"""All keys, as the help screen lists them with `ui.help.<id>`."""


EXPLORE_KEYS: tuple[Key, ...] = (
    Key("collective", "↑↓"),
    Key("round", "←→"),
    Key("play", "␣"),
    Key("algorithm", "a"),
    Key("ranks", "+-"),
    Key("nodes", "n"),
    Key("restart", "r"),
    Key("theme", "T"),
    Key("language", "L"),
    Key("help", "?"),
    Key("back", "Esc"),
    Key("quit", "q"),
)
"""Hints of the explorer of collectives: `explore.key.<id>` are their words."""
EXPLORE_HELP_KEYS: tuple[Key, ...] = (
    Key("collective", "↑ ↓  [ ]"),
    Key("round", "← →  , ."),
    Key("edge", "Home End"),
    Key("play", "␣ Space"),
    Key("algorithm", "a A"),
    Key("ranks", "+ -"),
    Key("nodes", "n"),
    Key("restart", "r"),
)
"""The explorer's own keys, as the help screen lists them with `explore.help.<id>`."""


def explore_hints(language: Language, *, is_ascii: bool = False) -> tuple[tuple[str, str], ...]:
    """(key, word) of every hint of the explorer."""
    pairs = tuple((key.show, t(f"explore.key.{key.id}", language)) for key in EXPLORE_KEYS)
    return plain_hints(pairs) if is_ascii else pairs


def hints(
    language: Language,
    bound: Bound = NOTHING_BOUND,
    *,
    mode: Mode = "play",
    is_ascii: bool = False,
) -> tuple[tuple[str, str], ...]:
    """(key, word) of every hint."""
    own = TOUR_KEYS if mode == "tour" else ()
    pairs = tuple(
        (keys_shown(key.id, key.show, bound, is_short=True), t(f"ui.key.{key.id}", language))
        for key in (*own, *(key for key in KEYS if key.id in _OTHERS[mode]))
    )
    return plain_hints(pairs) if is_ascii else pairs


def plain_hints(pairs: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    """Hints as ASCII can write them: no other language to go to, and keys by their names.

    Example:
        >>> plain_hints([("␣", "play"), ("L", "中文")])
        (('Space', 'play'),)
    """
    return tuple((ASCII_KEYS.get(key, key), word) for key, word in pairs if word.isascii())


def pack(pairs: Sequence[tuple[str, str]], width: int) -> list[list[tuple[str, str]]]:
    """Hints in as many rows as they need, one blank at each end."""
    loose = _pack(pairs, width, LOOSE)
    return loose if len(_pack(pairs, width, TIGHT)) == len(loose) else _pack(pairs, width, TIGHT)


def _pack(pairs: Sequence[tuple[str, str]], width: int, gap: int) -> list[list[tuple[str, str]]]:
    rows: list[list[tuple[str, str]]] = [[]]
    used = 1
    for key, word in pairs:
        needed = cell_width(key) + 1 + cell_width(word)
        if rows[-1] and used + gap + needed > width - 1:
            rows.append([])
            used = 1
        used += needed + (gap if rows[-1] else 0)
        rows[-1].append((key, word))
    return rows


def hints_of(view: PlayView) -> tuple[tuple[str, str], ...]:
    """(key, word) of every hint of a play screen."""
    scene = view.scene
    return hints(scene.language, scene.bound, mode=view.mode, is_ascii=view.is_ascii)


def key_rows(view: PlayView) -> int:
    """Rows that the hints take."""
    return len(pack(hints_of(view), view.width))


def draw_keys(canvas: Canvas, view: PlayView, y: int) -> None:
    """The hints of the play screen from row `y` on."""
    draw_hints(canvas, hints_of(view), y)


def draw_hints(canvas: Canvas, every: Sequence[tuple[str, str]], y: int) -> None:
    """Hints from row `y` on."""
    for row, pairs in enumerate(pack(every, canvas.width)):
        x = 1
        gap = row_gap(pairs, canvas.width)
        for key, word in pairs:
            x = canvas.put(x, y + row, key, "key")
            x = canvas.put(x + 1, y + row, word, "dim") + gap


def row_gap(pairs: Sequence[tuple[str, str]], width: int) -> int:
    """Blanks between the hints of one row."""
    used = sum(cell_width(key) + 1 + cell_width(word) for key, word in pairs)
    return LOOSE if used + LOOSE * (len(pairs) - 1) <= width - 2 else TIGHT
