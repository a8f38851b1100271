"""`gpuflow play --collective`: one collective round by round, live, as one frame or as text."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from gpuflow.cli.options import bad_option, one_of, whole
from gpuflow.cli.output import Output
from gpuflow.cli.screens import ScreenSize
from gpuflow.errors import InputError, Problem
from gpuflow.scenario.spec import COLLECTIVES

if TYPE_CHECKING:
    from gpuflow.draw.explore_view import ExploreView
    from gpuflow.draw.frame import Frame
    from gpuflow.engine.explore import Subject
    from gpuflow.engine.timeline import Timeline

FEWEST_RANKS, MOST_RANKS = 2, 1024
"""The engine's own; written here too, so that help loads no arrays."""
DEFAULT_RANKS = 8
_WHOLE = ScreenSize(200, 60)
"""Room for everything that is said of a round."""

CollectiveOption = Annotated[
    str | None,
    typer.Option("--collective", parser=one_of("--collective", COLLECTIVES), metavar="OP"),
]
AlgorithmOption = Annotated[str | None, typer.Option("--algorithm", metavar="NAME")]
RanksOption = Annotated[
    int | None,
    typer.Option("--ranks", parser=whole("--ranks", FEWEST_RANKS, MOST_RANKS), metavar="N"),
]
NodesOption = Annotated[
    int | None, typer.Option("--nodes", parser=whole("--nodes", 1, MOST_RANKS), metavar="K")
]


@dataclass(frozen=True, slots=True)
class Moment:
    """A round and how far it is."""

    round: int
    fraction: float


def asked_subject(
    collective: str | None,
    algorithm: str | None,
    ranks: int | None,
    nodes: int | None,
    timeline: Timeline,
) -> Subject | None:
    """The collective that the options name; None where they name none.

    Raises:
        InputError: An option needs `--collective`, or does not go with the others.
    """
    if collective is None:
        for option, value in (("--algorithm", algorithm), ("--ranks", ranks), ("--nodes", nodes)):
            if value is not None:
                raise bad_option(option, "option_needs_collective")
        return None
    from gpuflow.collectives.algorithms import ALGORITHMS
    from gpuflow.engine.explore import subject_of

    if algorithm is not None:
        one_of("--algorithm", ALGORITHMS[collective])(algorithm)
    n = ranks or (2 if collective == "send_recv" else DEFAULT_RANKS)
    per_node = timeline.scenario.cluster.gpus_per_node
    if nodes is not None:
        if n % nodes:
            raise bad_option("--nodes", "nodes_do_not_divide", ranks=n, nodes=nodes)
        per_node = n // nodes
    return subject_of(collective, algorithm, n, gpus_per_node=per_node)


def asked_moment(at: str | None, rounds: int) -> Moment:
    """The round of `--at 3`, or 0.4 of the third of `--at 2.4`; the start where nothing is said."""
    try:
        found = float(at) if at is not None else 0.0
    except ValueError:
        found = math.nan
    if not 0 <= found <= rounds:
        raise bad_option("--at", "option_round", found=at, count=rounds)
    number = math.ceil(found)
    return Moment(number, 1.0 - (number - found))


def refuse_of_steps(**options: object) -> None:
    """Options of a play's steps where rounds are to be written, which have none.

    Raises:
        InputError: One of them was given.
    """
    given = [name for name, value in options.items() if value is not None and value is not False]
    if given:
        raise InputError([Problem(code="option_not_of_rounds", key=f"--{name}") for name in given])


def write_collective(
    subject: Subject,
    timeline: Timeline,
    moment: Moment,
    output: Output,
    size: ScreenSize | None,
    *,
    is_ascii: bool,
    is_wanted: bool,
) -> None:
    """What is written instead of played: one frame of `size`, else records or all rounds as text.

    Args:
        subject: The collective.
        timeline: On whose machines it runs.
        moment: The round.
        output: Where to, in which form and language.
        size: Of a single frame; None: no frame.
        is_ascii: The frame in ASCII alone.
        is_wanted: Whether somebody asked for text; else it is said why there is no player.
    """
    from gpuflow.draw.explore_view import ExploreView
    from gpuflow.engine.explore import outlook
    from gpuflow.exporters.explore import round_records, rounds_text

    found = outlook(subject, timeline, 0)
    if output.format == "json":
        from gpuflow.cli.request import inputs_of

        inputs = inputs_of(timeline.scenario)
        output.document({"inputs": inputs, **round_records(found)})
        return
    shown = size or _WHOLE
    view = ExploreView(
        language="en" if is_ascii else output.language,
        outlook=found,
        round=moment.round,
        fraction=moment.fraction,
        width=shown.columns,
        height=shown.rows,
        is_ascii=is_ascii,
    )
    if size is not None:
        output.write(_frame(view, is_ascii=is_ascii).text())
        return
    if not is_wanted:
        output.say("play.no_terminal")
    output.write(rounds_text(view))


def _frame(view: ExploreView, *, is_ascii: bool) -> Frame:
    from gpuflow.draw.ascii import to_ascii
    from gpuflow.draw.explore import draw_explore

    frame = draw_explore(view)
    return to_ascii(frame) if is_ascii else frame
