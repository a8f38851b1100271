"""Points and traces of collectives, for programs and for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuflow.cluster.points import Point
from gpuflow.exporters.figures import rate_both
from gpuflow.exporters.tables import Cell, Column, Table, table_of
from gpuflow.scenario.spec import ClusterSpec, Language
from gpuflow.units import format_bytes, format_count, format_time
from gpuflow.words import t

_MOST_SHOWN = 64
"""Numbers of a buffer that a table shows; JSON holds all of them."""


def record(point: Point) -> dict[str, object]:
    """One point for programs."""
    return {
        "size_bytes": point.size_bytes,
        "ranks": point.ranks,
        "algorithm": point.algorithm,
        "protocol": point.protocol,
        "time_s": point.time_s,
        "bus_bandwidth_bytes_per_s": point.bus_bandwidth_bytes_per_s,
        "time_source": point.time_source,
        "chosen": point.chosen,
    }


def points_table(
    points: Sequence[Point], cluster: ClusterSpec, inputs: Mapping[str, Any], language: Language
) -> Table:
    """A row a size: the chosen algorithm and its figures, then the time of each algorithm."""
    algorithms = list(dict.fromkeys(point.algorithm for point in points))
    crosses = inputs["ranks"] > cluster.gpus_per_node
    tier = cluster.scale_out if crosses else cluster.scale_up
    columns = [Column(t("column.size", language), "right", marks_row=True)]
    columns += [Column(t("column.chosen", language))]
    columns += [Column(t("column.time", language), "right")]
    columns += [Column(t("column.bus_bandwidth", language), "right")]
    columns += [Column(t("column.time_source", language))]
    rivals = algorithms if len(algorithms) > 1 else []
    columns += [Column(name, "right", begins_group=index == 0) for index, name in enumerate(rivals)]
    by_size: dict[int, list[Point]] = {}
    for point in points:
        by_size.setdefault(point.size_bytes, []).append(point)
    rows = []
    for size, at_size in by_size.items():
        best = next(point for point in at_size if point.chosen)
        cells = [
            Cell(format_bytes(size)),
            Cell(best.algorithm),
            Cell(format_time(best.time_s)),
            Cell(rate_both(best.bus_bandwidth_bytes_per_s, tier.tier)),
            Cell(t(f"time_source.{best.time_source}", language)),
        ]
        cells += [
            Cell(format_time(point.time_s), "ok" if point.chosen else "")
            for point in at_size
            if rivals
        ]
        rows.append(tuple(cells))
    return Table(
        title=t(
            "collective.title",
            language,
            collective=inputs["collective"],
            ranks=inputs["ranks"],
            gpu=cluster.device.title,
            nodes=inputs["nodes"],
            fabric=tier.title,
        ),
        columns=tuple(columns),
        rows=tuple(rows),
        notes=(t("collective.note", language),),
    )


def trace_tables(traced: Mapping[str, Any], collective: str, language: Language) -> list[Table]:
    """What every rank starts with and ends with, then the transfers round by round."""
    ranks = range(len(traced["start"]))
    title = t(
        "collective.trace_title",
        language,
        collective=collective,
        algorithm=traced["algorithm"],
        ranks=len(ranks),
        elements=format_count(traced["elements"]),
    )
    names = ("rank", "start", "result", "bytes_sent")
    buffers = table_of(
        title,
        [
            Column(t(f"column.{name}", language), "right" if name == "bytes_sent" else "left")
            for name in names
        ],
        [
            (
                str(rank),
                _numbers(traced["start"][rank]),
                _numbers(traced["result"][rank]),
                str(traced["bytes_sent"][rank]),
            )
            for rank in ranks
        ],
    )
    rounds = table_of(
        t("collective.rounds_title", language),
        [Column(t(f"column.{name}", language)) for name in ("round", "transfers")],
        [
            (str(number), ", ".join(_transfer(move, language) for move in one["transfers"]))
            for number, one in enumerate(traced["rounds"], start=1)
        ],
    )
    return [buffers, rounds]


def _numbers(values: Sequence[float]) -> str:
    """Numbers with blanks between; of a long buffer the first ones and how many there are."""
    shown = " ".join(f"{value:g}" for value in values[:_MOST_SHOWN])
    hidden = len(values) - _MOST_SHOWN
    return f"{shown} (+{format_count(hidden)})" if hidden > 0 else shown


def _transfer(move: Mapping[str, Any], language: Language) -> str:
    return t(
        "collective.transfer",
        language,
        source=move["from"],
        destination=move["to"],
        count=move["count"],
        op=move["op"],
    )
