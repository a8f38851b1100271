"""Which kernel an inference engine runs an all_reduce with, by size, ranks and GPU.

vLLM asks its own kernel first (below a limit), then a multimem kernel over symmetric memory, then
NCCL. TensorRT-LLM leaves its one- and two-shot kernels for NCCL where its workspace ends.
Sources: vLLM, all_reduce_utils and custom_all_reduce (a size must be below the limit);
TensorRT-LLM, customAllReduceUtils (a size may equal the limit).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from gpuflow.cluster.nccl_model import Architecture, chip

Engine = Literal["vllm", "tensorrt_llm", "nccl"]
Kernel = Literal["vllm_custom", "trtllm_custom", "nvls_multimem", "nccl"]

KIB = 1024
MIB = 1024 * 1024

VLLM_CAP_BYTES = 8 * MIB
"""No table raises vLLM's own kernel above this."""
_VLLM_CUSTOM: Mapping[Architecture, Mapping[int, int]] = {
    "hopper": {2: 64 * MIB, 4: 32 * MIB, 6: 512 * KIB, 8: 256 * KIB},
    "blackwell": {2: 2 * MIB, 4: 2 * MIB, 6: MIB, 8: MIB},
}
_VLLM_MULTIMEM: Mapping[Architecture, Mapping[int, int]] = {
    "hopper": {2: 64 * MIB, 4: 32 * MIB, 6: 64 * MIB, 8: 64 * MIB},
    "blackwell": {2: 8 * MIB, 4: 32 * MIB, 6: 128 * MIB, 8: 128 * MIB},
}
_BLACKWELL_ULTRA: Mapping[int, int] = {2: 4 * MIB, 4: 4 * MIB, 6: 8 * MIB, 8: 4 * MIB}
"""vLLM's own kernel on B300 and GB300 (SM103)."""
_ULTRA = {"b300-sxm", "gb300"}
_NO_MULTIMEM = {"gb200"}
"""Measured times of vLLM 0.24 on GB200 follow its own kernel up to 8 MiB, then NCCL: multimem was
not in use there, and with it the lower limits do not hold."""

_TWO_SHOT_FROM: Mapping[int, int] = {4: 512 * KIB, 6: 256 * KIB, 8: 256 * KIB}
"""vLLM's kernel adds in two shots from these sizes on; with two ranks always in one."""
_TRTLLM_WORKSPACE = {2: 16_000_000}
_TRTLLM_WORKSPACE_MORE = 8_000_000
"""Bytes for more than two ranks."""


def vllm_custom_limit(gpu: str, n_ranks: int) -> int:
    """First size (bytes) that vLLM's own kernel leaves to another."""
    known = chip(gpu)
    if gpu in _NO_MULTIMEM or known is None or known.link != "nvlink":
        return VLLM_CAP_BYTES
    table = _BLACKWELL_ULTRA if gpu in _ULTRA else _VLLM_CUSTOM.get(known.architecture, {})
    return min(VLLM_CAP_BYTES, table.get(n_ranks, VLLM_CAP_BYTES))


def vllm_multimem_limit(gpu: str, n_ranks: int) -> int:
    """First size (bytes) that vLLM's multimem kernel leaves to NCCL; 0 where it is not used."""
    known = chip(gpu)
    if gpu in _NO_MULTIMEM or known is None or known.link != "nvlink":
        return 0
    return _VLLM_MULTIMEM.get(known.architecture, {}).get(n_ranks, 0)


def trtllm_limit(n_ranks: int) -> int:
    """First size (bytes) that TensorRT-LLM's kernels leave to NCCL."""
    return _TRTLLM_WORKSPACE.get(n_ranks, _TRTLLM_WORKSPACE_MORE) + 1


def engine_kernel(engine: Engine, gpu: str, n_ranks: int, size_bytes: float) -> Kernel:
    """The kernel that an engine picks for an all_reduce inside one node.

    Args:
        engine: Whose rule.
        gpu: Id of the GPU.
        n_ranks: Ranks.
        size_bytes: Size of the vector.
    """
    if engine == "vllm" and n_ranks in {2, 4, 6, 8}:
        if size_bytes < vllm_custom_limit(gpu, n_ranks):
            return "vllm_custom"
        if size_bytes < vllm_multimem_limit(gpu, n_ranks):
            return "nvls_multimem"
    if engine == "tensorrt_llm" and size_bytes < trtllm_limit(n_ranks):
        return "trtllm_custom"
    return "nccl"


def kernel_changes(kernel: str, gpu: str, n_ranks: int) -> tuple[tuple[float, bool], ...]:
    """Sizes at which the kernel behind a measured name changes, rising.

    Returns:
        The first size of each later kernel, and whether that one is NCCL.
    """
    if kernel != "vllm_custom":
        # TensorRT-LLM picks by a table of its own; its measured times bend too little to cut there
        return ()
    limit = vllm_custom_limit(gpu, n_ranks)
    multimem = vllm_multimem_limit(gpu, n_ranks)
    two_shot = _TWO_SHOT_FROM.get(n_ranks, limit)
    changes = [(float(two_shot), False)] if two_shot < limit else []
    changes.append((float(limit), multimem <= limit))
    return tuple(changes)
