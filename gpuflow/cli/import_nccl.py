"""`gpuflow import nccl LOG...`: what nccl-tests and rccl-tests printed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from gpuflow.cli.collective import MOST_RANKS
from gpuflow.cli.options import bad_option, share, whole
from gpuflow.cli.output import Output
from gpuflow.cli.streams import can_show, put_file

if TYPE_CHECKING:
    from gpuflow.exporters.nccl_runs import ReadRun
    from gpuflow.exporters.tables import Table
    from gpuflow.importers.nccl_reading import Known

LogsArgument = Annotated[list[str], typer.Argument(metavar="LOG...")]
ExpectOption = Annotated[
    float | None, typer.Option("--expect", parser=share("--expect"), metavar="SHARE")
]
CompareOption = Annotated[bool, typer.Option("--compare")]
PlotOption = Annotated[bool, typer.Option("--plot")]
AsciiOption = Annotated[bool, typer.Option("--ascii")]
GpuOption = Annotated[str | None, typer.Option(metavar="NAME")]
RanksOption = Annotated[
    int | None, typer.Option(parser=whole("--ranks", 2, MOST_RANKS), metavar="N")
]
NodesOption = Annotated[int | None, typer.Option(parser=whole("--nodes"), metavar="K")]
FabricOption = Annotated[str | None, typer.Option(metavar="NAME")]
WriteOption = Annotated[str | None, typer.Option("--write", metavar="FILE")]

SHORT, UNUSABLE = 1, 2


def import_nccl(
    output: Output,
    logs: LogsArgument,
    gpu: GpuOption = None,
    ranks: RanksOption = None,
    nodes: NodesOption = None,
    fabric: FabricOption = None,
    expect: ExpectOption = None,
    write: WriteOption = None,
    compare: CompareOption = False,
    plot: PlotOption = False,
    ascii_: AsciiOption = False,
) -> int:
    """Print what each log holds; 1 below what is expected, 2 where nothing can be used."""
    from gpuflow.exporters import nccl_runs as exporter
    from gpuflow.exporters.nccl_comparisons import (
        compared_rows,
        comparison_record,
        comparison_table,
    )
    from gpuflow.importers.nccl_compare import compare_runs
    from gpuflow.importers.nccl_reading import Known

    output = replace(output, verb="import-nccl")
    known = Known(gpu=gpu, ranks=ranks, nodes=nodes)
    runs = [run for log in logs for run in _runs(log, known, fabric)]
    status = _status(runs, expect)
    if write is not None:
        _write(runs, write, output)
    readings = [run.reading for run in runs]
    compared = compare_runs(readings)
    if compare and not compared:
        raise bad_option("--compare", "nccl_nothing_to_compare")
    if output.format == "json":
        inputs: dict[str, object] = {"files": logs, "gpu": gpu, "ranks": ranks}
        inputs |= {"nodes": nodes, "fabric": fabric, "expect": expect}
        records = [exporter.run_record(run, output.language) for run in runs]
        both = [comparison_record(one) for one in compared]
        output.document({"inputs": inputs, "runs": records, "comparisons": both})
    elif output.format == "csv":
        records = [exporter.run_record(run, output.language) for run in runs]
        rows = compared_rows(compared, readings) if compare else exporter.row_records(records)
        output.records(rows)
    else:
        view = () if compare else _view(runs, output, is_plotted=plot, is_ascii=ascii_)
        tables = (comparison_table(one, readings, output.language) for one in compared)
        output.tables(*view, *tables)
    _tell(runs, expect, output)
    return status


def _write(runs: list[ReadRun], file: str, output: Output) -> None:
    """Write the fits as a calibration file; of lines of NCCL alone, a scenario on its machines."""
    from gpuflow.importers.calibration_file import calibration_text

    told = [run.reading for run in runs if run.reading.is_debug_only]
    if told and len(told) == len(runs):
        from gpuflow.exporters.nccl_said import said_scenario

        put_file(file, said_scenario(told[0], told[0].raw.file).encode())
        output.say("import_nccl.scenario_written", file=file)
        return
    text, count = calibration_text([(run.reading, run.fit, run.verdict) for run in runs])
    if not count:
        raise bad_option("--write", "nccl_nothing_fitted")
    put_file(file, text.encode())
    output.say("import_nccl.written", file=file, count=count)


def _runs(log: str, known: Known, fabric: str | None) -> Iterator[ReadRun]:
    """The runs of one log with everything that can be made of them."""
    from gpuflow.exporters.nccl_runs import ReadRun
    from gpuflow.importers.nccl_fit import fit_log
    from gpuflow.importers.nccl_judge import command_line, judge
    from gpuflow.importers.nccl_log import read_log
    from gpuflow.importers.nccl_reading import understand

    for raw in read_log(log):
        reading = understand(raw, known)
        yield ReadRun(
            reading=reading,
            fit=fit_log(reading),
            verdict=judge(reading, fabric),
            command=command_line(reading),
        )


def _status(runs: list[ReadRun], expect: float | None) -> int:
    """0; 1 where a run misses the share of what is expected; 2 where nothing can be used."""
    from gpuflow.importers.nccl_judge import Verdict

    if all(run.reading.refused for run in runs):
        return UNUSABLE
    if expect is None:
        return 0
    verdicts = [run.verdict for run in runs if isinstance(run.verdict, Verdict)]
    if not verdicts:
        raise bad_option("--expect", "nccl_no_verdict", hint="nccl_say_gpu")
    return SHORT if any(one.peak.share < expect for one in verdicts) else 0


def _tell(runs: list[ReadRun], expect: float | None, output: Output) -> None:
    """Say in a line on stderr what the status means."""
    from gpuflow.importers.nccl_judge import Verdict
    from gpuflow.units import format_share

    if all(run.reading.refused for run in runs):
        output.say("import_nccl.nothing_usable")
    for run in runs:
        if expect is not None and isinstance(run.verdict, Verdict):
            share_here = run.verdict.peak.share
            key = "short" if share_here < expect else "kept"
            values = {"share": format_share(share_here), "expect": format_share(expect)}
            raw = run.reading.raw
            is_alone = sum(one.reading.raw.file == raw.file for one in runs) == 1
            place = raw.file if is_alone else f"{raw.file}:{raw.line}"
            output.say(f"import_nccl.expect_{key}", file=place, **values)


def _view(
    runs: list[ReadRun], output: Output, *, is_plotted: bool, is_ascii: bool
) -> Iterator[Table | str]:
    """Everything for people, one run below the other."""
    from gpuflow.exporters import nccl_runs as exporter

    for run in runs:
        yield from exporter.run_tables(run, output.language)
        if is_plotted and output.format == "table":
            yield from _picture(run, output, is_ascii=is_ascii)


def _picture(run: ReadRun, output: Output, *, is_ascii: bool) -> Iterator[str]:
    """The picture, as wide as the terminal; none where it is too narrow."""
    from gpuflow.exporters.grid import painter
    from gpuflow.exporters.nccl_plot import run_plot
    from gpuflow.exporters.plot import NARROWEST

    width = min(output.width or 80, 120)
    if width < NARROWEST:
        return
    is_fine = not is_ascii and can_show(output.streams.stdout, "\u28ff\u2501\u25cf\u2502")
    paint = painter(output.has_color)
    found = run_plot(run, output.language, width, paint, is_fine=is_fine)
    if found is not None:
        yield found
