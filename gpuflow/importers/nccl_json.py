"""The JSON that nccl-tests write beside their table (-J FILE), as the lines of that table.

What reads the table then reads both, and the document is taken for no more than the table can say.
Form: NVIDIA/nccl-tests src/util.cu, version 1 of the file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TypeGuard

from gpuflow.importers.nccl_lines import MOST, version_by_code

MOST_CHARACTERS = 8 << 20
"""Of a document; 5,000 rows and the environment of a job have some two million."""
_NAME = re.compile(r"[\w.+-]{1,64}")
_GPU = re.compile(r"[\w .+-]{1,64}")
_BUS = re.compile(r"[\da-fA-F:.x]{1,16}")
_SETTING = re.compile(r"(NCCL_\w{1,40})=(\S{1,60})")
_NOTHING = "N/A"
_Entry = Mapping[str, object]


def table_lines(text: str) -> list[str] | None:
    """The lines of the table that a document stands for; None for a text that is none."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or not isinstance(data.get("results"), list):
        return None
    results = [row for row in data["results"] if isinstance(row, dict)]
    config = data.get("config")
    config = config if isinstance(config, dict) else {}
    return [
        *_settings(data),
        *_head(data, config),
        *_devices(config.get("devices", data.get("devices"))),
        *_rows(results),
        *_foot(data),
    ]


def _settings(data: _Entry) -> list[str]:
    """NCCL's variables of the environment; nothing else of it is looked at."""
    listed = data.get("env")
    found = [
        _SETTING.fullmatch(one)
        for one in (listed if isinstance(listed, list) else ())
        if isinstance(one, str)
    ]
    return [f"NCCL INFO {one[1]} set by environment to {one[2]}" for one in found if one]


def _head(data: _Entry, config: _Entry) -> list[str]:
    found = []
    code = data.get("nccl_version")
    if _is_count(code) and 1000 <= code < 1_000_000:
        found.append(f"NCCL version {version_by_code(code)}")
    args = data.get("args")
    if isinstance(args, list) and args and isinstance(args[0], str):
        name = args[0].replace("\\", "/").rsplit("/", 1)[-1]
        found += [f"# Collective test starting: {name}"] if _NAME.fullmatch(name) else []
    parts = []
    for key, words in (
        ("nthreads", "nThread {}"),
        ("ngpus", "nGpus {}"),
        ("minimum_bytes", "minBytes {}"),
        ("maximum_bytes", "maxBytes {}"),
        ("step_factor", "step: {}(factor)"),
        ("step_bytes", "step: {}(bytes)"),
        ("warmup_iters", "warmup iters: {}"),
        ("iterations", "iters: {}"),
        ("aggregated_iterations", "agg iters: {}"),
        ("validation", "validation: {}"),
        ("graph", "graph: {}"),
    ):
        value = config.get(key)
        parts += [words.format(value)] if _is_count(value) else []
    return [*found, f"# {' '.join(parts)}"]


def _devices(listed: object) -> list[str]:
    found = []
    for one in listed if isinstance(listed, list) else ():
        if not isinstance(one, dict):
            continue
        rank, pid, device = (one.get(key) for key in ("rank", "pid", "device"))
        host, bus, gpu = (_text(one.get(k)) for k in ("hostname", "device_hex", "device_info"))
        if not (_is_count(rank) and _NAME.fullmatch(host)):
            continue
        place = device if _is_count(device) else 0
        found.append(
            f"#  Rank {rank} Group 0 Pid {pid if _is_count(pid) else 0} on {host} device {place} "
            f"[{bus if _BUS.fullmatch(bus) else ''}] {gpu if _GPU.fullmatch(gpu) else ''}"
        )
    return found


def _rows(results: Sequence[_Entry]) -> list[str]:
    bodies = [row.get(place) for row in results for place in ("out_of_place", "in_place")]
    has_cpu_time = any(isinstance(body, dict) and "cpu_time" in body for body in bodies)
    time = "cputime" if has_cpu_time else "time"
    block = f"{time} algbw busbw #wrong"
    found = [f"# size count type redop root {block} {block}"]
    for row in results:
        size, count, root = row.get("size"), row.get("count"), _text(row.get("root")).strip()
        dtype, operation = _text(row.get("type")), _text(row.get("redop"))
        if not (_is_count(size) and _is_count(count) and _NAME.fullmatch(dtype)):
            continue
        operation = operation if operation.isalpha() else "none"
        root = root if re.fullmatch(r"-?\d{1,6}", root) else "-1"
        parts = [_body(row.get(place)) for place in ("out_of_place", "in_place")]
        found.append(f"{size} {count} {dtype} {operation} {root} {' '.join(parts)}")
    return found


def _body(body: object) -> str:
    values = body if isinstance(body, dict) else {}
    time = values.get("time", values.get("cpu_time"))
    figures = [time, *(values.get(key) for key in ("alg_bw", "bus_bw", "nwrong"))]
    return " ".join(repr(float(one)) if _is_figure(one) else _NOTHING for one in figures)


def _foot(data: _Entry) -> list[str]:
    found = []
    bounds, average = data.get("out_of_bounds"), data.get("average_bus_bandwidth")
    count = bounds.get("count") if isinstance(bounds, dict) else None
    if _is_count(count):
        found.append(f"# Out of bounds values : {count} {'FAILED' if count else 'OK'}")
    mean = average.get("bandwidth") if isinstance(average, dict) else None
    if _is_figure(mean):
        found.append(f"# Avg bus bandwidth    : {mean:.6f}")
    return found


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _is_count(value: object) -> TypeGuard[int]:
    return type(value) is int and 0 <= value < 10**16


def _is_figure(value: object) -> TypeGuard[float]:
    # no NaN and no infinity is below the bound
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < MOST
