"""`gpuflow sweep`: many splits, batches and lengths, and which of them nothing else beats."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from gpuflow.cli.failures import INTERRUPTED
from gpuflow.cli.options import CalibrationOption, Request, bad_option, launch_line, whole
from gpuflow.cli.output import Output
from gpuflow.cli.progress import Progress
from gpuflow.cli.streams import can_show, write_text
from gpuflow.cli.targets import TpotOption, TtftOption, targets_of
from gpuflow.importers.launch.reading import Launch

if TYPE_CHECKING:
    from gpuflow.engine.sweep_grid import Axes, SweepGrid
    from gpuflow.engine.targets import Targets
    from gpuflow.scenario.spec import Scenario

MOST_VALUES = 1_000_000
MOST_LISTED = 100_000
"""Points that `--all` writes into one JSON document or table."""
_PIPE_WIDTH, _WIDEST = 80, 120
_FINE_SIGNS = "\u28ff\u2501\u25cf\u2502\u2524\u2514\u2534"


@dataclass(frozen=True, slots=True)
class Values:
    """Values of an axis, rising."""

    numbers: tuple[int, ...]


def values_of(option: str) -> object:
    """An option that takes `1,2,4`, `1..256` (doubling) or `1..256:5` (in steps)."""

    def parse(text: str) -> Values:
        found: set[int] = set()
        for part in text.split(","):
            found |= set(_range(option, part))
            if len(found) > MOST_VALUES:
                raise bad_option(option, "sweep_values", found=text, most=f"{MOST_VALUES:,}")
        return Values(tuple(sorted(found)))

    return typer.Option(option, parser=parse, metavar="VALUES")


def _range(option: str, text: str) -> range | list[int]:
    number = whole(option)
    first, dots, last = text.partition("..")
    if not dots:
        return [number(text)]
    last, colon, step = last.partition(":")
    low, high = number(first), number(last)
    if high < low:
        raise bad_option(option, "sweep_range", found=text)
    if colon:
        return range(low, high + 1, number(step))
    found = [low]
    while found[-1] * 2 <= high:
        found.append(found[-1] * 2)
    return found if found[-1] == high else [*found, high]


ScenarioArgument = Annotated[str | None, typer.Argument(metavar="[SCENARIO]")]
LaunchOption = Annotated[
    Launch | None, typer.Option("--launch", parser=launch_line, metavar="LINE|FILE")
]
NameOption = Annotated[str | None, typer.Option(metavar="NAME")]
ModelOption = Annotated[str | None, typer.Option("--model", metavar="NAME|PATH")]
NumberOption = Annotated[int | None, typer.Option(parser=whole("--context"), metavar="N")]
AnswerOption = Annotated[
    int | None, typer.Option("--output", "--osl", parser=whole("--output"), metavar="N")
]
GpusOption = Annotated[int | None, typer.Option("--gpus", parser=whole("--gpus"), metavar="N")]
AllOption = Annotated[bool, typer.Option("--all")]
AsciiOption = Annotated[bool, typer.Option("--ascii")]
TpValues = Annotated[Values | None, values_of("--tp")]
PpValues = Annotated[Values | None, values_of("--pp")]
DpValues = Annotated[Values | None, values_of("--dp")]
EpValues = Annotated[Values | None, values_of("--ep")]
BatchValues = Annotated[Values | None, values_of("--batch")]
PromptValues = Annotated[Values | None, values_of("--prompt")]


def sweep(
    output: Output,
    scenario: ScenarioArgument = None,
    launch: LaunchOption = None,
    model: ModelOption = None,
    gpu: NameOption = None,
    fabric: NameOption = None,
    tp: TpValues = None,
    pp: PpValues = None,
    dp: DpValues = None,
    ep: EpValues = None,
    batch: BatchValues = None,
    prompt: PromptValues = None,
    output_tokens: AnswerOption = None,
    context: NumberOption = None,
    precision: NameOption = None,
    profile: NameOption = None,
    gpus: GpusOption = None,
    ttft: TtftOption = None,
    tpot: TpotOption = None,
    all_: AllOption = False,
    ascii_: AsciiOption = False,
    calibration: CalibrationOption = None,
) -> int:
    """Evaluate all combinations and print what is best; interrupted, what there is of it."""
    from gpuflow.cli.calibrated import calibrated
    from gpuflow.cli.request import scenario_of

    # the scenario's own split need not be possible for another model
    one = None if launch else 1
    plain = Request(
        scenario=scenario,
        launch=launch,
        model=model,
        gpu=gpu,
        fabric=fabric,
        tp=one,
        pp=one,
        dp=one,
        ep=one,
        output=output_tokens,
        context=context,
        precision=precision,
        profile=profile,
    )
    if launch is not None:
        from gpuflow.cli.launching import announce

        output = announce(plain, output)
    base = scenario_of(plain)
    usual = _usual(base, scenario, launch)
    asked = {"tp": tp, "pp": pp, "dp": dp, "ep": ep, "batch": batch, "prompt": prompt}
    given = {name: values.numbers for name, values in asked.items() if values is not None}
    grid = _grid(base, replace(usual, **given), gpus)
    with calibrated(calibration, output) as output:
        is_whole, done = _run(grid, output)
        _write(
            _Found(
                grid=grid,
                targets=targets_of(ttft, tpot),
                gpus=gpus,
                done=done,
                is_whole=is_whole,
                wants_all=all_,
            ),
            output,
            is_ascii=ascii_,
        )
    return 0 if is_whole else INTERRUPTED


def _grid(base: Scenario, axes: Axes, gpus: int | None) -> SweepGrid:
    """All combinations that can be; an error where there are none, or too many."""
    from gpuflow.engine.sweep_grid import MOST_POINTS, SweepGrid

    if axes.n_points > MOST_POINTS:
        most = f"{MOST_POINTS:,}"
        raise bad_option("sweep", "sweep_points", found=f"{axes.n_points:,}", most=most)
    grid = SweepGrid(base, axes, gpus)
    if not grid.splits:
        raise bad_option("sweep", "sweep_no_split", model=base.model.title, gpus=gpus or "-")
    return grid


def _usual(base: Scenario, scenario: str | None, launch: Launch | None) -> Axes:
    """What is combined where nothing else is asked for.

    A launch line's own split; else splits inside a node, replicas and expert groups as the scenario
    has them, and batches up to 256.
    """
    from gpuflow.cli.request import scenario_of
    from gpuflow.engine.sweep_grid import Axes

    own = base.parallel
    if launch is None and scenario is not None:
        own = scenario_of(Request(scenario=scenario)).parallel
    per_node = base.cluster.gpus_per_node
    inside = tuple(2**n for n in range(10) if 2**n <= per_node)
    return Axes(
        tp=(own.tp,) if launch else inside,
        pp=(own.pp,) if launch else (1, 2, 4),
        dp=(own.dp,),
        ep=(own.ep if base.model.has_experts else 1,),
        batch=tuple(2**n for n in range(9)),
        prompt=(base.workload.prompt_tokens,),
    )


def _run(grid: SweepGrid, output: Output) -> tuple[bool, int]:
    """Evaluate; whether it came to its end, and how many points were done."""
    bar, done = Progress(output, grid.n_points), 0
    try:
        for done in grid.blocks():
            bar.update(done)
    except KeyboardInterrupt:
        bar.end()
        output.say("sweep.interrupted", done=f"{done:,}", total=f"{grid.n_points:,}")
        return False, done
    bar.end()
    return True, done


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What was evaluated, and what is to be said of it."""

    grid: SweepGrid
    targets: Targets
    gpus: int | None
    done: int
    is_whole: bool
    wants_all: bool


def _write(found: _Found, output: Output, *, is_ascii: bool) -> None:
    from gpuflow.exporters.sweeps import (
        csv_rows,
        point_records,
        sweep_document,
        sweep_picture,
        sweep_table,
    )

    grid, targets = found.grid, found.targets
    if found.wants_all and output.format != "csv" and grid.n_points > MOST_LISTED:
        raise bad_option("--all", "sweep_all", found=f"{grid.n_points:,}", most=f"{MOST_LISTED:,}")
    if output.format == "csv":
        for text in csv_rows(grid, targets, wants_all=found.wants_all):
            write_text(output.streams.stdout, text)
    elif output.format == "json":
        document = sweep_document(grid, targets, found.gpus, is_whole=found.is_whole)
        if found.wants_all:
            document["points"] = point_records(grid, targets)
        output.document(document)
    else:
        table = sweep_table(grid, targets, output.language, wants_all=found.wants_all)
        width = min(output.width or _PIPE_WIDTH, _WIDEST)
        is_fine = not is_ascii and can_show(output.streams.stdout, _FINE_SIGNS)
        picture = sweep_picture(
            grid, targets, output.language, width, output.has_color, is_fine=is_fine
        )
        output.tables(*([picture, table] if picture else [table]))
