"""`gpuflow collective`: one collective by size and algorithm, or every transfer of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from gpuflow.cli.options import Sizes, bad_option, one_of, sizes, whole
from gpuflow.cli.output import Output

if TYPE_CHECKING:
    from gpuflow.scenario.spec import ClusterSpec

OPERATIONS = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "broadcast",
    "reduce",
    "scatter",
    "gather",
    "send_recv",
)
ITEM_BYTES = {
    "int8": 1,
    "uint8": 1,
    "float16": 2,
    "int32": 4,
    "float32": 4,
    "int64": 8,
    "float64": 8,
}
MOST_RANKS = 16_384
DEFAULT_SIZES = "4KiB..256MiB"
DEFAULT_GPU = "h100-sxm"
MOST_TRACED = 1 << 20
"""Elements over all ranks that a trace writes out; more is no longer read by anybody."""
MOST_TRACED_RANKS = 128

OperationArgument = Annotated[str, typer.Argument(parser=one_of("OP", OPERATIONS), metavar="OP")]
RanksOption = Annotated[
    int | None, typer.Option(parser=whole("--ranks", 2, MOST_RANKS), metavar="N")
]
NodesOption = Annotated[int | None, typer.Option(parser=whole("--nodes"), metavar="K")]
GpuOption = Annotated[str | None, typer.Option(metavar="NAME")]
SizesOption = Annotated[Sizes | None, typer.Option(parser=sizes("--sizes"), metavar="A..B|S")]
DtypeOption = Annotated[
    str | None, typer.Option(parser=one_of("--dtype", tuple(ITEM_BYTES)), metavar="TYPE")
]
AlgorithmOption = Annotated[str | None, typer.Option(metavar="NAME")]
TraceOption = Annotated[bool, typer.Option("--trace")]


def collective(
    output: Output,
    op: OperationArgument,
    ranks: RanksOption = None,
    nodes: NodesOption = None,
    gpu: GpuOption = None,
    sizes: SizesOption = None,
    dtype: DtypeOption = None,
    algorithm: AlgorithmOption = None,
    trace: TraceOption = False,
) -> None:
    """Print the points, and with --trace the transfers."""
    from gpuflow.cluster.points import collective_points
    from gpuflow.exporters.collectives import (
        points_table,
        record,
        trace_tables,
    )
    from gpuflow.scenario.machines import machines

    n_ranks = ranks or (2 if op == "send_recv" else 8)
    if op == "send_recv" and n_ranks != 2:
        raise bad_option("--ranks", "ranks_send_recv", found=n_ranks)
    cluster = machines(gpu or DEFAULT_GPU, n_ranks, nodes)
    wanted = (sizes or _default_sizes(n_ranks, trace)).size_bytes
    names = _algorithms(op, algorithm, cluster, n_ranks)
    points = collective_points(op, cluster, n_ranks, wanted, names)
    kind = dtype or ("int32" if trace else "float32")
    inputs = {
        "collective": op,
        "ranks": n_ranks,
        "nodes": -(-n_ranks // cluster.gpus_per_node),
        "gpu": cluster.device.name,
        "scale_up": cluster.scale_up.name,
        "scale_out": cluster.scale_out.name,
        "sizes_bytes": list(wanted),
        "dtype": kind,
        "algorithm": algorithm,
    }
    traced = {}
    if trace:
        chosen = next(point.algorithm for point in points if point.chosen)
        levels = cluster.gpus_per_node if n_ranks > cluster.gpus_per_node else None
        traced = _trace(op, algorithm or chosen, n_ranks, wanted[0], kind, levels)
    if output.format == "json":
        output.document({"inputs": inputs, "points": list(map(record, points)), **traced})
    elif output.format == "csv":
        output.records(list(map(record, points)))
    elif trace:
        output.tables(*trace_tables(traced, op, output.language))
    else:
        output.tables(points_table(points, cluster, inputs, output.language))


def _default_sizes(n_ranks: int, is_traced: bool) -> Sizes:
    """A range that shows both ends; for a trace four numbers of 4 bytes a rank."""
    return Sizes((16 * n_ranks,)) if is_traced else sizes("--sizes")(DEFAULT_SIZES)


def _algorithms(
    op: str, algorithm: str | None, cluster: ClusterSpec, n_ranks: int
) -> tuple[str, ...]:
    from gpuflow.cluster.points import runnable

    known = runnable(op, cluster, n_ranks)
    return known if algorithm is None else (one_of("--algorithm", known)(algorithm),)


def _trace(
    op: str,
    algorithm: str,
    n_ranks: int,
    size_bytes: int,
    dtype: str,
    ranks_per_node: int | None,
) -> dict[str, Any]:
    from gpuflow.collectives.trace import trace

    elements = size_bytes // ITEM_BYTES[dtype]
    if n_ranks > MOST_TRACED_RANKS or n_ranks * elements > MOST_TRACED:
        raise bad_option(
            "--trace",
            "trace_too_large",
            hint="fewer_elements",
            ranks=n_ranks,
            elements=elements,
            most_ranks=MOST_TRACED_RANKS,
            most=MOST_TRACED,
        )
    found = trace(op, algorithm, n_ranks, elements, dtype, ranks_per_node=ranks_per_node)
    return {"algorithm": algorithm, "elements": elements, **found}
