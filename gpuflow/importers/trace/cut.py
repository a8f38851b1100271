"""The part of a trace that is played: one step, cut into stretches of computing and of talk.

Talk that runs beside computing is shown as talk; what of it is hidden, the figures say. Waiting for
the host between kernels is part of the computing around it, and said in words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from gpuflow.importers.trace.names import compute_kind
from gpuflow.importers.trace.reading import Queue, Reading
from gpuflow.importers.trace.steps import Repeat
from gpuflow.importers.trace.talks import Talk
from gpuflow.scenario.spec import ComputePart

_SHORTEST_S = 1e-9


class Mark(NamedTuple):
    """What begins at a time and goes on until the next mark."""

    start_s: float
    section: int
    """0 before the layers, 1 in them, 2 behind them; 0 for all where there are no layers."""
    layer: int
    """From 1; 0 outside layers."""
    part: ComputePart | None


class Piece(NamedTuple):
    """A stretch of time in which one thing goes on."""

    start_s: float
    end_s: float
    mark: Mark
    talk: Talk | None
    whole_s: float = 0.0
    """Of the talk, what runs before or behind the piece included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """One step, in pieces without gaps."""

    first: int
    """Of the kernels of the busiest queue."""
    last: int
    """One past the last."""
    start_s: float
    end_s: float
    n_layers: int
    kinds: tuple[int, ...]
    """Of the layers."""
    pieces: tuple[Piece, ...]


def cut_of(reading: Reading) -> Cut | None:
    """The step that is played; None where the trace has no kernels.

    Of several steps the one with the most collectives that are known, and of these the one whose
    length is nearest the median. Without steps it is the whole trace.
    """
    queue = reading.queue
    if queue is None or not len(queue.names):
        return None
    first, last = _range(reading, queue)
    start_s, end_s = float(queue.start_s[first]), float(queue.end_s[first:last].max())
    if reading.step is None:
        # Other queues may begin before the busiest one, and end behind it.
        start_s, end_s = 0.0, max(end_s, reading.span_s)
    elif last < len(queue.names):
        end_s = max(end_s, float(queue.start_s[last]))
    firsts, lasts, kinds = _layers(reading.layer.repeat if reading.layer else None, first, last)
    marks = _marks(queue, first, last, firsts, lasts)
    return Cut(
        first=first,
        last=last,
        start_s=start_s,
        end_s=end_s,
        n_layers=len(firsts),
        kinds=kinds,
        pieces=tuple(_pieces(queue, start_s, end_s, marks)),
    )


def talks_in(queue: Queue, start_s: float, end_s: float) -> list[tuple[Talk, float]]:
    """Talk that starts in a stretch of time, on any queue, each with its whole length in seconds.

    Pieces leave out what runs beside other talk; this does not.
    """
    low, high = np.searchsorted(queue.talk_start_s, (start_s - 1e-12, end_s - 1e-12)).tolist()
    lengths = queue.talk_end_s[low:high] - queue.talk_start_s[low:high]
    return list(zip(queue.talks[low:high], lengths.tolist(), strict=True))


def _range(reading: Reading, queue: Queue) -> tuple[int, int]:
    if reading.step is None:
        return 0, len(queue.names)
    repeat = reading.step.repeat
    usual = reading.step.duration_s

    def oddness(place: int) -> tuple[int, float]:
        first, last = repeat.first[place], repeat.last[place]
        begin, end = queue.start_s[first], queue.end_s[last - 1]
        talks = talks_in(queue, float(begin), float(end))
        unknown = sum(talk.kind == "unknown" for talk, _ in talks)
        following = queue.start_s[last] if last < len(queue.names) else end
        return unknown, abs(float(following - begin) - usual)

    place = min(range(repeat.count), key=oddness)
    return repeat.first[place], repeat.last[place]


def _layers(
    layers: Repeat | None, first: int, last: int
) -> tuple[list[int], list[int], tuple[int, ...]]:
    """Layers that lie in a range of the sequence."""
    if layers is None:
        return [], [], ()
    inside = [
        place
        for place in range(layers.count)
        if first <= layers.first[place] and layers.last[place] <= last
    ]
    if len(inside) < 2:
        return [], [], ()
    return (
        [layers.first[place] for place in inside],
        [layers.last[place] for place in inside],
        tuple(layers.kinds[place] for place in inside) if layers.kinds else (),
    )


def _marks(queue: Queue, first: int, last: int, firsts: list[int], lasts: list[int]) -> list[Mark]:
    """Where sections, layers and their halves begin."""
    begin_s = float(queue.start_s[first]) if first else 0.0
    if not firsts:
        return [Mark(begin_s, 0, 0, None)]

    def at(place: int) -> float:
        """When what stands before a kernel is over: waiting belongs to what follows."""
        if place <= first:
            return begin_s
        return min(float(queue.end_s[place - 1]), float(queue.start_s[place]))

    marks = [Mark(begin_s, 0, 0, "embedding")] if firsts[0] > first else []
    for number, (low, high) in enumerate(zip(firsts, lasts, strict=True), 1):
        marks.append(Mark(at(low), 1, number, "attention"))
        half = _second_half(queue, low, high)
        if half is not None:
            marks.append(Mark(at(half), 1, number, "mlp"))
    if lasts[-1] < last:
        marks.append(Mark(at(lasts[-1]), 2, 0, "head"))
    return marks


def _second_half(queue: Queue, low: int, high: int) -> int | None:
    """Where a layer's MLP or experts begin: behind attention and what sums it up or projects it."""
    kinds = [
        "talk" if queue.talk[place] >= 0 else compute_kind(queue.texts[queue.names[place]])
        for place in range(low, high)
    ]
    attention = [place for place, kind in enumerate(kinds) if kind == "attention"]
    if not attention:
        return None
    ends = "talk" if "talk" in kinds[attention[-1] :] else "gemm"
    behind = [p for p in range(attention[-1], len(kinds)) if kinds[p] == ends]
    found = low + behind[0] + 1 if behind else low + attention[-1] + 1
    return found if found < high else None


def _pieces(queue: Queue, start_s: float, end_s: float, marks: list[Mark]) -> list[Piece]:
    """Talk in the order in which it starts, computing between, without gaps."""
    inside = (queue.talk_start_s < end_s) & (queue.talk_end_s > start_s)
    order = np.flatnonzero(inside)[np.argsort(queue.talk_start_s[inside], kind="stable")]
    times = [mark.start_s for mark in marks]
    found: list[Piece] = []
    clock_s = start_s
    for place in order.tolist():
        begin_s = max(float(queue.talk_start_s[place]), clock_s)
        finish_s = min(float(queue.talk_end_s[place]), end_s)
        if finish_s - begin_s < _SHORTEST_S:
            continue
        found += _computing(clock_s, begin_s, marks, times)
        mark = marks[max(int(np.searchsorted(times, begin_s, side="right")) - 1, 0)]
        whole_s = float(queue.talk_end_s[place] - queue.talk_start_s[place])
        found.append(Piece(begin_s, finish_s, mark, queue.talks[place], whole_s))
        clock_s = finish_s
    found += _computing(clock_s, end_s, marks, times)
    return found


def _computing(start_s: float, end_s: float, marks: list[Mark], times: list[float]) -> list[Piece]:
    """Computing between two times, cut where something else begins."""
    low = max(int(np.searchsorted(times, start_s, side="right")) - 1, 0)
    found = []
    for place in range(low, len(marks)):
        begin_s = max(start_s, times[place])
        until_s = min(end_s, times[place + 1] if place + 1 < len(marks) else end_s)
        if begin_s >= end_s:
            break
        if until_s - begin_s >= _SHORTEST_S:
            found.append(Piece(begin_s, until_s, marks[place], None))
    return found
