"""One algorithm written out in full: start, every transfer, result; for `collective --trace`."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from gpuflow.collectives.algorithms import build
from gpuflow.collectives.meaning import start
from gpuflow.collectives.oracle import bytes_sent
from gpuflow.collectives.places import places_of
from gpuflow.collectives.replay import run
from gpuflow.collectives.schedule import Round


def trace(
    collective: str,
    algorithm: str,
    n_ranks: int,
    n_elements: int,
    dtype: DTypeLike = np.int32,
    root: int = 0,
    ranks_per_node: int | None = None,
) -> dict[str, Any]:
    """All of a collective on small numbers, as values that JSON can hold.

    Offsets count elements of a peer's working buffer of `buffer_elements`: peer r's `start[r]`
    lies at `start_offset[r]`, its `result[r]` is found at `result_offset[r]` after the last round.

    Args:
        collective: A key of `gpuflow.collectives.algorithms.ALGORITHMS`.
        algorithm: One of its algorithms.
        n_ranks: R.
        n_elements: N by the collective's size convention.
        dtype: Of the data; its size makes `bytes_sent`.
        root: As in `build`.
        ranks_per_node: As in `build`.

    Returns:
        `rounds[]{transfers[]{from, to, from_offset, to_offset, count, op: copy|add}}` without
        transfers of no element, `start[][]` and `result[][]` by peer (empty where a peer brings
        or gets nothing), `start_offset[]`, `result_offset[]`, `buffer_elements`, `switches`, and
        `bytes_sent[]` to others (from = to is a local copy). A vertex number of R or above is a
        switch; its buffer is zero at first and it passes on within the round what reaches it.

    Raises:
        ValueError: As `build`.
    """
    schedule = build(
        collective, algorithm, n_ranks, n_elements, root, ranks_per_node=ranks_per_node
    )
    place = places_of(schedule)
    inputs = start(collective, n_ranks, n_elements, root, dtype)
    results = run(schedule, inputs)
    return {
        "rounds": [{"transfers": _transfers(one)} for one in schedule.rounds()],
        "buffer_elements": schedule.buffer_elements,
        "switches": schedule.n_switches,
        "start": [vector.tolist() for vector in inputs],
        "start_offset": place.input_offset.tolist(),
        "result": [[] if vector is None else vector.tolist() for vector in results],
        "result_offset": place.output_offset.tolist(),
        "bytes_sent": bytes_sent(schedule, np.dtype(dtype).itemsize).tolist(),
    }


def _transfers(one: Round) -> list[dict[str, Any]]:
    columns = (
        one.source.tolist(),
        one.destination.tolist(),
        one.source_offset.tolist(),
        one.destination_offset.tolist(),
        one.count.tolist(),
        one.add.tolist(),
    )
    return [
        {
            "from": source,
            "to": destination,
            "from_offset": source_offset,
            "to_offset": destination_offset,
            "count": count,
            "op": "add" if add else "copy",
        }
        for source, destination, source_offset, destination_offset, count, add in zip(
            *columns, strict=True
        )
        if count
    ]
