"""Calibration files: measured times of the user's own machines, written and read as YAML.

gpuflow: calibration/1
calibrations:
- {gpu, collective, kernel, launch, ranks, nodes, fabric, source, points: [[bytes, seconds], ...]}

What else stands in an entry (form, error, curve) is for people; the curve is fitted anew when the
file is read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from gpuflow.cells import sanitise
from gpuflow.cluster.measurements import Key, Row
from gpuflow.errors import ImportFormatError, InputError, Problem
from gpuflow.importers.nccl_fit import LogFit, key_of
from gpuflow.importers.nccl_judge import Verdict
from gpuflow.importers.nccl_reading import Doubt, Reading
from gpuflow.scenario import nodes
from gpuflow.scenario.source import read_source

SCHEMA = "calibration/1"
MOST_BYTES = 2 << 20
MOST_VALUES = 100_000
"""Of the whole file; a log of 200 runs with 60 sizes each has some 40,000."""
MOST_ENTRIES = 200
MOST_POINTS = 512
MOST_SIZE_BYTES = 2**60
LEAST_TIME_S, MOST_TIME_S = 1e-9, 1e6
"""What a message can take; a curve through anything else is none."""
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
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
        ImportFormatError: The file cannot be read or is no calibration file.
    """
    loaded = _loaded(file)
    if loaded.get("gpuflow") != SCHEMA:
        raise _unreadable(file, "other_schema", wanted=f"gpuflow: {SCHEMA}")
    entries = loaded.get("calibrations")
    if not isinstance(entries, list) or not 0 < len(entries) <= MOST_ENTRIES:
        raise _unreadable(file, "no_entries")
    return tuple(_rows(file, number, entry) for number, entry in enumerate(entries, 1))


def _loaded(file: str) -> Mapping[str, Any]:
    """The top mapping; aliases, tags and merge keys, by which a small file grows, are refused."""
    source = read_source(Path(file), file, MOST_BYTES)
    if isinstance(source, list):
        raise _refused(source)
    problems = nodes.Problems(source)
    try:
        tree = nodes.parse_document(source, problems, most_nodes=MOST_VALUES)
    except InputError as error:
        raise _refused(error.problems) from None
    if problems.found:
        raise _refused(problems.in_order())
    return {key: _plain(value) for key, value in tree.values.items()}


def _refused(problems: Sequence[Problem]) -> ImportFormatError:
    """The problems without the hints that are about scenarios."""
    about_scenarios = {"start_from_shipped", "file_too_large"}
    return ImportFormatError(
        [replace(one, hint="") if one.hint in about_scenarios else one for one in problems]
    )


def _plain(node: nodes.Node) -> Any:
    """What a value means; a number that is none stays a text, which is no number."""
    if isinstance(node, nodes.Mapping):
        return {key: _plain(value) for key, value in node.values.items()}
    if isinstance(node, nodes.Sequence):
        return list(map(_plain, node.items))
    if not isinstance(node, nodes.Scalar) or node.yaml_type not in {"int", "float"}:
        return node.value if isinstance(node, nodes.Scalar) else None
    try:
        return int(node.value) if _WHOLE.fullmatch(node.value) else float(node.value)
    except ValueError:
        return node.value


def _rows(file: str, number: int, entry: Any) -> tuple[Row, ...]:
    """The rows of one entry, everything in it checked."""
    if not isinstance(entry, Mapping):
        raise _unreadable(file, "entry", number=number, key="calibrations")
    for name in _TEXTS:
        if not isinstance(entry.get(name), str) or not 0 < len(entry[name]) <= 80:
            raise _unreadable(file, "entry", number=number, key=name)
    # One rank alone sends nothing, so no bandwidth can be told from its times.
    for name, least, most in (("ranks", 2, 1 << 20), ("nodes", 1, 1 << 17)):
        value = entry.get(name)
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
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
        and 1 <= point[0] <= MOST_SIZE_BYTES
        and LEAST_TIME_S <= point[1] <= MOST_TIME_S
    )


def _unreadable(file: str, code: str, **values: object) -> ImportFormatError:
    return ImportFormatError([Problem(code=f"calibration_{code}", file=file, values=values)])
