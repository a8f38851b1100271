"""Which of the picture's lines carry bytes at the moment, and in which direction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from gpuflow.cluster.mesh import Groups, Mesh
from gpuflow.draw.moves import Pair, moving_places, pairs_of
from gpuflow.draw.view import PlayView

Turn = tuple[int, int, str]
"""(position in the upper stage, position in the lower one, "v" or "^")."""


@dataclass(frozen=True, slots=True)
class Traffic:
    """Lines in use; a line that is absent is at rest."""

    inside: Mapping[int, frozenset[tuple[int, int]]]
    """By stage: (from, to) positions within the stage."""
    between: Mapping[int, Mapping[int, str]]
    """By upper stage and position: "v", "^" or both."""
    turns: Mapping[int, frozenset[Turn]] = field(default_factory=dict)
    """By upper stage: what goes to another position of the next stage, where lines can turn."""

    def ways(self, stage: int, a: int, b: int) -> str:
        """Directions on the line between positions a (left) and b (right) of a stage."""
        pairs = self.inside.get(stage, frozenset())
        return (">" if (a, b) in pairs else "") + ("<" if (b, a) in pairs else "")

    def along(self, stage: int, first: int, size: int) -> str:
        """Directions on the line that so many positions of a stage share, from one on."""
        pairs = self.inside.get(stage, frozenset())
        group = range(first, first + size)
        inner = [(a, b) for a, b in pairs if a in group and b in group]
        return (">" if any(a < b for a, b in inner) else "") + (
            "<" if any(a > b for a, b in inner) else ""
        )

    def is_busy(self, stage: int) -> bool:
        """Whether any bytes move inside a stage."""
        return bool(self.inside.get(stage))


def traffic_of(view: PlayView, *, has_turns: bool = False) -> Traffic:
    """The lines that the transfers under way use: along the stages first, then along the row.

    Args:
        view: The moment.
        has_turns: Whether a line between neighbouring stages can turn aside, and so pass by a GPU
            that has no part in it.
    """
    moving = moving_places(view.state)
    return _traffic(view.scene.mesh, *moving, has_turns) if moving else NO_TRAFFIC


NO_TRAFFIC = Traffic({}, {})


@lru_cache(maxsize=64)
def _traffic(mesh: Mesh, groups: Groups, places: tuple[Pair, ...], has_turns: bool) -> Traffic:
    """Of a round it is always the same, and a thousand GPUs have many groups."""
    place = _places(mesh)
    inside: dict[int, set[tuple[int, int]]] = defaultdict(set)
    between: dict[int, dict[int, str]] = defaultdict(dict)
    turns: dict[int, set[Turn]] = defaultdict(set)
    for source, destination in pairs_of(groups, places):
        (stage, a), (last, b) = place[source], place[destination]
        way = "v" if last > stage else "^"
        if has_turns and abs(last - stage) == 1 and a != b:
            turns[min(stage, last)].add((a, b, way) if way == "v" else (b, a, way))
            continue
        for upper in range(min(stage, last), max(stage, last)):
            known = between[upper].get(a, "")
            between[upper][a] = known if way in known else known + way
        if a != b:
            inside[last].add((a, b))
    return Traffic(
        {stage: frozenset(pairs) for stage, pairs in inside.items()},
        between,
        {upper: frozenset(found) for upper, found in turns.items()},
    )


@lru_cache(maxsize=16)
def _places(mesh: Mesh) -> dict[int, tuple[int, int]]:
    """Rank -> (stage, position in the stage)."""
    return {
        rank: (stage, i)
        for stage in range(mesh.parallel.pp)
        for i, rank in enumerate(mesh.stage_ranks(stage))
    }
