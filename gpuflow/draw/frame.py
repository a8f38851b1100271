"""A frame: rows of text runs, each with a role, exactly as wide as the screen in cells.

Roles are names (`tp`, `kv`, `dim` ...); a theme decides what they look like.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Run(NamedTuple):
    """Text in one role."""

    text: str
    role: str


Row = tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """What one moment looks like at one size and language."""

    width: int
    height: int
    rows: tuple[Row, ...]
    """`height` rows; the runs of each fill exactly `width` cells."""

    def text(self) -> str:
        """The frame as plain lines, trailing blanks cut."""
        return "\n".join("".join(run.text for run in row).rstrip() for row in self.rows)
