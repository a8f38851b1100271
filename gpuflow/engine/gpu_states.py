"""The GPUs at one moment, made one by one as they are looked at.

All GPUs of a stage hold the same layers and the same cache, and what each of them does follows
from the span under way; so a thousand of them are a few numbers a stage and one look-up a rank.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import overload

from gpuflow.cluster.mesh import Mesh
from gpuflow.engine.state import Activity, Channel, GpuState
from gpuflow.engine.timeline import Span

Counts = tuple[tuple[Activity, int], ...]
"""(activity, GPUs), the most first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageState:
    """What all GPUs of a stage share at the moment."""

    stage: int
    first_layer: int
    """Of the model, from 1."""
    last_layer: int
    layer: int
    """Layer of the stage at work, from 1; 0 when none."""
    layers: int
    """Layers of the stage."""
    kv_tokens: int
    """Tokens in the KV cache of this stage, of all its sequences together."""
    kv_bytes: float
    """Of one GPU."""
    kv_capacity_bytes: float
    """Of one GPU: memory left by the weights."""


class Doing:
    """What every rank does during one span; it stays the same as long as the span runs."""

    def __init__(self, span: Span | None, mesh: Mesh) -> None:
        self.mesh = mesh
        self.rest: Activity = "idle" if span is None else "wait"
        """What the ranks do that take no part."""
        self.of_rank: Mapping[int, Activity] = activities(span)
        self._counted: dict[tuple[int, int, int | None], Counts] = {}

    def counts(self, stage: int, first: int = 0, size: int | None = None) -> Counts:
        """What the GPUs of a stage do, or those from a position on.

        Args:
            stage: Of the pipeline.
            first: Position in it of the first GPU.
            size: How many GPUs; None: all that follow.
        """
        part = (stage, first, size)
        if part not in self._counted:
            last = None if size is None else first + size
            ranks = self.mesh.stage_ranks(stage)[first:last]
            counted = Counter(self.of_rank.get(rank, self.rest) for rank in ranks)
            self._counted[part] = tuple(counted.most_common())
        return self._counted[part]


class GpuStates(Sequence[GpuState]):
    """The states by rank: as a tuple of them would be, but made when asked for."""

    def __init__(self, mesh: Mesh, stages: tuple[StageState, ...], doing: Doing) -> None:
        self.mesh = mesh
        self.stages = stages
        self.doing = doing
        self._made: dict[int, GpuState] = {}

    def __len__(self) -> int:
        """Number of GPUs."""
        return self.mesh.n_ranks

    @overload
    def __getitem__(self, index: int) -> GpuState: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[GpuState, ...]: ...

    def __getitem__(self, index: int | slice) -> GpuState | tuple[GpuState, ...]:
        """The state of a rank, or of several."""
        if isinstance(index, slice):
            return tuple(self[rank] for rank in range(*index.indices(len(self))))
        rank = index if index >= 0 else index + len(self)
        if not 0 <= rank < len(self):
            raise IndexError(index)
        if rank not in self._made:
            self._made[rank] = self._state(rank)
        return self._made[rank]

    def __iter__(self) -> Iterator[GpuState]:
        """All states in order of rank."""
        return (self[rank] for rank in range(len(self)))

    def __eq__(self, other: object) -> bool:
        """Whether the same GPUs do the same, whatever holds their states."""
        if not isinstance(other, Sequence) or isinstance(other, (str, bytes)):
            return NotImplemented
        return tuple(self) == tuple(other)

    def activity(self, rank: int) -> Activity:
        """What a rank does."""
        return self.doing.of_rank.get(rank, self.doing.rest)

    def counts(self, stage: int, first: int = 0, size: int | None = None) -> Counts:
        """As `Doing.counts`."""
        return self.doing.counts(stage, first, size)

    def _state(self, rank: int) -> GpuState:
        dp_rank, stage, tp_rank = self.mesh.position(rank)
        shared = self.stages[stage]
        return GpuState(
            rank=rank,
            node=self.mesh.node(rank),
            stage=stage,
            tp_rank=tp_rank,
            dp_rank=dp_rank,
            first_layer=shared.first_layer,
            last_layer=shared.last_layer,
            activity=self.activity(rank),
            layer=shared.layer,
            layers=shared.layers,
            kv_tokens=shared.kv_tokens,
            kv_bytes=shared.kv_bytes,
            kv_capacity_bytes=shared.kv_capacity_bytes,
        )


class Channels(Sequence[Channel]):
    """The lines of the picture and what moves on them, made when somebody looks.

    Args:
        lines: All of them, at rest.
        moving: Finds the (from, to) neighbours between which bytes move.
    """

    def __init__(
        self, lines: tuple[Channel, ...], moving: Callable[[], frozenset[tuple[int, int]]]
    ) -> None:
        self._lines = lines
        self._moving = moving

    @cached_property
    def _made(self) -> tuple[Channel, ...]:
        moving = self._moving()
        return tuple(
            replace(
                line,
                is_moving=(line.source, line.destination) in moving
                or (line.destination, line.source) in moving,
                is_backward=(line.destination, line.source) in moving,
            )
            for line in self._lines
        )

    def __len__(self) -> int:
        """Number of lines."""
        return len(self._lines)

    @overload
    def __getitem__(self, index: int) -> Channel: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Channel, ...]: ...

    def __getitem__(self, index: int | slice) -> Channel | tuple[Channel, ...]:
        """One line, or several."""
        return self._made[index]

    def __eq__(self, other: object) -> bool:
        """Whether the same lines carry the same."""
        if not isinstance(other, Sequence) or isinstance(other, (str, bytes)):
            return NotImplemented
        return self._made == tuple(other)


def activities(span: Span | None) -> dict[int, Activity]:
    """What the ranks that take part in a span do; the others wait."""
    if span is None or span.kind == "fold":
        return {}
    if span.kind == "send":
        ends: tuple[Activity, Activity] = ("send", "receive")
        return {rank: end for pair in span.groups for rank, end in zip(pair, ends, strict=True)}
    if span.kind == "compute":
        return {rank: "compute" for group in span.groups for rank in group}
    if span.kind == "host":
        return {rank: "host" for group in span.groups for rank in group}
    rooted: dict[str, tuple[Activity, Activity]] = {
        "broadcast": ("send", "receive"),
        "scatter": ("send", "receive"),
        "gather": ("receive", "send"),
        "reduce": ("receive", "send"),
    }
    at_root, elsewhere = rooted.get(span.collective or "", ("exchange", "exchange"))
    return {
        rank: at_root if peer == span.root else elsewhere
        for group in span.groups
        for peer, rank in enumerate(group)
    }
