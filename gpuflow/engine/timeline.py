"""When everything happens: spans of one prefill pass and one decode lap, and what they move.

A timeline is frozen: the player, tables and exports only look things up in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gpuflow.scenario.spec import Collective, ComputePart, Payload, Phase, Scenario, TrafficClass

TimeSource = Literal["assumed", "simulated", "calibrated", "extrapolated", "measured"]
SpanKind = Literal["compute", "collective", "send", "host", "fold"]
FoldKind = Literal["passes", "groups", "laps"]
"""passes: the other chunks and micro-batches of prefill; groups: the other micro-batches of a lap;
laps: the other laps of the answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """One task with its time: the same work on every group named in `groups` at once."""

    index: int
    step: int
    """Index into the scenario's steps, from 0."""
    phase: Phase
    kind: SpanKind
    start_s: float
    end_s: float
    stage: int | None
    """Pipeline stage the work belongs to (the sender's for a send); None: all of them."""
    layer: int
    """Layer within the stage, from 1; 0 when the work is not of one layer."""
    layers: int
    """Layers of the stage; 0 when the work is not of one layer."""
    part: ComputePart | None = None
    collective: Collective | None = None
    algorithm: str = ""
    payload: Payload | None = None
    traffic_class: TrafficClass | None = None
    groups: tuple[tuple[int, ...], ...] = ()
    """Ranks that work together, one tuple a group, in peer order; for a send (from, to) pairs."""
    root: int = 0
    """Peer position of the root in rooted collectives."""
    message_size_bytes: float = 0.0
    """By nccl-tests' convention for the collective."""
    bus_bandwidth_bytes_per_s: float | None = None
    """Bus factor x message / time; None for compute."""
    time_source: TimeSource = "assumed"
    host_action: str = ""
    repeats: int = 1
    """For a fold: the laps, passes or groups it stands for."""
    fold: FoldKind | None = None
    """What a fold stands for."""
    lasts_s: float | None = None
    """How long it takes; None: end less start. Far on, a clock's digits are too few for the
    difference: 10 us behind a year of prefill would be nothing."""

    @property
    def duration_s(self) -> float:
        """How long it takes."""
        return self.end_s - self.start_s if self.lasts_s is None else self.lasts_s


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTime:
    """One of the eight steps on the clock: of one pass (prefill) or one token (decode)."""

    index: int
    id: str
    phase: Phase
    start_s: float
    end_s: float
    compute_s: float
    communication_s: float
    host_s: float
    first_span: int
    last_span: int
    """One past the last span; equal to first_span when the step has nothing to do."""

    @property
    def duration_s(self) -> float:
        """End less start, without the folded laps."""
        return self.end_s - self.start_s

    @property
    def is_idle(self) -> bool:
        """True when the split leaves this step nothing to do."""
        return self.first_span == self.last_span


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipelining:
    """What happens beside the pass that is shown."""

    prefill_passes: int
    """Chunks times micro-batches."""
    micro_batches: int
    prefill_rest_s: float
    """From the end of the pass shown to the first token of the last sequence."""
    lap_wait_s: float
    """What a group waits for the others before its next lap."""
    prefill_bubble_share: float
    """Part of the stages' time in which they have nothing to do; 0 with one stage."""
    decode_bubble_share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """Where a timeline comes from that was recorded and not simulated.

    Nothing is known of the KV cache, of TTFT and of TPOT; every time is measured.
    """

    file: str
    rank: int | None
    """The one that was recorded; the others are taken to do the same."""
    has_model: bool
    """Whether the scenario's model is the one that ran, and no stand-in."""
    has_layers: bool
    """Whether layers were found; else the model of the scenario has one for all."""
    has_phase: bool
    """Whether the steps' phase is the one that ran."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """All spans in order of (start, index), and the steps they belong to."""

    scenario: Scenario
    spans: tuple[Span, ...]
    steps: tuple[StepTime, ...]
    ttft_s: float
    """Until the last sequence of the batch has its first token."""
    tpot_s: float
    """Mean over the output; one lap as shown, the other groups' turns included."""
    laps: int
    """Decode laps of the whole answer: output tokens less one."""
    end_s: float
    """TTFT and all laps."""
    pipelining: Pipelining | None = None
    """None where the batch goes through in one pass."""
    recording: Recording | None = None
    """Where it was recorded; None where it is simulated."""

    def pass_s(self, phase: Phase) -> float:
        """One pass as shown, without what is folded."""
        spans = [span for span in self.spans if span.phase == phase and span.kind != "fold"]
        return spans[-1].end_s - spans[0].start_s if spans else 0.0


def tokens_per_s(timeline: Timeline) -> float:
    """Of all users together: batch x dp / TPOT."""
    scenario = timeline.scenario
    return scenario.workload.batch * scenario.parallel.dp / timeline.tpot_s
