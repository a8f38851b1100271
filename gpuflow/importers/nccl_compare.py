"""Two runs of the same collective beside each other: where they differ, and in which regime.

Sizes fall into three regimes of the first run: `latency` up to the last that takes no more than
twice the shortest time, `bandwidth` from the size on whose bus bandwidth is four fifths of the
highest, `middle` between them. A regime has changed where the geometric mean of its ratios is
beyond noise: 11 %, by which repeated runs of a quiet machine differ (truth/README.md), or twice
what the two columns of either log differ by, if that is more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gpuflow.importers.nccl_fit import between_columns
from gpuflow.importers.nccl_reading import Measured, Reading

Regime = Literal["latency", "middle", "bandwidth"]
Change = Literal["slower", "faster", "same"]
"""Of the second run against the first."""

REGIMES: tuple[Regime, ...] = ("latency", "middle", "bandwidth")
REPEAT_NOISE = 0.11
_FLAT = 2.0
_FULL = 0.8


@dataclass(frozen=True, slots=True)
class Pair:
    """Rows of the same size, type and operation."""

    first: Measured
    second: Measured
    regime: Regime
    change: Change

    @property
    def ratio(self) -> float:
        """Time of the second over that of the first."""
        return self.second.time_s / self.first.time_s


@dataclass(frozen=True, slots=True)
class RegimeChange:
    """What became of one regime."""

    regime: Regime
    pairs: tuple[Pair, ...]
    ratio: float
    """Geometric mean of the times, second over first."""
    change: Change

    @property
    def against(self) -> tuple[Pair, ...]:
        """Rows that became slower or faster although the regime as a whole did not.

        A mean hides them: half of the sizes slower and half faster is no change on average.
        """
        return tuple(
            pair for pair in _quiet(self.pairs) if pair.change not in ("same", self.change)
        )

    @property
    def sizes_bytes(self) -> tuple[int, int]:
        """Smallest and largest size."""
        sizes = [pair.first.size_bytes for pair in self.pairs]
        return min(sizes), max(sizes)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """One run against another."""

    first: int
    """Place among the runs."""
    second: int
    collective: str
    noise: float
    """Relative difference that means nothing."""
    pairs: tuple[Pair, ...]
    regimes: tuple[RegimeChange, ...]
    unlike: tuple[str, ...]
    """What else differs: gpu, ranks, nodes, library."""


def compare_runs(readings: Sequence[Reading]) -> tuple[Comparison, ...]:
    """Every run with rows beside the first one of the same collective in another file."""
    base: dict[str, int] = {}
    found: list[Comparison] = []
    for number, reading in enumerate(readings):
        kind = reading.collective
        if kind is None or not reading.rows:
            continue
        first = base.setdefault(kind, number)
        if first != number and readings[first].raw.file != reading.raw.file:
            found.append(_compared(readings, first, number, kind))
    return tuple(found)


def _compared(readings: Sequence[Reading], first: int, second: int, kind: str) -> Comparison:
    before, after = readings[first], readings[second]
    noise = noise_of(before, after)
    pairs = _pairs(before, after, noise)
    regimes = tuple(
        change for regime in REGIMES if (change := _change_of(regime, pairs, noise)) is not None
    )
    facts = ("gpu", "ranks", "nodes")
    unlike = [name for name in facts if _differs(getattr(before, name), getattr(after, name))]
    if _differs(before.raw.library, after.raw.library):
        unlike.append("library")
    return Comparison(
        first=first,
        second=second,
        collective=kind,
        noise=noise,
        pairs=pairs,
        regimes=regimes,
        unlike=tuple(unlike),
    )


def noise_of(*readings: Reading) -> float:
    """What runs like these differ by without anything having changed."""
    own = [between_columns(reading) or 0.0 for reading in readings]
    return max(REPEAT_NOISE, *(2 * part for part in own))


def _pairs(before: Reading, after: Reading, noise: float) -> tuple[Pair, ...]:
    """Rows that both have; a size measured more than once counts by its first row."""
    rows = {_key(row): row for row in reversed(before.rows)}
    seen: set[tuple[object, ...]] = set()
    common: list[tuple[Measured, Measured]] = []
    for row in after.rows:
        key = _key(row)
        if key in rows and key not in seen:
            seen.add(key)
            common.append((rows[key], row))
    if not common:
        return ()
    floor_s = min(first.time_s for first, _ in common)
    flat = max(first.size_bytes for first, _ in common if first.time_s <= _FLAT * floor_s)
    peak = max(first.bus_bytes_per_s for first, _ in common)
    full = min(f.size_bytes for f, _ in common if f.bus_bytes_per_s >= _FULL * peak)
    return tuple(
        Pair(
            first,
            second,
            _regime(first.size_bytes, flat, full),
            _verdict(second.time_s / first.time_s, noise),
        )
        for first, second in common
    )


def _key(row: Measured) -> tuple[object, ...]:
    return row.size_bytes, row.dtype, row.redop


def _regime(size_bytes: int, flat: int, full: int) -> Regime:
    if size_bytes >= full:
        return "bandwidth"
    return "latency" if size_bytes <= flat else "middle"


def _change_of(regime: Regime, pairs: Sequence[Pair], noise: float) -> RegimeChange | None:
    """What became of a regime; None where no size is in it. Outliers count only if all are."""
    own = tuple(pair for pair in pairs if pair.regime == regime)
    if not own:
        return None
    quiet = _quiet(own)
    ratio = math.exp(sum(math.log(pair.ratio) for pair in quiet) / len(quiet))
    return RegimeChange(regime, own, ratio, _verdict(ratio, noise))


def _quiet(pairs: Sequence[Pair]) -> Sequence[Pair]:
    """Those without an outlier; all where each has one."""
    return [p for p in pairs if not p.first.is_outlier and not p.second.is_outlier] or pairs


def _verdict(ratio: float, noise: float) -> Change:
    if abs(math.log(ratio)) <= math.log1p(noise):
        return "same"
    return "slower" if ratio > 1 else "faster"


def _differs(one: object, other: object) -> bool:
    return one is not None and other is not None and one != other
