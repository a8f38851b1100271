"""What a trace says of its machine and its job, beside the events."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gpuflow.importers.nccl_names import catalog_gpu
from gpuflow.importers.trace.doubt import Doubt
from gpuflow.importers.trace.kernels import plain_text

MOST_RANKS = 1_000_000
_A100_SMALL_BYTES = 60e9
_MI300X = (64, 304, 190e9, 210e9)
"""Lanes of a wave, compute units, and bytes of memory between which only an MI300X has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The job and the GPU; None where the file does not say."""

    rank: int | None = None
    world: int | None = None
    backend: str | None = None
    library: str | None = None
    """Version of NCCL or RCCL."""
    gpu_name: str | None = None
    """As the driver has it."""
    gpu: str | None = None
    """Id in the catalogue or in the measurements."""
    group: int | None = None
    """Ranks of the largest process group that runs on GPUs."""
    groups: tuple[int, ...] = ()
    """Sizes of all process groups of more than one rank, each once."""
    base_ns: int = 0
    """What the times of the events are counted from."""
    doubts: tuple[Doubt, ...] = ()


def read_head(data: Mapping[str, object]) -> Head:
    """Understand what stands beside the events."""
    job = data.get("distributedInfo")
    job = job if isinstance(job, dict) else {}
    sizes = _group_sizes(job.get("pg_config"))
    world = _whole(job.get("world_size"), 1)
    gpu_name, gpu, doubts = _gpu(data.get("deviceProperties"))
    return Head(
        rank=_whole(job.get("rank"), 0),
        world=world,
        backend=_text(job.get("backend")),
        library=_text(job.get("nccl_version")),
        gpu_name=gpu_name,
        gpu=gpu,
        group=max(sizes, default=None) or (world if world and world > 1 else None),
        groups=tuple(sorted(set(sizes), reverse=True)),
        base_ns=_whole(data.get("baseTimeNanoseconds"), 0, 2**63) or 0,
        doubts=tuple(doubts),
    )


def _group_sizes(config: object) -> list[int]:
    """Sizes of the process groups of more than one rank."""
    groups = config if isinstance(config, list) else []
    sizes = []
    for group in groups:
        if isinstance(group, dict):
            ranks = group.get("ranks")
            listed = len(ranks) if isinstance(ranks, list) else None
            size = _whole(group.get("pg_size"), 1) or listed
            sizes += [size] if size and size > 1 else []
    return sizes


def _gpu(properties: object) -> tuple[str | None, str | None, list[Doubt]]:
    listed = properties if isinstance(properties, list) else []
    devices = [one for one in listed if isinstance(one, dict)]
    if not devices:
        return None, None, []
    names = {name for one in devices if (name := _text(one.get("name")))}
    doubts = [Doubt("several_gpus", {"found": sorted(names)[:4]})] if len(names) > 1 else []
    first = devices[0]
    name = _text(first.get("name"))
    memory = first.get("totalGlobalMem")
    size = float(memory) if isinstance(memory, (int, float)) else 0.0
    if not name:
        shape = (first.get("warpSize"), first.get("numSms"))
        if shape == _MI300X[:2] and _MI300X[2] < size < _MI300X[3]:
            return None, "mi300x", [*doubts, Doubt("gpu_by_shape", {"gpu": "MI300X"})]
        return None, None, [*doubts, Doubt("gpu_unnamed")]
    gpu = catalog_gpu(name)
    if re.search(r"a100", name, re.IGNORECASE) and 0 < size < _A100_SMALL_BYTES:
        gpu = "a100-40gb-sxm"
    return name, gpu, doubts


def _text(value: object) -> str | None:
    return plain_text(value)[:80] or None if isinstance(value, str) else None


def _whole(value: object, least: int, most: int = MOST_RANKS) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if least <= value <= most else None
