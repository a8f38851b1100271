"""`gpuflow collective`: one collective by size and algorithm, or every transfer of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpuflow.cli.calibrated import calibrated
from gpuflow.cli.options import CalibrationOption, Sizes, bad_option, one_of, sizes, whole
from gpuflow.cli.output import Output
from gpuflow.cli.streams import can_show
from gpuflow.errors import InputError, ScenarioError
from gpuflow.scenario.spec import COLLECTIVES

if TYPE_CHECKING:
    from gpuflow.cluster.selection import Case, Selection
    from gpuflow.cluster.winners import Winner
    from gpuflow.exporters.tables import Table
    from gpuflow.scenario.spec import ClusterSpec

ITEM_BYTES = {
    "int8": 1,
    "uint8": 1,
    "float16": 2,
    "int32": 4,
    "float32": 4,
    "int64": 8,
    "float64": 8,
}
KERNELS = (
    "nccl",
    "rccl",
    "vllm_custom",
    "trtllm_custom",
    "nvls_multimem",
    "one_shot",
    "two_shot",
    "custom",
)
LAUNCHES = (
    "nccl-tests",
    "rccl-tests",
    "cuda_graph",
    "eager",
    "profiler",
    "stream",
    "custom",
    "fused",
)
"""The cluster room's own names; written here too, so that help loads no arrays."""
MOST_RANKS = 16_384
DEFAULT_SIZES = "4KiB..256MiB"
DEFAULT_GPU = "h100-sxm"
MOST_TRACED = 1 << 20
"""Elements over all ranks that a trace writes out; more is no longer read by anybody."""
MOST_TRACED_RANKS = 128

OperationArgument = Annotated[str, typer.Argument(parser=one_of("OP", COLLECTIVES), metavar="OP")]
RanksOption = Annotated[
    int | None, typer.Option(parser=whole("--ranks", 2, MOST_RANKS), metavar="N")
]
NodesOption = Annotated[int | None, typer.Option(parser=whole("--nodes"), metavar="K")]
GpuOption = Annotated[str | None, typer.Option(metavar="NAME")]
SizesOption = Annotated[Sizes | None, typer.Option(parser=sizes("--sizes"), metavar="S|A..B,...")]
DtypeOption = Annotated[
    str | None, typer.Option(parser=one_of("--dtype", tuple(ITEM_BYTES)), metavar="TYPE")
]
AlgorithmOption = Annotated[str | None, typer.Option(metavar="NAME")]
KernelOption = Annotated[
    str | None, typer.Option(parser=one_of("--kernel", KERNELS), metavar="NAME")
]
LaunchOption = Annotated[
    str | None, typer.Option(parser=one_of("--launch", LAUNCHES), metavar="MODE")
]
FabricOption = Annotated[str | None, typer.Option(metavar="NAME")]
TraceOption = Annotated[bool, typer.Option("--trace")]
AsciiOption = Annotated[bool, typer.Option("--ascii")]


def collective(
    output: Output,
    op: OperationArgument,
    ranks: RanksOption = None,
    nodes: NodesOption = None,
    gpu: GpuOption = None,
    fabric: FabricOption = None,
    sizes: SizesOption = None,
    dtype: DtypeOption = None,
    algorithm: AlgorithmOption = None,
    kernel: KernelOption = None,
    launch: LaunchOption = None,
    calibration: CalibrationOption = None,
    trace: TraceOption = False,
    ascii_: AsciiOption = False,
) -> None:
    """Print the points with plots, and with --trace the transfers."""
    from gpuflow.cluster.selection import select
    from gpuflow.exporters.collective_trace import trace_tables
    from gpuflow.exporters.collectives import document, point_records

    if trace and output.format == "csv":
        raise bad_option("--trace", "trace_csv")
    if trace and sizes is not None and len(sizes.size_bytes) > 1:
        raise bad_option("--sizes", "trace_sizes", count=len(sizes.size_bytes))
    n_ranks = ranks or (2 if op == "send_recv" else 8)
    if op == "send_recv" and n_ranks != 2:
        raise bad_option("--ranks", "ranks_send_recv", found=n_ranks)
    case = _case(op, _cluster(gpu or DEFAULT_GPU, n_ranks, nodes, fabric), n_ranks, kernel, launch)
    wanted = (sizes or _default_sizes(n_ranks, trace)).size_bytes
    names = runnable_names(case)
    asked = None if algorithm is None else one_of("--algorithm", names)(algorithm)
    with calibrated(calibration, output) as output:
        selection = select(case, wanted, asked)
        kind = dtype or ("int32" if trace else "float32")
        traced = _trace(selection, names, kind) if trace else {}
        if output.format == "json":
            found = document(selection, _winners(selection, asked))
            output.document({"inputs": _inputs(selection, kind, asked), **found, **traced})
        elif output.format == "csv":
            output.records(point_records(selection))
        elif trace:
            output.tables(*trace_tables(traced, op, output.language))
        else:
            output.tables(*_view(selection, asked, output, is_ascii=ascii_))


def _cluster(gpu: str, n_ranks: int, nodes: int | None, fabric: str | None) -> ClusterSpec:
    """The machines, one of their fabrics replaced if the user names another."""
    from gpuflow.scenario import catalog
    from gpuflow.scenario.machines import machines

    cluster = machines(gpu, n_ranks, nodes)
    if fabric is None:
        return cluster
    try:
        found = catalog.fabric(fabric)
    except ScenarioError as error:
        raise InputError([replace(one, key="--fabric") for one in error.problems]) from None
    if found.tier == "scale_up":
        return replace(cluster, scale_up=found)
    if n_ranks <= cluster.gpus_per_node:
        raise bad_option("--fabric", "fabric_between_nodes", fabric=found.title, ranks=n_ranks)
    return replace(cluster, scale_out=found)


def _case(
    op: str, cluster: ClusterSpec, n_ranks: int, kernel: str | None, launch: str | None
) -> Case:
    """What is run: a kernel and a launch mode that go together, and fit the collective."""
    from gpuflow.cluster import selection

    library = selection.library_kernel(cluster)
    chosen = kernel or _KERNEL_OF_LAUNCH.get(launch or "", library)
    mode = launch or selection.default_launch(chosen)
    case = selection.Case(
        collective=op, cluster=cluster, n_ranks=n_ranks, kernel=chosen, launch=mode
    )
    key = "--kernel" if kernel else "--launch"
    if chosen not in selection.ENGINE_KERNELS:
        if mode in _KERNEL_OF_LAUNCH:
            allowed = list(selection.ENGINE_KERNELS)
            raise bad_option(key, "launch_engine_only", found=mode, allowed=allowed)
    elif op != "all_reduce":
        raise bad_option(key, "kernel_all_reduce_only", kernel=chosen, found=op)
    elif case.n_nodes > 1:
        raise bad_option(key, "kernel_one_node", kernel=chosen, nodes=case.n_nodes)
    elif chosen == "nvls_multimem" and "nvls" not in runnable_names(case):
        raise bad_option(key, "kernel_needs_switch", kernel=chosen, gpu=cluster.device.title)
    return case


_KERNEL_OF_LAUNCH = {"custom": "vllm_custom", "fused": "trtllm_custom"}
"""Whose kernel is meant where only a launch mode of engines' own kernels is given."""


def runnable_names(case: Case) -> tuple[str, ...]:
    """Algorithms that these machines can run."""
    from gpuflow.cluster.points import runnable

    return runnable(case.collective, case.cluster, case.n_ranks)


def _inputs(selection: Selection, dtype: str, algorithm: str | None) -> dict[str, object]:
    case = selection.case
    return {
        "collective": case.collective,
        "ranks": case.n_ranks,
        "nodes": case.n_nodes,
        "gpu": case.cluster.device.name,
        "scale_up": case.cluster.scale_up.name,
        "scale_out": case.cluster.scale_out.name,
        "sizes_bytes": selection.sizes.astype(int).tolist(),
        "dtype": dtype,
        "algorithm": algorithm,
        "kernel": case.kernel,
        "launch": case.launch,
    }


def _winners(selection: Selection, algorithm: str | None) -> dict[str, tuple[Winner, ...]]:
    """Ranges of sizes by what tells the winner; nothing for a single size."""
    from gpuflow.cluster.winners import choice_winners, measured_winners, schedule_winners

    case, low, high = selection.case, float(selection.sizes.min()), float(selection.sizes.max())
    if low == high:
        return {}
    schedules = schedule_winners(case, low, high, algorithm)
    if algorithm is not None:
        return {"choice": schedules}
    return {
        "choice": choice_winners(case, low, high),
        "schedule": schedules,
        "measured": measured_winners(case, low, high),
    }


def _view(
    selection: Selection, algorithm: str | None, output: Output, *, is_ascii: bool
) -> Iterator[Table | str]:
    """Everything for people, one part below the other."""
    from gpuflow.exporters import collective_tables as tables
    from gpuflow.exporters.collective_plots import letters

    language = output.language
    yield tables.heading(selection, language)
    winners = _winners(selection, algorithm)
    names = letters(selection.simulated.algorithms)
    if winners:
        yield tables.winners_table(selection, winners, language)
        if output.format == "table":
            yield from _plots(selection, algorithm, names, output, is_ascii=is_ascii)
    yield tables.selected_table(selection, language)
    if len(names) > 1:
        width = output.width if output.format == "table" else None
        yield tables.schedules_table(selection, names, language, width)
    if selection.planned:
        yield tables.plans_table(selection, language)


def _plots(
    selection: Selection,
    algorithm: str | None,
    names: dict[str, str],
    output: Output,
    *,
    is_ascii: bool,
) -> Iterator[str]:
    """The pictures, as wide as the terminal; none where it is too narrow."""
    from gpuflow.cluster.selection import select
    from gpuflow.cluster.winners import grid
    from gpuflow.exporters.collective_plots import plots_text
    from gpuflow.exporters.grid import painter
    from gpuflow.exporters.plot import NARROWEST

    width = min(output.width or _PIPE_WIDTH, _WIDEST)
    if width < NARROWEST:
        return
    low, high = float(selection.sizes.min()), float(selection.sizes.max())
    is_fine = not is_ascii and can_show(output.streams.stdout, _FINE_SIGNS)
    yield plots_text(
        select(selection.case, grid(low, high, 2 * width), algorithm),
        names,
        output.language,
        width,
        painter(output.has_color),
        is_fine=is_fine,
    )


_PIPE_WIDTH, _WIDEST = 80, 120
_FINE_SIGNS = "\u28ff\u2501\u25cf\u2502\u2524\u2514\u2534"


def _default_sizes(n_ranks: int, is_traced: bool) -> Sizes:
    """A range that shows both ends; for a trace four numbers of 4 bytes a rank."""
    return Sizes((16 * n_ranks,)) if is_traced else sizes("--sizes")(DEFAULT_SIZES)


def _trace(selection: Selection, names: tuple[str, ...], dtype: str) -> dict[str, Any]:
    """Every transfer of the first size, by what is chosen, or by the quickest schedule.

    A library's plan may have no schedule of its name.
    """
    from gpuflow.collectives.trace import trace

    case = selection.case
    algorithm = selection.choices[int(selection.choice[0])].algorithm
    if algorithm not in names:
        algorithm = selection.simulated.algorithms[int(selection.simulated.best[0])]
    elements = int(selection.sizes[0]) // ITEM_BYTES[dtype]
    if case.n_ranks > MOST_TRACED_RANKS or case.n_ranks * elements > MOST_TRACED:
        raise bad_option(
            "--trace",
            "trace_too_large",
            hint="fewer_elements",
            ranks=case.n_ranks,
            elements=elements,
            most_ranks=MOST_TRACED_RANKS,
            most=MOST_TRACED,
        )
    levels = case.cluster.gpus_per_node if case.n_nodes > 1 else None
    found = trace(case.collective, algorithm, case.n_ranks, elements, dtype, ranks_per_node=levels)
    return {"algorithm": algorithm, "elements": elements, **found}
