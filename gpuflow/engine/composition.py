"""The eight steps that suit a split, put together from those of the shipped scenarios.

Experts reached by all_to_all   the steps of moe-ep4: attention, dispatch, experts and combine
Several stages                  the steps of tp2-pp2: stage by stage, with hand-overs between them
One stage                       the layers of moe-ep4 between the ends of tp2-pp2; the all_reduce
                                after attention stands in the place of dispatch

Conditions in their texts are settled for the split: what a file says is then plainly true of it.
"""

from __future__ import annotations

from dataclasses import replace

from gpuflow.cluster.mesh import is_dispatched
from gpuflow.engine.facts import facts
from gpuflow.engine.simulate import simulate
from gpuflow.engine.telling import settled, settled_if_true
from gpuflow.scenario.load import load_scenario
from gpuflow.scenario.spare_steps import spare_steps
from gpuflow.scenario.spec import (
    CollectiveOp,
    LayersOp,
    Operation,
    Scenario,
    StagesOp,
    StepSpec,
    Text,
)
from gpuflow.units import Quantity

_LONG_STEPS = frozenset({"prefill-others", "decode-layers"})
"""Steps of moe-ep4 that go through all stages."""
STAGES, EXPERTS = "tp2-pp2", "moe-ep4"
"""Shipped scenarios whose steps are taken."""


def composed(scenario: Scenario) -> Scenario:
    """The scenario with steps made for its split, model and workload."""
    drafted = replace(scenario, steps=_steps(scenario))
    timeline = simulate(drafted)
    steps = [
        _settled(step, facts(timeline, index), is_idle=timeline.steps[index].is_idle)
        for index, step in enumerate(drafted.steps)
    ]
    return replace(drafted, steps=tuple(steps))


def _settled(step: StepSpec, values: dict[str, Quantity], *, is_idle: bool) -> StepSpec:
    """The step with its conditions answered; what it says when idle only where it is."""

    def settle(text: Text) -> Text:
        return Text(zh=settled(text.zh, values), en=settled(text.en, values))

    def settle_if_true(text: Text | None) -> Text | None:
        if text is None or is_idle:
            return None
        zh, en = settled_if_true(text.zh, values), settled_if_true(text.en, values)
        return Text(zh=zh, en=en) if zh and en else None

    return replace(
        step,
        title=settle(step.title),
        summary=settle(step.summary),
        detail=settle(step.detail),
        network=settle(step.network),
        latency=settle(step.latency),
        takeaway=settle_if_true(step.takeaway),
        notes=settle_if_true(step.notes),
        idle=settle(step.idle) if step.idle is not None and is_idle else None,
    )


def _steps(scenario: Scenario) -> tuple[StepSpec, ...]:
    pp = scenario.parallel.pp
    if is_dispatched(scenario):
        steps = load_scenario(EXPERTS).steps
        return _with_hops(steps) if pp > 1 else steps
    stages = load_scenario(STAGES).steps
    if pp > 1:
        return _several_stages(stages, pp)
    first = scenario.model.layers[0]
    if (first.attention is None and first.mixer is None) or not first.mlp.ffn_size:
        # Layers that only mix, or are an MLP alone, have nothing to take apart.
        return stages
    return _one_stage(scenario, _by_id(stages), _by_id(load_scenario(EXPERTS).steps))


def _with_hops(steps: tuple[StepSpec, ...]) -> tuple[StepSpec, ...]:
    """Steps that hold several stages say so."""
    hops = spare_steps().hops
    return tuple(
        replace(
            step,
            detail=Text(zh=step.detail.zh + hops.zh, en=f"{step.detail.en.rstrip()} {hops.en}"),
        )
        if step.id in _LONG_STEPS
        else step
        for step in steps
    )


def _by_id(steps: tuple[StepSpec, ...]) -> dict[str, StepSpec]:
    return {step.id: step for step in steps}


def _one_stage(
    scenario: Scenario, ends: dict[str, StepSpec], layers: dict[str, StepSpec]
) -> tuple[StepSpec, ...]:
    """The first layer's attention, what adds its parts up, and its MLP, as three steps."""
    spare, attention = spare_steps(), layers["first-attention"]
    plain = replace(
        attention,
        network=spare.quiet,
        operations=_without_all_reduce(attention.operations),
    )
    return (
        ends["prompt"],
        plain,
        spare.add_up,
        layers["first-experts"] if scenario.model.has_experts else spare.mlp,
        layers["prefill-others"],
        ends["first-token"],
        layers["decode-layers"],
        ends["decode-sample"],
    )


def _without_all_reduce(operations: tuple[Operation, ...]) -> tuple[Operation, ...]:
    found: list[Operation] = []
    for operation in operations:
        if isinstance(operation, (StagesOp, LayersOp)):
            inner = _without_all_reduce(operation.operations)
            found.append(replace(operation, operations=inner))
        elif not (isinstance(operation, CollectiveOp) and operation.collective == "all_reduce"):
            found.append(operation)
    return tuple(found)


def _several_stages(steps: tuple[StepSpec, ...], pp: int) -> tuple[StepSpec, ...]:
    """The later stages by their number."""
    title = spare_steps().second_stage if pp == 2 else spare_steps().later_stages
    return tuple(
        replace(step, title=title) if step.id == "prefill-rest" else step for step in steps
    )
