"""What copying did to a matrix: labels of launchers before lines, lines wrapped at an edge."""

from __future__ import annotations

import re
from collections.abc import Sequence

_LABEL = re.compile(
    r"(?:\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d[\d.,]{0,12}(?:Z|[+-]\d\d:?\d\d)?[ \t]"
    r"|\[\d{1,5},\d{1,5}\]<std(?:out|err)>:[ \t]?|\[pod/[^\]]{1,200}\][ \t]|[ ]{0,4}\d{1,5}:[ \t])"
)
"""Of kubectl, docker, mpirun, stern, srun; with one blank, as the next one may mark a cell."""
_LINK = r"X|SYS|NODE|PHB|PXB|PIX|NV\d{1,2}"
_ROW = re.compile(rf"\s*(?:GPU|NIC|mlx)\w{{1,24}}\s+(?:{_LINK})(?=\s|$)")
_HEAD = re.compile(r"\s*GPU0\s+GPU1\b")
_WORD = re.compile(r"\w")
_LAST = re.compile(rf"(?:^|\s)(?:{_LINK}|(?:GPU|NIC)\d{{1,3}}|CPU|GPU|NUMA|Affinity)$")
_NEXT = re.compile(rf"(?:{_LINK}|(?:GPU|NIC)\d{{1,3}}|NUMA|GPU|Affinity|ID|\d+[-,]\S+)(?:\s|$)")
_WIDEST_GAP = 16
"""Blanks at the end of a piece that copying may have left out."""


def without_label(text: str) -> str:
    """A line without what a launcher put before it."""
    found = _LABEL.match(text)
    return text[found.end() :] if found else text


def unwrapped(texts: Sequence[str]) -> list[str]:
    """Lines with the pieces of each row put together, where a terminal wrapped the matrix.

    A wrapped matrix is known by its header and its first row, which both go on in a line that is
    no row.
    """
    head = next((i for i, text in enumerate(texts) if _HEAD.match(text)), len(texts))
    end = next((i for i in range(head, len(texts)) if not texts[i].strip()), len(texts))
    rows = [i for i in range(head + 1, end) if _ROW.match(texts[i])]
    if not rows or rows[0] == head + 1 or rows[0] + 1 >= end or rows[0] + 1 in rows:
        return list(texts)
    width = max(len(text) for text in texts[head:end])
    found, pieces = list(texts[:head]), 0
    for i in range(head, end):
        is_piece = i > head and i not in rows and _WORD.search(texts[i]) is not None
        if is_piece and len(texts[i - 1]) > width - _WIDEST_GAP:
            pieces += 1
            found[-1] = found[-1].ljust(width * pieces)
            found[-1] += " " * _are_whole(found[-1], texts[i]) + texts[i]
        else:
            pieces = 0
            found.append(texts[i])
    return found + list(texts[end:])


def _are_whole(before: str, after: str) -> bool:
    """Whether the words at an edge are two, of which copying took the blanks, and not one cut."""
    return _LAST.search(before) is not None and _NEXT.match(after) is not None
