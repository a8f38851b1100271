"""Every real file with the reading its source says is right, in one list.

A reading is a line: what the file holds in figures, then after a bar the doubts, or the refusal.
The tests beside this one look at each kind of file more closely; this one fails where a file is
missing from the list, or the list from the folder.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from gpuflow.cluster.parameters import active_parameters, kv_bytes_per_token, parameters
from gpuflow.errors import ImportFormatError
from gpuflow.importers.hf_config import read_model
from gpuflow.importers.nccl_log import read_log
from gpuflow.importers.nccl_reading import Reading, understand
from gpuflow.importers.topo import read_topology
from gpuflow.importers.trace.reading import read_trace

DATA = Path(__file__).parents[1] / "data"


def listed() -> dict[str, str]:
    """The table tests/data/field-readings.csv: reading by folder and file."""
    with (DATA / "field-readings.csv").open(encoding="utf-8", newline="") as stream:
        return {row["file"]: row["reading"] for row in csv.DictReader(stream)}


READINGS = listed()
OF_TRACES = {"cut", "no_kernels", "no_communication", "device_not_rank", "kind_unknown"}
"""Doubts that the sources of traces speak of; there are others."""


def model_line(path: Path) -> str:
    """Parameters and active ones in billions, KV bytes a token, precision."""
    try:
        model = read_model(path)
    except ImportFormatError as error:
        return f"refused: {error.problems[0].code}"
    every, active = parameters(model) / 1e9, active_parameters(model) / 1e9
    kv = kv_bytes_per_token(model)
    doubts = " ".join(sorted({one.reason for one in model.assumed}))
    figures = f"{every:.3g} B, {active:.3g} active, {kv:.0f} B of KV, {model.precision}"
    return f"{figures} | {doubts}"


def log_line(path: Path) -> str:
    """Collective, GPU, ranks, rows and peak of each run."""
    return "; ".join(_run_line(understand(raw)) for raw in read_log(str(path)))


def _run_line(run: Reading) -> str:
    debug = run.raw.debug
    doubts = " ".join(sorted({doubt.code for doubt in run.doubts}))
    if run.refused is not None:
        return f"refused: {run.refused.code} | {doubts}"
    what = f"{run.collective or '?'} {run.gpu or '?'} x {run.ranks or '?'}"
    if run.is_debug_only:
        how = [*debug.inside, *debug.between, f"{debug.nvls_heads} heads"]
        how += ["SHARP"] if debug.has_sharp else []
        return f"{what} on {run.nodes} nodes, {', '.join(how)} | {doubts}"
    peak = run.peak.bus_bytes_per_s / 1e9 if run.peak else 0.0
    return f"{what}, {len(run.rows)} rows, peak {peak:.2f} | {doubts}"


def matrix_line(path: Path) -> str:
    """GPUs, NICs, pairs by kind of link."""
    found = read_topology(path)
    kinds = Counter(found.links.values())
    links = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    doubts = " ".join(doubt.code for doubt in found.doubts)
    refused = f"refused: {found.refused} " if found.refused else ""
    return f"{found.n_gpus} GPUs, {len(found.nics)} NICs, {links} | {refused}{doubts}"


def trace_line(path: Path) -> str:
    """Kernels, collectives, span and busy time."""
    if path.suffix == ".log":
        return log_line(path)
    found = read_trace(str(path))
    counts: Counter[str] = Counter()
    for one in found.collectives:
        counts[one.kind] += one.count
    talks = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "none"
    times = f"{1e3 * found.span_s:.1f} ms, busy {1e3 * found.busy_s:.1f} ms"
    doubts = " ".join(sorted({doubt.code for doubt in found.doubts} & OF_TRACES))
    doubts = f"refused: {found.refused.code} {doubts}" if found.refused else doubts
    return f"{found.gpu or '?'}, {found.n_kernels} kernels, {talks}, {times} | {doubts}"


LINES: dict[str, Callable[[Path], str]] = {
    "hf-config": model_line,
    "nccl-tests": log_line,
    "topo": matrix_line,
    "traces": trace_line,
}


@pytest.mark.parametrize("name", READINGS)
def test_a_file_has_the_right_reading(name: str, inputs: Path) -> None:
    assert LINES[name.split("/")[0]](inputs / name).strip() == READINGS[name]


def test_every_file_is_in_the_list(inputs: Path) -> None:
    found = {f"{folder}/{path.name}" for folder in LINES for path in (inputs / folder).iterdir()}
    assert found == set(READINGS)
