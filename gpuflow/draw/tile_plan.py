"""Where tiles stand: each is some of a stage's GPUs, a tensor-parallel group or a node of them.

Where stages have frames, their tiles fill them in rows, with a border each where rows allow; where
they have none, a stage is one row and its tiles stand beside each other in it.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import groupby

from gpuflow.cluster.mesh import Mesh
from gpuflow.draw.canvas import Rect
from gpuflow.draw.stage_form import StagePlan, StageSpec

TILE_ROWS = (5, 4, 3)
"""Rows of a tile with a border, the most telling first."""
TILE_WIDTH, MAX_TILE = 13, 40
"""Cells of a tile with a border."""
MOST_SIGNS = 8
"""GPUs of a tile up to which each has a sign of its own."""
NAME_WIDTH, SHORT_NAME = 25, 11
"""Cells for the name of a stage in its row."""
KV_WIDTH, MIN_KV = 26, 17
"""Cells for the KV cache at the end of a stage's row."""
MAX_CELL = 14
"""Cells of a tile in a stage's row."""
FINE = 2
"""Tiles up to so many times the finest may have borders; before coarser ones, borders go."""
MAX_PITCH = 2
"""Rows from a stage's row to the next one's."""
MAX_GAP = 7


@lru_cache(maxsize=256)
def tile_sizes(mesh: Mesh) -> tuple[int, ...]:
    """GPUs that a tile of a stage may stand for, fewest first.

    A tensor-parallel group, a node's part of the stage, some of these, the whole stage; each cuts
    the stage evenly.
    """
    ranks = mesh.stage_ranks(0)
    runs = {len(list(run)) for _, run in groupby(ranks, mesh.node)}
    per_node = runs.pop() if len(runs) == 1 else 1
    sizes = {size for size in (mesh.parallel.tp, per_node) if size > 1}
    size = max(sizes, default=1) * 2
    while size < len(ranks):
        sizes.add(size)
        size *= 2
    return (
        *sorted(size for size in sizes if len(ranks) % size == 0 and size < len(ranks)),
        len(ranks),
    )


def plan_tiles(area: Rect, spec: StageSpec) -> StagePlan | None:
    """Stages as frames with tiles in them; None where not even a row of tiles fits into each.

    Fine tiles matter most, then borders around them, then what is said in each.
    """
    if area.width < TILE_WIDTH + 4:
        return None
    finest = spec.tile_sizes[0]
    fine = [size for size in spec.tile_sizes if size <= FINE * finest]
    for sizes, rows in ((fine, TILE_ROWS), (spec.tile_sizes, (1,)), (spec.tile_sizes, TILE_ROWS)):
        for per_tile in sizes:
            for tile_rows in rows:
                plan = _tiles(area, spec, per_tile, tile_rows)
                if plan is not None:
                    return plan
    return None


def _tiles(area: Rect, spec: StageSpec, per_tile: int, rows: int) -> StagePlan | None:
    """Tiles of so many GPUs and rows, with a border where they have more than one."""
    count, pipes = -(-spec.gpus // per_tile), spec.stages - 1
    inner = area.width - (4 if rows > 1 else 2)
    least = TILE_WIDTH if rows > 1 else shortest(per_tile)
    most = min((inner + 1) // (least + 1), count)
    lines = ((area.height - pipes) // spec.stages - 2) // rows
    if most < 1 or most * lines < count:
        return None
    per_row = _per_row(count, -(-count // lines), most)
    height = 2 + -(-count // per_row) * rows
    gap = min((area.height - spec.stages * height) // pipes, MAX_GAP) if pipes else 0
    width = (inner + 1) // per_row - 1
    if rows > 1 and count > 1:
        width = min(width, MAX_TILE)
    used = per_row * (width + 1) - 1
    left = area.x + (area.width - used) // 2
    frames, cells = [], []
    for stage in range(spec.stages):
        y = area.y + stage * (height + gap)
        frames.append(Rect(area.x, y, area.width, height))
        cells.append(
            tuple(
                Rect(left + i % per_row * (width + 1), y + 1 + i // per_row * rows, width, rows)
                for i in range(count)
            )
        )
    return StagePlan(
        form="tiles",
        height=spec.stages * height + pipes * gap,
        frames=tuple(frames),
        per_row=per_row,
        cells=tuple(cells),
        per_cell=per_tile,
    )


def _per_row(count: int, least: int, most: int) -> int:
    """Tiles beside each other: as many in every row, where that can be."""
    return next((n for n in range(least, most + 1) if count % n == 0), least)


def shortest(gpus: int) -> int:
    """Fewest cells that say what so many GPUs do: a sign each, or a sign and how many."""
    return min(gpus, 1 + len(str(gpus)))


def plan_lines(area: Rect, spec: StageSpec, at_work: int) -> StagePlan:
    """Stages as rows: those around the stage at work, where there are more than rows."""
    shown = max(min(spec.stages, area.height), 0)
    first = min(max(at_work - shown // 2, 0), spec.stages - shown)
    spare = area.height - shown
    foot = 1 if spare >= 1 else 0
    head = min(max(spare - foot, 0), 2)
    pitch = MAX_PITCH if shown * MAX_PITCH - 1 + head + foot <= area.height else 1
    top = area.y + head
    bottom = top + (shown - 1) * pitch + 1 if shown else top
    frames = tuple(Rect(area.x, top + i * pitch, area.width, 1) for i in range(shown))
    per_tile, left, width = _columns(area, spec)
    count = -(-spec.gpus // per_tile) if width else 0
    return StagePlan(
        form="lines",
        height=head + max(bottom - top, 0) + foot,
        frames=frames,
        first_stage=first,
        per_row=count,
        cells=tuple(
            tuple(Rect(left + i * width, frame.y, width, 1) for i in range(count))
            for frame in frames
        ),
        per_cell=per_tile,
        head=Rect(area.x, area.y, area.width, head) if head else None,
        foot=Rect(area.x, bottom, area.width, foot) if foot else None,
    )


def _columns(area: Rect, spec: StageSpec) -> tuple[int, int, int]:
    """(GPUs of a tile, first cell, cells from one tile to the next); no cells where none fit.

    The finest tiles that fit, with a sign for each GPU where that can be, then as much of the
    stage's name and cache as there is room for.
    """
    rooms = [
        (name, area.width - name - kv - 1)
        for name, kv in ((NAME_WIDTH, KV_WIDTH), (NAME_WIDTH, MIN_KV), (SHORT_NAME, MIN_KV))
    ]
    for per_tile in spec.tile_sizes:
        count = -(-spec.gpus // per_tile)
        signs = [per_tile] if per_tile <= MOST_SIGNS else []
        for least in (*signs, shortest(per_tile)):
            for name, room in rooms:
                if count * (least + 1) <= room:
                    # What the cache does not need is the tiles'.
                    wide = (area.width - name - KV_WIDTH - 1) // count
                    width = max(least + 1, min(wide, MAX_CELL))
                    return per_tile, area.x + name, width
    return spec.gpus, area.x, 0
