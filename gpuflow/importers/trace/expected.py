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
    return tuple(
        replace(one, sizes=tuple(_expected(one, row, gpu, nodes) for row in one.sizes))
        for one in collectives
    )


def _expected(one: Collective, row: SizeRow, gpu: str, nodes: int | None) -> SizeRow:
    size, ranks = row.size_bytes, row.ranks
    if one.kind not in _PREDICTED or one.named.role or not size or not ranks or ranks < 2:
        return row
    n_nodes = nodes or math.ceil(ranks / _per_node(gpu))
    if ranks % n_nodes:
        return row
    for kernel, launch in _kernels(one, gpu, n_nodes):
        try:
            found = predict(gpu, one.kind, kernel, launch, ranks, n_nodes, np.array([float(size)]))
        except ValueError:
            continue
        seconds = float(found.seconds[0])
        if math.isfinite(seconds) and seconds > 0:
            return replace(row, predicted_s=row.count * seconds, time_source=found.time_source)
    return row


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
