"""The transfers of a collective, round by round, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuflow.exporters.tables import Column, Table, table_of
from gpuflow.scenario.spec import Language
from gpuflow.units import format_count
from gpuflow.words import t

_MOST_SHOWN = 64
"""Numbers of a buffer that a table shows; JSON holds all of them."""


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
