"""What if: what of a scenario may be changed to what, and what a change makes of its figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from gpuflow.cluster.cost import CostModel
from gpuflow.cluster.memory import last_tokens, stage_memories
from gpuflow.cluster.mesh import mesh_of
from gpuflow.engine.all_reduce import all_reduce_choices
from gpuflow.engine.requirements import RequirementTable, RowId, Verdict, requirements_of
from gpuflow.engine.timeline import Timeline, tokens_per_s
from gpuflow.scenario import catalog
from gpuflow.scenario.spec import AUTO, Phase, Scenario
from gpuflow.scenario.splits import divisors, tensor_degrees

KnobId = Literal[
    "tp",
    "pp",
    "dp",
    "ep",
    "batch",
    "prompt",
    "output",
    "gpu",
    "fabric",
    "precision",
    "profile",
    "all_reduce",
]
Value = int | str
Settings = Mapping[KnobId, Value]
"""What was changed; all else is as it was."""
Vary = Callable[[Settings], Scenario]
"""Resolves a scenario with settings laid over it; raises InputError where they do not go."""
Lock = Literal["box", "one_rule", "without_tp", "uneven"]
"""Why something cannot be changed. box: the machine is a real one, whose GPUs and links are given;
one_rule: the profile has one rule for all algorithms; without_tp: there is no all_reduce; uneven:
its groups lie unevenly on nodes."""

OWN = ""
"""The fabrics that the machines have by themselves."""
MOST_GPUS = 1024
"""Of a split that is offered."""
_POWERS: Mapping[KnobId, tuple[int, int]] = {"batch": (0, 12), "prompt": (4, 17), "output": (0, 14)}
"""First and last power of two of each ladder."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """One thing that may be changed."""

    id: KnobId
    value: Value
    """What it is now."""
    original: Value
    """What it was before any change."""
    values: tuple[Value, ...]
    """What may be tried, in order; the present value and the original among them. Some need another
    change first: only resolving shows."""
    lock: Lock | None = None
    """Why it cannot be changed; None where it can."""

    @property
    def is_changed(self) -> bool:
        """Whether it is not what it was."""
        return self.value != self.original


def knobs(
    original: Scenario,
    present: Scenario,
    settings: Settings,
    locks: Mapping[KnobId, Lock] | None = None,
) -> tuple[Knob, ...]:
    """Everything that may be changed.

    Args:
        original: The scenario before any change.
        present: The scenario with the settings.
        settings: What was changed.
        locks: What cannot be changed, whatever the scenario is.
    """
    before, now = _values(original, {}), _values(present, settings)
    locked = {**_own_locks(present), **(locks or {})}
    found = []
    for name in _shown(original, present):
        offered = {now[name], before[name]}
        if name not in locked:
            offered |= set(_offered(name, original, present, settings))
        found.append(
            Knob(
                id=name,
                value=now[name],
                original=before[name],
                values=_in_order(name, offered),
                lock=locked.get(name),
            )
        )
    return tuple(found)


def with_setting(original: Scenario, settings: Settings, name: KnobId, value: Value) -> Settings:
    """The settings with one more; what is again as it was is none."""
    changed = {key: one for key, one in settings.items() if key != name}
    before = _values(original, {})[name]
    if value == before:
        return changed
    return {**changed, name: value}


def _values(scenario: Scenario, settings: Settings) -> dict[KnobId, Value]:
    parallel, workload = scenario.parallel, scenario.workload
    return {
        "tp": parallel.tp,
        "pp": parallel.pp,
        "dp": parallel.dp,
        "ep": parallel.ep,
        "batch": workload.batch,
        "prompt": workload.prompt_tokens,
        "output": workload.output_tokens,
        "gpu": scenario.cluster.device.name,
        "fabric": settings.get("fabric", OWN),
        "precision": scenario.precision,
        "profile": scenario.profile.name,
        "all_reduce": scenario.all_reduce or AUTO,
    }


def _shown(original: Scenario, present: Scenario) -> Iterator[KnobId]:
    """Expert groups only where the model has experts, replicas there and where there are some."""
    has_experts = original.model.has_experts
    hidden = set() if has_experts else {"ep"}
    if not has_experts and original.parallel.dp == 1:
        hidden.add("dp")
    return (name for name in _values(present, {}) if name not in hidden)


def _own_locks(scenario: Scenario) -> dict[KnobId, Lock]:
    if all_reduce_choices(scenario):
        return {}
    if scenario.parallel.tp < 2:
        return {"all_reduce": "without_tp"}
    is_one_rule = scenario.profile.collective_times != "calibrated"
    return {"all_reduce": "one_rule" if is_one_rule else "uneven"}


# ---------------------------------------------------------------- values


def _offered(
    name: KnobId, original: Scenario, present: Scenario, settings: Settings
) -> tuple[Value, ...]:
    if name in {"tp", "pp", "dp", "ep"}:
        return _degrees(name, present)
    if name in _POWERS:
        first, last = _POWERS[name]
        return tuple(2**power for power in range(first, last + 1))
    if name == "gpu":
        return catalog.device_names()
    if name == "fabric":
        return _fabrics(original, present, settings)
    if name == "precision":
        device = present.cluster.device
        return tuple(one for one in catalog.PRECISIONS if catalog.has_peak(device, one))
    if name == "profile":
        return catalog.profile_names()
    return (AUTO, *all_reduce_choices(present))


def _degrees(name: KnobId, present: Scenario) -> tuple[int, ...]:
    """Degrees that divide the model, on no more GPUs than are worth a picture."""
    model, p = present.model, present.parallel
    others = p.world // {"tp": p.tp, "pp": p.pp, "dp": p.dp}.get(name, p.world)
    if name == "tp":
        found = tensor_degrees(model, near=p.tp)
    elif name == "pp":
        found = divisors(len(model.layers))
    elif name == "dp":
        found = [2**power for power in range(MOST_GPUS.bit_length())]
    else:
        experts = model.moe.experts if model.moe else 1
        return tuple(divisors(math.gcd(p.tp * p.dp, experts)))
    return tuple(degree for degree in found if degree * others <= MOST_GPUS)


def _fabrics(original: Scenario, present: Scenario, settings: Settings) -> tuple[str, ...]:
    """The machines' own, and others; of those between nodes only where there are several."""
    cluster = present.cluster if "gpu" in settings else original.cluster
    own = {cluster.scale_up.name, cluster.scale_out.name}
    if "gpu" in settings:
        own = {cluster.device.fabric, cluster.device.nic}
    names = list(catalog.fabric_names("scale_up"))
    if mesh_of(present).n_nodes > 1:
        names += catalog.fabric_names("scale_out")
    return (OWN, *(name for name in names if name not in own))


def _in_order(name: KnobId, offered: set[Value]) -> tuple[Value, ...]:
    """Numbers rising, names as the catalogue has them."""
    order: Mapping[KnobId, tuple[str, ...]] = {
        "gpu": catalog.device_names(),
        "fabric": (OWN, *catalog.fabric_names("scale_up"), *catalog.fabric_names("scale_out")),
        "precision": catalog.PRECISIONS,
        "profile": catalog.profile_names(),
    }
    if name in order:
        known = order[name]
        return tuple(sorted(offered, key=lambda one: (_place(known, one), str(one))))
    if name == "all_reduce":
        return tuple(sorted(offered, key=lambda one: (one != AUTO, str(one))))
    return tuple(sorted(offered, key=int))


def _place(known: tuple[str, ...], value: Value) -> int:
    return known.index(str(value)) if value in known else len(known)


# ---------------------------------------------------------------- differences

FigureId = Literal[
    "gpus",
    "ttft_s",
    "tpot_s",
    "tokens_per_s",
    "prefill_share",
    "decode_share",
    "kv_bytes",
    "spare_bytes",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A figure before and after; None where it does not apply."""

    before: float | None
    after: float | None

    @property
    def difference(self) -> float:
        """After less before; 0 where one of them does not apply."""
        if self.before is None or self.after is None:
            return 0.0
        return self.after - self.before

    @property
    def ratio(self) -> float | None:
        """What is added, as a part of the figure before; None where that is nothing."""
        if not self.before or self.after is None:
            return None
        return self.difference / abs(self.before)

    @property
    def is_same(self) -> bool:
        """Whether nothing but rounding tells them apart."""
        if self.before is None or self.after is None:
            return self.before is self.after
        return math.isclose(self.before, self.after, rel_tol=1e-9, abs_tol=1e-15)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictChange:
    """A row of the requirement table that is judged differently; None: it has no such traffic."""

    row: RowId
    before: Verdict | None
    after: Verdict | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A timeline with everything that is compared."""

    timeline: Timeline
    table: RequirementTable
    figures: Mapping[FigureId, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Two timelines of the same steps beside each other."""

    figures: Mapping[FigureId, Pair]
    steps: tuple[Pair, ...]
    """Seconds of one pass of each step; None where the split leaves it nothing to do."""
    verdicts: tuple[VerdictChange, ...]
    """Those that changed."""


def side_of(timeline: Timeline) -> Side:
    """Everything that is compared of a timeline."""
    scenario, has_laps = timeline.scenario, timeline.laps > 0
    memories, p = stage_memories(scenario), scenario.parallel
    cost, tokens = CostModel(scenario), last_tokens(scenario)
    kept = sum(cost.stage_kv_bytes(stage, tokens) for stage in range(p.pp))
    return Side(
        timeline=timeline,
        table=requirements_of(timeline),
        figures={
            "gpus": float(p.world),
            "ttft_s": timeline.ttft_s,
            "tpot_s": timeline.tpot_s if has_laps else None,
            "tokens_per_s": tokens_per_s(timeline) if has_laps else None,
            "prefill_share": _communication(timeline, "prefill"),
            "decode_share": _communication(timeline, "decode") if has_laps else None,
            "kv_bytes": kept * p.tp * p.dp,
            "spare_bytes": min(stage.spare_bytes for stage in memories),
        },
    )


def difference(before: Side, after: Side) -> Difference:
    """What differs between two scenarios of the same steps."""
    one, other = before.figures, after.figures
    rows = zip(before.table.rows, after.table.rows, strict=True)
    return Difference(
        figures={name: Pair(before=one[name], after=other[name]) for name in one},
        steps=tuple(
            Pair(
                before=None if a.is_idle else a.duration_s,
                after=None if b.is_idle else b.duration_s,
            )
            for a, b in zip(before.timeline.steps, after.timeline.steps, strict=True)
        ),
        verdicts=tuple(
            VerdictChange(row=a.id, before=a.verdict, after=b.verdict)
            for a, b in rows
            if a.verdict != b.verdict
        ),
    )


def _communication(timeline: Timeline, phase: Phase) -> float | None:
    """Part of a pass in which messages move and nothing else."""
    whole = timeline.pass_s(phase)
    spent = sum(step.communication_s for step in timeline.steps if step.phase == phase)
    return spent / whole if whole else None
