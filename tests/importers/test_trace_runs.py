"""Traces of several ranks, and of several runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpuflow.exporters.trace_document import run_record
from gpuflow.exporters.trace_tables import run_tables
from gpuflow.importers.trace.expected import with_expected
from gpuflow.importers.trace.reading import read_trace
from gpuflow.importers.trace.runs import compare, runs_of


def test_ranks_of_one_run_are_read_together(traces: Any) -> None:
    files = []
    for rank in (3, 0):
        events = traces.steps(2, slow=1 + rank)
        files.append(traces.write(traces.document(events, rank), name=f"{rank}.json"))
    (run,) = runs_of([read_trace(file) for file in files])
    assert [one.head.rank for one in run.ranks] == [0, 3]
    assert [doubt.code for doubt in run.doubts] == ["ranks_together"]
    reduced = next(one for one in run.collectives if one.collective.kind == "all_reduce")
    # 32 of 10 us on rank 0 and of 40 us on rank 3, which is late
    assert 1e6 * reduced.time_s == pytest.approx(32 * 25)
    assert reduced.transfer_s is not None
    assert reduced.waiting_s is not None
    assert 1e6 * reduced.transfer_s == pytest.approx(32 * 10)
    assert 1e6 * reduced.waiting_s == pytest.approx(32 * 15)


def test_figures_of_several_ranks_are_all_their_means(traces: Any) -> None:
    said = {"Collective name": "allreduce", "dtype": "Float", "Group size": 8}
    name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"
    files = []
    for rank, length in enumerate((10.0, 30.0)):
        events = [traces.kernel("gemm", 100.0 * n, 20 * length) for n in range(2)]
        for n in range(2):
            sent = {**said, "In msg nelems": 1000}
            events.append(traces.kernel(name, 100.0 * n + 50, length, 20, **sent))
        files.append(traces.write(traces.document(events, rank), name=f"{rank}.json"))
    (run,) = runs_of([read_trace(file) for file in files])
    record: Any = run_record(run, "en")
    (reduced,) = record["collectives"]
    assert (reduced["count"], reduced["time_s"]) == (2, pytest.approx(40e-6))
    assert reduced["bus_bandwidth_bytes_per_s"] == pytest.approx(2 * 4000 * 7 / 4 / 40e-6)
    assert [reduced[f"{name}_s"] for name in ("shortest", "median", "longest")] == pytest.approx(
        [10e-6, 20e-6, 30e-6]
    )
    (gemm,) = record["computes"]
    assert (gemm["count"], gemm["time_s"]) == (2, pytest.approx(800e-6))
    assert gemm["share_of_busy"] == pytest.approx(800e-6 / run.mean("busy_s"))


@pytest.mark.parametrize("at", [1e6, 9e9])
def test_other_runs_are_not_mixed_up(at: float, traces: Any) -> None:
    rank = 0 if at == 1e6 else 1
    first = traces.write(traces.document(traces.steps(2)), name="a.json")
    second = traces.write(traces.document(traces.steps(2, at=at), rank), name="b.json")
    assert len(runs_of([read_trace(first), read_trace(second)])) == 2


@pytest.mark.parametrize(("apart_us", "n_runs"), [(37.0, 1), (20e3, 1), (-500e3, 1), (5e6, 2)])
def test_clocks_of_nodes_need_not_agree(apart_us: float, n_runs: int, traces: Any) -> None:
    first = traces.write(traces.document(traces.steps(2)), name="0.json")
    events = traces.steps(2, at=1e6 + apart_us)
    second = traces.write(traces.document(events, 1), name="1.json")
    runs = runs_of([read_trace(first), read_trace(second)])
    assert len(runs) == n_runs
    for one in runs[0].collectives:
        if one.waiting_s is not None:
            assert one.waiting_s == pytest.approx(0, abs=1e-9)


def test_times_between_quotes_are_times(traces: Any) -> None:
    events = traces.steps(2)
    plain = read_trace(traces.write(traces.document(events), name="a.json"))
    quoted = [{**one, "ts": str(one["ts"]), "dur": str(one["dur"])} for one in events]
    found = read_trace(traces.write(traces.document(quoted), name="b.json"))
    assert found.n_kernels == plain.n_kernels
    assert found.busy_s == plain.busy_s
    assert [one.time_s for one in found.collectives] == [one.time_s for one in plain.collectives]
    wild = [{**quoted[0], "ts": text} for text in ("", "x", "nan", "inf", "1e999", "9" * 5000)]
    odd = read_trace(traces.write(traces.document(quoted + wild), name="c.json"))
    assert odd.n_kernels == plain.n_kernels
    assert "broken_events" in [doubt.code for doubt in odd.doubts]


def test_kernels_without_their_length_are_not_called_missing(traces: Any) -> None:
    events = [{k: v for k, v in one.items() if k != "dur"} for one in traces.steps(1)]
    found = read_trace(traces.write(traces.document(events), name="a.json"))
    codes = [doubt.code for doubt in found.doubts]
    assert "no_whole_kernel" in codes
    assert "no_kernels" not in codes


def test_two_runs_compare_step_for_step(traces: Any) -> None:
    before = traces.write(traces.document(traces.steps(2)), name="a.json")
    after = traces.write(traces.document(traces.steps(4, slow=2.0)), name="b.json")
    first, second = runs_of([read_trace(before), read_trace(after)])
    found = compare(first, second)
    grown = found.changes[0]
    assert (grown.kind, grown.is_communication) == ("all_reduce", True)
    assert 1e6 * grown.grown_s == pytest.approx(16 * 10)
    assert (grown.first_count, grown.second_count) == (16, 16)
    assert all(one.grown_s == pytest.approx(0, abs=1e-12) for one in found.changes[1:])


@pytest.mark.parametrize(
    "event",
    [
        {"dur": 1.0, "name": "Memcpy HtoD", "cat": "kernel", "args": {"stream": 7, "device": 0}},
        {"dur": 0, "name": "gemm", "cat": "kernel", "args": {"stream": 7, "device": "²"}},
        {"dur": 1.0, "name": "gemm", "cat": "kernel", "args": {"stream": 7, "device": "9" * 5000}},
        {"dur": 1.0, "name": "gemm", "cat": "gpu_memset", "args": {"stream": 7, "device": 0}},
    ],
)
def test_strange_devices_and_streams_are_no_bug(event: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    made = {"ph": "X", "ts": 1.0, "pid": 0, "tid": 7, **event}
    document = {"distributedInfo": {"rank": 0, "world_size": 8}, "traceEvents": [made] * 3}
    file.write_text(json.dumps(document), "utf-8")
    assert read_trace(str(file)).n_kernels in {0, 3}


@pytest.mark.parametrize("kernel_us", [0.0, 4.0])
def test_copies_between_gpus_are_part_of_what_goes_on(kernel_us: float, traces: Any) -> None:
    copy = {**traces.kernel("Memcpy PtoP (Device -> Device)", 20.0, 30.0), "cat": "gpu_memcpy"}
    other = {**traces.kernel("Memcpy DtoH (Device -> Pinned)", 60.0, 30.0), "cat": "gpu_memcpy"}
    events = [traces.kernel("gemm", 10.0, kernel_us), copy, other]
    reading = read_trace(traces.write(traces.document(events)))
    assert reading.communication_s == pytest.approx(30e-6)
    assert reading.busy_s == pytest.approx(1e-6 * (30 + kernel_us))
    assert reading.span_s == pytest.approx(40e-6)
    (run,) = runs_of([reading])
    assert list(run_tables(run, "en"))


@pytest.mark.parametrize("size", [10**400, -1, 0, "8", True, None])
def test_a_copy_of_no_possible_size_has_none(size: object, traces: Any) -> None:
    copy = {**traces.kernel("Memcpy PtoP (Device -> Device)", 20.0, 30.0), "cat": "gpu_memcpy"}
    copy["args"]["bytes"] = size
    events = [traces.kernel("gemm", 10.0, 5.0), copy]
    reading = read_trace(traces.write(traces.document(events)), "h100-sxm")
    (found,) = with_expected(reading.collectives, "h100-sxm")
    assert found.bytes is None
