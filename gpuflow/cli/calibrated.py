"""`--calibration FILE`: the user's own measurements stand above the published ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from gpuflow import words
from gpuflow.cli.output import Output

if TYPE_CHECKING:
    from gpuflow.cluster.own import Miss


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
        _tell_why(own.nearest_miss(), file, output)


def _tell_why(miss: Miss | None, file: str, output: Output) -> None:
    """Say in what the calibration that comes nearest differs, and how to make it count."""
    if miss is None:
        output.say("calibration.not_asked", file=file)
        return
    from gpuflow.exporters.tables import NOTHING

    unlike = [
        words.t(
            f"calibration.unlike.{name}",
            output.language,
            own=getattr(miss.own, name),
            asked=getattr(miss.asked, name) or NOTHING,
        )
        for name in miss.unlike
    ]
    output.say("calibration.unused", file=file, unlike=unlike)
    if miss.unlike != ("kernel",):
        return
    if output.verb == "collective":
        hint = words.t("calibration.hint.kernel", output.language)
    else:
        hint = words.t("calibration.hint.profile", output.language, profiles=_library_profiles())
    output.say("report.hint", hint=hint)


def _library_profiles() -> list[str]:
    """Profiles whose all_reduce is NCCL's, by measured curves."""
    from gpuflow.cluster.gpu_scaling import LIBRARY_KERNELS
    from gpuflow.scenario import catalog

    return [
        name
        for name in catalog.profile_names()
        if (profile := catalog.profile(name)).collective_times == "calibrated"
        and profile.all_reduce_kernel in LIBRARY_KERNELS
    ]
