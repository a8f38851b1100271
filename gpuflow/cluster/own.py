"""Measurements of the user's own machines: while they are in force they stand above published ones.

They are measurements of a library (nccl-tests, rccl-tests), so they replace the library's curves of
the very GPU, ranks, nodes and network, and leave the kernels that engines bring alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from gpuflow.cluster.calibration import Calibration, fit
from gpuflow.cluster.gpu_scaling import LIBRARY_KERNELS
from gpuflow.cluster.measurements import Key, Row


class OwnCalibrations:
    """Curves through the user's own rows, and which of them were asked for."""

    def __init__(self, groups: Sequence[Sequence[Row]]) -> None:
        """Fit every group of rows of one machine.

        Raises:
            ValueError: A group is empty.
        """
        self._calibrations = [fit(rows) for rows in groups]
        self.used: set[Key] = set()

    def find(self, key: Key) -> Calibration | None:
        """The curve of a machine; an own one without a network fits any."""
        for one in self._calibrations:
            mine = one.key
            if (
                (mine.gpu, mine.collective, mine.ranks, mine.nodes)
                == (key.gpu, key.collective, key.ranks, key.nodes)
                and {mine.kernel, key.kernel} <= LIBRARY_KERNELS
                and mine.fabric in ("", key.fabric)
            ):
                self.used.add(mine)
                return one
        return None


_IN_FORCE: ContextVar[OwnCalibrations | None] = ContextVar("own_calibrations", default=None)


@contextmanager
def in_force(own: OwnCalibrations) -> Iterator[None]:
    """Let curves stand above the published ones for as long as the block runs."""
    before = _IN_FORCE.set(own)
    try:
        yield
    finally:
        _IN_FORCE.reset(before)


def own_calibrations() -> OwnCalibrations | None:
    """What is in force; None where nothing is."""
    return _IN_FORCE.get()
