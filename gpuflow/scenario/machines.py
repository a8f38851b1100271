"""Machines for one collective alone: so many GPUs of a kind on so many nodes."""

from __future__ import annotations

from gpuflow.errors import Problem, ScenarioError
from gpuflow.scenario import catalog
from gpuflow.scenario.spec import ClusterSpec


def machines(gpu: str, n_ranks: int, n_nodes: int | None = None) -> ClusterSpec:
    """The nodes that hold the ranks, joined by the GPU's usual fabrics.

    Args:
        gpu: Name of a device in the catalogue.
        n_ranks: GPUs in all.
        n_nodes: Nodes they are spread over evenly; None: as few full nodes as hold them.

    Raises:
        ScenarioError: There is no such GPU, or so many ranks do not fit on so many nodes.
    """
    device = catalog.device(gpu)
    per_node = device.gpus_per_node
    if n_nodes is not None and n_nodes > 1:
        if n_ranks % n_nodes:
            raise _problem("nodes_do_not_divide", ranks=n_ranks, nodes=n_nodes)
        per_node = n_ranks // n_nodes
    found = n_ranks if n_nodes == 1 else per_node
    if found > device.gpus_per_node:
        raise _problem("node_too_small", gpu=device.title, most=device.gpus_per_node, found=found)
    return ClusterSpec(
        device=device,
        scale_up=catalog.fabric(device.fabric),
        scale_out=catalog.fabric(device.nic),
        gpus_per_node=per_node,
    )


def _problem(code: str, **values: object) -> ScenarioError:
    return ScenarioError([Problem(code=code, key="--nodes", values=values)])
