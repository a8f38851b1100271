"""How a figure comes about: a formula over inputs, each with its unit and where it is from.

A formula is an expression in the symbols of its inputs, with + - * / ** and max; it evaluates to
the figure, so nobody has to believe it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from gpuflow.engine.timeline import TimeSource
from gpuflow.scenario.spec import Scenario
from gpuflow.units import Kind, Quantity

Origin = Literal["asked", "model", "gpu", "fabric", "profile", "rule", "derived", "measured"]
"""Who says so: the scenario or an option, a catalogue, a convention; derived: worked out before."""
Group = Literal["result", "step", "compute", "message", "traffic", "link", "memory"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Input:
    """One symbol of a formula, or a value that one of them comes from."""

    symbol: str
    name: str
    """What it is: locale key `explain.input.<name>`."""
    value: Quantity
    origin: Origin
    source: str = ""
    """Who published it; empty where the scenario or the program itself says so."""
    values: Mapping[str, object] = field(default_factory=dict)
    """What the name's sentence is filled with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """One figure of an estimate."""

    id: str
    """Unique, such as `ttft_s` or `steps.prompt.duration_s`."""
    group: Group
    name: str
    """What it is: locale key `explain.figure.<name>`."""
    value: Quantity
    formula: str
    inputs: tuple[Input, ...]
    time_sources: Mapping[TimeSource, float] = field(default_factory=dict)
    """Seconds of the figure by where they come from; empty where it is no time."""
    values: Mapping[str, object] = field(default_factory=dict)

    @property
    def sources(self) -> tuple[str, ...]:
        """Who published what goes into it."""
        return tuple(dict.fromkeys(one.source for one in self.inputs if one.source))


class Inputs:
    """Inputs of one formula while it is written; the same symbol is kept once."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self._found: dict[str, Input] = {}

    @property
    def all(self) -> tuple[Input, ...]:
        """In the order in which they were named."""
        return tuple(self._found.values())

    def add(
        self,
        symbol: str,
        name: str,
        value: float,
        kind: Kind,
        origin: Origin = "derived",
        source: str = "",
        values: Mapping[str, object] | None = None,
    ) -> str:
        """Name an input and get its symbol."""
        self._found[symbol] = Input(
            symbol=symbol,
            name=name,
            value=Quantity(float(value), kind),
            origin=origin,
            source=source,
            values=values or {},
        )
        return symbol

    def asked(self, symbol: str, name: str, value: float) -> str:
        """A count that the scenario or an option gives."""
        return self.add(symbol, name, value, "count", "asked")

    def model(self, symbol: str, name: str, value: float, kind: Kind = "count") -> str:
        """A number of the model's shape."""
        return self.add(symbol, name, value, kind, "model", self.scenario.model.source)

    def gpu(self, symbol: str, name: str, value: float, kind: Kind, precision: str = "") -> str:
        """A number of the device; a peak's sentence names its precision."""
        source = self.scenario.cluster.device.source
        return self.add(symbol, name, value, kind, "gpu", source, {"precision": precision})

    def profile(self, symbol: str, name: str, value: float, kind: Kind) -> str:
        """A constant of the profile."""
        return self.add(symbol, name, value, kind, "profile", self.scenario.profile.source)


def total(terms: Iterable[str]) -> str:
    """A sum as a formula.

    Example:
        >>> total(["n1 * t1", "n2 * t2"]), total([])
        ('n1 * t1 + n2 * t2', '0')
    """
    return " + ".join(terms) or "0"
