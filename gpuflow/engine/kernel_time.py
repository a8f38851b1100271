"""Measured times of collectives as curves that one look-up evaluates, for a number or an array.

The calibrations of the cluster room say how long a collective takes on a machine; here each is
sampled once on a dense ladder of sizes, so that one scenario and a hundred thousand read the same
figures.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from gpuflow.cluster.mesh import Groups, Mesh
from gpuflow.cluster.own import OwnCalibrations, own_calibrations
from gpuflow.cluster.prediction import Detail, predict
from gpuflow.cluster.selection import Case, select
from gpuflow.collectives.algorithms import ALGORITHMS, default_algorithm
from gpuflow.engine.timeline import TimeSource
from gpuflow.errors import ScenarioError
from gpuflow.scenario import catalog
from gpuflow.scenario.spec import FabricSpec, ProfileSpec, Scenario

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

    @property
    def published(self) -> tuple[str, ...]:
        """Who measured what it rests on."""
        return self.detail.sources

    def seconds(self, size_bytes: float) -> float:
        """Time of a size, or of an array of sizes."""
        return np.interp(size_bytes, _LADDER, self.times)

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
        low, high = self.size_range
        is_inside = low <= size_bytes <= high
        return self.source if is_inside or self.source != "calibrated" else "extrapolated"


def kernel_curve(
    scenario: Scenario, mesh: Mesh, groups: Groups, collective: str
) -> KernelCurve | None:
    """The measured curve for groups of a scenario.

    None where the profile takes ideal times, where the fabric is not the GPU's own, and where
    nobody has measured anything like it.
    """
    profile, cluster = scenario.profile, scenario.cluster
    if profile.collective_times != "calibrated":
        return None
    crosses = mesh.crosses_nodes(groups)
    fabric = cluster.scale_out if crosses else cluster.scale_up
    usual = cluster.device.nic if crosses else cluster.device.fabric
    if not _is_usual(fabric, usual):
        return None
    ranks = len(groups[0])
    nodes = max(len({mesh.node(rank) for rank in group}) for group in groups)
    if ranks % nodes:
        return None
    kernel = _kernel(profile, collective, nodes)
    launch = profile.all_reduce_launch
    own = own_calibrations()
    return _sampled(cluster.device.name, collective, kernel, launch, ranks, nodes, own)


def _is_usual(fabric: FabricSpec, name: str) -> bool:
    """Whether a fabric is the catalogue's, at its own rate."""
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
    users: OwnCalibrations | None,
) -> KernelCurve | None:
    """A machine's curve; `users` is what is in force, so that a change of it is not missed."""
    try:
        found = predict(gpu, collective, kernel, launch, ranks, nodes, _LADDER)
    except ValueError:
        if kernel == LIBRARY_KERNEL:
            return None
        return _sampled(gpu, collective, LIBRARY_KERNEL, launch, ranks, nodes, users)
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
    usual = default_algorithm(collective)
    profile, cluster = scenario.profile, scenario.cluster
    if profile.collective_times != "calibrated" or size_bytes <= 0:
        return usual
    ranks = len(groups[0])
    nodes = max(len({mesh.node(rank) for rank in group}) for group in groups)
    kernel = _kernel(profile, collective, nodes)
    launch = profile.all_reduce_launch if kernel != LIBRARY_KERNEL else "cuda_graph"
    case = Case(collective=collective, cluster=cluster, n_ranks=ranks, kernel=kernel, launch=launch)
    if case.n_nodes != nodes or not case.is_even:
        return usual
    try:
        found = select(case, [size_bytes])
    except ValueError:
        return usual
    name = found.choices[int(found.choice[0])].algorithm
    return name if name in ALGORITHMS[collective] else usual
