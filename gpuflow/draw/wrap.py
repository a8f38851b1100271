"""Sentences in lines of so many cells, in both languages.

English breaks at blanks. Chinese breaks between any two characters, except that closing
punctuation never starts a line and opening punctuation never ends one. A figure and its unit stay
together.
"""

from __future__ import annotations

import re

from gpuflow.cells import ELLIPSIS, cell_width

_NEVER_FIRST = "，。、；：？！）」』”’％…·)],.;:?!%"
_NEVER_LAST = "（「『“‘(["
_ATOM = re.compile(
    r"\s+|[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]|[^\s\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]+"
)
_BLANKS = re.compile(r"[^\S\n]+")
_UNIT = re.compile(r"(?:%|[nµm]?s|(?:[kMGT]i?)?B(?:/s)?|[kMGT]?b/s|[GT]FLOPs?(?:/s)?)(?!\w)")
_SHORT = 4
"""Parts of a formula are shorter than this."""


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` cells; a line break in the text stays one.

    A word longer than a line is broken where the line ends.

    Example:
        >>> wrap("每层计算的 Key/Value 缓存。", 12)
        ['每层计算的', 'Key/Value 缓', '存。']
    """
    if width <= 0:
        return []
    lines: list[str] = []
    for paragraph in text.strip().split("\n"):
        lines += _paragraph(paragraph, width) or [""]
    return lines


def wrap_into(text: str, width: int, most: int) -> list[str]:
    """At most `most` lines, the last of which holds all the rest, however long.

    Example:
        >>> wrap_into("每层计算的 Key/Value 缓存，用 NCCL 的 ring 算法。", 12, 2)
        ['每层计算的', 'Key/Value 缓存，用 NCCL 的 ring 算法。']
    """
    flat = _BLANKS.sub(" ", text.strip())
    lines = wrap(flat, width)
    if len(lines) <= most or most <= 0:
        return lines[: max(most, 0)]
    at = 0
    for line in lines[: most - 1]:
        at = flat.index(line, at) + len(line)
    return [*lines[: most - 1], flat[at:].replace("\n", " ").strip()]


def pages(lines: list[str], height: int) -> list[list[str]]:
    """Lines in pages of `height`; a page that goes on ends in an ellipsis."""
    if height <= 0:
        return [[]]
    cut = [lines[i : i + height] for i in range(0, len(lines), height)] or [[]]
    return [page if page is cut[-1] else [*page[:-1], f"{page[-1]}{ELLIPSIS}"] for page in cut]


def _paragraph(text: str, width: int) -> list[str]:
    lines: list[str] = []
    line = ""
    for word in _words(text):
        if word.isspace():
            line += " " if line else ""
            continue
        if line and cell_width(line) + cell_width(word) > width:
            lines.append(line.rstrip())
            line = ""
        while cell_width(word) > width:
            head = _head(word, width)
            lines.append(head)
            word = word[len(head) :]
        line += word
    if line.strip():
        lines.append(line.rstrip())
    return lines


def _words(text: str) -> list[str]:
    """Pieces that are not broken: a word with its punctuation, one Chinese character with its.

    A figure and its unit are one such piece.
    """
    words: list[str] = []
    for atom in _ATOM.findall(text):
        if len(words) > 1 and words[-1] == " " and _is_held(words[-2], atom):
            words[-2:] = [f"{words[-2]} {atom}"]
            continue
        sticks = words and not words[-1].isspace() and not atom.isspace()
        if sticks and (atom[0] in _NEVER_FIRST or words[-1][-1] in _NEVER_LAST):
            words[-1] += atom
        else:
            words.append(atom)
    return words


def _is_held(before: str, atom: str) -> bool:
    """Whether a blank between the two is no place to break a line: figures, parts of a formula."""
    if before[-1] in "=₂" or before == "·":
        return len(atom) < _SHORT
    return before[-1].isdigit() and _UNIT.match(atom) is not None


def _head(word: str, width: int) -> str:
    used = 0
    for index, character in enumerate(word):
        used += cell_width(character)
        if used > width:
            return word[: max(index, 1)]
    return word
