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

    from gpuflow.words import t

    return _opened(output, t("app.title", output.language), t("opening.line", output.language))


def opening_behind(
    opening: Opening | None, output: Output, *, is_ascii: bool
) -> AbstractContextManager[Opening | None]:
    """An opening, too, where there was none and nothing is wrong: for the first picture alone."""
    if opening is not None:
        return nullcontext(opening)
    return _opened(output, "", "", is_asking=not is_ascii)


def _opened(
    output: Output, title: str, line: str, *, is_asking: bool = True
) -> AbstractContextManager[Opening | None]:
    from gpuflow.tui.lifecycle import can_draw
    from gpuflow.tui.opening import opened

    encoding = output.streams.stderr.encoding
    if not can_draw(encoding):
        return nullcontext()
    return opened(title, line, encoding, is_asking=is_asking)
