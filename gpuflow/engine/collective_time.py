"""How long a collective or a send takes, and what its message is.

Sizes follow nccl-tests: the whole vector in all_reduce and broadcast, the gathered total in
all_gather and gather, each rank's send buffer in all_to_all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpuflow.cluster.cost import ACTIVATION_BYTES, PassShape
from gpuflow.cluster.mesh import Groups, Mesh
from gpuflow.cluster.reach import group_fabric
from gpuflow.collectives.oracle import bus_factor
from gpuflow.engine.kernel_time import kernel_curve
from gpuflow.engine.timeline import TimeSource
from gpuflow.scenario.spec import FabricSpec, Payload, Scenario, TrafficClass

TOKEN_ID_BYTES = 4.0
FP8_SCALE_BLOCK = 128
"""One 4-byte scale per 128 values travels with FP8 activations (DeepEP)."""

TRAFFIC_CLASS: dict[Payload, TrafficClass] = {
    "token_ids": "input",
    "dispatch": "ep",
    "combine": "ep",
    "logits": "logits",
    "token": "token",
    "output": "output",
}


@dataclass(frozen=True, slots=True)
class MessageTime:
    """Time of one message or collective and where it came from."""

    time_s: float
    source: TimeSource


RING_COLLECTIVES = frozenset({"all_reduce", "all_gather", "reduce_scatter"})
"""What libraries run as rings side by side, one through each NIC of a node."""


def fabric_of(
    scenario: Scenario, mesh: Mesh, groups: Groups, collective: str | None = None
) -> FabricSpec:
    """The slowest fabric the groups must cross, and what they reach of it in a collective."""
    return group_fabric(scenario.cluster, groups, runs_rings=collective in RING_COLLECTIVES)


def collective_time(
    scenario: Scenario, mesh: Mesh, groups: Groups, collective: str, size_bytes: float
) -> MessageTime:
    """Time of a collective in groups of a scenario, as its profile has it.

    Engines' profiles read measured curves where there are any; the ideal one and all else take
    a fixed latency plus bytes over what the fabric reaches. The size may be an array; the source
    is then that of its first element.
    """
    curve = kernel_curve(scenario, mesh, groups, collective)
    if curve is not None:
        first = float(np.ravel(size_bytes)[0])
        return MessageTime(curve.seconds(size_bytes), curve.source_at(first))
    fabric = fabric_of(scenario, mesh, groups, collective)
    return assumed_collective(collective, size_bytes, len(groups[0]), fabric)


def hop_time(scenario: Scenario, mesh: Mesh, pairs: Groups, size_bytes: float) -> MessageTime:
    """Time of one point-to-point message between the ranks of each pair."""
    curve = kernel_curve(scenario, mesh, pairs, "send_recv")
    if curve is not None:
        first = float(np.ravel(size_bytes)[0])
        return MessageTime(curve.seconds(size_bytes), curve.source_at(first))
    return assumed_hop(size_bytes, fabric_of(scenario, mesh, pairs))


def assumed_collective(
    collective: str, size_bytes: float, n_ranks: int, fabric: FabricSpec
) -> MessageTime:
    """The ideal profile's rule: a fixed latency plus bus factor x size / bus bandwidth."""
    wire = bus_factor(collective, n_ranks) * size_bytes / fabric.bus_bandwidth_bytes_per_s
    return MessageTime(fabric.collective_latency_s + wire, "assumed")


def assumed_hop(size_bytes: float, fabric: FabricSpec) -> MessageTime:
    """The ideal profile's rule for point to point: hop latency plus size / hop bandwidth."""
    return MessageTime(
        fabric.hop_latency_s + size_bytes / fabric.hop_bandwidth_bytes_per_s, "assumed"
    )


def dispatch_bytes_per_value(scenario: Scenario) -> float:
    """FP8 with block scales where the weights are FP8 or narrower, else 16 bit."""
    model = scenario.model
    if scenario.precision in {"fp8", "fp4"} and model.quantised != "experts":
        return 1.0 + 4.0 / FP8_SCALE_BLOCK
    return ACTIVATION_BYTES


def message_size(scenario: Scenario, payload: Payload, shape: PassShape, n_ranks: int) -> float:
    """Bytes of one message by nccl-tests' convention.

    Args:
        scenario: What was asked.
        payload: What travels.
        shape: The pass it belongs to.
        n_ranks: Ranks in the group (the gathered total counts every rank's part).
    """
    model = scenario.model
    width, tokens = model.hidden_size, shape.all_tokens
    if payload == "token_ids":
        if shape.phase == "prefill":
            return TOKEN_ID_BYTES * shape.tokens
        return TOKEN_ID_BYTES * shape.sequences * scenario.workload.prompt_tokens
    if payload == "activations":
        return tokens * width * ACTIVATION_BYTES
    if payload in {"dispatch", "combine"}:
        moe = model.moe
        copies = moe.experts_per_token if moe else 0
        # Tokens that tensor parallelism has replicated are sliced first: each travels once. Latent
        # ones are projected down before and up after (LatentMoE, arXiv 2601.18089).
        per_value = (
            dispatch_bytes_per_value(scenario) if payload == "dispatch" else ACTIVATION_BYTES
        )
        return tokens / scenario.parallel.tp * copies * model.expert_width * per_value
    if payload == "logits":
        return shape.all_sequences * model.vocab_size * ACTIVATION_BYTES
    if payload == "token":
        return TOKEN_ID_BYTES * shape.all_sequences
    return TOKEN_ID_BYTES * shape.all_sequences * n_ranks


def traffic_class(payload: Payload, *, is_send: bool) -> TrafficClass:
    """The class a payload counts under; activations are tp in a collective and pp in a send."""
    if payload == "activations":
        return "pp" if is_send else "tp"
    return TRAFFIC_CLASS[payload]
