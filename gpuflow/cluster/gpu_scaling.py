"""Times on a GPU nobody measured, from measurements of other GPUs.

A measured curve is split into its floor (an empty message) and, above it, bytes over the link. On
another GPU the floor is the others' (geometric mean over GPU generations), in proportion to NCCL's
planned latency where links differ in kind; the message that a donor's curve is read at grows with
link rate x floor, so that wire time and floor stand in the same proportion. Link rates are those of
NCCL's planner; for all_reduce with in-switch adding (NVLS) the higher one that its fewer bytes
give, and over PCIe with more than two GPUs the part that crossing the host leaves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from gpuflow.cluster.calibration import Calibration
from gpuflow.cluster.curves import FloatArray
from gpuflow.cluster.nccl_model import Chip, chip, nccl_candidates, nvls_efficiency

LIBRARY_KERNELS = frozenset({"nccl", "rccl"})
ENOUGH_ROWS = 6
"""Rows a donor needs for its shape to count."""


PCI_SHARE = 0.57
"""Of the planned PCIe rate, reached by rings of more than two GPUs through the host: 27.3 of
48 GB/s on four RTX 5090 (nccl-tests issue 287)."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """A curve for a GPU without measurements."""

    seconds: FloatArray
    donors: tuple[Calibration, ...]


def collective_rate(gpu: Chip, collective: str, n_ranks: int) -> float:
    """Bus bandwidth (bytes/s) that a collective tends to; NVLS sends fewer bytes for all_reduce."""
    if n_ranks <= 2:
        return gpu.bus_bytes_per_s
    if gpu.link == "pci":
        return PCI_SHARE * gpu.bus_bytes_per_s
    gain = 1.0
    if collective == "all_reduce":
        gain = nvls_efficiency(gpu.architecture) * 2 * (n_ranks - 1) / (n_ranks + 1)
    return gpu.bus_bytes_per_s * max(1.0, gain)


def scale_from_others(
    gpu: str, size_bytes: FloatArray, candidates: Sequence[Calibration]
) -> Scaled | None:
    """Times on `gpu`, from calibrations of other GPUs for the same collective, kernel and ranks.

    Args:
        gpu: Id of the GPU.
        size_bytes: Sizes; any shape.
        candidates: Calibrations; those of the same generation and link alone if there are any,
            else those with the same kind of link, else all.

    Returns:
        None where the GPU is unknown or nothing is fit to scale.
    """
    target = chip(gpu)
    dense = [c for c in candidates if len(c.rows) >= ENOUGH_ROWS] or list(candidates)
    known = [(c, found) for c in dense if (found := chip(c.key.gpu)) is not None]
    if target is None or not known:
        return None
    kin = [
        (c, found)
        for c, found in known
        if (found.architecture, found.link) == (target.architecture, target.link)
    ]
    alike = [(c, found) for c, found in known if found.link == target.link]
    donors = kin or alike or known
    families: dict[tuple[str, str], list[tuple[Calibration, Chip]]] = {}
    for donor, found in donors:
        families.setdefault((found.architecture, found.link), []).append((donor, found))
    floors = [np.mean([np.log(_floor(c, f, target)) for c, f in one]) for one in families.values()]
    floor = np.exp(np.mean(floors))
    logs = [
        np.mean([np.log(_read(c, f, target, float(floor), size_bytes)) for c, f in one], axis=0)
        for one in families.values()
    ]
    return Scaled(np.exp(np.mean(logs, axis=0)), tuple(donor for donor, _ in donors))


def _floor(donor: Calibration, its: Chip, target: Chip) -> float:
    """A donor's floor as it would be over the target's kind of link."""
    if donor.key.kernel not in LIBRARY_KERNELS or its.link == target.link:
        return donor.floor_s
    return donor.floor_s * _planned(donor, target) / _planned(donor, its)


def _planned(donor: Calibration, gpu: Chip) -> float:
    try:
        found = nccl_candidates(donor.key.collective, donor.key.ranks, 1, gpu)
    except ValueError:
        return 1.0
    return min(one.latency_s for one in found)


def _read(
    donor: Calibration, its: Chip, target: Chip, floor_s: float, size_bytes: FloatArray
) -> FloatArray:
    collective, n_ranks = donor.key.collective, donor.key.ranks
    rate = collective_rate(its, collective, n_ranks) / collective_rate(target, collective, n_ranks)
    stretch = donor.floor_s / floor_s
    return np.asarray(donor.seconds(np.asarray(size_bytes) * rate * stretch) / stretch)
