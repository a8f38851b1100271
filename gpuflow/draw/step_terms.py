"""Which terms of the field a step is about."""

from __future__ import annotations

from gpuflow.cluster.mesh import mesh_of
from gpuflow.draw.terms import Term, glossary
from gpuflow.engine.timeline import Span, Timeline
from gpuflow.scenario.spec import Scenario


def terms_of_step(timeline: Timeline, index: int) -> tuple[Term, ...]:
    """The terms that a step is about, in the order of the glossary."""
    tags = tags_of(timeline, index)
    return tuple(term for term in glossary().values() if term.tags & tags)


def tags_of(timeline: Timeline, index: int) -> frozenset[str]:
    """What a step has: its phase, messages, parts of the model, networks."""
    step, scenario = timeline.steps[index], timeline.scenario
    spans = timeline.spans[step.first_span : step.last_span]
    tags = {"always", step.phase}
    for span in spans:
        tags |= _tags_of_span(span)
    if any(span.collective for span in spans):
        tags |= _networks(scenario, spans)
    if "attention" in tags:
        tags |= _attention(scenario)
    if "mlp" in tags and scenario.model.has_experts:
        tags.add("experts")
    tags |= {name for name in ("pp", "dp") if getattr(scenario.parallel, name) > 1}
    return frozenset(tags)


def _tags_of_span(span: Span) -> set[str]:
    found = {
        span.kind,
        span.collective,
        span.traffic_class,
        span.payload,
        span.part,
        span.algorithm,
        span.fold,
    }
    if span.collective:
        found.add("message")
    return {name for name in found if name}


def _networks(scenario: Scenario, spans: tuple[Span, ...]) -> set[str]:
    """The networks that a step's messages pass."""
    mesh, tags = mesh_of(scenario), set[str]()
    for crosses in {mesh.crosses_nodes(span.groups) for span in spans if span.collective}:
        fabric = scenario.cluster.scale_out if crosses else scenario.cluster.scale_up
        tags |= {"across"} if crosses else set()
        name = f"{fabric.name} {fabric.title}".lower()
        tags |= {network for network in ("nvlink", "infiniband", "roce", "pcie") if network in name}
        if fabric.topology == "pcie":
            tags.add("pcie")
    return tags


def _attention(scenario: Scenario) -> set[str]:
    attention = scenario.model.attention
    if attention is None:
        return set()
    if attention.latent is not None:
        return {"mla"}
    return {"gqa"} if attention.kv_heads < attention.heads else set()
