"""A scenario file for a real machine, where scenarios can say all of it."""

from __future__ import annotations

import re
from dataclasses import replace

from gpuflow.cluster.box import assumed_gpu, box_cluster
from gpuflow.errors import Problem, ScenarioError
from gpuflow.scenario import catalog
from gpuflow.scenario.load import DEFAULT_SCENARIO, scenario_path
from gpuflow.scenario.spec import ClusterSpec, FabricSpec, ParallelSpec
from gpuflow.scenario.topology import Topology

_CLUSTER = re.compile(r"^cluster:\n(?:[ ]+.*\n)+", re.MULTILINE)
_NAME = re.compile(r"^name: .*\n", re.MULTILINE)
_PARALLEL = re.compile(r"^parallel: .*\n", re.MULTILINE)


def box_scenario(topology: Topology, gpu: str | None) -> str:
    """The eight steps on the machine, one tensor-parallel group over all of its GPUs.

    Args:
        topology: The machine.
        gpu: Its GPU; None: the one assumed from its links.

    Raises:
        ScenarioError: Links of the machine are not known, or scenario files have no words for
            them, who choose among the catalogue's fabrics.
    """
    device = catalog.device(gpu or assumed_gpu(topology))
    usual = ClusterSpec(
        device=device,
        scale_up=catalog.fabric(device.fabric),
        scale_out=catalog.fabric(device.nic),
        gpus_per_node=device.gpus_per_node,
    )
    found = box_cluster(usual, topology, ParallelSpec(tp=topology.n_gpus))
    fabric = _in_catalogue(found)
    if fabric is None or found.gpus_per_node != topology.n_gpus:
        values = {"fabric": found.scale_up.title}
        raise ScenarioError([Problem(code="topo_not_writable", key="--write", values=values)])
    cluster = (
        f"cluster:\n  gpu: {device.name}\n  scale_up: {fabric}\n  gpus_per_node: {topology.n_gpus}"
    )
    return scenario_on(cluster, topology.n_gpus, 1)


def scenario_on(cluster: str, tp: int, pp: int) -> str:
    """The default scenario with other machines and another split.

    Args:
        cluster: Lines of the key `cluster`, itself first.
        tp: Tensor-parallel ranks.
        pp: Pipeline stages.
    """
    parallel = f"parallel: {{tp: {tp}, pp: {pp}, dp: 1, ep: 1}}"
    text = scenario_path(DEFAULT_SCENARIO).read_text(encoding="utf-8")
    text = _NAME.sub(f"name: tp{tp}-pp{pp}\n", text, count=1)
    text = _CLUSTER.sub(lambda _: f"{cluster}\n", text, count=1)
    return _PARALLEL.sub(lambda _: f"{parallel}\n", text, count=1)


def _in_catalogue(cluster: ClusterSpec) -> str | None:
    """The catalogue's fabric that charges the same; what a fabric is called does not matter."""
    wanted = _nameless(cluster.scale_up)
    names = catalog.fabric_names("scale_up")
    return next((name for name in names if _nameless(catalog.fabric(name)) == wanted), None)


def _nameless(fabric: FabricSpec) -> FabricSpec:
    return replace(fabric, name="", title="", source="")
