"""The time of a collective as a library or an engine runs it, beside everything it could have run.

S  sizes asked for

The time is read off measured curves where there are any (`gpuflow.cluster.prediction`), else it is
the planner's own, else that of the quickest schedule among the library's algorithms. Which
algorithm and protocol are behind it is what NCCL's planner or the engine's rule says for the size.
Rivals are every schedule charged to the links and every algorithm and protocol of the planner.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from gpuflow.cluster.curves import FloatArray
from gpuflow.cluster.engine_kernels import (
    kernel_changes,
    trtllm_limit,
    vllm_multimem_limit,
)
from gpuflow.cluster.measurements import Key
from gpuflow.cluster.multi_node import nic_of
from gpuflow.cluster.nccl_model import PROTOCOLS, Nic, nccl_predict
from gpuflow.cluster.points import ScheduleTimes, runnable, schedule_times
from gpuflow.cluster.prediction import Detail, TimeSource, shipped_book
from gpuflow.cluster.protocols import FUSED_S, GRAPH_S, OWN_KERNEL_S, Launch, as_launched
from gpuflow.collectives.schedule import IntArray
from gpuflow.errors import ScenarioError
from gpuflow.scenario import catalog
from gpuflow.scenario.spec import ClusterSpec

Rule = Literal["nccl_planner", "vllm", "tensorrt_llm", "kernel", "schedules", "asked"]

RULE_SOURCES: dict[Rule, str] = {
    "nccl_planner": "NVIDIA/nccl 2.30: src/graph/tuning.cc, src/graph/topo.h",
    "vllm": "vLLM: all_reduce_utils, custom_all_reduce",
    "tensorrt_llm": "TensorRT-LLM: customAllReduceUtils",
}
"""Where a rule is written down; the others are rules of gpuflow's own."""

ENGINE_KERNELS = ("vllm_custom", "trtllm_custom", "nvls_multimem", "one_shot", "two_shot", "custom")
"""All_reduce kernels that engines bring, for one node."""
KERNELS = ("nccl", "rccl", *ENGINE_KERNELS)

_SIMULATED_LAUNCH: dict[str, Launch] = {
    "nccl-tests": "nccl-tests",
    "rccl-tests": "nccl-tests",
    "cuda_graph": "cuda_graph",
    "eager": "eager",
    "profiler": "nccl-tests",
    "stream": "nccl-tests",
    "custom": "custom",
    "fused": "fused",
}
LAUNCHES = tuple(_SIMULATED_LAUNCH)
"""Launch modes of the measurements and of the simulation; the two *-tests, profiler and stream are
back to back in a stream."""


class Choice(NamedTuple):
    """An algorithm and its protocol: ll, ll128 or simple."""

    algorithm: str
    protocol: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One collective on one group of GPUs, run in one way."""

    collective: str
    cluster: ClusterSpec
    n_ranks: int
    kernel: str = "nccl"
    launch: str = "nccl-tests"

    @property
    def n_nodes(self) -> int:
        """Nodes that hold the ranks, one filled after the other."""
        return -(-self.n_ranks // self.cluster.gpus_per_node)

    @property
    def key(self) -> Key:
        """What its calibration belongs to."""
        return Key(
            gpu=self.cluster.device.name,
            collective=self.collective,
            kernel=self.kernel,
            launch={"custom": "cuda_graph", "fused": "cuda_graph"}.get(self.launch, self.launch),
            ranks=self.n_ranks,
            nodes=self.n_nodes,
            fabric=self.cluster.scale_out.name if self.n_nodes > 1 else "",
        )

    @property
    def is_even(self) -> bool:
        """Whether all nodes hold as many ranks."""
        return self.n_nodes == 1 or self.n_ranks % self.cluster.gpus_per_node == 0

    @property
    def is_usual(self) -> bool:
        """Whether the GPUs of a node are joined as the catalogue has it, and so as measured."""
        return self.cluster.scale_up.name == self.cluster.device.fabric

    @property
    def has_usual_network(self) -> bool:
        """Whether nodes, where there are several, are joined as the catalogue has it."""
        network = self.cluster.scale_out
        if self.n_nodes == 1:
            return True
        try:
            return network == catalog.fabric(network.name)
        except ScenarioError:
            return False

    @property
    def nic(self) -> Nic | None:
        """The network as one GPU has it, at the rate that is asked for; None in one node."""
        network = self.cluster.scale_out
        known = nic_of(network.name) if self.n_nodes > 1 else None
        return known and replace(known, bytes_per_s=network.bus_bandwidth_bytes_per_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Times of a case over sizes, and what was chosen from."""

    case: Case
    sizes: FloatArray
    """Bytes by nccl-tests' convention, shape (S,)."""
    time_s: FloatArray
    """Shape (S,)."""
    time_source: tuple[TimeSource, ...]
    """One a size."""
    choices: tuple[Choice, ...]
    choice: IntArray
    """Index into `choices`, shape (S,)."""
    rule: Rule
    detail: Detail | None
    """How curves gave the time; None where it is simulated."""
    planned: dict[Choice, FloatArray]
    """What NCCL's planner expects of each, shape (S,); empty where it has no plan."""
    simulated: ScheduleTimes
    """Every schedule charged to the links."""


def library_kernel(cluster: ClusterSpec) -> str:
    """The library that such GPUs come with, as the measurements call it."""
    return "rccl" if cluster.scale_up.name.startswith("xgmi") else "nccl"


def default_launch(kernel: str) -> str:
    """How a kernel is launched where nobody says: as its measurements mostly are."""
    return {"nccl": "nccl-tests", "rccl": "rccl-tests", "custom": "stream"}.get(
        kernel, "cuda_graph"
    )


def select(case: Case, sizes: ArrayLike, algorithm: str | None = None) -> Selection:
    """The times of a case, and the rivals.

    Args:
        case: What is run where and how.
        sizes: Bytes, 0 or more; shape (S,).
        algorithm: Only this schedule; its times are simulated, since curves are those of whatever
            the library chose.

    Raises:
        ValueError: A name is unknown, or the machines cannot run the algorithm.
    """
    at = np.asarray(sizes, dtype=np.float64)
    names = runnable(case.collective, case.cluster, case.n_ranks) if not algorithm else (algorithm,)
    simulated = simulate(case, at, names)
    planned = {} if algorithm else plan(case, at)
    rule, choices, choice = (
        quickest(simulated) if algorithm else chosen(case, at, planned, simulated)
    )
    found = None if algorithm else _from_curves(case, at)
    if found is None:
        every = {**_by_choice(simulated), **planned}
        table = np.stack([every[one] for one in choices])
        simulation: TimeSource = "simulated"
        found = _Found(table[choice, np.arange(len(at))], (simulation,) * len(at), None)
    return Selection(
        case=case,
        sizes=at,
        time_s=np.where(at > 0, found.time_s, 0.0),
        time_source=found.time_source,
        choices=choices,
        choice=choice,
        rule="asked" if algorithm else rule,
        detail=found.detail,
        planned=planned,
        simulated=simulated,
    )


def simulate(case: Case, at: FloatArray, names: Sequence[str]) -> ScheduleTimes:
    """Schedules charged to the links, launched as the case is."""
    launch = _SIMULATED_LAUNCH[case.launch]
    return schedule_times(case.collective, case.cluster, case.n_ranks, at, names, launch)


def plan(case: Case, at: FloatArray) -> dict[Choice, FloatArray]:
    """What NCCL's planner expects of each algorithm and protocol, launched as the case is.

    Empty where it has no plan: for other collectives, or machines that it does not know.
    """
    if not (case.is_even and case.is_usual):
        return {}
    try:
        found = nccl_predict(
            case.collective, case.n_ranks, case.n_nodes, at, case.cluster.device.name, case.nic
        )
    except ValueError:
        return {}
    launch = _SIMULATED_LAUNCH[case.launch]
    gap_s = GRAPH_S if launch == "cuda_graph" else 0.0
    return {
        Choice(*one): np.where(at > 0, as_launched(times + gap_s, launch), 0.0)
        for one, times in found.items()
    }


Chosen = tuple[Rule, tuple[Choice, ...], IntArray]


def chosen(
    case: Case,
    at: FloatArray,
    planned: dict[Choice, FloatArray],
    simulated: ScheduleTimes,
) -> Chosen:
    """The rule, the choices there are, and the one taken at each size."""
    if case.kernel in ENGINE_KERNELS:
        return _by_engine(case, at, planned, simulated)
    if planned:
        return ("nccl_planner", tuple(planned), np.stack([*planned.values()]).argmin(axis=0))
    return quickest(_of_library(case, simulated))


_LIBRARY_ALGORITHMS = frozenset({"ring", "tree", "nvls", "pat", "chain"})
"""What NCCL and RCCL know; exchanges without an order go directly to every peer."""
_EXCHANGES = frozenset({"all_to_all", "gather", "scatter", "send_recv"})


def _of_library(case: Case, simulated: ScheduleTimes) -> ScheduleTimes:
    """The schedules that a library would consider; all of them where it has none of the names."""
    wanted = {"direct"} if case.collective in _EXCHANGES else _LIBRARY_ALGORITHMS
    rows = [row for row, name in enumerate(simulated.algorithms) if name in wanted]
    if not rows:
        return simulated
    return ScheduleTimes(
        algorithms=tuple(simulated.algorithms[row] for row in rows),
        time_s=simulated.time_s[rows],
        protocol=simulated.protocol[rows],
    )


def quickest(simulated: ScheduleTimes) -> Chosen:
    """The schedule with the least time at each size."""
    best = simulated.best
    protocol = np.take_along_axis(simulated.protocol, best[np.newaxis], axis=0)[0]
    pairs, index = np.unique(len(PROTOCOLS) * best + protocol, return_inverse=True)
    choices = tuple(
        Choice(simulated.algorithms[pair // len(PROTOCOLS)], PROTOCOLS[pair % len(PROTOCOLS)])
        for pair in pairs.tolist()
    )
    return "schedules", choices, np.asarray(index, dtype=np.int64)


def _by_choice(simulated: ScheduleTimes) -> dict[Choice, FloatArray]:
    """Simulated times by algorithm and protocol, infinite where the protocol is not the best."""
    return {
        Choice(name, protocol): np.where(simulated.protocol[row] == which, times, np.inf)
        for row, (name, times) in enumerate(
            zip(simulated.algorithms, simulated.time_s, strict=True)
        )
        for which, protocol in enumerate(PROTOCOLS)
    }


def _by_engine(
    case: Case,
    at: FloatArray,
    planned: dict[Choice, FloatArray],
    simulated: ScheduleTimes,
) -> Chosen:
    """One shot, two shots, multimem and NCCL, one after the other as sizes grow."""
    gpu, n = case.cluster.device.name, case.n_ranks
    one, two, switch = (Choice(a, "simple") for a in ("one_shot", "two_shot", "nvls"))
    nccl = tuple(planned) or (two,)
    library = np.stack([*planned.values()]).argmin(axis=0) if planned else np.zeros(len(at), int)
    choices = (one, two, switch, *nccl)
    index = library.astype(np.int64) + 3
    if case.kernel == "vllm_custom":
        rule: Rule = "vllm"
        changes = kernel_changes(case.kernel, gpu, n)
        limit = changes[-1][0]
        index = np.where(at < vllm_multimem_limit(gpu, n), 2, index)
        index = np.where(at < limit, 1, index)
        index = np.where(at < changes[0][0], 0, index)
    elif case.kernel == "trtllm_custom":
        rule = "tensorrt_llm"
        index = np.where(at < trtllm_limit(n), _one_or_two(simulated), index)
    else:
        rule = "kernel"
        alone = {"one_shot": 0, "two_shot": 1, "nvls_multimem": 2}
        index = np.broadcast_to(
            np.asarray(alone.get(case.kernel, _one_or_two(simulated))), at.shape
        )
    if "nvls" not in simulated.algorithms:
        if case.kernel == "nvls_multimem":
            raise ValueError(f"{gpu} has no switch that adds")
        index = np.where(index == 2, 1, index)
    used = np.array(sorted({*index.tolist()}))
    return rule, tuple(choices[which] for which in used), np.searchsorted(used, index)


def _one_or_two(simulated: ScheduleTimes) -> IntArray:
    """0 where one shot is quicker than two by their schedules, else 1."""
    known = simulated.algorithms
    if not {"one_shot", "two_shot"} <= set(known):
        return np.ones(simulated.time_s.shape[1], dtype=np.int64)
    rows = [known.index("one_shot"), known.index("two_shot")]
    return np.asarray(simulated.time_s[rows].argmin(axis=0))


class _Found(NamedTuple):
    time_s: FloatArray
    time_source: tuple[TimeSource, ...]
    detail: Detail | None


def _from_curves(case: Case, at: FloatArray) -> _Found | None:
    """Times from measured curves, here or elsewhere; None where they rest on none."""
    if not (case.is_even and case.is_usual and case.has_usual_network):
        return None
    positive = np.maximum(at, 1.0)
    try:
        found = shipped_book().predict(case.key, positive)
    except ValueError:
        return None
    if not found.detail.calibrations:
        return None
    times, source = found.seconds, found.time_source
    if case.launch == "fused":
        # the kernel also adds the residual and norms, which no curve of the kernel alone has
        times, source = times + (FUSED_S - OWN_KERNEL_S), "extrapolated"
    sources: tuple[TimeSource, ...] = (source,) * len(at)
    if found.detail.step == "fit" and case.launch != "fused":
        outside = found.detail.calibrations[0].extrapolates(positive)
        sources = tuple(map(_source, outside.tolist()))
    return _Found(times, sources, found.detail)


def _source(is_outside: bool) -> TimeSource:
    return "extrapolated" if is_outside else "calibrated"
