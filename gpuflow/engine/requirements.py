"""What the scenario asks of the network, row by row of the requirement table.

A share s of a step for communication leaves each of its n messages a budget of
s / (1 - s) x compute / n. Needed bandwidth is bus bandwidth (nccl-tests), per GPU and direction:
bus factor x message / budget with latency taken as zero, or / (budget - latency) on this cluster.

Under a target for TTFT or TPOT the budget is what a message takes on the slowest fabric with this
cluster's latencies that meets the target (`gpuflow.engine.targets`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from gpuflow.cluster.mesh import mesh_of
from gpuflow.collectives.oracle import bus_factor
from gpuflow.engine.collective_time import fabric_of
from gpuflow.engine.kernel_time import kernel_curve
from gpuflow.engine.simulate import simulate
from gpuflow.engine.targets import NO_TARGETS, RateKind, Targets, Tier, needed_factor
from gpuflow.engine.timeline import Span, Timeline
from gpuflow.scenario.spec import FabricSpec, Phase, Scenario, TrafficClass

RowId = Literal[
    "tp_prefill",
    "tp_decode",
    "pp_prefill",
    "pp_decode",
    "ep_prefill",
    "ep_decode",
    "logits",
    "token",
]
Verdict = Literal["ok", "tight", "short"]
OK_HEADROOM = 1.25
TIGHT_HEADROOM = 1.0

ROWS: tuple[tuple[RowId, TrafficClass, Phase], ...] = (
    ("tp_prefill", "tp", "prefill"),
    ("tp_decode", "tp", "decode"),
    ("pp_prefill", "pp", "prefill"),
    ("pp_decode", "pp", "decode"),
    ("ep_prefill", "ep", "prefill"),
    ("ep_decode", "ep", "decode"),
    ("logits", "logits", "decode"),
    ("token", "token", "decode"),
)

RULE_OF_THUMB_BITS_PER_S: dict[RowId, float] = {
    "tp_prefill": 200e9,
    "tp_decode": 400e9,
    "pp_prefill": 100e9,
    "pp_decode": 100e9,
    "ep_prefill": 400e9,
    "ep_decode": 400e9,
}
"""Bandwidth classes of the seed's table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One row; figures are None where the scenario has no such traffic."""

    id: RowId
    traffic_class: TrafficClass
    phase: Phase
    tier: Literal["scale_up", "scale_out"] | None
    """The fabric the traffic really crosses here."""
    fabric: FabricSpec | None
    collective: str | None
    ranks: int | None
    message_size_bytes: float | None
    messages_per_pass: int | None
    needed_bandwidth_bytes_per_s: float | None
    needed_latency_s: float | None
    """Budget of one message."""
    needed_bandwidth_here_bytes_per_s: float | None
    """With this cluster's latency; None when that alone is over the budget."""
    available_bandwidth_bytes_per_s: float | None
    available_latency_s: float | None
    predicted_s: float | None
    """Time of one message here."""
    predicted_share: float | None
    headroom: float | None
    verdict: Verdict | None
    notes: tuple[str, ...]
    """Codes of the notes that apply, such as `tp_prefill_understated`."""
    target_s: float | None = None
    """TTFT or TPOT that the budget is made for; None: it is made for a share of the pass."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementTable:
    """All rows for one overhead share, or for targets."""

    timeline: Timeline
    overhead: float
    rows: tuple[Requirement, ...]
    conclusions: tuple[str, ...]
    """Codes: tp_decode, tp_prefill, pp, ep."""
    targets: Targets = NO_TARGETS

    def row(self, row_id: RowId) -> Requirement:
        """The row of that id."""
        return next(r for r in self.rows if r.id == row_id)


def requirement_table(
    scenario: Scenario, overhead: float = 0.2, targets: Targets = NO_TARGETS
) -> RequirementTable:
    """Compute the table.

    Args:
        scenario: What was asked.
        overhead: Share of a step that communication may take, 0 < overhead < 1; holds for the
            phase without a target.
        targets: What TTFT and TPOT have to be.
    """
    return requirements_of(simulate(scenario), overhead, targets)


def requirements_of(
    timeline: Timeline, overhead: float = 0.2, targets: Targets = NO_TARGETS
) -> RequirementTable:
    """Likewise, for a scenario that has been simulated already."""
    budgets = _Budgets(timeline, overhead, targets)
    rows = tuple(_row(timeline, budgets, *row) for row in ROWS)
    return RequirementTable(
        timeline=timeline,
        overhead=overhead,
        rows=rows,
        conclusions=("tp_decode", "tp_prefill", "pp", "ep"),
        targets=targets,
    )


def _base_compute_s(timeline: Timeline, traffic: TrafficClass, phase: Phase) -> float:
    """Compute time a row's communication is weighed against.

    The layers of the pass for tp and ep, one stage of them for a pipeline hop, the whole pass for
    logits and tokens.
    """
    spans = [s for s in timeline.spans if s.phase == phase and s.kind == "compute"]
    in_layers = sum(s.duration_s for s in spans if s.layer)
    if traffic in {"tp", "ep"}:
        return in_layers
    if traffic == "pp":
        return in_layers / timeline.scenario.parallel.pp
    return sum(s.duration_s for s in spans)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Budget:
    """What one message may take, and the bandwidth that keeps it within."""

    budget_s: float | None
    """None: not even a message that takes no time would do."""
    needed_here_bytes_per_s: float | None
    headroom: float


@dataclass(frozen=True, slots=True, kw_only=True)
class _Message:
    """The mean message of a row on this cluster."""

    phase: Phase
    traffic_class: TrafficClass
    fabric: FabricSpec
    is_hop: bool
    wire_bytes: float
    predicted_s: float
    per_pass: int
    curve_floor_s: float | None = None
    """What a measured kernel takes for an empty one; None where times are the fabric's own."""
    curve_peak_bytes_per_s: float | None = None
    """Bus bandwidth it reaches at its best."""

    @property
    def floor_s(self) -> float:
        """Fixed cost of a message here."""
        return self.latency_s if self.curve_floor_s is None else self.curve_floor_s

    @property
    def best_bytes_per_s(self) -> float:
        """Bandwidth that large messages reach here."""
        best = self.curve_peak_bytes_per_s
        return self.reached_bytes_per_s if best is None else best

    @property
    def latency_s(self) -> float:
        """What the fabric takes for an empty one."""
        f = self.fabric
        return f.hop_latency_s if self.is_hop else f.collective_latency_s

    @property
    def reached_bytes_per_s(self) -> float:
        """What it reaches of the fabric."""
        f = self.fabric
        return f.hop_bandwidth_bytes_per_s if self.is_hop else f.bus_bandwidth_bytes_per_s

    @property
    def weighed(self) -> int:
        """One hop is weighed against one stage, so a pipeline row counts a single message."""
        return 1 if self.traffic_class == "pp" else self.per_pass


class _Budgets:
    """Budgets of messages under a share of the pass, or under targets."""

    def __init__(self, timeline: Timeline, overhead: float, targets: Targets) -> None:
        self.timeline, self.overhead, self.targets = timeline, overhead, targets
        self._factors: dict[tuple[Phase, Tier, RateKind], float | None] = {}

    def of(self, message: _Message) -> _Budget:
        """The budget of a row's message."""
        target_s = self.targets.of(message.phase)
        if target_s is None:
            return self._of_share(message)
        return self._of_target(message, target_s)

    def _of_share(self, message: _Message) -> _Budget:
        base_s = _base_compute_s(self.timeline, message.traffic_class, message.phase)
        budget_s = self.overhead / (1 - self.overhead) * base_s / message.weighed
        left_s = budget_s - message.floor_s
        return _Budget(
            budget_s=budget_s,
            needed_here_bytes_per_s=message.wire_bytes / left_s if left_s > 0 else None,
            headroom=budget_s / message.predicted_s,
        )

    def _of_target(self, message: _Message, target_s: float) -> _Budget:
        factor = self._factor(message, target_s)
        spent_s = self._spent_s(message)
        here_s = self.timeline.ttft_s if message.phase == "prefill" else self.timeline.tpot_s
        headroom = max(1 + (target_s - here_s) / spent_s, 0.0) if spent_s else 0.0
        if factor is None:
            budget_s = headroom * message.predicted_s
            return _Budget(
                budget_s=budget_s or None, needed_here_bytes_per_s=None, headroom=headroom
            )
        needed = factor * message.reached_bytes_per_s
        budget_s = message.latency_s + message.wire_bytes / needed
        if not self.timeline.scenario.workload.overlap:
            # hidden messages have no time of their own to compare a budget with
            headroom = budget_s / message.predicted_s
        return _Budget(budget_s=budget_s, needed_here_bytes_per_s=needed, headroom=headroom)

    def _factor(self, message: _Message, target_s: float) -> float | None:
        kind: RateKind = "hop" if message.is_hop else "bus"
        key = (message.phase, message.fabric.tier, kind)
        if key not in self._factors:
            self._factors[key] = needed_factor(self.timeline.scenario, *key, target_s)
        return self._factors[key]

    def _spent_s(self, message: _Message) -> float:
        """What messages like it take in a pass on the same fabric."""
        mesh = mesh_of(self.timeline.scenario)
        return sum(
            span.duration_s
            for span in self.timeline.spans
            if span.phase == message.phase
            and span.collective is not None
            and (span.kind == "send") == message.is_hop
            and fabric_of(self.timeline.scenario, mesh, span.groups).tier == message.fabric.tier
        )


def _row(
    timeline: Timeline, budgets: _Budgets, row_id: RowId, traffic: TrafficClass, phase: Phase
) -> Requirement:
    spans = [s for s in timeline.spans if s.phase == phase and s.traffic_class == traffic]
    if not spans:
        return _empty(timeline.scenario, row_id, traffic, phase)
    # a token may travel by more than one collective; the heaviest names the row
    heaviest = max(spans, key=lambda s: s.message_size_bytes)
    spans = [s for s in spans if s.collective == heaviest.collective]
    message = _message(timeline.scenario, traffic, phase, heaviest, spans)
    budget, target_s = budgets.of(message), budgets.targets.of(phase)
    size = sum(s.message_size_bytes for s in spans) / message.per_pass
    base_s = _base_compute_s(timeline, traffic, phase)
    spent_s = message.weighed * message.predicted_s
    row = Requirement(
        id=row_id,
        traffic_class=traffic,
        phase=phase,
        tier=message.fabric.tier,
        fabric=message.fabric,
        collective=heaviest.collective,
        ranks=len(heaviest.groups[0]),
        message_size_bytes=size,
        messages_per_pass=message.per_pass,
        needed_bandwidth_bytes_per_s=(
            message.wire_bytes / budget.budget_s if budget.budget_s else None
        ),
        needed_latency_s=budget.budget_s,
        needed_bandwidth_here_bytes_per_s=budget.needed_here_bytes_per_s,
        # a target is met by another fabric, so it is weighed against the fabric's own figures
        available_bandwidth_bytes_per_s=(
            message.reached_bytes_per_s if target_s is not None else message.best_bytes_per_s
        ),
        available_latency_s=message.latency_s if target_s is not None else message.floor_s,
        predicted_s=message.predicted_s,
        predicted_share=spent_s / (base_s + spent_s),
        headroom=budget.headroom,
        verdict=_verdict(budget.headroom),
        notes=(),
        target_s=target_s,
    )
    return _with_notes(row)


def _message(
    scenario: Scenario, traffic: TrafficClass, phase: Phase, heaviest: Span, spans: list[Span]
) -> _Message:
    """The mean of a row's messages."""
    size = sum(s.message_size_bytes for s in spans) / len(spans)
    mesh = mesh_of(scenario)
    curve = kernel_curve(scenario, mesh, heaviest.groups, heaviest.collective or "")
    factor = bus_factor(heaviest.collective or "", len(heaviest.groups[0]))
    return _Message(
        phase=phase,
        traffic_class=traffic,
        fabric=fabric_of(scenario, mesh, heaviest.groups, heaviest.collective),
        is_hop=heaviest.kind == "send",
        wire_bytes=factor * size,
        predicted_s=sum(s.duration_s for s in spans) / len(spans),
        per_pass=len(spans),
        curve_floor_s=None if curve is None else curve.floor_s,
        curve_peak_bytes_per_s=None if curve is None else factor * curve.peak_bytes_per_s,
    )


def _verdict(headroom: float) -> Verdict:
    if headroom >= OK_HEADROOM:
        return "ok"
    return "tight" if headroom >= TIGHT_HEADROOM else "short"


def _with_notes(row: Requirement) -> Requirement:
    """Say where the computed figure disagrees with the seed's rule of thumb."""
    notes: list[str] = []
    if row.target_s is not None and row.needed_bandwidth_here_bytes_per_s is None:
        is_kept = row.headroom is not None and row.headroom >= TIGHT_HEADROOM
        notes.append("target_kept_as_measured" if is_kept else "target_out_of_reach")
    rule = RULE_OF_THUMB_BITS_PER_S.get(row.id)
    needed = (row.needed_bandwidth_bytes_per_s or 0.0) * 8
    fixed_s, budget_s = row.available_latency_s or 0.0, row.needed_latency_s or 0.0
    if row.id == "tp_prefill" and rule and needed > 1.5 * rule:
        is_latency_idle = budget_s > 2 * fixed_s
        notes.append(
            "tp_prefill_understated" if is_latency_idle else "tp_prefill_latency_counts_too"
        )
    if row.needed_bandwidth_bytes_per_s is None:
        return replace(row, notes=tuple(notes))
    if row.id == "tp_decode" and rule:
        misleading = needed < rule
        notes.append(
            "tp_decode_bandwidth_misleading" if misleading else "tp_decode_bandwidth_matters"
        )
        if row.fabric is not None and row.fabric.name == "nvlink-4":
            notes.append("nvlink_two_way")
    if row.id == "pp_decode" and budget_s > 10 * fixed_s:
        notes.append("pp_latency_not_critical")
    if row.traffic_class == "ep" and rule and needed > rule:
        notes.append("ep_needs_overlap")
    return replace(row, notes=tuple(notes))


def _empty(scenario: Scenario, row_id: RowId, traffic: TrafficClass, phase: Phase) -> Requirement:
    # experts over ranks that hold the same tokens anyway: an all_reduce does what EP would ask for
    is_replicated = traffic == "ep" and scenario.model.has_experts and scenario.parallel.ep > 1
    return Requirement(
        id=row_id,
        traffic_class=traffic,
        phase=phase,
        tier=None,
        fabric=None,
        collective=None,
        ranks=None,
        message_size_bytes=None,
        messages_per_pass=None,
        needed_bandwidth_bytes_per_s=None,
        needed_latency_s=None,
        needed_bandwidth_here_bytes_per_s=None,
        available_bandwidth_bytes_per_s=None,
        available_latency_s=None,
        predicted_s=None,
        predicted_share=None,
        headroom=None,
        verdict=None,
        notes=("ep_replicated" if is_replicated else "absent_in_scenario",),
    )
