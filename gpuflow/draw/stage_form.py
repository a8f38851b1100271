"""What has to be placed on the stage, and where it stands: the words of all planners."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gpuflow.draw.canvas import Rect

Form = Literal["boxes", "chips", "tiles", "lines"]
Wiring = Literal["none", "pair", "rail", "full_mesh"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageSpec:
    """What has to be placed."""

    stages: int
    gpus: int
    """Of each stage."""
    digits: int
    """Of the largest rank."""
    wiring: Wiring
    rails: int = 0
    """Rows below a row of boxes for lines that all of them share."""
    tiles: tuple[int, ...] = ()
    """GPUs of the stage that one tile may stand for, fewest first; empty: all of them in one."""

    @property
    def tile_sizes(self) -> tuple[int, ...]:
        """The choices of `tiles`."""
        return self.tiles or (self.gpus,)


@dataclass(frozen=True, slots=True, kw_only=True)
class StagePlan:
    """Where things stand."""

    form: Form
    height: int
    """Rows used."""
    frames: tuple[Rect, ...]
    """One for each stage shown; a single row in form `lines`."""
    first_stage: int = 0
    """The stage of frames[0]."""
    per_row: int = 1
    """GPUs beside each other."""
    inner_rows: int = 0
    """Rows inside a box."""
    cells: tuple[tuple[Rect, ...], ...] = field(default=())
    """Of every stage its boxes, chips or tiles, in the order of its ranks."""
    rails: tuple[tuple[int, ...], ...] = field(default=())
    """Of every stage the first rail row under each row of boxes."""
    per_cell: int = 1
    """GPUs of each of `cells`."""
    first_gpu: int = 0
    """Position in its stage of the GPU of cells[..][0]."""
    head: Rect | None = None
    """Form `lines`: rows for what all the stages have in common."""
    foot: Rect | None = None
    """Form `lines`: the row that counts the links."""
