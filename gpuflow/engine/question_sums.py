"""What a GPU holds after a collective on small numbers, and what one may take it to hold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpuflow.engine.state import Replay, ReplayRow

MOST_RANKS, MOST_NUMBERS = 4, 8
"""More are not added up in the head."""

Vector = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class Sums:
    """A replay as a question."""

    rank: int
    """Whose numbers are asked for."""
    before: str
    """What every GPU holds: `GPU 0 [1 2]  GPU 1 [3 4]`."""
    right: str
    wrong: tuple[tuple[str, str], ...]
    """(mistake, vector)."""


def replay_sums(replay: Replay) -> Sums | None:
    """The question about the last of the GPUs; None where it is too much, or nothing changes."""
    before, after = replay.before, replay.after
    if len(before) > MOST_RANKS or max(len(row.values) for row in before + after) > MOST_NUMBERS:
        return None
    mine, result = before[-1], after[-1]
    if result.values == mine.values or all(value is None for value in result.values):
        return None
    held = [row.values for row in before]
    found: dict[Vector, str] = {}
    for name, vector in _mistakes(held):
        if vector != result.values and any(value is not None for value in vector):
            found.setdefault(vector, name)
    return Sums(
        rank=result.rank,
        before="  ".join(_row_text(row) for row in before),
        right=_vector_text(result.values),
        wrong=tuple((name, _vector_text(vector)) for vector, name in found.items()),
    )


def _mistakes(held: Sequence[Vector]) -> list[tuple[str, Vector]]:
    """Vectors that another primitive would leave on the last GPU."""
    mine = held[-1]
    added = tuple(_sum(column) for column in zip(*held, strict=True))
    joined = tuple(value for vector in held for value in vector if value is not None)
    share = len(mine) // len(held)
    return [
        ("joined", joined[:MOST_NUMBERS]),
        ("unchanged", mine),
        ("piece", added[-share:] if share else added),
        ("added", added),
        ("largest", tuple(_largest(column) for column in zip(*held, strict=True))),
        ("first", held[0]),
    ]


def _sum(column: Sequence[int | None]) -> int | None:
    numbers = [value for value in column if value is not None]
    return sum(numbers) if numbers else None


def _largest(column: Sequence[int | None]) -> int | None:
    return max((value for value in column if value is not None), default=None)


def _row_text(row: ReplayRow) -> str:
    return f"GPU {row.rank} {_vector_text(row.values)}"


def _vector_text(vector: Vector) -> str:
    return f"[{' '.join('·' if value is None else str(value) for value in vector)}]"
