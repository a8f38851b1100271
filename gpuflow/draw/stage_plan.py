"""Where everything of the stage stands: how richly its GPUs can be drawn in a given area.

Top to bottom is the pipeline, left to right the tensor split. The richest form that fits is taken:
boxes (a border and up to nine rows each), chips (one cell run a GPU), tiles (one for some of a
stage's GPUs, see tile_plan), and lines without frames, of which only those around the stage at
work are shown when there are more than rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpuflow.draw.canvas import Rect
from gpuflow.draw.stage_form import StagePlan, StageSpec
from gpuflow.draw.tile_plan import plan_lines, plan_tiles

MAX_INNER_ROWS = 9
ROOMY_INNER_ROWS, ROOMY_PIPE_GAP = 7, 3
"""Rows of a box that says everything, and rows between stages that show a pulse on its way."""
MIN_BOX = 7
"""Narrowest box: a border and five cells, `⇄7/16`."""
MAX_BOX = 46
MAX_PIPE_GAP = 7
MOST_SMALL = 16
"""GPUs of a stage up to which each of them is drawn, however small; more are grouped in tiles."""
CROSS_ROWS = 3
"""Fewest rows between the two rows of a full mesh of four, for its crossing lines."""


def plan_stage(area: Rect, spec: StageSpec, *, at_work: int = 0) -> StagePlan:
    """The richest form that fits.

    Args:
        area: What may be used.
        spec: What has to be placed.
        at_work: The stage to keep in sight when not all of them can be shown.
    """
    boxes = [plan for plan in _box_plans(area, spec) if plan is not None]
    best = max(boxes, key=_richness, default=None)
    is_small = spec.gpus <= MOST_SMALL
    if best is not None and (is_small or _richness(best)[0]):
        return best
    for gap in (1, 0) if is_small else ():
        chips = _chip_plan(area, spec, gap)
        if chips is not None:
            return chips
    tiles = plan_tiles(area, spec)
    return tiles if tiles is not None else plan_lines(area, spec, at_work)


def _richness(plan: StagePlan) -> tuple[int, int, int]:
    box = plan.cells[0][0]
    rows_of_boxes = -(-len(plan.cells[0]) // plan.per_row)
    full = box.width >= 24 and plan.inner_rows >= 3
    fair = box.width >= 15 and plan.inner_rows >= 2
    return (2 if full else 1 if fair else 0, -rows_of_boxes, plan.inner_rows)


def _box_plans(area: Rect, spec: StageSpec) -> Iterator[StagePlan | None]:
    if spec.wiring == "full_mesh" and spec.gpus == 4:
        yield _box_plan(area, spec, per_row=2)
    for rows in range(1, max(area.height // 4, 1) + 1):
        per_row = -(-spec.gpus // rows)
        if -(-spec.gpus // per_row) == rows:
            yield _box_plan(area, spec, per_row=per_row)


def _box_plan(area: Rect, spec: StageSpec, *, per_row: int) -> StagePlan | None:
    inner_width = area.width - 4
    is_cross = spec.wiring == "full_mesh" and spec.gpus == 4 and per_row == 2
    gap = _column_gap(inner_width, per_row, spec)
    width = min((inner_width - gap * (per_row - 1)) // per_row, MAX_BOX)
    if width < max(MIN_BOX, spec.digits + 6):
        return None
    rows = -(-spec.gpus // per_row)
    rails = 0 if is_cross else spec.rails
    cross = CROSS_ROWS if is_cross else 0
    fixed = 2 + rows * (2 + rails) + cross
    pipes = spec.stages - 1
    inner = _inner_rows(area.height, spec.stages, fixed, rows)
    if inner < 2:
        return None
    if is_cross and area.height - fixed - rows * inner >= 2:
        fixed, cross = fixed + 2, cross + 2
    stage_height = fixed + rows * inner
    pipe_gap = 0
    if pipes:
        pipe_gap = min((area.height - spec.stages * stage_height) // pipes, MAX_PIPE_GAP)
    step = inner + 2 + rails + cross
    frames, cells, rail_rows = [], [], []
    left = area.x + 2 + (inner_width - per_row * width - (per_row - 1) * gap) // 2
    for stage in range(spec.stages):
        y = area.y + stage * (stage_height + pipe_gap)
        frames.append(Rect(area.x, y, area.width, stage_height))
        cells.append(
            tuple(
                Rect(
                    left + (i % per_row) * (width + gap),
                    y + 1 + (i // per_row) * step,
                    width,
                    inner + 2,
                )
                for i in range(spec.gpus)
            )
        )
        rail_rows.append(tuple(y + 1 + row * step + inner + 2 for row in range(rows)))
    return StagePlan(
        form="boxes",
        height=spec.stages * stage_height + pipes * pipe_gap,
        frames=tuple(frames),
        per_row=per_row,
        inner_rows=inner,
        cells=tuple(cells),
        rails=tuple(rail_rows) if rails else (),
    )


def _inner_rows(height: int, stages: int, fixed: int, rows: int) -> int:
    """Rows inside a box, where a stage has so many rows of them and `fixed` rows of its own."""
    pipes = stages - 1
    inner = min((height - pipes - stages * fixed) // (stages * rows), MAX_INNER_ROWS)
    if pipes and inner > ROOMY_INNER_ROWS:
        # Beyond that, rows do more good between the stages.
        spare = height - stages * fixed - pipes * ROOMY_PIPE_GAP
        inner = max(min(inner, spare // (stages * rows)), ROOMY_INNER_ROWS)
    return inner


def _column_gap(inner_width: int, per_row: int, spec: StageSpec) -> int:
    """Cells between boxes: room for a label where two are linked directly."""
    if per_row == 1:
        return 0
    if per_row == 2 and spec.gpus in {2, 4}:
        return min(max(inner_width // 5, 17), 30)
    spare = inner_width - per_row * max(MIN_BOX, spec.digits + 6)
    return max(min(spare // (per_row - 1), 3), 1)


def _chip_plan(area: Rect, spec: StageSpec, pipe_gap: int) -> StagePlan | None:
    inner_width = area.width - 4
    pipes = spec.stages - 1
    for width in (spec.digits + 10, spec.digits + 6, spec.digits + 4, spec.digits + 1):
        per_row = min((inner_width + 1) // (width + 1), spec.gpus)
        if per_row < 1:
            continue
        if per_row < spec.gpus:
            per_row = _even(per_row, spec.gpus)
        rows = -(-spec.gpus // per_row)
        height = 2 + rows
        if spec.stages * height + pipes * pipe_gap > area.height:
            continue
        width = min((inner_width + 1) // per_row - 1, spec.digits + 14)
        left = area.x + 2 + (inner_width - per_row * (width + 1) + 1) // 2
        gap = min((area.height - spec.stages * height) // pipes, MAX_PIPE_GAP) if pipes else 0
        frames, cells = [], []
        for stage in range(spec.stages):
            y = area.y + stage * (height + gap)
            frames.append(Rect(area.x, y, area.width, height))
            cells.append(
                tuple(
                    Rect(
                        left + (i % per_row) * (width + 1),
                        y + 1 + i // per_row,
                        width,
                        1,
                    )
                    for i in range(spec.gpus)
                )
            )
        return StagePlan(
            form="chips",
            height=spec.stages * height + pipes * gap,
            frames=tuple(frames),
            per_row=per_row,
            cells=tuple(cells),
        )
    return None


def _even(per_row: int, gpus: int) -> int:
    """The largest row length up to `per_row` that fills all rows, unless it is far smaller."""
    for length in range(per_row, per_row // 2, -1):
        if gpus % length == 0:
            return length
    return per_row
