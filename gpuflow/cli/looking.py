"""Options that say what of the cluster a picture looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from gpuflow.cli.options import bad_option, one_of, whole

if TYPE_CHECKING:
    from gpuflow.draw.focus import Focus, Level
    from gpuflow.scenario.spec import Scenario

LEVELS = ("cluster", "stage", "group", "gpu")
ZoomOption = Annotated[
    str | None,
    typer.Option("--zoom", parser=one_of("--zoom", LEVELS), metavar=f"{{{','.join(LEVELS)}}}"),
]
FollowOption = Annotated[
    int | None, typer.Option("--follow", parser=whole("--follow", least=0), metavar="RANK")
]


def focus_of(zoom: str | None, follow: int | None, scenario: Scenario) -> Focus | None:
    """What the options ask for; None: all of it.

    Raises:
        InputError: There is no such rank.
    """
    from gpuflow.draw.focus import Focus

    last = scenario.parallel.world - 1
    if follow is not None and follow > last:
        raise bad_option("--follow", "option_follow", found=str(follow), last=last)
    if follow is None and zoom in {None, "cluster"}:
        return None
    level = cast("Level", zoom or "cluster")
    return Focus(level=level, rank=follow or 0, is_following=follow is not None)
