"""Options that say what the service has to keep: TTFT and TPOT."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

import typer

from gpuflow.cli.options import bad_option, bad_quantity
from gpuflow.units import UnitError, parse_time

if TYPE_CHECKING:
    from gpuflow.engine.targets import Targets

_LONGEST_S = 1e6


def time_option(option: str) -> Callable[[str], float]:
    """A parser that takes a time such as `500ms`; none at all cannot be kept."""

    def parse(text: str) -> float:
        try:
            value = parse_time(text)
        except UnitError as error:
            raise bad_quantity(option, error, "500ms") from None
        if not 0 < value <= _LONGEST_S:
            raise bad_option(option, "option_time", found=text)
        return value

    return parse


TtftOption = Annotated[
    float | None, typer.Option("--ttft", parser=time_option("--ttft"), metavar="TIME")
]
TpotOption = Annotated[
    float | None, typer.Option("--tpot", parser=time_option("--tpot"), metavar="TIME")
]


def targets_of(ttft: float | None, tpot: float | None) -> Targets:
    """The targets that options give."""
    from gpuflow.engine.targets import Targets

    return Targets(ttft_s=ttft, tpot_s=tpot)
