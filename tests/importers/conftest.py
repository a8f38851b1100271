"""Traces made up for tests: events in Kineto's order, and files of them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

Event = dict[str, Any]

ALL_REDUCE = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(vllm::RankData*)"


class Traces:
    """Makes events, steps, documents and files in one folder."""

    attention = "fmhaSm100aKernel_QkvE4m3OBfloat16H64PagedKvCausal"
    layer = (
        *("nvjet_tst_64x64_64x16_2x1_v_bz_TNT", attention, "cublas_gemv", ALL_REDUCE),
        *("void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(T*)", "cutlass_80_gemm"),
        ALL_REDUCE,
    )
    head = ("embedding_gather", "_copy_page_indices_kernel")
    tail = ("lm_head_nvjet", "ncclDevKernel_AllGather_RING_LL(x)", "argmax_kernel")

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def kernel(self, name: str, start: float, length: float, stream: int = 7, **args: Any) -> Event:
        """One kernel of device 0; times in microseconds."""
        about: Event = {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": stream}
        return {
            **about,
            "ts": start,
            "dur": length,
            "args": {"device": 0, "stream": stream, **args},
        }

    def steps(
        self, n_steps: int, n_layers: int = 8, *, slow: float = 1.0, at: float = 1e6
    ) -> list[Event]:
        """Decode steps of a server: a head, layers with two all_reduces, a tail; then the host."""
        found, clock = [], at
        for _ in range(n_steps):
            for name in (*self.head, *self.layer * n_layers, *self.tail):
                length = 10.0 * (slow if name == ALL_REDUCE else 1.0)
                found.append(self.kernel(name, clock, length))
                clock += length + 2.0
            clock += 300.0
        return found

    def document(self, events: Sequence[Event], rank: int = 0, **head: Any) -> dict[str, Any]:
        """A trace of one rank of eight."""
        job = {"backend": "nccl", "rank": rank, "world_size": 8, "pg_config": [{"pg_size": 8}]}
        about = {"deviceProperties": [{"id": 0, "name": "NVIDIA H100 80GB HBM3"}]}
        whole = {"schemaVersion": 1, **about, "distributedInfo": job, **head}
        return {**whole, "traceEvents": [*events]}

    def write(self, content: Any, *, packed: bool = False, name: str = "trace.json") -> str:
        """A file of it: bytes and text as they are, everything else as JSON."""
        text = content if isinstance(content, (str, bytes)) else json.dumps(content)
        data = text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")
        path = self.folder / name
        path.write_bytes(gzip.compress(data) if packed else data)
        return str(path)


@pytest.fixture
def traces(tmp_path: Path) -> Traces:
    """A maker of traces."""
    return Traces(tmp_path)
