"""`--calibration FILE`: the user's own measurements stand above the published ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from gpuflow.cli.output import Output


@contextmanager
def calibrated(file: str | None, output: Output) -> Iterator[Output]:
    """Put a file's calibrations in force, and say afterwards if none of them applied.

    Args:
        file: As the user wrote it; None: nothing is changed.
        output: Where that is said; the one that comes back names the file in JSON documents.

    Raises:
        ImportFormatError: The file cannot be read or is no calibration file.
    """
    if file is None:
        yield output
        return
    from gpuflow.cluster.own import OwnCalibrations, in_force
    from gpuflow.importers.calibration_file import read_calibrations

    own = OwnCalibrations(read_calibrations(file))
    with in_force(own):
        yield replace(output, beside={**output.beside, "calibration_file": file})
    if not own.used:
        output.say("calibration.unused", file=file)
