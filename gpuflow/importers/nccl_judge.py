"""A run of nccl-tests against what the catalogue expects of such machines, size by size."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from gpuflow.cluster.curves import FloatArray
from gpuflow.cluster.measurements import Key
from gpuflow.cluster.multi_node import nic_of
from gpuflow.cluster.nccl_model import nccl_predict
from gpuflow.cluster.prediction import shipped_book
from gpuflow.cluster.selection import Case, default_launch, library_kernel, select
from gpuflow.collectives.oracle import bus_factor
from gpuflow.errors import ScenarioError
from gpuflow.importers.nccl_debug import DebugFacts
from gpuflow.importers.nccl_fit import MOST_FITTED, key_of
from gpuflow.importers.nccl_reading import Doubt, Measured, Reading
from gpuflow.scenario import catalog
from gpuflow.scenario.machines import machines

MOST_RANKS = 4096
"""Beyond them a log is not judged: simulating the rivals would take minutes."""
_PROGRAMS = {"all_to_all": "alltoall", "send_recv": "sendrecv"}
_ROOTED = frozenset({"broadcast", "reduce", "scatter", "gather"})
_NETWORKS = (
    ("efa", "efa-400"),
    ("ofi", "efa-400"),
    ("libfabric", "efa-400"),
    ("tcpx", "tcpxo-200"),
    ("fastrak", "tcpxo-200"),
)
"""Fabrics by what NCCL calls its network."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedRow:
    """What is expected at one measured size."""

    row: Measured
    time_s: float
    bus_bytes_per_s: float
    share: float
    """Measured over expected bus bandwidth; above 1 is better than expected."""
    algorithm: str | None
    protocol: str | None
    """What NCCL's planner takes; None where it has no plan."""
    time_source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A run beside its expectation."""

    gpu: str
    fabric: str
    """Id of the slowest fabric that the ranks must cross; empty where it is not known."""
    is_fabric_assumed: bool
    """Whether the log does not say which network it was."""
    rows: tuple[ExpectedRow, ...]

    @property
    def peak(self) -> ExpectedRow:
        """The row of the highest measured bus bandwidth."""
        return max(self.rows, key=lambda one: one.row.bus_bytes_per_s)


def judge(reading: Reading, fabric: str | None = None) -> Verdict | Doubt:
    """Set a run beside what is expected, or say why that cannot be done.

    Args:
        reading: The run.
        fabric: Id of a fabric that the user names.

    Raises:
        ScenarioError: There is no such fabric.
    """
    named = catalog.fabric(fabric) if fabric else None
    if reading.gpu is None:
        return Doubt("no_verdict_gpu" if reading.gpu_name else "no_verdict_gpu_unsaid")
    if any(doubt.code == "gpu_shared" for doubt in reading.doubts):
        return Doubt("no_verdict_shared")
    if not reading.rows or reading.ranks is None or reading.nodes is None:
        return Doubt("no_verdict_unknown")
    if reading.collective is None:
        return Doubt("no_verdict_unknown")
    if reading.ranks < 2:
        return Doubt("no_verdict_alone")
    if reading.ranks > MOST_RANKS:
        return Doubt("no_verdict_ranks", {"most": MOST_RANKS})
    said = named.name if named else fabric_said(reading.raw.debug)
    measured = _judged(reading.rows)
    sizes = np.array(sorted({row.size_bytes for row in measured}), dtype=float)
    try:
        found = _by_catalogue(reading, sizes, said)
    except ScenarioError:
        found = None
    except ValueError:
        return Doubt("no_verdict_collective", {"collective": reading.collective})
    if found is None:
        found = _by_measurements(reading, sizes, said)
    if found is None:
        return Doubt("no_verdict_gpu")
    return Verdict(
        gpu=reading.gpu,
        fabric=found[0],
        is_fabric_assumed=reading.nodes > 1 and said is None,
        rows=_expected_rows(measured, sizes, bus_factor(reading.collective, reading.ranks), found),
    )


def _judged(rows: Sequence[Measured]) -> list[Measured]:
    """Rows of so many sizes as can be simulated, that of the highest bandwidth among them."""
    sizes = sorted({row.size_bytes for row in rows})
    kept = set(sizes[:: -(-len(sizes) // MOST_FITTED)])
    kept.add(max(rows, key=lambda row: row.bus_bytes_per_s).size_bytes)
    return [row for row in rows if row.size_bytes in kept]


_Choice = tuple[str, str] | None
_Found = tuple[str, FloatArray, list[_Choice], list[str]]
"""Fabric, times (s), algorithm and protocol, and where each time comes from."""


def _expected_rows(
    measured: Sequence[Measured], sizes: FloatArray, factor: float, found: _Found
) -> tuple[ExpectedRow, ...]:
    """What is expected of each row, by what is expected at each of the sizes."""
    _, times, choices, sources = found
    places = {size: place for place, size in enumerate(sizes.tolist())}
    return tuple(
        ExpectedRow(
            row=row,
            time_s=float(times[place]),
            bus_bytes_per_s=factor * row.size_bytes / float(times[place]),
            share=float(times[place]) / row.time_s,
            algorithm=choice[0] if choice else None,
            protocol=choice[1] if choice else None,
            time_source=sources[place],
        )
        for row in measured
        for place in (places[row.size_bytes],)
        for choice in (choices[place],)
    )


def fabric_said(debug: DebugFacts) -> str | None:
    """The catalogue's fabric for the network that NCCL named; None where it named none."""
    text = " ".join([*debug.networks, *debug.transports]).lower()
    return next((fabric for word, fabric in _NETWORKS if word in text), None)


def _by_catalogue(reading: Reading, sizes: FloatArray, fabric: str | None) -> _Found | None:
    """By the machines of the catalogue; ScenarioError where it has none such."""
    ranks, nodes, collective = reading.ranks, reading.nodes, reading.collective
    if ranks is None or nodes is None or collective is None or reading.gpu is None:
        return None
    cluster = machines(reading.gpu, ranks, nodes)
    if fabric is not None:
        spec = catalog.fabric(fabric)
        if spec.tier == "scale_up":
            cluster = replace(cluster, scale_up=spec)
        else:
            cluster = replace(cluster, scale_out=spec)
    kernel = library_kernel(cluster)
    case = Case(
        collective=collective,
        cluster=cluster,
        n_ranks=ranks,
        kernel=kernel,
        launch=default_launch(kernel),
    )
    found = select(case, sizes)
    tier = cluster.scale_out if case.n_nodes > 1 else cluster.scale_up
    choices: list[_Choice] = [
        (found.choices[index].algorithm, found.choices[index].protocol)
        for index in found.choice.tolist()
    ]
    return tier.name, found.time_s, choices, list(found.time_source)


def _by_measurements(reading: Reading, sizes: FloatArray, fabric: str | None) -> _Found | None:
    """By measurements of a GPU that the catalogue lacks."""
    between = (fabric or "ib-ndr") if (reading.nodes or 1) > 1 else ""
    key: Key = replace(key_of(reading), fabric=between)
    try:
        found = shipped_book().predict(key, sizes)
    except ValueError:
        return None
    choices: list[_Choice] = [None] * len(sizes)
    try:
        nic = nic_of(between) if between else None
        plans = nccl_predict(key.collective, key.ranks, key.nodes, sizes, key.gpu, nic)
        names = list(plans)
        best = np.stack([*plans.values()]).argmin(axis=0)
        choices = [(names[index][0], names[index][1]) for index in best.tolist()]
    except ValueError:
        pass
    return between, found.seconds, choices, [found.time_source] * len(sizes)


def command_line(reading: Reading) -> str | None:
    """The command line that repeats the run; None where the collective is not known."""
    if reading.collective is None or not (reading.rows or reading.raw.options):
        return None
    options, raw = reading.raw.options, reading.raw
    threads, gpus = int(options.get("threads", 1)), int(options.get("gpus", 1))
    processes = max(1, (reading.ranks or threads * gpus) // max(threads * gpus, 1))
    program = _PROGRAMS.get(reading.collective, reading.collective)
    words = [f"{program}_perf", *_sizes(reading)]
    words += ["-t", str(threads)] if threads > 1 else []
    words += ["-g", str(gpus)]
    redops = {row.redop for row in reading.rows if row.redop not in (None, "none")}
    for option, kinds, usual in (("-d", reading.dtypes, "float"), ("-o", redops, "sum")):
        if kinds and set(kinds) != {usual}:
            words += [option, "all" if len(kinds) > 1 else shlex.quote(min(kinds))]
    roots = {row.root for row in raw.rows if row.root is not None}
    if reading.collective in _ROOTED and roots and roots != {0}:
        words += ["-r", str(min(roots)) if len(roots) == 1 else "-1"]
    for name, option in (("iterations", "-n"), ("warmup", "-w"), ("check", "-c")):
        if name in options:
            words += [option, str(options[name])]
    for name, option, default in (("aggregated", "-m", 1), ("graph", "-G", 0)):
        if options.get(name, default) != default:
            words += [option, str(options[name])]
    words += ["-C", "1"] if raw.is_cpu_time else []
    settings = [shlex.quote(f"{name}={value}") for name, value in raw.debug.settings.items()]
    if processes > 1:
        exported = [part for setting in settings for part in ("-x", setting)]
        hosts = len({rank.host for rank in raw.ranks})
        nodes = hosts if len(raw.ranks) == reading.ranks else reading.nodes or 1
        spread = ["-N", str(processes // nodes)] if nodes > 1 and processes % nodes == 0 else []
        return " ".join(["mpirun", "-np", str(processes), *spread, *exported, *words])
    return " ".join([*settings, *words])


def _sizes(reading: Reading) -> list[str]:
    """Range and step of the sizes: as the header says, else as the rows have them."""
    options = reading.raw.options
    sizes = sorted({row.size_bytes for row in reading.rows})
    low = int(options.get("min_bytes", min(sizes, default=8)))
    # a header that the rows go beyond is that of another run
    high = max(int(options.get("max_bytes", 0)), max(sizes, default=0)) or 1 << 27
    step, by = options.get("step", 2), options.get("step_by")
    apart = {after - before for before, after in pairwise(sizes)}
    if by is None and len(sizes) > 2 and len(apart) == 1:
        step, by = apart.pop(), "bytes"
    return ["-b", str(low), "-e", str(high), "-i" if by == "bytes" else "-f", str(step)]
