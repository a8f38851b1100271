"""Forms of nccl-tests that change what a column means, or what a run is held against."""

from __future__ import annotations

import io
from collections.abc import Sequence

import pytest

from gpuflow.importers.nccl_fit import fit_log
from gpuflow.importers.nccl_judge import Verdict, command_line, judge
from gpuflow.importers.nccl_log import read_runs
from gpuflow.importers.nccl_reading import Doubt, Known, Reading, understand

H100 = "NVIDIA H100 80GB HBM3"
SIZES = tuple(2**power for power in range(3, 31))


def table(
    name: str = "all_reduce",
    *,
    ranks: int = 8,
    per_host: int = 8,
    gpu: str = H100,
    sizes: Sequence[int] = SIZES,
    operations: Sequence[str] = ("sum",),
    roots: Sequence[int] = (-1,),
    options: str = "agg iters: 1 validation: 1 graph: 0",
    time: str = "time",
    share: float | None = None,
) -> str:
    """A run as version 2.17 prints it: 15 µs and 400 GB/s on the bus; times 5 µs if of the CPU."""
    if share is None:
        share = 2 * (ranks - 1) / ranks
    text = [
        "# nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22807",
        f"# Collective test starting: {name}_perf",
        f"# nThread 1 nGpus 1 minBytes {sizes[0]} maxBytes {sizes[-1]} step: 2(factor) "
        f"warmup iters: 1 iters: 20 {options}",
    ]
    text += [
        f"#  Rank {rank:2} Group  0 Pid {900 + rank} on node{rank // per_host} device "
        f"{rank % per_host} [0000:{rank % per_host:02x}:00] {gpu}"
        for rank in range(ranks)
    ]
    text.append(f"# size count type redop root {time} algbw busbw #wrong {time} algbw busbw #wrong")
    for operation in operations:
        for root in roots:
            for size in sizes:
                spent = 15 + share * size / 400e3
                rate = size / spent / 1e3
                shown = 5.0 if time == "cputime" else spent
                part = f"{shown:9.2f} {rate:7.2f} {share * rate:7.2f} 0"
                text.append(f"{size:12} {size // 4:12} float {operation} {root:5} {part} {part}")
    text += ["# Out of bounds values : 0 OK", f"# Collective test concluded: {name}_perf", ""]
    return "\n".join(text)


def reading(text: str, known: Known | None = None) -> Reading:
    """The only run of a log."""
    (raw,) = read_runs(io.StringIO(text), "a.log")
    return understand(raw, known)


def codes(found: Reading) -> set[str]:
    """Codes of its doubts, but for the average that these logs lack."""
    return {doubt.code for doubt in found.doubts}


def test_hosts_of_one_nvlink_domain_are_one_node() -> None:
    text = table(ranks=72, per_host=4, gpu="NVIDIA GB200")
    found = reading(text)
    assert found.nodes == 1
    assert "hosts_of_domain" in codes(found)
    verdict = judge(found)
    assert isinstance(verdict, Verdict)
    assert verdict.fabric == "nvlink-5"
    assert not verdict.is_fabric_assumed
    assert 0.3 < verdict.peak.share < 1.2
    assert str(command_line(found)).startswith("mpirun -np 72 -N 4 ")
    assert reading(text, Known(nodes=18)).nodes == 18
    two = reading(table(ranks=144, per_host=4, gpu="NVIDIA GB200"))
    assert two.nodes == 2
    assert reading(table(ranks=8, per_host=4)).nodes == 2


@pytest.mark.parametrize("last", [28, 29, 30])
def test_the_peak_that_is_judged_is_the_peak(last: int) -> None:
    operations = ("sum", "prod", "max", "min", "avg", "mulsum")
    sizes = [2**power for power in range(3, last)]
    found = reading(table(sizes=sizes, operations=operations))
    verdict = judge(found)
    assert isinstance(verdict, Verdict)
    assert found.peak is not None
    assert verdict.peak.row.bus_bytes_per_s == found.peak.bus_bytes_per_s
    assert len(verdict.rows) == len(found.rows)
    many = reading(table(sizes=range(4096, 4096 * 400, 4096)))
    verdict = judge(many)
    assert isinstance(verdict, Verdict)
    assert many.peak is not None
    assert verdict.peak.row.size_bytes == many.peak.size_bytes
    assert len(verdict.rows) < 110


def test_times_of_the_cpu_are_not_the_machines() -> None:
    found = reading(table(time="cputime"))
    gpu = {row.size_bytes: row.time_s for row in reading(table()).rows}
    assert "cpu_time" in codes(found)
    assert "time_unit" not in codes(found)
    assert found.floor_s is None
    assert found.rows[0].size_bytes == 16384
    for row in found.rows:
        assert row.time_s == pytest.approx(gpu[row.size_bytes], rel=0.01)
        assert row.in_place_time_s == pytest.approx(row.time_s)
    assert str(command_line(found)).endswith("-C 1")


@pytest.mark.parametrize(
    ("options", "doubt", "words"),
    [
        ("agg iters: 4 validation: 1 graph: 0", "aggregated", "-m 4"),
        ("agg iters: 1 validation: 1 graph: 10", "graph", "-G 10"),
        ("agg iters: 1 validation: 0 graph: 0", "unchecked", "-c 0"),
    ],
)
def test_how_operations_were_launched_is_said(options: str, doubt: str, words: str) -> None:
    found = reading(table(options=options))
    assert doubt in codes(found)
    assert words in str(command_line(found))
    usual = reading(table())
    assert doubt not in codes(usual)
    assert words not in str(command_line(usual))


@pytest.mark.parametrize(
    ("roots", "words", "is_repeated"),
    [((0,), "", False), ((3,), " -r 3", False), ((0, 1, 2, 3), " -r -1", True)],
)
def test_roots_are_repeated(roots: tuple[int, ...], words: str, is_repeated: bool) -> None:
    found = reading(table("reduce", ranks=4, roots=roots, share=1.0))
    assert ("sizes_repeated_by_root" in codes(found)) is is_repeated
    assert ("-r " in str(command_line(found))) is bool(words)
    assert words in str(command_line(found))


@pytest.mark.parametrize(
    ("text", "fit", "verdict"),
    [
        (table(ranks=1), "no_fit_alone", "no_verdict_alone"),
        (table("hypercube", share=1.0), None, "no_verdict_collective"),
    ],
    ids=["one rank", "hypercube"],
)
def test_what_cannot_be_judged_says_why(text: str, fit: str | None, verdict: str) -> None:
    found = reading(text)
    fitted, judged = fit_log(found), judge(found)
    assert (fitted.code if isinstance(fitted, Doubt) else None) == fit
    assert isinstance(judged, Doubt)
    assert judged.code == verdict


@pytest.mark.parametrize(("code", "version"), [("22807", "2.28.7"), ("2708", "2.7.8")])
def test_the_first_line_names_the_library(code: str, version: str) -> None:
    text = table(sizes=(8,)).replace("nccl-library=22807", f"nccl-library={code}")
    assert reading(text).raw.library == version


def test_lines_that_stand_there_twice_count_once() -> None:
    text = table()
    twice = "".join(f"{line}\n{line}\n" for line in text.splitlines())
    found = reading(twice)
    assert codes(found) == {"doubled"}
    assert (found.rows, found.ranks) == (reading(text).rows, 8)
    # what was measured twice is no copy
    changed = twice.replace("15.00", "15.01", 1)
    assert changed != twice
    assert "doubled" not in codes(reading(changed))
