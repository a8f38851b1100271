"""`gpuflow --version`, without loading anything that it does not need."""

from __future__ import annotations

from gpuflow import __version__
from gpuflow.cli.streams import closing, prepare_streams, write_data


def write_version() -> int:
    """Write the program's name and version on stdout and return the exit status."""
    streams = prepare_streams()
    with closing(streams) as status:
        write_data(streams, f"gpuflow {__version__}\n")
    return status.code
