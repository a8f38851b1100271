"""`play --kiosk`: what may be named where strangers play."""

from __future__ import annotations

from collections.abc import Sequence

from gpuflow.cli.options import Request, bad_option
from gpuflow.errors import GpuflowError

READERS = ("--launch", "--topo", "--calibration")
"""Options whose values are read as files before a verb has a say."""


def refuse_readers(arguments: Sequence[str]) -> None:
    """Before anything is parsed: nothing may be read in a kiosk.

    Raises:
        InputError: An option that reads files stands beside --kiosk.
    """
    names = [argument.partition("=")[0] for argument in arguments]
    found = next((name for name in names if name in READERS), "")
    if found and "--kiosk" in names:
        raise bad_option("--kiosk", "kiosk_shipped", found=found)


def refuse_files(request: Request) -> None:
    """Let only what is shipped be named.

    Raises:
        InputError: A file, or what may be one.
    """
    from gpuflow.scenario import catalog
    from gpuflow.scenario.load import scenario_names

    if request.scenario is not None and request.scenario not in scenario_names():
        raise bad_option("--kiosk", "kiosk_shipped", found=request.scenario)
    if request.model is not None:
        try:
            catalog.model(request.model)
        except GpuflowError:
            raise bad_option("--kiosk", "kiosk_shipped", found=request.model) from None
