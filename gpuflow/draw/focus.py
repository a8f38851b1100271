"""What of the cluster is looked at: how near, which GPU, and whether the view stays with it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from gpuflow.cluster.mesh import Mesh
from gpuflow.draw.tile_plan import tile_sizes

Level = Literal["cluster", "stage", "group", "gpu"]
LEVELS: tuple[Level, ...] = ("cluster", "stage", "group", "gpu")
"""From far to near."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Focus:
    """What is looked at; see LEVELS."""

    level: Level = "cluster"
    rank: int = 0
    """The GPU that is looked at, and with it its group and its stage."""
    is_held: bool = False
    """Whether the stage was picked; else it is the one at work."""
    is_following: bool = False
    """Whether the view stays with the rank, and tells what it does."""


@dataclass(frozen=True, slots=True)
class Part:
    """GPUs of a stage beside each other: a tensor-parallel group, or a node's."""

    stage: int
    first: int
    """Position in the stage."""
    size: int


def levels_of(mesh: Mesh) -> tuple[Level, ...]:
    """The levels that show something else each."""
    p = mesh.parallel
    is_cut = tile_sizes(mesh)[0] < p.tp * p.dp
    kept: list[Level] = ["cluster"]
    if p.pp > 1:
        kept.append("stage")
    if is_cut and tile_sizes(mesh)[0] > 1:
        kept.append("group")
    return (*kept, "gpu")


def seen_rank(focus: Focus, mesh: Mesh, at_work: int | None) -> int:
    """The rank in the middle of the view.

    Args:
        focus: What was asked for.
        mesh: Which rank does what.
        at_work: The stage that works alone; None when all do or none does.
    """
    if focus.is_held or focus.is_following or at_work is None:
        return focus.rank
    here = mesh.position(focus.rank)
    return mesh.rank(here.dp_rank, at_work, here.tp_rank)


def part_of(mesh: Mesh, rank: int) -> Part:
    """The group of a rank within its stage."""
    stage = mesh.position(rank).stage
    size = tile_sizes(mesh)[0]
    place = mesh.stage_ranks(stage).index(rank)
    return Part(stage, place // size * size, size)


def zoomed(focus: Focus | None, mesh: Mesh, way: int) -> Focus | None:
    """One level nearer (1) or farther (-1); None is the view of everything by itself."""
    now = focus or Focus()
    levels = levels_of(mesh)
    beyond = [
        level for level in levels if (LEVELS.index(level) - LEVELS.index(now.level)) * way > 0
    ]
    if not beyond:
        return focus
    level = beyond[0] if way > 0 else beyond[-1]
    if level == "cluster" and not now.is_following:
        return None
    return replace(now, level=level)


def moved(focus: Focus | None, mesh: Mesh, way: int, at_work: int | None) -> Focus | None:
    """To the next or previous stage, group or GPU; at the ends it goes round."""
    if focus is None or (focus.level == "cluster" and not focus.is_following):
        return focus
    rank = seen_rank(focus, mesh, at_work)
    if focus.is_following or focus.level == "gpu":
        rank = (rank + way) % mesh.n_ranks
    elif focus.level == "stage":
        here = mesh.position(rank)
        stage = (here.stage + way) % mesh.parallel.pp
        rank = mesh.rank(here.dp_rank, stage, here.tp_rank)
    else:
        part = part_of(mesh, rank)
        ranks = mesh.stage_ranks(part.stage)
        rank = ranks[(part.first + way * part.size) % len(ranks)]
    return replace(focus, rank=rank, is_held=True)


def followed(focus: Focus | None, mesh: Mesh, at_work: int | None) -> Focus | None:
    """Follow the rank in the middle of the view, or let go of it."""
    now = focus or Focus()
    if now.is_following:
        free = replace(now, is_following=False, is_held=False)
        return None if free.level == "cluster" else free
    rank = now.rank if now.level == "cluster" else seen_rank(now, mesh, at_work)
    return replace(now, rank=rank, is_following=True)
