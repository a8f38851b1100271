"""Bytes over every link of the fabric, in one prefill pass and for one decoded token."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpuflow.cluster.fabric import Fabric, build_fabric
from gpuflow.cluster.mesh import Groups, mesh_of
from gpuflow.cluster.traffic import link_bytes
from gpuflow.collectives.oracle import bus_factor
from gpuflow.engine.timeline import Span, Timeline
from gpuflow.scenario.spec import Phase, TrafficClass


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkBytes:
    """What one directed link carries in one pass."""

    source: str
    """gpu0, switch0, nic0, leaf0 ..."""
    destination: str
    phase: Phase
    size_bytes: float


@dataclass(frozen=True, slots=True)
class Message:
    """A message by what tells it from others; all groups send it at once."""

    phase: Phase
    collective: str
    algorithm: str
    groups: Groups
    root: int
    size_bytes: int
    traffic_class: TrafficClass | None
    time_s: float
    """From its first byte to its last, whether computing hides it or not."""


@dataclass(frozen=True, slots=True, eq=False)
class MessageBytes:
    """What one of a pass's messages puts on the links."""

    message: Message
    times: int
    """Messages alike in one pass."""
    carried: NDArray[np.float64]
    """Bytes over each link, of one message; shape (L,)."""


@dataclass(frozen=True, slots=True, eq=False)
class FabricTraffic:
    """All messages of both passes on the scenario's fabric."""

    fabric: Fabric
    messages: tuple[MessageBytes, ...]

    def carried(self, phase: Phase) -> NDArray[np.float64]:
        """Bytes over each link in one pass; shape (L,)."""
        total = np.zeros(self.fabric.n_links)
        for one in self.messages:
            if one.message.phase == phase:
                total += one.times * one.carried
        return total


def fabric_traffic(timeline: Timeline) -> FabricTraffic:
    """Charge every message's schedule to the links of the scenario's fabric.

    Equal messages are charged once and counted.
    """
    found = (message_of(span) for span in timeline.spans)
    messages = Counter(message for message in found if message is not None)
    fabric = build_fabric(timeline.scenario.cluster, mesh_of(timeline.scenario).n_ranks)
    return FabricTraffic(
        fabric,
        tuple(
            MessageBytes(
                message,
                times,
                link_bytes(
                    message.collective,
                    message.algorithm,
                    fabric,
                    message.groups,
                    message.size_bytes,
                    message.root,
                ),
            )
            for message, times in messages.items()
        ),
    )


def message_of(span: Span) -> Message | None:
    """The message that a span sends; None where it sends none."""
    if span.collective is None:
        return None
    return Message(
        span.phase,
        span.collective,
        span.algorithm,
        span.groups,
        span.root,
        round(span.message_size_bytes),
        span.traffic_class,
        whole_seconds(span),
    )


def whole_seconds(span: Span) -> float:
    """Time of a message; of one that computing hides more than it shows."""
    rate = span.bus_bandwidth_bytes_per_s
    if not rate or not span.collective:
        return span.duration_s
    return bus_factor(span.collective, len(span.groups[0])) * span.message_size_bytes / rate


def link_traffic(timeline: Timeline) -> tuple[LinkBytes, ...]:
    """Bytes over each link for the whole batch; links that carry nothing are left out.

    Chunks and micro-batches that the timeline folds carry what the pass shown does.
    """
    found = fabric_traffic(timeline)
    pipelining = timeline.pipelining
    passes: dict[Phase, int] = {"prefill": 1, "decode": 1}
    if pipelining is not None:
        passes = {"prefill": pipelining.prefill_passes, "decode": pipelining.micro_batches}
    phases: tuple[Phase, Phase] = ("prefill", "decode")
    rows: list[LinkBytes] = []
    for phase in phases:
        carried = passes[phase] * found.carried(phase)
        for link in np.flatnonzero(carried).tolist():
            source, destination = found.fabric.link_ends(link)
            rows.append(
                LinkBytes(
                    source=source,
                    destination=destination,
                    phase=phase,
                    size_bytes=float(carried[link]),
                )
            )
    return tuple(sorted(rows, key=lambda row: (phases.index(row.phase), _natural(row))))


def _natural(link: LinkBytes) -> tuple[tuple[str, int], ...]:
    """Ends by kind and number, so that gpu10 stands behind gpu2."""
    ends = (link.source, link.destination)
    return tuple(part for end in ends for part in _parts(end))


def _parts(end: str) -> list[tuple[str, int]]:
    return [(word, int(number or -1)) for word, number in re.findall(r"(\D+)(\d*)", end)]
