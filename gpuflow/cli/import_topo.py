"""`gpuflow import topo FILE`: the links of one machine, and what hurts inference on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gpuflow.cli.output import Output

if TYPE_CHECKING:
    from gpuflow.scenario.topology import Topology

FileArgument = Annotated[str, typer.Argument(metavar="FILE|-")]


def import_topo(output: Output, file: FileArgument) -> int:
    """Print the matrix of a machine, with warnings and doubts."""
    from gpuflow.cli.boxes import topology_of

    return show_topology(topology_of(file), output)


def show_topology(topology: Topology, output: Output) -> int:
    """Print a machine's links; 2 where they must not be relied on."""
    from gpuflow.exporters.topo import refusal_text, topology_document, topology_tables

    document = topology_document(topology, output.language)
    if output.format == "json":
        output.document({"inputs": {"file": topology.file}, **document})
    elif output.format == "csv":
        links = document["links"]
        output.records(links if isinstance(links, list) else [])
        if topology.refused:
            output.tell(refusal_text(topology, output.language))
    else:
        output.tables(*topology_tables(topology, output.language))
    return 2 if topology.refused else 0
