"""What so many requests a second put on NICs, leaf uplinks and the spine.

A request is one prompt and its answer. Sustained: the bytes of a request over a link, times the
requests a second, spread evenly over replicas. Burst: what a link carries while the heaviest
message is under way. The hand-over is what prefill and decode on separate machines add: the KV
cache of a prompt goes out by the NICs of the GPUs that hold it.

Oversubscription: an uplink carries 1 / x of what the NICs below it do. While a message uses the
part u of a non-blocking uplink, x up to 1 / u costs nothing; beyond, its bytes take x u times as
long, until its budget (`gpuflow.engine.requirements`) is spent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gpuflow.cluster.cost import CostModel
from gpuflow.cluster.fabric import Fabric
from gpuflow.engine.link_traffic import FabricTraffic, MessageBytes, fabric_traffic
from gpuflow.engine.requirements import Requirement, RequirementTable
from gpuflow.engine.timeline import Timeline
from gpuflow.scenario.spec import ParallelSpec, Phase, Scenario, TrafficClass

PlaceId = Literal["nic", "leaf", "spine"]
PLACES: tuple[PlaceId, ...] = ("nic", "leaf", "spine")
Bound = Literal["sustained", "budget", "overloaded", "missed", "nothing_crosses"]
"""What limits oversubscription: the load, the budget of a kind of message; or that even without
any the links are overloaded, or a budget is missed; or nothing, since nothing crosses the spine."""
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The busiest NIC or leaf uplink, or the whole spine; one direction."""

    id: PlaceId
    request_bytes: float
    """Of one request, on average over replicas."""
    sustained_bytes_per_s: float
    burst_bytes_per_s: float
    handover_bytes_per_s: float
    """What a hand-over of KV caches would add, all of it crossing the spine."""
    capacity_bytes_per_s: float
    """What it reaches."""

    @property
    def utilisation(self) -> float:
        """Sustained over capacity."""
        return self.sustained_bytes_per_s / self.capacity_bytes_per_s


@dataclass(frozen=True, slots=True, kw_only=True)
class HandOver:
    """KV caches on their way from prefill to decode machines."""

    request_bytes: float
    """KV cache of one prompt."""
    sustained_bytes_per_s: float
    """All requests, all NICs."""
    per_nic_bytes_per_s: float
    """Sustained, on the busiest NIC."""
    budget_s: float | None
    """What it may add to TTFT; None: a target leaves it nothing."""
    burst_bytes_per_s: float | None
    """One batch of one replica read after the whole prefill, within the budget; per NIC."""
    layered_bytes_per_s: float
    """The same sent layer by layer while prefill computes; per NIC."""
    capacity_bytes_per_s: float
    """All NICs together."""
    nic_bytes_per_s: float
    """One NIC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Oversubscription:
    """How much of it the load and the budgets tolerate."""

    here: float
    tolerated: float | None
    """None: any (nothing crosses), or none at all (overloaded, missed)."""
    bound: Bound
    bound_class: TrafficClass | None
    """Whose budget is spent first."""
    with_handover: float | None
    """For the load alone, once the hand-over crosses the spine too; None: overloaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassBytes:
    """Bytes that leave NICs for one request, by kind of traffic."""

    traffic_class: TrafficClass
    phase: Phase
    request_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkLoad:
    """The load of a request rate."""

    rate_per_s: float
    served_per_s: float
    """Requests a second that these GPUs finish, batch after batch."""
    places: tuple[Place, ...]
    by_class: tuple[ClassBytes, ...]
    handover: HandOver
    oversubscription: Oversubscription

    def place(self, place_id: PlaceId) -> Place:
        """The place of that id."""
        return next(place for place in self.places if place.id == place_id)


def network_load(table: RequirementTable, rate_per_s: float) -> NetworkLoad:
    """The load of the scenario that a requirement table is for.

    Args:
        table: Gives the budgets.
        rate_per_s: Requests a second on all of the scenario's GPUs together.
    """
    timeline = table.timeline
    found, links = fabric_traffic(timeline), _Links(timeline)
    handover = _handover(table, links, rate_per_s)
    places = tuple(_place(place, found, links, handover, rate_per_s) for place in PLACES)
    return NetworkLoad(
        rate_per_s=rate_per_s,
        served_per_s=links.requests_at_once / timeline.end_s,
        places=places,
        by_class=_by_class(found, links),
        handover=handover,
        oversubscription=_oversubscription(table, found, links, places),
    )


class _Links:
    """Links of each place, and how often a request's passes use them."""

    def __init__(self, timeline: Timeline) -> None:
        self.timeline, self.scenario = timeline, timeline.scenario
        workload, pipelining = self.scenario.workload, timeline.pipelining
        self.requests_at_once = workload.batch * self.scenario.parallel.dp
        passes = pipelining.prefill_passes if pipelining is not None else 1
        self.passes: dict[Phase, float] = {
            "prefill": float(passes),
            "decode": float(timeline.laps * workload.micro_batches),
        }

    def request_bytes(self, one: MessageBytes) -> FloatArray:
        """Bytes over each link for one request, of all messages like this one."""
        passes = self.passes[one.message.phase]
        return np.asarray(passes * one.times * one.carried / self.requests_at_once)

    def at(self, place: PlaceId, fabric: Fabric) -> list[NDArray[np.int_]]:
        """Groups of links that count as one: a NIC's, an uplink's, or all into the spine."""
        kinds = [
            tuple(name.rstrip("0123456789") for name in fabric.link_ends(link))
            for link in range(fabric.n_links)
        ]
        ends = {("nic", "leaf"), ("leaf", "nic")}
        if place != "nic":
            ends = {("leaf", "spine"), ("spine", "leaf")}
        mine = np.array([link for link, kind in enumerate(kinds) if kind in ends], dtype=int)
        if place == "spine":
            up = np.array([link for link in mine if kinds[link][1] == "spine"], dtype=int)
            return [up] if len(up) else []
        return [mine[i : i + 1] for i in range(len(mine))]

    @property
    def nic_rate(self) -> float:
        """What a NIC reaches."""
        cluster = self.scenario.cluster
        return cluster.scale_out.hop_bandwidth_bytes_per_s * cluster.gpus_per_nic

    @property
    def n_nics(self) -> int:
        """NICs of all GPUs in use."""
        return -(-self.scenario.parallel.world // self.scenario.cluster.gpus_per_nic)


# ---------------------------------------------------------------- places


def _place(
    place: PlaceId, found: FabricTraffic, links: _Links, handover: HandOver, rate_per_s: float
) -> Place:
    groups = links.at(place, found.fabric)
    request = max((_over(found.messages, links, group) for group in groups), default=0.0)
    burst = max(
        (
            float(one.carried[group].sum()) / one.message.time_s
            for one in found.messages
            if one.message.time_s
            for group in groups
        ),
        default=0.0,
    )
    return Place(
        id=place,
        request_bytes=request,
        sustained_bytes_per_s=rate_per_s * request,
        burst_bytes_per_s=burst,
        handover_bytes_per_s=_handed(place, found.fabric, links, handover),
        capacity_bytes_per_s=_capacity(place, groups, found.fabric, links),
    )


def _over(messages: Sequence[MessageBytes], links: _Links, group: NDArray[np.int_]) -> float:
    """Bytes of one request over a group of links."""
    return float(sum(links.request_bytes(one)[group].sum() for one in messages))


def _capacity(
    place: PlaceId, groups: list[NDArray[np.int_]], fabric: Fabric, links: _Links
) -> float:
    """What a place reaches; where it has no links, what NICs and their uplink would."""
    if groups:
        return float(fabric.capacity_bytes_per_s[groups[0]].sum())
    if place == "nic":
        return links.nic_rate
    return links.nic_rate * links.n_nics / links.scenario.cluster.scale_out.oversubscription


def _handed(place: PlaceId, fabric: Fabric, links: _Links, handover: HandOver) -> float:
    """What the hand-over adds: the busiest NIC, the leaf with most NICs below it, or all."""
    if place == "nic":
        return handover.per_nic_bytes_per_s
    total = handover.sustained_bytes_per_s
    return total if place == "spine" else total * _most_below(fabric, links) / links.n_nics


def _most_below(fabric: Fabric, links: _Links) -> int:
    """NICs below the leaf that has most."""
    if fabric.between is None:
        return links.n_nics
    return int(np.bincount(fabric.between.leaf_of).max())


def _by_class(found: FabricTraffic, links: _Links) -> tuple[ClassBytes, ...]:
    """Bytes that leave NICs, by class and phase; nothing for what stays inside nodes."""
    groups = links.at("nic", found.fabric)
    out = [g for g in groups if found.fabric.link_ends(int(g[0]))[0].startswith("nic")]
    leaving = np.concatenate(out) if out else np.zeros(0, dtype=int)
    totals: dict[tuple[TrafficClass, Phase], float] = {}
    for one in found.messages:
        size = _over([one], links, leaving)
        if size and one.message.traffic_class is not None:
            key = (one.message.traffic_class, one.message.phase)
            totals[key] = totals.get(key, 0.0) + size
    return tuple(
        ClassBytes(traffic_class=kind, phase=phase, request_bytes=size)
        for (kind, phase), size in totals.items()
    )


# ---------------------------------------------------------------- hand-over


def kv_bytes_of_request(scenario: Scenario) -> float:
    """KV cache of one prompt, each value counted once."""
    whole = CostModel(replace(scenario, parallel=ParallelSpec()))
    return float(whole.stage_sequence_bytes(0, scenario.workload.prompt_tokens))


def _handover(table: RequirementTable, links: _Links, rate_per_s: float) -> HandOver:
    timeline, scenario = table.timeline, table.timeline.scenario
    parallel, sharing = scenario.parallel, scenario.cluster.gpus_per_nic
    cost, request = CostModel(scenario), kv_bytes_of_request(scenario)
    prompt = scenario.workload.prompt_tokens
    held = max(cost.stage_sequence_bytes(stage, prompt) for stage in range(parallel.pp))
    batch = scenario.workload.batch * held * min(sharing, parallel.tp * parallel.pp)
    budget_s = _handover_budget_s(table)
    return HandOver(
        request_bytes=request,
        sustained_bytes_per_s=rate_per_s * request,
        per_nic_bytes_per_s=rate_per_s / parallel.dp * held * min(sharing, parallel.world),
        budget_s=budget_s,
        burst_bytes_per_s=batch / budget_s if budget_s else None,
        layered_bytes_per_s=batch / timeline.ttft_s,
        capacity_bytes_per_s=links.n_nics * links.nic_rate,
        nic_bytes_per_s=links.nic_rate,
    )


def _handover_budget_s(table: RequirementTable) -> float | None:
    """Time a hand-over may add to TTFT: what a target leaves, or the share for communication."""
    ttft_s = table.timeline.ttft_s
    if table.targets.ttft_s is None:
        return table.overhead / (1 - table.overhead) * ttft_s
    left_s = table.targets.ttft_s - ttft_s
    return left_s if left_s > 0 else None


# ---------------------------------------------------------------- oversubscription


def _oversubscription(
    table: RequirementTable, found: FabricTraffic, links: _Links, places: Sequence[Place]
) -> Oversubscription:
    leaf = next(place for place in places if place.id == "leaf")
    here = links.scenario.cluster.scale_out.oversubscription
    open_rate = leaf.capacity_bytes_per_s * here
    both = leaf.sustained_bytes_per_s + leaf.handover_bytes_per_s
    with_handover = open_rate / both if both else None
    limits: list[tuple[float, Bound, TrafficClass | None]] = []
    if leaf.sustained_bytes_per_s:
        limits.append((open_rate / leaf.sustained_bytes_per_s, "sustained", None))
    for row in table.rows:
        limit = _budget_limit(row, found, links, open_rate)
        if limit is not None:
            limits.append((*limit, row.traffic_class))
    if not limits:
        limits.append((np.inf, "nothing_crosses", None))
    # A budget that is missed already stands before everything that could be spent.
    times, bound, kind = min(limits, key=lambda limit: (limit[1] != "missed", limit[0]))
    if bound == "sustained" and times < 1:
        bound = "overloaded"
    return Oversubscription(
        here=here,
        tolerated=times if bound in {"sustained", "budget"} else None,
        bound=bound,
        bound_class=kind,
        with_handover=with_handover if with_handover is None or with_handover >= 1 else None,
    )


def _budget_limit(
    row: Requirement, found: FabricTraffic, links: _Links, open_rate: float
) -> tuple[float, Bound] | None:
    """Oversubscription at which a row's messages have spent their budget; None: they stay below."""
    groups = links.at("leaf", found.fabric)
    used = max(
        (
            float(one.carried[group].sum()) / one.message.time_s / open_rate
            for one in found.messages
            if (one.message.phase, one.message.traffic_class) == (row.phase, row.traffic_class)
            and one.message.time_s
            for group in groups
        ),
        default=0.0,
    )
    if not used:
        return None
    needed, available = row.needed_bandwidth_here_bytes_per_s, row.available_bandwidth_bytes_per_s
    if needed is None or available is None:
        return None if (row.headroom or 0.0) >= 1 else (0.0, "missed")
    if needed > available:
        return (0.0, "missed")
    return (available / needed / used, "budget")
