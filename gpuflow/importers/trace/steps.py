"""The layer and the step that a trace repeats, found in the order of its kernels.

    K  kernels of the busiest queue, in order    C  how often a layer is run in all

A layer is run C times and so are its kernels, so C is the count that the most kernels have. The
occurrences of one of them cut the sequence into layers; they count as layers when the parts are
about as long as each other. Steps of a server or of training are longer parts that repeat the
same way; between the last layer of one and the first of the next stand kernels of their own
(embedding, head, sampling), and a kind of layer that comes every few layers is no step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gpuflow.importers.trace.overlap import Floats

Ints = NDArray[np.int64]
Unit = Literal["layer", "step"]
By = Literal["kernels", "annotation"]

LEAST_LAYERS = 4
LEAST_LAYER_KERNELS = 3
LEAST_STEP_KERNELS = 2
"""Different kernels that must come once a step."""
LAYER_SPREAD = 0.25
"""A layer may be so much longer or shorter than the median one, as a share."""
ALIKE = 0.8
"""Part of the layers that must be within that, and of the kernels that steps must share."""
LAYERS_ALIKE = 0.6
"""Part of the kernels that neighbouring layers must share; kinds of layers differ."""
STEP_SPREAD = 0.1
LONGER = 1.1
"""A wait so many times that before a part may be the border of the part instead."""
LEAST_COVERED = 0.5
"""Part of the trace that steps must cover."""
MOST_CANDIDATES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """A part of the sequence that repeats."""

    unit: Unit
    by: By
    first: tuple[int, ...]
    """Where each one begins, as an index into the sequence."""
    last: tuple[int, ...]
    """One past the end of each."""
    kinds: tuple[int, ...] = ()
    """For each: which of the different sequences of kernels it is, from 0 in order of meeting."""

    @property
    def count(self) -> int:
        """How many there are."""
        return len(self.first)


def find_layers(names: Ints) -> Repeat | None:
    """The repeating layer of a sequence; None where there is none.

    Args:
        names: K numbers, one for each name.
    """
    if len(names) < LEAST_LAYERS * LEAST_LAYER_KERNELS:
        return None
    counts = np.bincount(names)
    for count in _likely_counts(counts):
        candidates = np.flatnonzero(counts == count)
        if len(candidates) < LEAST_LAYER_KERNELS:
            continue
        found = _cut_at(names, candidates[:MOST_CANDIDATES])
        if found is not None:
            return _with_kinds(names, found)
    return None


def _likely_counts(counts: Ints) -> list[int]:
    """Counts by the kernels that have them, most first."""
    usual = counts[counts >= LEAST_LAYERS]
    values, alike = np.unique(usual, return_counts=True)
    order = np.argsort(-(values * alike), kind="stable")
    return [int(values[place]) for place in order[:4]]


def _cut_at(names: Ints, candidates: Ints) -> Repeat | None:
    """Layers that begin at the candidate that comes first and keeps a steady distance."""
    places = [np.flatnonzero(names == candidate) for candidate in candidates]
    for starts in sorted(places, key=lambda found: int(found[0])):
        lengths = np.diff(starts)
        usual = float(np.median(lengths))
        is_alike = np.abs(lengths - usual) <= LAYER_SPREAD * usual
        if usual < LEAST_LAYER_KERNELS or is_alike.mean() < ALIKE:
            continue
        if usual * len(starts) < LEAST_COVERED * len(names):
            continue
        if not _are_alike(names, starts, LAYERS_ALIKE):
            continue
        starts = _back(names, starts)
        ends = np.minimum(np.append(starts[1:], len(names)), starts + _longest(starts, usual))
        return Repeat(
            unit="layer",
            by="kernels",
            first=tuple(starts.tolist()),
            last=tuple(ends.tolist()),
        )
    return None


def _longest(starts: Ints, usual: float) -> int:
    """Kernels of the longest layer that is no layer with a head behind it."""
    lengths = np.diff(starts)
    fair = lengths[np.abs(lengths - usual) <= LAYER_SPREAD * usual]
    return int(fair.max()) if len(fair) else round(usual)


def _back(names: Ints, starts: Ints) -> Ints:
    """Earlier starts, as long as the same kernel stands before every layer."""
    for _ in range(int(np.diff(starts).min()) - 1):
        if starts[0] == 0 or len(np.unique(names[starts - 1])) > 1:
            break
        starts = starts - 1
    return starts


def _with_kinds(names: Ints, found: Repeat) -> Repeat:
    met: dict[bytes, int] = {}
    kinds = [
        met.setdefault(names[first:last].tobytes(), len(met))
        for first, last in zip(found.first, found.last, strict=True)
    ]
    return Repeat(
        unit=found.unit, by=found.by, first=found.first, last=found.last, kinds=tuple(kinds)
    )


def find_steps(names: Ints, start: Floats, end: Floats, layers: Repeat | None) -> Repeat | None:
    """The repeating step of a sequence; None where it holds only one, or none.

    Args:
        names: K numbers, one for each name.
        start: K times at which kernels start.
        end: K times at which they end.
        layers: What `find_layers` found.
    """
    counts = np.bincount(names) if len(names) else np.zeros(0, dtype=np.int64)
    most = layers.count // LEAST_LAYERS if layers is not None else len(names) // 16
    values, alike = np.unique(counts[(counts >= 2) & (counts <= most)], return_counts=True)
    # The shortest part that repeats is the step: the one that comes most often.
    for value in values[alike >= LEAST_STEP_KERNELS][::-1][:MOST_CANDIDATES]:
        candidates = np.flatnonzero(counts == value)
        starts = _steady(names, candidates[:MOST_CANDIDATES])
        if starts is None or not _are_alike(names, starts):
            continue
        if layers is not None and not _stand_between(names, starts, layers, candidates):
            continue
        return _steps_from(_at_gaps(starts, start, end, layers), len(names))
    return None


def _steady(names: Ints, candidates: Ints) -> Ints | None:
    """Occurrences of a name that keep their distance and cover most of the sequence."""
    for candidate in candidates:
        places = np.flatnonzero(names == candidate)
        lengths = np.diff(places)
        usual = float(np.median(lengths))
        is_steady = bool((np.abs(lengths - usual) <= STEP_SPREAD * usual).all())
        if is_steady and usual >= LEAST_LAYER_KERNELS * LEAST_LAYERS:
            covered = (places[-1] - places[0]) / len(names)
            if covered + usual / len(names) >= LEAST_COVERED:
                return places
    return None


def _are_alike(names: Ints, starts: Ints, least: float = ALIKE) -> bool:
    """Whether neighbouring parts are made of the same kernels, but for a share of them."""
    size = int(names.max()) + 1

    def made_of(first: int, last: int) -> Ints:
        return np.bincount(names[first:last], minlength=size)

    edges = starts.tolist()
    if len(edges) == 2:
        # With a single whole part there is nothing to compare it with but what follows.
        whole, rest = made_of(*edges), made_of(edges[1], len(names))
        return float(np.minimum(whole, rest).sum() / max(rest.sum(), 1)) >= least
    shares = []
    for place in range(0, len(edges) - 2, 1 + len(edges) // MOST_CANDIDATES):
        a, b, c = edges[place : place + 3]
        one, two = made_of(a, b), made_of(b, c)
        shares.append(float(np.minimum(one, two).sum() / max(one.sum(), two.sum())))
    return float(np.mean(shares)) >= least


def _stand_between(names: Ints, starts: Ints, layers: Repeat, candidates: Ints) -> bool:
    """Whether the kernels that come once a step stand between layers, and make no layer of it."""
    first = np.array(layers.first)
    own = np.isin(names, candidates)
    gaps = np.diff(np.append(first, len(names)))
    usual = float(np.median(gaps))
    holder = np.searchsorted(first, starts, side="right") - 1
    holder = holder[(holder >= 0) & (holder < len(gaps) - 1)]
    if not len(holder):
        return False
    extra = float(np.median(gaps[holder])) - usual
    n_own = own.sum() / max(len(starts), 1)
    return bool(extra >= max(2.0, 0.6 * min(n_own, 20)))


def _at_gaps(starts: Ints, start: Floats, end: Floats, layers: Repeat | None) -> Ints:
    """The same parts, beginning where the GPU waited longest before each of them."""
    reach = 4
    if layers is not None and layers.count > 1:
        reach = int(np.median(np.diff(layers.first)))
    waits = np.concatenate(([0.0], start[1:] - np.maximum.accumulate(end)[:-1]))
    offsets = []
    for place in starts.tolist()[1:] or starts.tolist():
        low, high = max(place - reach, 0), min(place + reach, len(waits) - 1)
        longest = low + int(np.argmax(waits[low : high + 1]))
        # where all waits are alike, none of them is the border
        offsets.append(longest - place if waits[longest] > LONGER * waits[place] else 0)
    shift = int(np.median(offsets))
    moved = starts + shift
    return moved[(moved >= 0) & (moved < len(start))]


def _steps_from(starts: Ints, n_kernels: int) -> Repeat | None:
    """Steps from their starts; the last one only if it is whole."""
    if len(starts) < 2:
        return None
    usual = int(np.median(np.diff(starts)))
    ends = np.append(starts[1:], min(int(starts[-1]) + usual, n_kernels))
    is_whole = ends - starts >= (1 - STEP_SPREAD) * usual
    return Repeat(
        unit="step",
        by="kernels",
        first=tuple(starts[is_whole].tolist()),
        last=tuple(ends[is_whole].tolist()),
    )


Spans = Sequence[tuple[float, float]]


def outermost(spans: Spans) -> tuple[Spans, Spans]:
    """Spans that lie in no other one, and those that do; both sorted by start."""
    outer: list[tuple[float, float]] = []
    inner: list[tuple[float, float]] = []
    for span in sorted(spans, key=lambda span: (span[0], -span[1])):
        is_inside = bool(outer) and span[1] <= outer[-1][1]
        (inner if is_inside else outer).append(span)
    return outer, inner


def steps_of_spans(spans: Spans, start: Floats) -> Repeat | None:
    """Steps as annotations of one queue have them; of those inside each other the outer ones.

    Args:
        spans: When each annotation starts and ends.
        start: K times at which kernels start.
    """
    outer, inner = outermost(spans)
    for one in (outer, outermost(inner)[0]):
        begin, finish = (np.array([span[side] for span in one]) for side in (0, 1))
        found = steps_of_notes(begin, finish, start)
        if found is not None:
            return found
    return None


def steps_of_notes(begin: Floats, finish: Floats, start: Floats) -> Repeat | None:
    """Steps as the GPU's own annotations have them; None where they do not cover the trace.

    Args:
        begin: When each annotation starts, sorted.
        finish: When it ends.
        start: K times at which kernels start.
    """
    if len(begin) < 2 or not len(start):
        return None
    whole = float(start[-1] - start[0])
    if whole <= 0 or float((finish - begin).sum()) < LEAST_COVERED * whole:
        return None
    if (begin[1:] < finish[:-1]).any():
        return None
    first = np.searchsorted(start, begin, side="left")
    last = np.searchsorted(start, finish, side="left")
    kept = last > first
    if kept.sum() < 2:
        return None
    return Repeat(
        unit="step",
        by="annotation",
        first=tuple(first[kept].tolist()),
        last=tuple(last[kept].tolist()),
    )
