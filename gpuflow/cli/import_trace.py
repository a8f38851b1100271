"""`gpuflow import trace FILE...`: what PyTorch's profiler recorded."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from gpuflow.cli.options import bad_option, whole
from gpuflow.cli.output import Output
from gpuflow.cli.screens import AsciiOption, AtOption, ScreenSize, SizeOption

if TYPE_CHECKING:
    from gpuflow.exporters.tables import Table
    from gpuflow.importers.trace.reading import Reading
    from gpuflow.importers.trace.runs import Comparison, Run
    from gpuflow.scenario.model_spec import ModelSpec

FilesArgument = Annotated[list[str], typer.Argument(metavar="FILE...")]
GpuOption = Annotated[str | None, typer.Option(metavar="NAME")]
NodesOption = Annotated[int | None, typer.Option(parser=whole("--nodes"), metavar="K")]
ModelOption = Annotated[str | None, typer.Option(metavar="NAME|FILE")]
PlayOption = Annotated[bool, typer.Option("--play")]
PrintOption = Annotated[bool, typer.Option("--print")]

UNUSABLE = 2


def import_trace(
    output: Output,
    files: FilesArgument,
    gpu: GpuOption = None,
    nodes: NodesOption = None,
    model: ModelOption = None,
    play: PlayOption = False,
    print_: PrintOption = False,
    at: AtOption = None,
    size: SizeOption = None,
    ascii_: AsciiOption = False,
) -> int:
    """Print what each run holds, or play the first one's step; 2 where nothing can be used."""
    from gpuflow.exporters import trace_document as exporter
    from gpuflow.importers.trace.runs import compare

    output = replace(output, verb="import-trace")
    is_played = play or print_
    _check_play(output, at, size, is_played=is_played, is_ascii=ascii_)
    runs = _runs(files, gpu, nodes, model, output)
    if is_played and not runs[0].is_refused:
        from gpuflow.cli.recorded import play_recorded

        reading = runs[0].first
        return play_recorded(reading, output, at, size, is_frame=print_, is_ascii=ascii_)
    usable = [run for run in runs if not run.is_refused and run.first.n_kernels]
    comparisons = [compare(usable[0], other) for other in usable[1:]]
    if output.format == "json":
        inputs: dict[str, object] = {"files": files, "gpu": gpu, "nodes": nodes, "model": model}
        document = exporter.trace_document(runs, comparisons, output.language)
        output.document({"inputs": inputs, **document})
    elif output.format == "csv":
        output.records(exporter.collective_rows(runs))
    else:
        output.tables(*_view(runs, comparisons, output))
    if all(run.is_refused for run in runs):
        output.say("import_trace.nothing_usable")
        return UNUSABLE
    return 0


def _check_play(
    output: Output, at: str | None, size: ScreenSize | None, *, is_played: bool, is_ascii: bool
) -> None:
    """Refuse a play in a format for programs, and options of a play where none is asked for."""
    if is_played and output.format != "table":
        raise bad_option("--play", "trace_play_format", found=output.format)
    given = {"--at": at is not None, "--size": size is not None, "--ascii": is_ascii}
    idle = next((name for name, is_given in given.items() if is_given), None)
    if idle is not None and not is_played:
        raise bad_option(idle, "trace_play_option")


def _runs(
    files: Sequence[str], gpu: str | None, nodes: int | None, model: str | None, output: Output
) -> tuple[Run, ...]:
    """The runs of all files with what is expected of them."""
    from gpuflow.importers.trace.expected import with_expected
    from gpuflow.importers.trace.runs import runs_of, with_collectives
    from gpuflow.scenario import catalog

    gpu = catalog.device(gpu).name if gpu else None
    spec = _model(model) if model else None
    readings = _readings(files, gpu, spec, output)
    found = []
    for run in runs_of(readings):
        measured = [one.collective for one in run.collectives]
        expected = with_expected(measured, run.first.gpu, nodes)
        found.append(with_collectives(run, expected))
    return tuple(found)


def _readings(
    files: Sequence[str], gpu: str | None, model: ModelSpec | None, output: Output
) -> list[Reading]:
    """Every file, with a bar that says how far it is."""
    from gpuflow.cli.progress import Progress
    from gpuflow.importers.trace.blocks import size_of
    from gpuflow.importers.trace.reading import read_trace

    sizes = [size_of(file) for file in files]
    progress = Progress(output, sum(sizes))
    readings = []
    try:
        for place, file in enumerate(files):
            before = sum(sizes[:place])

            def on_read(done: int, before: int = before) -> None:
                progress.update(before + done)

            readings.append(read_trace(file, gpu, model, on_read))
    finally:
        progress.end()
    return readings


def _model(name: str) -> ModelSpec:
    """A model of the catalogue, or one that a config.json describes."""
    from pathlib import Path

    from gpuflow.importers.hf_config import read_model
    from gpuflow.scenario import catalog

    path = Path(name)
    is_file = not catalog.has_model(name) and path.exists()
    return read_model(path) if is_file else catalog.model(name)


def _view(
    runs: Sequence[Run], comparisons: Sequence[Comparison], output: Output
) -> Iterator[Table | str]:
    """Everything for people, one run below the other."""
    from gpuflow.exporters.trace_tables import comparison_table, run_tables

    for run in runs:
        yield from run_tables(run, output.language)
    for comparison in comparisons:
        yield comparison_table(comparison, output.language)
