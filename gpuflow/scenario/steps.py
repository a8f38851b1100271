"""The eight steps of a scenario: ids, phases, texts, operations."""

from __future__ import annotations

from typing import cast, get_args

from gpuflow.scenario.nodes import Mapping, Node, Problems, Scalar
from gpuflow.scenario.operations import read_operations
from gpuflow.scenario.reader import Fields, fields_of
from gpuflow.scenario.spec import Phase, StepSpec
from gpuflow.scenario.texts import TEXT_EXAMPLE, read_text

N_STEPS = 8
PHASES: tuple[Phase, ...] = get_args(Phase)
TEXTS = ("title", "summary", "detail", "network", "latency")
OPTIONAL_TEXTS = ("takeaway", "notes", "idle")
STEP_KEYS = ("id", "phase", *TEXTS, *OPTIONAL_TEXTS, "operations")
REQUIRED = {
    "id": "prompt",
    "phase": "prefill",
    **dict.fromkeys(TEXTS, TEXT_EXAMPLE),
    "operations": "[{compute: embedding}]",
}


def read_steps(top: Fields) -> tuple[StepSpec, ...] | None:
    """The list under `steps`; None when any of it cannot be used."""
    nodes = top.items("steps")
    if nodes is None:
        return None
    if len(nodes) != N_STEPS:
        top.problems.add(
            "step_count",
            top.node.keys["steps"],
            key=top.path("steps"),
            found=len(nodes),
            wanted=N_STEPS,
            hint="step_count",
        )
    path = top.path("steps")
    steps = [read_step(top.problems, node, f"{path}[{n}]") for n, node in enumerate(nodes, 1)]
    _check_ids(top.problems, nodes, path)
    _check_phases(top.problems, nodes, path, top.node.keys["steps"])
    complete = tuple(step for step in steps if step is not None)
    return complete if len(complete) == len(nodes) == N_STEPS else None


def _check_ids(problems: Problems, nodes: list[Node], path: str) -> None:
    first: dict[str, int] = {}
    for number, node in enumerate(nodes, 1):
        value = _value(node, "id")
        if value is None:
            continue
        if value[0] in first:
            problems.add(
                "duplicate_id",
                value[1],
                key=f"{path}[{number}].id",
                hint="own_id",
                found=value[0],
                first=first[value[0]],
            )
        first.setdefault(value[0], number)


def _check_phases(problems: Problems, nodes: list[Node], path: str, place: Node) -> None:
    phases = [_value(node, "phase") for node in nodes]
    seen_decode = False
    for number, phase in enumerate(phases, 1):
        if phase is None:
            continue
        if phase[0] == "prefill" and seen_decode:
            key = f"{path}[{number}].phase"
            problems.add("phase_order", phase[1], key=key, hint="phase_order", number=number)
        seen_decode = seen_decode or phase[0] == "decode"
    known = {phase[0] for phase in phases if phase}
    if len(nodes) == N_STEPS and all(phases):
        for missing in sorted(set(PHASES) - known):
            problems.add("phase_missing", place, key=path, hint="phase_missing", found=missing)


def read_step(problems: Problems, node: Node, key: str) -> StepSpec | None:
    """One step; None when any of it cannot be used."""
    fields = fields_of(problems, node, key, node)
    if fields is None:
        return None
    fields.known(STEP_KEYS, REQUIRED)
    step_id = fields.identifier("id")
    phase = fields.choice("phase", PHASES, "unknown_phase")
    texts = {name: read_text(fields, name) for name in (*TEXTS, *OPTIONAL_TEXTS)}
    title, summary, detail = texts["title"], texts["summary"], texts["detail"]
    network, latency = texts["network"], texts["latency"]
    operations = read_operations(fields)
    if not (step_id and phase and title and summary and detail and network and latency):
        return None
    unread = (name for name in OPTIONAL_TEXTS if fields.has(name) and texts[name] is None)
    if operations is None or any(unread):
        return None
    return StepSpec(
        id=step_id,
        phase=cast(Phase, phase),
        title=title,
        summary=summary,
        detail=detail,
        network=network,
        latency=latency,
        takeaway=texts["takeaway"],
        notes=texts["notes"],
        idle=texts["idle"],
        operations=operations,
    )


def _value(node: Node, name: str) -> tuple[str, Node] | None:
    """A scalar under a key of a mapping, and its node."""
    inner = node.values.get(name) if isinstance(node, Mapping) else None
    return (inner.value, inner) if isinstance(inner, Scalar) else None
