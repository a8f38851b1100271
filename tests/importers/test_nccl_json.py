"""The JSON that nccl-tests write with -J: read as the table that stands beside it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from gpuflow.importers.nccl_judge import command_line
from gpuflow.importers.nccl_log import read_log
from gpuflow.importers.nccl_reading import Reading, understand

SIZES = [2**power for power in range(3, 28)]


def body(size: int, spent: float, wrong: int | None = 0) -> dict[str, object]:
    rate = size / spent / 1e3
    return {"time": round(spent, 6), "alg_bw": rate, "bus_bw": 1.75 * rate, "nwrong": wrong}


def document(**changed: object) -> dict[str, object]:
    """A run of 8 ranks, 15 µs and 400 GB/s on the bus, as version 1 of the file has it."""
    rows: list[Mapping[str, object]] = []
    for size in SIZES:
        spent = 15 + 1.75 * size / 400e3
        row = {"size": size, "count": size // 4, "type": "float", "redop": "sum", "root": "    -1"}
        both = {"out_of_place": body(size, spent), "in_place": body(size, 1.1 * spent)}
        rows.append({**row, **both, "actual_iterations": 20, "experiment_name": "AllReduce"})
    devices = [
        {
            "rank": rank,
            "group": 0,
            "pid": 900 + rank,
            "hostname": "node0",
            "device": rank,
            "device_hex": f"0000:{rank:02x}:00",
            "device_info": "NVIDIA H100 80GB HBM3",
        }
        for rank in range(8)
    ]
    config = {
        "nthreads": 1,
        "ngpus": 1,
        "minimum_bytes": 8,
        "maximum_bytes": SIZES[-1],
        "step_factor": 2,
        "warmup_iters": 5,
        "iterations": 20,
        "aggregated_iterations": 1,
        "validation": 1,
        "graph": 0,
        "blocking_collectives": "false",
        "devices": devices,
    }
    return {
        "version": 1,
        "start_time": "2026-05-01 10:11:12",
        "nccl_version": 22807,
        "args": ["build/all_reduce_perf", "-J", "out.json"],
        "env": ["TOKEN=secret-of-the-job", "NCCL_ALGO=Ring", "NCCL_X=$(reboot) rm"],
        "config": config,
        "results": rows,
        "out_of_bounds": {"count": 0, "okay": "true"},
        "average_bus_bandwidth": {"bandwidth": 61.25, "okay": "unchecked"},
        "errors": [],
        "end_time": "2026-05-01 10:12:12",
        **changed,
    }


def read(path: Path, data: object, encoding: str = "utf-8") -> Reading:
    path.write_text(json.dumps(data), encoding=encoding)
    (raw,) = read_log(str(path))
    return understand(raw)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_document_reads_as_its_table(tmp_path: Path, encoding: str) -> None:
    found = read(tmp_path / "out.json", document(), encoding)
    assert (found.collective, found.gpu, found.ranks, found.nodes) == (
        "all_reduce",
        "h100-sxm",
        8,
        1,
    )
    assert [row.size_bytes for row in found.rows] == SIZES
    for row in found.rows:
        spent = 15e-6 + 1.75 * row.size_bytes / 400e9
        assert row.time_s == pytest.approx(spent, rel=1e-5)
        assert row.in_place_time_s == pytest.approx(1.1 * spent, rel=1e-5)
        assert row.bus_bytes_per_s == pytest.approx(1.75 * row.size_bytes / spent, rel=1e-4)
    assert found.raw.library == "2.28.7"
    assert found.raw.average == pytest.approx(61.25)
    assert found.raw.line == 1
    words = "mpirun -np 8 -x NCCL_ALGO=Ring all_reduce_perf -b 8 -e 134217728 -f 2 -g 1"
    assert command_line(found) == f"{words} -n 20 -w 5 -c 1"
    assert {doubt.code for doubt in found.doubts} == {"average_of_others"}


def test_nothing_but_the_settings_of_nccl_is_taken_from_the_environment(tmp_path: Path) -> None:
    found = read(tmp_path / "out.json", document())
    assert found.raw.debug.settings == {"NCCL_ALGO": "Ring"}
    assert "secret-of-the-job" not in repr(found)


def test_what_was_not_measured_is_missing(tmp_path: Path) -> None:
    rows = [
        {"size": 2**20, "count": 2**18, "type": "float", "redop": "none", "root": "0"},
        {
            "size": 2**21,
            "count": 2**19,
            "type": "float",
            "redop": "none",
            "root": "0",
            "out_of_place": body(2**21, 20, wrong=None),
            "in_place": None,
        },
    ]
    args = ["C:\\tests\\broadcast_perf"]
    found = read(tmp_path / "out.json", document(results=rows, args=args))
    assert found.collective == "broadcast"
    assert [row.size_bytes for row in found.rows] == [2**21]
    assert found.rows[0].in_place_time_s is None


def test_values_that_came_out_wrong_and_times_of_the_cpu_are_doubted(tmp_path: Path) -> None:
    slow = {name: value for name, value in body(2**24, 90).items() if name != "time"}
    row = {"size": 2**24, "count": 2**22, "type": "float", "redop": "sum", "root": "-1"}
    rows = [{**row, "out_of_place": {**slow, "cpu_time": 4.0}}]
    bounds = {"count": 7, "okay": "false"}
    found = read(tmp_path / "out.json", document(results=rows, out_of_bounds=bounds))
    assert {"wrong_values", "cpu_time"} <= {doubt.code for doubt in found.doubts}
    assert found.rows[0].time_s == pytest.approx(90e-6)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"results": {}},
        {"results": [1, None, {"size": -1}, {"size": 10**30, "count": True}], "config": []},
        {"results": [], "config": {"devices": [{"rank": 0, "hostname": "a b\n8 2 float"}]}},
        {"results": [{"size": 8, "count": 2, "type": "float sum\n16 4 half", "root": "-1"}]},
    ],
)
def test_documents_of_anything_else_hold_no_rows(tmp_path: Path, data: object) -> None:
    found = read(tmp_path / "out.json", data)
    assert found.refused is not None
    assert not found.rows
    assert not found.raw.ranks


@pytest.mark.parametrize("text", ["{", "{" * 100_000, '{"results": [' + "9" * 5000 + "]}", "{}\n"])
def test_a_text_that_begins_like_a_document_is_read_as_a_log(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.log"
    rows = "".join(
        f"{size} {size // 4} float sum -1 20.0 {size / 20e3:.2f} {size / 20e3:.2f} 0{' N/A' * 4}\n"
        for size in SIZES
    )
    path.write_text(f"{text}\n{rows}", encoding="utf-8")
    (raw,) = read_log(str(path))
    assert [row.size_bytes for row in raw.rows] == SIZES
