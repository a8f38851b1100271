"""What gpuflow expects of the messages of a trace, on the hardware it names.

The curves are those of the calibrations; a kernel that an engine brings is looked up as such. What
the profiler times is the kernel alone, so NCCL's curves under a profiler are preferred to those of
nccl-tests, which hold a launch as well.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from gpuflow.cluster.prediction import predict
from gpuflow.errors import ScenarioError
from gpuflow.importers.trace.talks import Collective, SizeRow
from gpuflow.scenario import catalog

_PREDICTED = frozenset(
    {"all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "send_recv"}
)
_ENGINE_KERNELS = {"nvls": "nvls_multimem", "one_shot": "one_shot", "two_shot": "two_shot"}
_ENGINE_LIBRARIES = {"tensorrt_llm": "trtllm_custom", "vllm": "vllm_custom"}
MOST_LOOKUPS = 200
"""For one collective of so many ranks; each takes a fraction of a millisecond."""
_NODE = 8
"""GPUs of a node where the catalogue does not know the GPU."""


def with_expected(
    collectives: Sequence[Collective], gpu: str | None, nodes: int | None = None
) -> tuple[Collective, ...]:
    """The same collectives with a predicted time at each size that can have one.

    Args:
        collectives: As measured.
        gpu: Id in the catalogue or the measurements; None: nothing is predicted.
        nodes: Nodes that a group spans; None: as few as hold it.
    """
    if gpu is None:
        return tuple(collectives)
    return tuple(replace(one, sizes=_sizes(one, gpu, nodes)) for one in collectives)


def _sizes(one: Collective, gpu: str, nodes: int | None) -> tuple[SizeRow, ...]:
    """The sizes with their predictions; of very many, neighbours are looked up together."""
    found = list(one.sizes)
    places_of: dict[int, list[int]] = {}
    for place, row in enumerate(found):
        if row.size_bytes and row.ranks and row.ranks > 1:
            places_of.setdefault(row.ranks, []).append(place)
    for ranks, places in places_of.items():
        stretch = 1 + len(places) // MOST_LOOKUPS
        for at in range(0, len(places), stretch):
            some = places[at : at + stretch]
            rows = _expected(one, [found[place] for place in some], ranks, gpu, nodes)
            for place, row in zip(some, rows, strict=True):
                found[place] = row
    return tuple(found)


def _expected(
    one: Collective, rows: Sequence[SizeRow], ranks: int, gpu: str, nodes: int | None
) -> Sequence[SizeRow]:
    """Rows of known sizes and so many ranks, all of them predicted or none."""
    if one.kind not in _PREDICTED or one.named.role:
        return rows
    n_nodes = nodes or math.ceil(ranks / _per_node(gpu))
    if ranks % n_nodes:
        return rows
    sizes = np.array([float(row.size_bytes or 0) for row in rows])
    for kernel, launch in _kernels(one, gpu, n_nodes):
        try:
            found = predict(gpu, one.kind, kernel, launch, ranks, n_nodes, sizes)
        except ValueError:
            continue
        if np.isfinite(found.seconds).all() and (found.seconds > 0).all():
            return [
                replace(row, predicted_s=row.count * seconds, time_source=found.time_source)
                for row, seconds in zip(rows, found.seconds.tolist(), strict=True)
            ]
    return rows


def _kernels(one: Collective, gpu: str, n_nodes: int) -> list[tuple[str, str]]:
    """Kernels and launch modes to look up, the nearest first."""
    is_amd = gpu.startswith("mi")
    library = ("rccl", "rccl-tests") if is_amd else ("nccl", "profiler")
    if one.kind != "all_reduce" or n_nodes > 1 or one.named.library in {"nccl", "rccl"}:
        return [library]
    own = _ENGINE_KERNELS.get(one.named.algorithm) or _ENGINE_LIBRARIES.get(one.named.library)
    return [*([(own, "cuda_graph")] if own else []), ("vllm_custom", "cuda_graph"), library]


def _per_node(gpu: str) -> int:
    try:
        return catalog.device(gpu).gpus_per_node
    except ScenarioError:
        return _NODE
