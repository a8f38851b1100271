"""Measured times of collectives as curves that one look-up evaluates, for a number or an array.

The calibrations of the cluster room say how long a collective takes on a machine; here each is
sampled once on a dense ladder of sizes, so that one scenario and a hundred thousand read the same
figures.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gpuflow.cluster.elementwise import greater
from gpuflow.cluster.mesh import Groups, Mesh
from gpuflow.cluster.own import OwnCalibrations, own_calibrations
from gpuflow.cluster.points import runnable
from gpuflow.cluster.prediction import Detail, predict
from gpuflow.cluster.protocols import OWN_KERNELS
from gpuflow.cluster.selection import Case, select
from gpuflow.collectives.algorithms import ALGORITHMS, default_algorithm
from gpuflow.engine.timeline import TimeSource
from gpuflow.errors import ScenarioError
from gpuflow.scenario import catalog
from gpuflow.scenario.spec import AllReduce, ClusterSpec, FabricSpec, ProfileSpec, Scenario

LIBRARY_KERNEL = "nccl"
_LADDER = np.geomspace(1.0, 2.0**40, 641)
"""Sizes in bytes; neighbours lie 4.4 % apart, and between them a straight line misses by 0.1 % at
most."""


@dataclass(frozen=True, slots=True, eq=False)
class KernelCurve:
    """Time of one collective in one kind of group, by size."""

    times: NDArray[np.float64]
    """Seconds on the ladder."""
    source: TimeSource
    """Of sizes inside the range that was measured."""
    size_range: tuple[float, float]
    """Smallest and largest size measured, in bytes."""
    detail: Detail
    """The curves it rests on, with their rows, GPUs, sources and errors."""
    simulated: NDArray[np.bool_] | None = None
    """On the ladder: whether the time is that of a schedule charged to the links; None: nowhere."""

    @property
    def published(self) -> tuple[str, ...]:
        """Who measured what it rests on."""
        return self.detail.sources

    def seconds(self, size_bytes: float) -> float:
        """Time of a size, or of an array of sizes; beyond the ladder at its last rate."""
        seconds: float = np.interp(size_bytes, _LADDER, self.times)
        return seconds * greater(size_bytes / float(_LADDER[-1]), 1.0)

    @property
    def floor_s(self) -> float:
        """Time of a message of hardly any bytes."""
        return float(self.times[0])

    @property
    def peak_bytes_per_s(self) -> float:
        """Size over time at its best within 1 GiB, the largest size that libraries are tuned on."""
        usual = _LADDER <= 2.0**30
        return float((_LADDER[usual] / self.times[usual]).max())

    def source_at(self, size_bytes: float) -> TimeSource:
        """Where the time of one size comes from."""
        if self.simulated is not None:
            place = int(np.searchsorted(_LADDER, size_bytes))
            if self.simulated[min(place, len(_LADDER) - 1)]:
                return "simulated"
        low, high = self.size_range
        is_inside = low <= size_bytes <= high
        return self.source if is_inside or self.source != "calibrated" else "extrapolated"


def kernel_curve(
    scenario: Scenario, mesh: Mesh, groups: Groups, collective: str
) -> KernelCurve | None:
    """The measured curve for groups of a scenario, or that of the algorithm it asks for.

    None where the profile takes ideal times, where GPUs of a node are not joined as that GPU's
    usually are or nodes by a network of the catalogue, and where nobody has measured anything
    like it.
    """
    asked = asked_algorithm(scenario, mesh, groups, collective)
    usual = _usual_curve(scenario, mesh, groups, collective)
    return usual if asked is None else _asked_curve(scenario, mesh, groups, asked, usual)


def _usual_curve(
    scenario: Scenario, mesh: Mesh, groups: Groups, collective: str
) -> KernelCurve | None:
    profile, cluster = scenario.profile, scenario.cluster
    if profile.collective_times != "calibrated":
        return None
    network = ""
    if mesh.crosses_nodes(groups):
        # What a node's own links reach is looked at by name: a target may ask for another rate.
        network = cluster.scale_out.name
        is_usual = cluster.scale_up.name == cluster.device.fabric
        is_usual = is_usual and _is_catalogued(cluster.scale_out, network)
    else:
        is_usual = _is_catalogued(cluster.scale_up, cluster.device.fabric)
    if not is_usual:
        return None
    ranks, nodes = len(groups[0]), _nodes(mesh, groups)
    if ranks % nodes:
        return None
    kernel = _kernel(profile, collective, nodes)
    launch = profile.all_reduce_launch
    own = own_calibrations()
    return _sampled(cluster.device.name, collective, kernel, launch, ranks, nodes, network, own)


def _is_catalogued(fabric: FabricSpec, name: str) -> bool:
    """Whether a fabric is the catalogue's of that name, at its own rate."""
    try:
        return fabric == catalog.fabric(name)
    except ScenarioError:
        return False


def _kernel(profile: ProfileSpec, collective: str, nodes: int) -> str:
    """Engines bring a kernel of their own for all_reduce inside a node, and nothing else."""
    is_own = collective == "all_reduce" and nodes == 1
    return profile.all_reduce_kernel if is_own else LIBRARY_KERNEL


@lru_cache(maxsize=512)
def _sampled(
    gpu: str,
    collective: str,
    kernel: str,
    launch: str,
    ranks: int,
    nodes: int,
    network: str,
    users: OwnCalibrations | None,
) -> KernelCurve | None:
    """A machine's curve; `users` is what is in force, so that a change of it is not missed."""
    try:
        found = predict(
            gpu, collective, kernel, launch, ranks, nodes, _LADDER, fabric=network or None
        )
    except ValueError:
        if kernel == LIBRARY_KERNEL:
            return None
        return _sampled(gpu, collective, LIBRARY_KERNEL, launch, ranks, nodes, network, users)
    own = found.detail.calibrations[0] if found.detail.step == "fit" else None
    return KernelCurve(
        times=np.asarray(found.seconds, dtype=float),
        source="calibrated" if own is not None else found.time_source,
        size_range=own.size_range if own is not None else (0.0, 0.0),
        detail=found.detail,
    )


def kernel_algorithm(
    scenario: Scenario, mesh: Mesh, groups: Groups, collective: str, size_bytes: float
) -> str:
    """The algorithm that the profile's kernel or library takes at a size.

    Only a picture depends on it, and the bytes on the links: the time is that of the measured
    curve. The ideal profile, groups that do not fill nodes evenly, and names that no schedule has
    (NCCL's collnet) keep the collective's default.
    """
    asked = asked_algorithm(scenario, mesh, groups, collective)
    if asked is not None:
        return asked
    usual = default_algorithm(collective)
    profile, cluster = scenario.profile, scenario.cluster
    if profile.collective_times != "calibrated" or size_bytes <= 0:
        return usual
    nodes = _nodes(mesh, groups)
    case = _case(cluster, profile, collective, len(groups[0]), nodes)
    if case.n_nodes != nodes or not case.is_even:
        return usual
    try:
        found = select(case, [size_bytes])
    except ValueError:
        return usual
    name = found.choices[int(found.choice[0])].algorithm
    return name if name in ALGORITHMS[collective] else usual


def _nodes(mesh: Mesh, groups: Groups) -> int:
    """Nodes that the widest group lies on."""
    return max(len({mesh.node(rank) for rank in group}) for group in groups)


def _case(
    cluster: ClusterSpec, profile: ProfileSpec, collective: str, ranks: int, nodes: int
) -> Case:
    """A collective as the profile runs it."""
    kernel = _kernel(profile, collective, nodes)
    launch = profile.all_reduce_launch if kernel != LIBRARY_KERNEL else "cuda_graph"
    return Case(collective=collective, cluster=cluster, n_ranks=ranks, kernel=kernel, launch=launch)


# ---------------------------------------------------------------- an algorithm that was asked for


def asked_algorithm(
    scenario: Scenario, mesh: Mesh, groups: Groups, collective: str
) -> AllReduce | None:
    """The algorithm that the scenario asks for, where these groups can run it; else None."""
    asked = scenario.all_reduce
    if asked is None or collective != "all_reduce" or asked not in choices(scenario, mesh, groups):
        return None
    return asked


def choices(scenario: Scenario, mesh: Mesh, groups: Groups) -> tuple[str, ...]:
    """Algorithms of all_reduce that groups of a scenario can run and that its profile tells apart.

    None of them where the profile has one rule for all, in groups of one rank, and in groups that
    do not lie on nodes side by side.
    """
    ranks, cluster = len(groups[0]), scenario.cluster
    if scenario.profile.collective_times != "calibrated" or ranks < 2:
        return ()
    if -(-ranks // cluster.gpus_per_node) != _nodes(mesh, groups):
        return ()
    return runnable("all_reduce", cluster, ranks)


def _asked_curve(
    scenario: Scenario, mesh: Mesh, groups: Groups, asked: AllReduce, usual: KernelCurve | None
) -> KernelCurve:
    """An algorithm's curve: the measured one at sizes where it is what runs anyhow."""
    cluster, profile = scenario.cluster, scenario.profile
    case = _case(cluster, profile, "all_reduce", len(groups[0]), _nodes(mesh, groups))
    times, runs_anyhow = _charged(
        cluster.device.name,
        cluster.scale_up,
        cluster.scale_out,
        (cluster.gpus_per_node, cluster.nics_per_node),
        (case.n_ranks, case.kernel, case.launch),
        asked,
    )
    if usual is None:
        return KernelCurve(
            times=times,
            simulated=np.ones(len(_LADDER), dtype=bool),
            source="simulated",
            size_range=(0.0, 0.0),
            detail=Detail(step="planner", calibrations=()),
        )
    return replace(
        usual,
        times=np.where(runs_anyhow, usual.times, times),
        simulated=np.logical_not(runs_anyhow),
    )


@lru_cache(maxsize=512)
def _charged(
    gpu: str,
    scale_up: FabricSpec,
    scale_out: FabricSpec,
    node: tuple[int, int | None],
    run: tuple[int, str, str],
    asked: AllReduce,
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Times of an algorithm on the ladder, and where it is what the library or engine takes.

    Args:
        gpu: Of which the nodes are.
        scale_up: Joins the GPUs of a node.
        scale_out: Joins nodes.
        node: GPUs and NICs of a node.
        run: Ranks, kernel and launch mode.
        asked: The algorithm; a library's own is launched as the library is.
    """
    ranks, kernel, launch = run
    cluster = ClusterSpec(
        device=catalog.device(gpu),
        scale_up=scale_up,
        scale_out=scale_out,
        gpus_per_node=node[0],
        nics_per_node=node[1],
    )
    case = Case(
        collective="all_reduce", cluster=cluster, n_ranks=ranks, kernel=kernel, launch=launch
    )
    own = replace(case, launch=launch if asked in OWN_KERNELS else "cuda_graph")
    times = select(own, _LADDER, asked).time_s
    found = select(case, _LADDER)
    names = np.array([choice.algorithm for choice in found.choices])
    return times, names[found.choice] == asked
