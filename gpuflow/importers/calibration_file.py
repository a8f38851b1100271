"""Calibration files: measured times of the user's own machines, written and read as YAML.

gpuflow: calibration/1
calibrations:
- {gpu, collective, kernel, launch, ranks, nodes, fabric, source, points: [[bytes, seconds], ...]}

What else stands in an entry (form, error, curve) is for people; the curve is fitted anew when the
file is read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from gpuflow.cells import sanitise
from gpuflow.cluster.measurements import Key, Row
from gpuflow.errors import ImportFormatError, Problem
from gpuflow.importers.nccl_fit import LogFit, key_of
from gpuflow.importers.nccl_judge import Verdict
from gpuflow.importers.nccl_reading import Doubt, Reading

SCHEMA = "calibration/1"
MOST_BYTES = 4 << 20
MOST_ENTRIES = 200
MOST_POINTS = 512
_TEXTS = ("gpu", "collective", "kernel", "launch")


def calibration_text(
    runs: Sequence[tuple[Reading, LogFit | Doubt, Verdict | Doubt]],
) -> tuple[str, int]:
    """The file of all runs that were fitted, and how many they are.

    Args:
        runs: Each with its fit and its verdict, which may know the network.
    """
    entries = [
        _entry(reading, fit, verdict) for reading, fit, verdict in runs if isinstance(fit, LogFit)
    ]
    content = {"gpuflow": SCHEMA, "calibrations": entries}
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100), len(entries)


def _entry(reading: Reading, fit: LogFit, verdict: Verdict | Doubt) -> dict[str, object]:
    key = key_of(reading)
    is_said = isinstance(verdict, Verdict) and not verdict.is_fabric_assumed
    fabric = verdict.fabric if is_said and isinstance(verdict, Verdict) and key.nodes > 1 else ""
    own = fit.calibration
    return {
        "gpu": sanitise(key.gpu),
        "collective": key.collective,
        "kernel": key.kernel,
        "launch": key.launch,
        "ranks": key.ranks,
        "nodes": key.nodes,
        "fabric": fabric,
        "source": sanitise(reading.raw.file),
        "form": own.form,
        "mean_abs_error": float(f"{fit.mean_abs_error:.3g}"),
        "size_range_bytes": [int(size) for size in own.size_range],
        "curve": {
            "alpha_s": float(f"{fit.alpha_s:.4g}"),
            "bandwidth_bytes_per_s": float(f"{fit.bandwidth_bytes_per_s:.4g}"),
            "q": float(f"{fit.q:.3g}"),
        },
        "points": [
            [int(size), float(f"{time:.6g}")]
            for size, time in zip(own.sizes.tolist(), own.times.tolist(), strict=True)
        ],
    }


def read_calibrations(file: str) -> tuple[tuple[Row, ...], ...]:
    """The rows of each machine of a file.

    Raises:
        ImportFormatError: The file is no calibration file.
        OSError: The file cannot be read.
    """
    with Path(file).open("rb") as stream:
        content = stream.read(MOST_BYTES + 1)
    if len(content) > MOST_BYTES:
        raise _unreadable(file, "too_long", most=MOST_BYTES)
    try:
        loaded = yaml.safe_load(content)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise _unreadable(file, "no_yaml") from None
    if not isinstance(loaded, Mapping) or loaded.get("gpuflow") != SCHEMA:
        raise _unreadable(file, "other_schema", wanted=f"gpuflow: {SCHEMA}")
    entries = loaded.get("calibrations")
    if not isinstance(entries, list) or not 0 < len(entries) <= MOST_ENTRIES:
        raise _unreadable(file, "no_entries")
    return tuple(_rows(file, number, entry) for number, entry in enumerate(entries, 1))


def _rows(file: str, number: int, entry: Any) -> tuple[Row, ...]:
    """The rows of one entry, everything in it checked."""
    if not isinstance(entry, Mapping):
        raise _unreadable(file, "entry", number=number, key="calibrations")
    for name in _TEXTS:
        if not isinstance(entry.get(name), str) or not 0 < len(entry[name]) <= 80:
            raise _unreadable(file, "entry", number=number, key=name)
    for name, most in (("ranks", 1 << 20), ("nodes", 1 << 17)):
        value = entry.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
            raise _unreadable(file, "entry", number=number, key=name)
    points = entry.get("points")
    if not isinstance(points, list) or not 1 < len(points) <= MOST_POINTS:
        raise _unreadable(file, "entry", number=number, key="points")
    fabric, source = entry.get("fabric", ""), entry.get("source", file)
    if not isinstance(fabric, str) or not isinstance(source, str):
        raise _unreadable(file, "entry", number=number, key="fabric")
    gpu, collective, kernel, launch = (sanitise(entry[name]) for name in _TEXTS)
    key = Key(gpu, collective, kernel, launch, entry["ranks"], entry["nodes"], fabric)
    if not all(_is_point(point) for point in points):
        raise _unreadable(file, "entry", number=number, key="points")
    return tuple(
        Row(key, float(size), float(time), sanitise(source), f"{file}#{number}.{place}")
        for place, (size, time) in enumerate(points, 1)
    )


def _is_point(point: Any) -> bool:
    return (
        isinstance(point, list)
        and len(point) == 2
        and all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in point)
        and all(0 < v < 2**60 and math.isfinite(v) for v in point)
    )


def _unreadable(file: str, code: str, **values: object) -> ImportFormatError:
    return ImportFormatError([Problem(code=f"calibration_{code}", file=file, values=values)])
