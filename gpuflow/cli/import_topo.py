"""`gpuflow import topo FILE`: the links of one machine, and what hurts inference on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from gpuflow.cli.output import Output

if TYPE_CHECKING:
    from gpuflow.scenario.topology import Topology

FileArgument = Annotated[str, typer.Argument(metavar="FILE|-")]
WriteOption = Annotated[str | None, typer.Option("--write", metavar="FILE")]
GpuOption = Annotated[str | None, typer.Option("--gpu", metavar="NAME")]


def import_topo(
    output: Output, file: FileArgument, write: WriteOption = None, gpu: GpuOption = None
) -> int:
    """Print the matrix of a machine, with warnings and doubts; perhaps write a scenario."""
    from gpuflow.cli.boxes import topology_of, usable_topology

    if write is not None:
        _write(usable_topology(file), write, gpu)
    return show_topology(topology_of(file), output)


def _write(topology: Topology, name: str, gpu: str | None) -> None:
    """A scenario on the machine, in a new file."""
    from pathlib import Path

    from gpuflow.cli.options import bad_option
    from gpuflow.exporters.box_scenario import box_scenario

    text = box_scenario(topology, gpu)
    try:
        with Path(name).open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise bad_option("--write", "topo_file_exists", found=name) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise bad_option("--write", "topo_cannot_write", reason=reason) from None


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
