"""What the scenario asks of the network, row by row of the requirement table.

A share s of a step for communication leaves each of its n messages a budget of
s / (1 - s) x compute / n. Needed bandwidth is bus bandwidth (nccl-tests), per GPU and direction:
bus factor x message / budget with latency taken as zero, or / (budget - latency) on this cluster.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from gpuflow.cluster.mesh import mesh_of
from gpuflow.collectives.oracle import bus_factor
from gpuflow.engine.collective_time import fabric_of
from gpuflow.engine.simulate import simulate
from gpuflow.engine.timeline import Timeline
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


@dataclass(frozen=True, slots=True, kw_only=True)
class RequirementTable:
    """All rows for one overhead share."""

    timeline: Timeline
    overhead: float
    rows: tuple[Requirement, ...]
    conclusions: tuple[str, ...]
    """Codes: tp_decode, tp_prefill, pp, ep."""

    def row(self, row_id: RowId) -> Requirement:
        """The row of that id."""
        return next(r for r in self.rows if r.id == row_id)


def requirement_table(scenario: Scenario, overhead: float = 0.2) -> RequirementTable:
    """Compute the table.

    Args:
        scenario: What was asked.
        overhead: Share of a step that communication may take, 0 < overhead < 1.
    """
    timeline = simulate(scenario)
    rows = tuple(_row(timeline, overhead, *row) for row in ROWS)
    return RequirementTable(
        timeline=timeline,
        overhead=overhead,
        rows=rows,
        conclusions=("tp_decode", "tp_prefill", "pp", "ep"),
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


def _row(
    timeline: Timeline, overhead: float, row_id: RowId, traffic: TrafficClass, phase: Phase
) -> Requirement:
    spans = [s for s in timeline.spans if s.phase == phase and s.traffic_class == traffic]
    if not spans:
        return _empty(row_id, traffic, phase)
    scenario = timeline.scenario
    # a token may travel by more than one collective; the heaviest names the row
    heaviest = max(spans, key=lambda s: s.message_size_bytes)
    spans = [s for s in spans if s.collective == heaviest.collective]
    n_ranks = len(heaviest.groups[0])
    fabric = fabric_of(scenario, mesh_of(scenario), heaviest.groups)
    per_pass = len(spans)
    # one hop is weighed against one stage, so a pipeline row counts a single message
    weighed = 1 if traffic == "pp" else per_pass
    base_s = _base_compute_s(timeline, traffic, phase)
    budget_s = overhead / (1 - overhead) * base_s / weighed
    predicted_s = sum(s.duration_s for s in spans) / per_pass
    size = sum(s.message_size_bytes for s in spans) / per_pass
    wire_bytes = bus_factor(heaviest.collective or "", n_ranks) * size
    is_hop = heaviest.kind == "send"
    latency_s = fabric.hop_latency_s if is_hop else fabric.collective_latency_s
    available = fabric.hop_bandwidth_bytes_per_s if is_hop else fabric.bus_bandwidth_bytes_per_s
    headroom = budget_s / predicted_s
    row = Requirement(
        id=row_id,
        traffic_class=traffic,
        phase=phase,
        tier=fabric.tier,
        fabric=fabric,
        collective=heaviest.collective,
        ranks=n_ranks,
        message_size_bytes=size,
        messages_per_pass=per_pass,
        needed_bandwidth_bytes_per_s=wire_bytes / budget_s,
        needed_latency_s=budget_s,
        needed_bandwidth_here_bytes_per_s=(
            wire_bytes / (budget_s - latency_s) if budget_s > latency_s else None
        ),
        available_bandwidth_bytes_per_s=available,
        available_latency_s=latency_s,
        predicted_s=predicted_s,
        predicted_share=weighed * predicted_s / (base_s + weighed * predicted_s),
        headroom=headroom,
        verdict=_verdict(headroom),
        notes=(),
    )
    return _with_notes(row)


def _verdict(headroom: float) -> Verdict:
    if headroom >= OK_HEADROOM:
        return "ok"
    return "tight" if headroom >= TIGHT_HEADROOM else "short"


def _with_notes(row: Requirement) -> Requirement:
    """Say where the computed figure disagrees with the seed's rule of thumb."""
    notes: list[str] = []
    rule = RULE_OF_THUMB_BITS_PER_S.get(row.id)
    needed = (row.needed_bandwidth_bytes_per_s or 0.0) * 8
    if row.id == "tp_prefill" and rule and needed > 1.5 * rule:
        notes.append("tp_prefill_understated")
    if row.id == "tp_decode" and rule:
        misleading = needed < rule
        notes.append(
            "tp_decode_bandwidth_misleading" if misleading else "tp_decode_bandwidth_matters"
        )
        notes.append("nvlink_two_way")
    if row.id == "pp_decode":
        notes.append("pp_latency_not_critical")
    if row.traffic_class == "ep" and rule and needed > rule:
        notes.append("ep_needs_overlap")
    return replace(row, notes=tuple(notes))


def _empty(row_id: RowId, traffic: TrafficClass, phase: Phase) -> Requirement:
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
        notes=("absent_in_scenario",),
    )
