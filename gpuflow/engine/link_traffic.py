"""Bytes over every link of the fabric, in one prefill pass and for one decoded token."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpuflow.cluster.fabric import build_fabric
from gpuflow.cluster.mesh import Groups, mesh_of
from gpuflow.cluster.traffic import link_bytes
from gpuflow.engine.timeline import Timeline
from gpuflow.scenario.spec import Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkBytes:
    """What one directed link carries in one pass."""

    source: str
    """gpu0, switch0, nic0, leaf0 ..."""
    destination: str
    phase: Phase
    size_bytes: float


@dataclass(frozen=True, slots=True)
class _Message:
    phase: Phase
    collective: str
    algorithm: str
    groups: Groups
    root: int
    size_bytes: int


def link_traffic(timeline: Timeline) -> tuple[LinkBytes, ...]:
    """Charge every message's schedule to the links of the scenario's fabric.

    Equal messages are charged once and counted; those of the chunks and micro-batches that are not
    shown count too. Links that carry nothing are left out.
    """
    messages = Counter(
        _Message(
            span.phase,
            span.collective,
            span.algorithm,
            span.groups,
            span.root,
            round(span.message_size_bytes),
        )
        for span in timeline.spans
        if span.collective is not None
    )
    fabric = build_fabric(timeline.scenario.cluster, mesh_of(timeline.scenario).n_ranks)
    totals: dict[Phase, NDArray[np.float64]] = {
        "prefill": np.zeros(fabric.n_links),
        "decode": np.zeros(fabric.n_links),
    }
    passes = {"prefill": 1, "decode": timeline.scenario.workload.micro_batches}
    if timeline.pipelining is not None:
        passes["prefill"] = timeline.pipelining.prefill_passes
    for message, times in messages.items():
        totals[message.phase] += (
            passes[message.phase]
            * times
            * link_bytes(
                message.collective,
                message.algorithm,
                fabric,
                message.groups,
                message.size_bytes,
                message.root,
            )
        )
    return tuple(
        LinkBytes(
            source=fabric.link_ends(link)[0],
            destination=fabric.link_ends(link)[1],
            phase=phase,
            size_bytes=float(carried[link]),
        )
        for phase, carried in totals.items()
        for link in np.flatnonzero(carried).tolist()
    )
