"""Operations of a step: what computes, what moves, and where it may stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar, cast, get_args

from gpuflow.scenario.nodes import Node, Problems
from gpuflow.scenario.reader import Fields, fields_of
from gpuflow.scenario.spec import (
    COLLECTIVES,
    Collective,
    CollectiveOp,
    ComputeOp,
    ComputePart,
    Condition,
    GroupName,
    HostAction,
    HostOp,
    LayerSelector,
    LayersOp,
    Operation,
    Payload,
    SendOp,
    StageSelector,
    StagesOp,
)

GROUP_COLLECTIVES: tuple[Collective, ...] = tuple(
    name for name in COLLECTIVES if name != "send_recv"
)
"""Point to point has an operation of its own: send."""
GROUPS: tuple[GroupName, ...] = get_args(GroupName)
PAYLOADS: tuple[Payload, ...] = get_args(Payload)
CONDITIONS: tuple[Condition, ...] = get_args(Condition)
COMPUTE_PARTS: tuple[ComputePart, ...] = get_args(ComputePart)
HOST_ACTIONS: tuple[HostAction, ...] = get_args(HostAction)
STAGE_SELECTORS: tuple[StageSelector, ...] = get_args(StageSelector)
LAYER_SELECTORS: tuple[LayerSelector, ...] = get_args(LayerSelector)
SENT_PAYLOADS: tuple[Payload, ...] = ("activations", "token")

LAYER_PARTS = ("attention", "mlp")
"""Computed once a layer; the other parts once a pass."""

FITTING: Mapping[Payload, tuple[tuple[Collective, ...], tuple[GroupName, ...]]] = {
    "token_ids": (("broadcast", "scatter"), ("tp", "pp", "dp", "replica", "world")),
    "activations": (
        ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "scatter", "gather", "reduce"),
        ("tp", "dp", "ep"),
    ),
    "dispatch": (("all_to_all", "all_gather"), ("ep",)),
    "combine": (("all_to_all", "reduce_scatter", "all_reduce"), ("ep",)),
    "logits": (("all_gather", "gather"), ("tp",)),
    "token": (("broadcast", "all_gather"), ("tp", "pp", "replica", "world")),
    "output": (("gather", "all_gather"), ("tp", "pp", "dp", "replica", "world")),
}
"""Collectives and groups by what they can carry."""

OPERATION_KEYS: Mapping[str, tuple[str, ...]] = {
    "compute": ("compute",),
    "collective": ("collective", "group", "payload", "when"),
    "send": ("send",),
    "host": ("host",),
    "layers": ("layers", "operations"),
    "stages": ("stages", "operations"),
}
"""Keys of each operation by the key that names it."""
ALLOWED_IN: Mapping[str, tuple[str, ...]] = {
    "step": ("compute", "collective", "host", "stages"),
    "stages": ("compute", "collective", "send", "layers"),
    "layers": ("compute", "collective"),
}
"""Operations by what they may stand in."""

_Word = TypeVar("_Word", bound=str)


def read_operations(parent: Fields, inside: str = "step") -> tuple[Operation, ...] | None:
    """The list under `operations`; None when any of it cannot be used.

    Args:
        parent: The step, or the `stages` or `layers` operation, that holds the list.
        inside: Which of these it is.
    """
    nodes = parent.items("operations")
    if nodes is None:
        return None
    path = parent.path("operations")
    if not nodes:
        parent.problems.add(
            "list_empty", parent.node.keys["operations"], key=path, hint="operation_kinds"
        )
        return None
    operations = [
        _Reader(parent.problems, node, f"{path}[{number}]", inside).read()
        for number, node in enumerate(nodes, 1)
    ]
    complete = tuple(operation for operation in operations if operation is not None)
    return complete if len(complete) == len(nodes) else None


class _Reader:
    """Reads one item of a list of operations."""

    def __init__(self, problems: Problems, node: Node, key: str, inside: str) -> None:
        self.problems = problems
        self.node = node
        self.key = key
        self.inside = inside

    def read(self) -> Operation | None:
        fields = fields_of(self.problems, self.node, self.key, self.node)
        kind = self._kind(fields) if fields else None
        if fields is None or kind is None:
            return None
        fields.known(OPERATION_KEYS[kind], _required(kind))
        if kind not in ALLOWED_IN[self.inside]:
            self._misplaced(fields, kind, kind)
            return None
        return {
            "compute": self._compute,
            "collective": self._collective,
            "send": self._send,
            "host": self._host,
            "layers": self._layers,
            "stages": self._stages,
        }[kind](fields)

    def _kind(self, fields: Fields) -> str | None:
        """Which operation it is; the first key that names one decides."""
        kind = next((name for name in fields.node.keys if name in OPERATION_KEYS), None)
        if kind is None:
            inner = {name for names in OPERATION_KEYS.values() for name in names}
            if set(fields.node.keys) <= inner:
                self.problems.add(
                    "operation_empty", self.node, key=self.key, hint="operation_kinds"
                )
            else:
                fields.known((*OPERATION_KEYS, *sorted(inner - set(OPERATION_KEYS))))
        return kind

    def _misplaced(self, fields: Fields, name: str, found: str) -> None:
        allowed_in = next(
            (place for place, kinds in ALLOWED_IN.items() if name in kinds), self.inside
        )
        if found in LAYER_PARTS:
            allowed_in = "layers"
        self.problems.add(
            "misplaced_operation",
            fields.node.keys[name],
            key=self.key,
            hint=f"belongs_in_{allowed_in}",
            found=found,
            place_kind=f"in_{self.inside}",
        )

    def _compute(self, fields: Fields) -> Operation | None:
        part = _choice(fields, "compute", COMPUTE_PARTS, "unknown_part")
        if part is None:
            return None
        if (part in LAYER_PARTS) != (self.inside == "layers"):
            if part in LAYER_PARTS:
                self._misplaced(fields, "compute", part)
            else:
                self.problems.add(
                    "misplaced_operation",
                    fields.node.keys["compute"],
                    key=self.key,
                    hint="belongs_in_stages",
                    found=part,
                    place_kind="in_layers",
                )
            return None
        return ComputeOp(part=part)

    def _collective(self, fields: Fields) -> Operation | None:
        collective = self._collective_name(fields)
        group = _choice(fields, "group", GROUPS, "unknown_group")
        payload = _choice(fields, "payload", PAYLOADS, "unknown_payload")
        when = _choice(fields, "when", CONDITIONS, "unknown_condition")
        if collective is None or group is None or payload is None:
            return None
        if fields.has("when") and when is None:
            return None
        collectives, groups = FITTING[payload]
        if collective not in collectives:
            self._unfit(
                fields, "collective", "collective_payload", collective, payload, collectives
            )
            return None
        if group not in groups:
            self._unfit(fields, "group", "group_payload", group, payload, groups)
            return None
        return CollectiveOp(
            collective=collective, group=group, payload=payload, when=when or "always"
        )

    def _collective_name(self, fields: Fields) -> Collective | None:
        node = fields.scalar("collective", "text")
        if node is not None and node.value == "send_recv":
            self.problems.add("send_not_collective", node, key=self.key, hint="use_send")
            return None
        return _choice(fields, "collective", GROUP_COLLECTIVES, "unknown_collective")

    def _unfit(
        self,
        fields: Fields,
        name: str,
        code: str,
        found: str,
        payload: str,
        allowed: tuple[str, ...],
    ) -> None:
        self.problems.add(
            code,
            fields.node.values[name],
            key=fields.path(name),
            hint="allowed_here",
            found=found,
            payload=payload,
            allowed=list(allowed),
        )

    def _send(self, fields: Fields) -> Operation | None:
        payload = _choice(fields, "send", SENT_PAYLOADS, "unknown_payload")
        return SendOp(payload=payload) if payload else None

    def _host(self, fields: Fields) -> Operation | None:
        action = _choice(fields, "host", HOST_ACTIONS, "unknown_host_action")
        return HostOp(action=action) if action else None

    def _layers(self, fields: Fields) -> Operation | None:
        which = _choice(fields, "layers", LAYER_SELECTORS, "unknown_selector")
        operations = read_operations(fields, "layers")
        return LayersOp(which=which, operations=operations) if which and operations else None

    def _stages(self, fields: Fields) -> Operation | None:
        stages = _choice(fields, "stages", STAGE_SELECTORS, "unknown_selector")
        operations = read_operations(fields, "stages")
        return StagesOp(stages=stages, operations=operations) if stages and operations else None


def _choice(fields: Fields, name: str, allowed: tuple[_Word, ...], code: str) -> _Word | None:
    return cast("_Word | None", fields.choice(name, allowed, code))


def _required(kind: str) -> dict[str, str]:
    if kind == "collective":
        return {"group": "tp", "payload": "activations"}
    return {"operations": "[{compute: attention}]"} if kind in {"layers", "stages"} else {}
