"""Every screen at fixed moments, five sizes, both languages: as approved, whole, in its language.

Pictures are compared with files under golden/ (see test_play_golden.py); where another module holds
the picture of a combination, its file is the one. Nothing of Textual or rich takes part, so that a
new release of theirs changes no file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gpuflow.cells import cell_width
from gpuflow.draw.ascii import ascii_text, to_ascii
from gpuflow.draw.frame import Frame
from gpuflow.draw.play import draw_play
from gpuflow.draw.roles import ROLES
from gpuflow.scenario.spec import Language
from gpuflow.words import t

SIZES = ((40, 10), (60, 20), (80, 24), (120, 40), (200, 60))
LANGUAGES: tuple[Language, ...] = ("zh", "en")
Size = tuple[int, int]
Approved = Callable[[str, str], None]
PAGES = ("table", "primitives", "basics", "help", "glossary", "notes")
PLAYS = (
    *("all-reduce", "hand-over", "decode", "question", "answer", "tour", "what-if", "big"),
    *("recorded", "replicas-stage", "replicas-group", "replicas-gpu", "replicas-follow"),
)
SCREENS = (*PLAYS, "explore", "explore-tour", *PAGES)
STORED_AS = {
    "big": "big-all-reduce",
    "what-if": "what-if-tp2-pp2",
    "explore": "explore-all-reduce-ring-4-round-2",
    "notes": "notes-tp2-pp2-decode",
}
"""Where other modules have pictures of the same."""


# ---------------------------------------------------------------- as approved


def golden_name(name: str, size: Size, language: Language) -> str:
    """The file of a picture; pages have a width only."""
    stem = STORED_AS.get(name, name)
    if name in PAGES:
        return f"{stem}-{(size[0] - 1)}-{language}"
    return f"{stem}-{size[0]}x{size[1]}-{language}"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", SCREENS)
def test_every_screen_looks_as_it_was_approved(
    name: str, size: Size, language: Language, screens: Any, approved: Approved
) -> None:
    approved(golden_name(name, size, language), screens.frame(name, size, language).text())


# ---------------------------------------------------------------- whole


DOWN_FROM = {"╭": ("│├╎", "╰"), "╮": ("│┤╎", "╯"), "┏": ("┃", "┗"), "┓": ("┃", "┛")}
"""What goes down from a corner, and the corner that it must come to."""
ENDS_A_WIRE = "┬┴┼"


def cells_of(frame: Frame) -> list[list[str]]:
    """A character a cell; the second one of a wide character is empty."""
    rows = []
    for row in frame.rows:
        cells: list[str] = []
        for character in "".join(run.text for run in row):
            cells += [character, *[""] * (cell_width(character) - 1)]
        rows.append(cells)
    return rows


def broken_edges(frame: Frame) -> Iterator[tuple[int, int]]:
    """Corners (column, row) whose edge does not come to the corner at its other end."""
    cells = cells_of(frame)
    for y, row in enumerate(cells):
        for x, corner in enumerate(row):
            if corner in DOWN_FROM:
                edge, last = DOWN_FROM[corner]
                below = next((c[x] for c in cells[y + 1 :] if c[x] not in edge or not c[x]), "")
                if below != last:
                    yield x, y
            if corner and corner in "╰╯":
                edge = "│├┤╎"
                above = next((c[x] for c in cells[:y][::-1] if c[x] not in edge or not c[x]), "")
                if not above or above not in {"╰": "╭", "╯": "╮"}[corner] + ENDS_A_WIRE:
                    yield x, y


def every_frame(screens: Any, name: str) -> Iterator[tuple[Size, Language, Frame]]:
    """All sizes and languages of a screen."""
    for size in SIZES:
        for language in LANGUAGES:
            yield size, language, screens.frame(name, size, language)


@pytest.mark.parametrize("name", SCREENS)
def test_every_row_is_as_wide_as_the_screen_and_every_box_is_closed(
    name: str, screens: Any
) -> None:
    for size, language, frame in every_frame(screens, name):
        width = (size[0] - 1) if name in PAGES else size[0]
        assert frame.width == width
        assert len(frame.rows) == frame.height == (frame.height if name in PAGES else size[1])
        assert {sum(cell_width(run.text) for run in row) for row in frame.rows} == {width}
        assert {run.role for row in frame.rows for run in row} <= set(ROLES)
        assert list(broken_edges(frame)) == [], (size, language)


# ---------------------------------------------------------------- words


UNFILLED = re.compile(r"[{}]|\b(?:None|nan|NaN|inf)\b|[\ufe0f\u200d\ufffd\ue000-\ue0ff]")
"""What a template leaves, what a missing figure would be, and signs that shift columns."""
WIDE = re.compile("[\u3000-\u9fff\uff00-\uffef]+")
SENTENCE = re.compile(r"[A-Za-z]{2,}(?: [a-z]{2,}){2,}")
"""Three English words beside each other, the last two of them no names."""


@pytest.mark.parametrize("name", SCREENS)
def test_every_word_is_filled_in_and_in_its_language(name: str, screens: Any) -> None:
    other = t("ui.key.language", "en")
    for size, language, frame in every_frame(screens, name):
        text = frame.text()
        assert UNFILLED.findall(text) == [], size
        if name == "glossary":
            continue
        if language == "zh":
            assert SENTENCE.findall(text) == [], size
        else:
            assert set(WIDE.findall(text)) <= {other}, size


# ---------------------------------------------------------------- ASCII


ASCII_SIZES = ((80, 24), (120, 40))


@pytest.mark.parametrize("size", ASCII_SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", SCREENS)
def test_every_screen_has_an_ascii_twin(name: str, size: Size, screens: Any) -> None:
    frame = screens.frame(name, size, "en")
    plain = to_ascii(frame)
    widths = {len("".join(run.text for run in row)) for row in plain.rows}
    assert widths == {frame.width}
    assert [[run.role for run in row] for row in plain.rows] == [
        [run.role for run in row] for row in frame.rows
    ]
    assert plain.text().isascii()
    if name != "glossary":
        other = t("ui.key.language", "en")
        assert "??" not in ascii_text(frame.text().replace(other, ""))


@pytest.mark.parametrize("size", ASCII_SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("name", ["all-reduce", "what-if"])
def test_the_ascii_twin_looks_as_it_was_approved(
    name: str, size: Size, screens: Any, approved: Approved
) -> None:
    frame = draw_play(screens.view(name, size, "en", is_ascii=True))
    approved(f"ascii-{name}-{size[0]}x{size[1]}", to_ascii(frame).text())
