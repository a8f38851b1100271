"""What-if in the player: the request once more, with what the viewer has changed laid over it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpuflow.cli.options import Request

if TYPE_CHECKING:
    from gpuflow.engine.whatif import KnobId, Lock, Settings, Vary
    from gpuflow.scenario.spec import Scenario


def vary_of(request: Request, scenario: Scenario) -> Vary:
    """How the scenario of a request is resolved under other settings.

    Args:
        request: What was asked.
        scenario: What it came to.
    """
    from gpuflow.cli.request import scenario_of

    def vary(settings: Settings) -> Scenario:
        changes: dict[str, Any] = {str(name): value for name, value in settings.items()}
        if "pp" in changes:
            # A list of layers was for as many stages as it has numbers.
            changes["layers"] = None
        if request.topo is not None and changes.keys() & {"tp", "pp"}:
            # There a degree of tensor parallelism by itself would mean one stage.
            degrees = {"tp": scenario.parallel.tp, "pp": scenario.parallel.pp}
            changes = {**degrees, **changes}
        return scenario_of(replace(request, **changes))

    return vary


def locks_of(request: Request) -> Mapping[KnobId, Lock]:
    """What cannot be changed: the GPUs and links of a machine that was read from a file."""
    return {"gpu": "box", "fabric": "box"} if request.topo is not None else {}
