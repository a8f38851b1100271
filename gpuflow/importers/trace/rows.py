"""The rows of the device that does the work, in time: busy, computing, communicating.

K  rows of the table on that device
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from gpuflow.importers.trace.kernels import KernelTable, Note
from gpuflow.importers.trace.overlap import Floats, Union
from gpuflow.importers.trace.talks import Talk

_TICK_US = 2e-3
"""Kernels that meet for less than that meet by rounding."""


class Rows:
    """The rows of the device that has most of them, sorted by start."""

    def __init__(self, table: KernelTable) -> None:
        self.table = table
        firsts: dict[str, int] = {}
        device_of = np.array(
            [firsts.setdefault(one.device, place) for place, one in enumerate(table.streams)],
            dtype=np.int64,
        )
        streams = np.frombuffer(table.stream, dtype=np.int32)
        counts = np.bincount(device_of[streams], minlength=len(table.streams))
        self.devices = int((counts > 0).sum())
        self.main = int(counts.argmax())
        self.device = table.streams[self.main].device
        start = np.frombuffer(table.start_us, dtype=np.float64)
        mine = np.flatnonzero(device_of[streams] == self.main)
        self.rows = mine[np.argsort(start[mine], kind="stable")]
        """K rows of the table."""
        self.start = start[self.rows]
        self.end = self.start + np.frombuffer(table.length_us, dtype=np.float64)[self.rows]
        self.name = np.frombuffer(table.name, dtype=np.int32)[self.rows]
        self.stream = streams[self.rows]
        self._streams = frozenset(np.flatnonzero(device_of == self.main).tolist())
        is_copy = np.array([name.startswith("Mem") for name in table.names], dtype=bool)
        self.is_kernel = ~is_copy[self.name]
        # Times since 1970 in microseconds are kept to a quarter of one, and both ends are rounded.
        latest = float(np.abs(self.start).max()) if len(self.start) else 0.0
        self._tick_us = max(_TICK_US, 2 * float(np.spacing(latest)))
        self._queue = int(np.bincount(self.stream[self.is_kernel], minlength=1).argmax())
        """The stream that has most kernels."""
        talks = np.frombuffer(table.talks, dtype=np.int64)
        self.talks = np.isin(self.rows, talks) if len(talks) else np.zeros(len(self.rows), bool)
        self._mine = np.zeros(len(start), dtype=bool)
        self._mine[mine] = True
        computes = self.is_kernel & ~self.talks
        self.computing = Union(self.start[computes], self.end[computes])
        # Copies from GPU to GPU are communication, which is never more than all that goes on.
        counted = self.is_kernel | self.talks if self.is_kernel.any() else self.is_kernel | True
        self.origin_us = float(self.start[counted][0])
        self.span_us = float(self.end[counted].max()) - self.origin_us
        self.busy_us = Union(self.start[counted], self.end[counted]).length
        self.n_kernels = int(self.is_kernel.sum())
        self.n_copies = len(self.rows) - self.n_kernels

    def is_mine(self, row: int) -> bool:
        """Whether a row of the table is of this device."""
        return bool(self._mine[row])

    def times(self, talks: Sequence[Talk]) -> tuple[Floats, Floats]:
        """Start and end of some communicating kernels."""
        rows = np.array([talk.row for talk in talks], dtype=np.int64)
        start = np.frombuffer(self.table.start_us, dtype=np.float64)[rows]
        return start, start + np.frombuffer(self.table.length_us, dtype=np.float64)[rows]

    def exposed_us(self, talks: Sequence[Talk]) -> Floats:
        """Of each communicating kernel, what runs beside no computing."""
        start, end = self.times(talks)
        beside = self.computing.within(start, end)
        # Less than the clock can tell is rounding.
        rows = np.array([talk.row for talk in talks], dtype=np.int64)
        length = np.frombuffer(self.table.length_us, dtype=np.float64)[rows]
        return length - np.where(beside < self._tick_us, 0.0, beside)

    def union_of_talks(self, talks: Sequence[Talk]) -> Union:
        """The time in which at least one collective runs."""
        start, end = self.times(talks)
        order = np.argsort(start, kind="stable")
        return Union(start[order], end[order])

    def alone_us(self, union: Union) -> float:
        """Of a union, the time in which nothing computes."""
        beside = self.computing.within(union.start, union.end)
        return union.length - float(beside[beside >= self._tick_us].sum())

    def busiest(self) -> NDArray[np.bool_]:
        """Which rows are kernels of the queue that has most of them."""
        chosen: NDArray[np.bool_] = self.is_kernel & (self.stream == self._queue)
        return chosen

    def notes(self) -> list[Note]:
        """The host's annotations, and of the GPU's those of one queue.

        The profiler repeats each on every queue that has kernels of it.
        """
        counts = Counter(note.stream for note in self.table.notes if note.stream in self._streams)
        queue = self._queue if counts[self._queue] else next(iter(counts), self._queue)
        return [note for note in self.table.notes if note.stream in {-1, queue}]
