"""Measurements of the user's own machines: while they are in force they stand above published ones.

They are measurements of a library (nccl-tests, rccl-tests), so they replace the library's curves of
the very GPU, ranks, nodes and network, and leave the kernels that engines bring alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, NamedTuple

from gpuflow.cluster.calibration import Calibration, fit
from gpuflow.cluster.gpu_scaling import LIBRARY_KERNELS
from gpuflow.cluster.measurements import Key, Row

Field = Literal["collective", "gpu", "nodes", "ranks", "fabric", "kernel"]
_FIELDS: tuple[Field, ...] = ("collective", "gpu", "nodes", "ranks", "fabric", "kernel")
"""What has to agree, in the order of telling."""


class Miss(NamedTuple):
    """A calibration beside a collective that it nearly is for."""

    own: Key
    asked: Key
    unlike: tuple[Field, ...]
    """What differs between the two."""


class OwnCalibrations:
    """Curves through the user's own rows, and which of them were asked for."""

    def __init__(self, groups: Sequence[Sequence[Row]]) -> None:
        """Fit every group of rows of one machine.

        Raises:
            ValueError: A group is empty.
        """
        self._calibrations = [fit(rows) for rows in groups]
        self.used: set[Key] = set()
        self._missed: dict[Key, None] = {}
        """What was asked for in vain, in the order of asking."""

    def find(self, key: Key) -> Calibration | None:
        """The curve of a machine; an own one without a network fits any."""
        for one in self._calibrations:
            if not _unlike(one.key, key):
                self.used.add(one.key)
                return one
        self._missed[key] = None
        return None

    def nearest_miss(self) -> Miss | None:
        """The calibration and the collective that differ least; None where nothing was asked for.

        Those of the same collective come first.
        """
        misses = [
            Miss(one.key, asked, _unlike(one.key, asked))
            for one in self._calibrations
            for asked in self._missed
        ]
        return min(
            misses,
            key=lambda miss: ("collective" in miss.unlike, len(miss.unlike)),
            default=None,
        )


def _unlike(mine: Key, asked: Key) -> tuple[Field, ...]:
    """In what an own calibration is not for a collective."""
    return tuple(name for name in _FIELDS if not _agrees(name, mine, asked))


def _agrees(name: Field, mine: Key, asked: Key) -> bool:
    if name == "kernel":
        return {mine.kernel, asked.kernel} <= LIBRARY_KERNELS
    if name == "fabric" and not mine.fabric:
        return True
    is_equal: bool = getattr(mine, name) == getattr(asked, name)
    return is_equal


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
