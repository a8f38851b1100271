"""Intervals of time: their union, and what of one set lies outside another.

K  kernels, sorted by start    U  intervals of a union, apart from each other
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Union:
    """The union of intervals; asked how much of it lies before a time."""

    def __init__(self, start: Floats, end: Floats) -> None:
        """Join intervals.

        Args:
            start: K starts, sorted.
            end: K ends.
        """
        reached = np.maximum.accumulate(end) if len(end) else end
        begins = np.ones(len(start), dtype=bool)
        if len(start) > 1:
            begins[1:] = start[1:] > reached[:-1]
        first = np.flatnonzero(begins)
        last = np.append(first[1:] - 1, len(start) - 1) if len(first) else first
        self.start: Floats = start[first]
        """U starts."""
        self.end: Floats = reached[last]
        """U ends."""
        self._before = np.concatenate(([0.0], np.cumsum(self.end - self.start)))

    @property
    def length(self) -> float:
        """Time covered."""
        return float(self._before[-1])

    def before(self, at: Floats) -> Floats:
        """Time covered before each of some times."""
        if not len(self.start):
            return np.zeros(len(at))
        place = np.searchsorted(self.start, at, side="right") - 1
        inside = np.clip(at - self.start[place], 0.0, self.end[place] - self.start[place])
        return np.where(place < 0, 0.0, self._before[place] + inside)

    def within(self, start: Floats, end: Floats) -> Floats:
        """How much of the union lies in each of some intervals."""
        return self.before(end) - self.before(start)
