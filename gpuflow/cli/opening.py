"""What stands on the screen while a play is being made, where it is sure to be made."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING

from gpuflow.cli.options import Request
from gpuflow.cli.output import Output

if TYPE_CHECKING:
    from gpuflow.tui.opening import Opening


def opening_for(
    output: Output, request: Request, *wishes: object
) -> AbstractContextManager[Opening | None]:
    """An opening for a shipped scenario as it stands; nothing where a mistake may have to be told.

    Args:
        output: Language and streams.
        request: What is to be played.
        wishes: Everything else on the command line that may be wrong for the scenario.
    """
    if any(wish is not None for wish in wishes) or request != Request(scenario=request.scenario):
        return nullcontext()
    if request.scenario is not None:
        from gpuflow.scenario.load import scenario_names

        if request.scenario not in scenario_names():
            return nullcontext()

    from gpuflow.tui.lifecycle import can_draw
    from gpuflow.tui.opening import opened
    from gpuflow.words import t

    encoding = output.streams.stderr.encoding
    if not can_draw(encoding):
        return nullcontext()
    return opened(t("app.title", output.language), t("opening.line", output.language), encoding)
