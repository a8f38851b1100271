"""Which words of a step's texts are true: the answers to the conditions they may ask."""

from __future__ import annotations

from collections.abc import Sequence

from gpuflow.cluster.cost import CostModel
from gpuflow.cluster.mesh import is_dispatched, mesh_of
from gpuflow.cluster.parameters import kv_bytes_per_token, stage_layers
from gpuflow.engine.timeline import Span, StepTime, Timeline
from gpuflow.scenario.spec import Scenario

SMALL_SHARE = 0.25
"""A message that reaches less of the fabric's bandwidth spends its time on fixed cost."""


def conditions(timeline: Timeline, step: StepTime, heaviest: Sequence[Span]) -> dict[str, bool]:
    """Every condition of `scenario.placeholders.TEXT_CONDITIONS`, for one step.

    Args:
        timeline: What the texts are about.
        step: The step they belong to.
        heaviest: Messages of the step's heaviest traffic class.
    """
    scenario = timeline.scenario
    p, mesh = scenario.parallel, mesh_of(scenario)
    has_experts = scenario.model.has_experts
    first_has_experts = has_experts and bool(scenario.model.layers[0].mlp.experts)
    return {
        "tp": p.tp > 1,
        "pp": p.pp > 1,
        "dp": p.dp > 1,
        "experts": has_experts,
        "ep": has_experts and p.ep > 1,
        "dispatched": is_dispatched(scenario),
        "first_experts": first_has_experts,
        "first_dispatched": first_has_experts and is_dispatched(scenario),
        "replica": p.tp * p.pp > 1,
        "many_gpus": p.world > 1,
        "decode": timeline.laps > 0,
        "host": scenario.profile.host_s_per_step > 0,
        "passes": timeline.pipelining is not None,
        "micro_batches": scenario.workload.micro_batches > 1,
        "overlap": scenario.workload.overlap,
        "traffic": bool(heaviest),
        "one_message": len(heaviest) == 1,
        "tp_traffic": bool(heaviest) and heaviest[0].traffic_class == "tp",
        "small": bool(heaviest) and _is_small(scenario, heaviest[0]),
        "tp_in_node": not any(mesh.crosses_nodes(mesh.groups("tp", s)) for s in range(p.pp)),
        "one_first": len(stage_layers(scenario, 0)) == 1,
        "kv_copies": _has_copies(scenario),
    }


def _is_small(scenario: Scenario, message: Span) -> bool:
    crosses = mesh_of(scenario).crosses_nodes(message.groups)
    fabric = scenario.cluster.scale_out if crosses else scenario.cluster.scale_up
    is_hop = message.kind == "send"
    reached = fabric.hop_bandwidth_bytes_per_s if is_hop else fabric.bus_bandwidth_bytes_per_s
    return (message.bus_bandwidth_bytes_per_s or 0.0) < SMALL_SHARE * reached


def _has_copies(scenario: Scenario) -> bool:
    cost, p = CostModel(scenario), scenario.parallel
    layers = scenario.model.layers
    kept = sum(
        cost.kv_bytes_per_token(layers[i].attention)
        for stage in range(p.pp)
        for i in stage_layers(scenario, stage)
    )
    return kept * p.tp > kv_bytes_per_token(scenario.model) * 1.001
