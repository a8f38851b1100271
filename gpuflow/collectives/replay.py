"""A schedule applied to real numbers.

V  buffers: one for each peer, then one for each switch        B  elements of a buffer
A round reads everything before it writes anything, but for switches, which pass on at once; where
several transfers write to one place they add, and copies come before additions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpuflow.collectives.meaning import Outputs, Vector
from gpuflow.collectives.places import places_of
from gpuflow.collectives.schedule import BoolArray, IntArray, Round, Schedule

Buffers = NDArray[Any]

_SLICE_ELEMENTS = 256
"""Mean transfer from which one numpy call a transfer is quicker than indexing every element
(measured break-even: about 250 elements of float32)."""


def load(schedule: Schedule, inputs: Sequence[Vector]) -> Buffers:
    """Fresh working buffers (V, B) that hold a copy of the inputs, and zeros elsewhere.

    Raises:
        ValueError: The inputs are not what the collective starts from.
    """
    place = places_of(schedule)
    given, wanted = [len(vector) for vector in inputs], place.input_count.tolist()
    if given != wanted:
        raise ValueError(
            f"{schedule.collective} of {schedule.n_elements} elements starts from vectors of"
            f" {wanted} elements, got {given}"
        )
    dtype = np.result_type(*inputs)
    n_buffers = schedule.n_ranks + schedule.n_switches
    buffers = np.zeros((n_buffers, schedule.buffer_elements), dtype)
    for peer, vector in enumerate(inputs):
        offset = int(place.input_offset[peer])
        buffers[peer, offset : offset + len(vector)] = vector
    return buffers


def outputs(schedule: Schedule, buffers: Buffers) -> Outputs:
    """The results in working buffers after the last round, as views; None where there is none."""
    place = places_of(schedule)
    return [
        buffers[peer, offset : offset + count] if has_output else None
        for peer, (offset, count, has_output) in enumerate(
            zip(
                place.output_offset.tolist(),
                place.output_count.tolist(),
                place.has_output.tolist(),
                strict=True,
            )
        )
    ]


def play(schedule: Schedule, buffers: Buffers) -> Iterator[Buffers]:
    """Applies the rounds to `buffers` (V, B) in place, yielding them after each round."""
    for one in schedule.rounds():
        apply(one, buffers, schedule.n_ranks)
        yield buffers


def replay(schedule: Schedule, inputs: Sequence[Vector]) -> Iterator[Buffers]:
    """The working buffers (V, B) after each round; `inputs` are left as they are.

    The same array is yielded each time, changed by the next round: copy what is to be kept.
    """
    return play(schedule, load(schedule, inputs))


def run(schedule: Schedule, inputs: Sequence[Vector]) -> Outputs:
    """What each peer has in the end; None for peers whose buffer then means nothing."""
    buffers = load(schedule, inputs)
    for _ in play(schedule, buffers):
        pass
    return outputs(schedule, buffers)


def apply(one: Round, buffers: Buffers, n_ranks: int) -> None:
    """One round on C-contiguous working buffers (V, B), in place."""
    parts = in_order(one, n_ranks) if len(buffers) > n_ranks else (one,)
    for part in parts:
        _apply_at_once(part, buffers)


def in_order(one: Round, n_ranks: int) -> tuple[Round, Round]:
    """A round in two: what peers send, and what switches then pass on of it."""
    is_passed_on = one.source >= n_ranks
    return _part(one, ~is_passed_on), _part(one, is_passed_on)


def _part(one: Round, is_in: BoolArray) -> Round:
    return Round(
        one.source[is_in],
        one.destination[is_in],
        one.source_offset[is_in],
        one.destination_offset[is_in],
        one.count[is_in],
        one.add[is_in],
    )


def _apply_at_once(one: Round, buffers: Buffers) -> None:
    n_transfers = len(one)
    if n_transfers and int(one.count.sum()) >= _SLICE_ELEMENTS * n_transfers:
        _apply_by_slice(one, buffers)
    elif n_transfers:
        _apply_by_element(one, buffers)


def element_index(
    vertex: IntArray, offset: IntArray, count: IntArray, buffer_elements: int
) -> IntArray:
    """Flat positions in buffers (V, B) of all elements of all transfers, one after the other."""
    first = vertex * buffer_elements + offset
    before = np.cumsum(count) - count
    total = int(count.sum())
    return np.repeat(first - before, count) + np.arange(total)


def _apply_by_element(one: Round, buffers: Buffers) -> None:
    flat = buffers.reshape(-1)
    width = buffers.shape[1]
    values = flat[element_index(one.source, one.source_offset, one.count, width)]
    target = element_index(one.destination, one.destination_offset, one.count, width)
    if one.add.all():
        np.add.at(flat, target, values)
    elif not one.add.any():
        flat[target] = values
    else:
        is_added = np.repeat(one.add, one.count)
        flat[target[~is_added]] = values[~is_added]
        np.add.at(flat, target[is_added], values[is_added])


def _apply_by_slice(one: Round, buffers: Buffers) -> None:
    """Transfers of many elements each, straight from buffer to buffer where that is safe."""
    copies_first = np.argsort(one.add, kind="stable")
    columns = zip(
        one.source[copies_first].tolist(),
        one.destination[copies_first].tolist(),
        one.source_offset[copies_first].tolist(),
        one.destination_offset[copies_first].tolist(),
        one.count[copies_first].tolist(),
        one.add[copies_first].tolist(),
        reads_what_is_written(one, buffers.shape[1])[copies_first].tolist(),
        strict=True,
    )
    moves = []
    for source, destination, source_offset, destination_offset, count, add, is_hazard in columns:
        values = buffers[source, source_offset : source_offset + count]
        target = buffers[destination, destination_offset : destination_offset + count]
        moves.append((values.copy() if is_hazard else values, target, add))
    for values, target, add in moves:
        if add:
            np.add(target, values, out=target)
        else:
            np.copyto(target, values)


def reads_what_is_written(one: Round, buffer_elements: int) -> BoolArray:
    """Which transfers read an element that some transfer of the same round writes; shape (T,)."""
    read_start = one.source * buffer_elements + one.source_offset
    read_end = read_start + one.count
    write_start = one.destination * buffer_elements + one.destination_offset
    order = np.argsort(write_start, kind="stable")
    write_start = write_start[order]
    # Furthest end of all writes that begin no later: some write reaches into a read exactly when
    # the furthest of those that begin before the read's end passes the read's start.
    reach = np.maximum.accumulate(write_start + one.count[order])
    n_before = np.searchsorted(write_start, read_end, side="left")
    furthest = np.where(n_before > 0, reach[np.maximum(n_before - 1, 0)], 0)
    return (one.count > 0) & (furthest > read_start)
