"""Messages by kind, with what they put on a GPU's and a NIC's wire, and how fast.

Bytes are those of the schedule that runs, charged to the links: on the busiest GPU and NIC, in one
direction, for one prefill pass or one decoded token. The rate is over the time in which that GPU's
own messages run, so it is what the link carries while it is in use.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpuflow.cluster.fabric import Fabric, build_fabric
from gpuflow.cluster.mesh import mesh_of
from gpuflow.cluster.traffic import link_bytes
from gpuflow.engine.link_traffic import whole_seconds
from gpuflow.engine.timeline import Span, Timeline, TimeSource
from gpuflow.scenario.spec import Payload, Phase, TrafficClass


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageKind:
    """All messages of one kind in one pass."""

    traffic_class: TrafficClass
    phase: Phase
    collective: str
    payload: Payload
    ranks: int
    message_size_bytes: float
    """Mean; by nccl-tests' convention."""
    messages: int
    """On the critical path of the pass."""
    time_s: float
    """As far as computing does not hide it."""
    share: float
    """Of the pass."""
    time_source: TimeSource
    gpu_bytes: float
    """Sent by the busiest GPU in the pass."""
    gpu_bytes_per_s: float
    nic_bytes: float | None
    """Sent by the busiest NIC; None where everything stays inside a node."""
    nic_bytes_per_s: float | None


def message_kinds(timeline: Timeline) -> tuple[MessageKind, ...]:
    """Messages by phase, class, collective and payload, in the order in which they first occur."""
    kinds: dict[tuple[object, ...], list[Span]] = {}
    for span in timeline.spans:
        if span.traffic_class is not None and span.collective is not None:
            key = (span.phase, span.traffic_class, span.collective, span.payload)
            kinds.setdefault(key, []).append(span)
    fabric = build_fabric(timeline.scenario.cluster, mesh_of(timeline.scenario).n_ranks)
    ends = _Ends(fabric)
    return tuple(_kind(timeline, spans, ends) for spans in kinds.values())


class _Ends:
    """Which links leave a GPU, and which leave a node's NIC for the network."""

    def __init__(self, fabric: Fabric) -> None:
        self.fabric = fabric
        names = [fabric.link_ends(link) for link in range(fabric.n_links)]
        self.gpus = np.array([_number(source, "gpu") for source, _ in names])
        self.nics = np.array(
            [
                -1 if destination.startswith(("gpu", "switch", "pcie")) else _number(source, "nic")
                for source, destination in names
            ]
        )

    def sums(self, carried: NDArray[np.float64], owners: NDArray[np.int_]) -> NDArray[np.float64]:
        """Bytes by owner, shape (owners,)."""
        mine = owners >= 0
        found = np.bincount(owners[mine], weights=carried[mine], minlength=1)
        return found.astype(np.float64)


def _number(name: str, kind: str) -> int:
    rest = name.removeprefix(kind)
    return int(rest) if rest != name and rest.isdigit() else -1


def _kind(timeline: Timeline, spans: list[Span], ends: _Ends) -> MessageKind:
    first = spans[0]
    alike = Counter(
        (span.algorithm, span.groups, span.root, round(span.message_size_bytes)) for span in spans
    )
    carried = np.zeros(ends.fabric.n_links)
    for (algorithm, groups, root, size), times in alike.items():
        carried += times * link_bytes(
            first.collective or "", algorithm, ends.fabric, groups, size, root
        )
    whole, seconds = timeline.pass_s(first.phase), sum(span.duration_s for span in spans)
    by_gpu, by_nic = ends.sums(carried, ends.gpus), ends.sums(carried, ends.nics)
    busiest = int(by_gpu.argmax())
    at_work = _seconds_of(spans, busiest) or seconds
    nic_bytes = float(by_nic.max()) if by_nic.any() else None
    return MessageKind(
        traffic_class=first.traffic_class or "tp",
        phase=first.phase,
        collective=first.collective or "",
        payload=first.payload or "activations",
        ranks=len(first.groups[0]),
        message_size_bytes=sum(span.message_size_bytes for span in spans) / len(spans),
        messages=len(spans),
        time_s=seconds,
        share=seconds / whole if whole else 0.0,
        time_source=first.time_source,
        gpu_bytes=float(by_gpu[busiest]),
        gpu_bytes_per_s=float(by_gpu[busiest]) / at_work if at_work else 0.0,
        nic_bytes=nic_bytes,
        nic_bytes_per_s=nic_bytes / at_work if nic_bytes is not None and at_work else None,
    )


def _seconds_of(spans: list[Span], rank: int) -> float:
    """Time of the messages in which a rank takes part."""
    belongs: dict[int, bool] = {}
    total = 0.0
    for span in spans:
        key = id(span.groups)
        if key not in belongs:
            belongs[key] = any(rank in group for group in span.groups)
        total += whole_seconds(span) if belongs[key] else 0.0
    return total
