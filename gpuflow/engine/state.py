"""What every GPU and link is doing at one moment, as plain values a drawing needs no numpy for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from gpuflow.engine.timeline import Span, StepTime
from gpuflow.scenario.spec import TrafficClass

if TYPE_CHECKING:
    from gpuflow.engine.gpu_states import Channels, GpuStates

Activity = Literal["idle", "compute", "exchange", "send", "receive", "wait", "host"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuState:
    """One GPU at the moment."""

    rank: int
    node: int
    stage: int
    tp_rank: int
    dp_rank: int
    first_layer: int
    """Of the model, from 1."""
    last_layer: int
    activity: Activity
    """exchange: takes part in a collective; wait: another stage works; idle: nothing to do yet
    or any more."""
    layer: int
    """Layer of the stage at work, from 1; 0 when none."""
    layers: int
    """Layers of the stage."""
    kv_tokens: int
    """Tokens in the KV cache of this stage, of all its sequences together."""
    kv_bytes: float
    kv_capacity_bytes: float
    """Memory left by the weights."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Channel:
    """A line of the picture between two ranks, there whether bytes move or not."""

    traffic_class: TrafficClass
    source: int
    destination: int
    is_moving: bool
    is_backward: bool = False
    """True while bytes also move from destination to source."""


SWITCH = -1
"""Stands for the switch among the ranks of transfers, where it adds or multicasts itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayRow:
    """One peer's small vector in the replay of the collective at hand."""

    rank: int
    values: tuple[int | None, ...]
    """None: not there (yet)."""
    is_final: tuple[bool, ...]
    """True where the value is what the collective must produce."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """The collective at hand, played on small numbers by the same schedule."""

    collective: str
    algorithm: str
    round: int
    """Rounds done, 0..rounds."""
    rounds: int
    before: tuple[ReplayRow, ...]
    now: tuple[ReplayRow, ...]
    after: tuple[ReplayRow, ...]
    transfers: tuple[tuple[int, int], ...]
    """(from, to) ranks that send in the round under way; `SWITCH` may be one of the two."""
    ranks_per_node: int = 0
    """Peers of a node where the algorithm has two levels; 0 where it has one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Metrics as far as they are known at the moment; None until then."""

    ttft_s: float | None
    tpot_s: float | None
    tokens_per_s: float | None
    communication_share: float | None
    """Of the step's time so far."""
    kv_bytes: float
    """Over all GPUs."""
    kv_capacity_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One moment."""

    screen_s: float
    time_s: float
    """Simulated clock."""
    slowdown: float
    """Screen seconds per simulated second at this moment (2000: 2000 times slower than life; below
    1 while folded laps fly by); 0 when simulated time stands still."""
    step: StepTime
    span: Span | None
    """What runs; None in a step with nothing to do and at the very end."""
    span_progress: float
    """0..1 of the span."""
    repeat_shown: int
    """Layers of the stage at work that the step shows slowly, the first of each kind (usually 1);
    0 while no stage works alone."""
    repeat_alike: int
    """Layers of the stage at work that are compressed."""
    is_compressed: bool
    """True while compressed layers or laps run."""
    gpus: GpuStates
    """By rank; made one by one as they are looked at."""
    channels: Channels
    replay: Replay | None
    known: Known
    is_end: bool
