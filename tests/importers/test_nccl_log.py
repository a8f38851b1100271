"""Logs of nccl-tests in every awkward form: what is read, doubted, refused and fitted."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import NamedTuple

import pytest

from gpuflow.importers.nccl_fit import LogFit, fit_log
from gpuflow.importers.nccl_judge import Verdict, command_line, judge
from gpuflow.importers.nccl_log import read_log, read_runs
from gpuflow.importers.nccl_reading import Doubt, Known, Reading, understand

DATA = Path(__file__).parents[1] / "data" / "nccl-tests"


class Right(NamedTuple):
    """The right reading of one run; bandwidths in GB/s, times in us."""

    file: str
    collective: str | None
    gpu: str | None
    ranks: int | None
    rows: int
    floor: float | None
    peak: float | None
    average: float | None
    doubts: str
    """Codes that must be among those found, with blanks between them."""
    refused: str
    which: int
    """Which run of the file, from 0."""


AR, AG = "all_reduce", "all_gather"


def right_readings() -> list[Right]:
    """The table tests/data/nccl-readings.csv; an empty field is None or nothing."""
    with (DATA.parent / "nccl-readings.csv").open(encoding="utf-8", newline="") as stream:
        return [
            Right(
                file=row["file"],
                collective=row["collective"] or None,
                gpu=row["gpu"] or None,
                ranks=int(row["ranks"]) if row["ranks"] else None,
                rows=int(row["rows"]),
                floor=float(row["floor"]) if row["floor"] else None,
                peak=float(row["peak"]) if row["peak"] else None,
                average=float(row["average"]) if row["average"] else None,
                doubts=row["doubts"],
                refused=row["refused"],
                which=int(row["which"]),
            )
            for row in csv.DictReader(stream)
        ]


REAL = right_readings()
FITS = {
    "h100-8gpu-allreduce-sidework-header": (17.5, 421.1),
    "a100-40g-8gpu-allgather-oldcols-noredop": (37.9, 193.1),
    "a100-40g-8gpu-reducescatter-oldcols": (38.4, 205.1),
    "a100-80g-4gpu-allreduce": (16.4, 162.2),
    "v100-pcie-4gpu-allreduce-oldcols-indented": (14.1, 9.7),
    "h100-16gpu-p5-allreduce-srun-label": (84.4, 406.3),
    "b200-2gpu-2node-allgather-gib": (16.3, 32.3),
    "gh200-8gpu-2node-allreduce-slownet-noisy": (61.2, 4.9),
    "rtxpro6000-2gpu-2node-efa-allreduce-info-interleaved": (50.2, 11.2),
    "rtx2080ti-2gpu-nvlink-allgather-oldcols-tail": (16.1, 20.2),
    "unknown-8gpu-allreduce-f8e5m2-dtype-headless": (16.4, 135.1),
}
"""alpha (us) and beta (GB/s of bus) of the straight line, by file."""
NOISY = {"gh200-8gpu-2node-allreduce-slownet-noisy": 0.15}
"""Allowed error where times jump from row to row."""


def codes(reading: Reading) -> set[str]:
    return {doubt.code for doubt in reading.doubts}


def read(name: str) -> list[Reading]:
    return [understand(raw) for raw in read_log(str(DATA / name))]


@pytest.mark.parametrize("right", REAL, ids=lambda right: f"{right.file[:40]}-{right.which}")
def test_real_logs_have_the_right_reading(right: Right, inputs: Path) -> None:
    raws = read_log(str(inputs / "nccl-tests" / f"{right.file}.log"))
    found = understand(raws[right.which])
    assert len(raws) == sum(other.file == right.file for other in REAL)
    assert (found.collective, found.gpu, found.ranks) == (right.collective, right.gpu, right.ranks)
    assert len(found.rows) == right.rows
    assert found.raw.average == right.average
    if right.floor is not None:
        assert found.floor_s == pytest.approx(right.floor * 1e-6, rel=6e-3)
    if right.peak is not None:
        assert found.peak is not None
        assert found.peak.bus_bytes_per_s == pytest.approx(right.peak * 1e9)
    assert codes(found) >= set(right.doubts.split())
    assert (found.refused.code if found.refused else "") == right.refused


def test_every_real_log_is_listed(inputs: Path) -> None:
    files = {path.stem for path in (inputs / "nccl-tests").iterdir()}
    assert files == {right.file for right in REAL}


@pytest.mark.parametrize("file", FITS)
def test_real_logs_are_fitted(file: str, inputs: Path) -> None:
    reading = understand(read_log(str(inputs / "nccl-tests" / f"{file}.log"))[0])
    found = fit_log(reading)
    assert isinstance(found, LogFit)
    alpha, beta = FITS[file]
    assert found.line_alpha_s * 1e6 == pytest.approx(alpha, abs=0.06)
    assert found.line_bandwidth_bytes_per_s / 1e9 == pytest.approx(beta, abs=0.06)
    assert found.mean_abs_error <= NOISY.get(file, 0.10)


@pytest.mark.parametrize(
    "name",
    ["plain", "srun-label", "mpirun-tag", "kubectl-prefix", "quoted"],
)
def test_prefixes_change_nothing(name: str) -> None:
    plain, *_ = read("plain.log")
    found, *more = read(f"{name}.log")
    assert not more
    assert found.rows == plain.rows
    assert (found.collective, found.gpu, found.ranks, found.nodes) == (AR, "l40s", 4, 1)
    assert found.raw.average == plain.raw.average
    assert codes(found) <= {"collective_by_shape"}


@pytest.mark.parametrize(
    ("name", "doubt"),
    [
        ("headless", "no_header"),
        ("headless", "ranks_concluded"),
        ("info-between", "warnings"),
        ("rank-zero-twice", "rank_zero_twice"),
        ("rank-zero-twice", "sizes_repeated"),
        ("wrong-ranks", "ranks_against_ratio"),
        ("outliers", "outliers"),
        ("elided", "elided"),
        ("elided", "average_of_others"),
        ("cut-number", "row_cut"),
        ("cut-size", "no_foot"),
        ("old-all-gather-wrong-data", "old_all_gather"),
        ("old-all-gather-wrong-data", "wrong_data"),
        ("nccl1-msec", "time_unit"),
    ],
)
def test_what_is_odd_is_doubted(name: str, doubt: str) -> None:
    assert doubt in codes(read(f"{name}.log")[0])


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("failed", "failed"),
        ("no-table", "failed"),
        ("not-a-log", "no_table"),
        ("empty-messages", "only_empty_messages"),
    ],
)
def test_what_holds_no_figures_is_refused(name: str, why: str) -> None:
    found = read(f"{name}.log")[0]
    assert found.refused is not None
    assert found.refused.code == why


def test_two_runs_in_one_log_stay_apart() -> None:
    first, second = read("two-runs.log")
    assert (first.collective, second.collective) == (AR, AG)
    assert (len(first.rows), len(second.rows)) == (22, 21)
    assert first.ranks == second.ranks == 4


def test_jobs_between_each_other_are_sorted_by_their_labels() -> None:
    first, second = read("interleaved-labels.log")
    assert len(first.rows) == len(second.rows) == 22
    for fast, slow in zip(first.rows, second.rows, strict=True):
        assert slow.time_s == pytest.approx(1.2 * fast.time_s, rel=1e-2)


def test_half_a_number_is_not_a_figure() -> None:
    whole, cut = read("plain.log")[0].rows[9], read("cut-number.log")[0].rows[9]
    assert cut.time_s == whole.time_s
    assert cut.in_place_time_s is None


def test_milliseconds_are_told_by_size_and_bandwidth() -> None:
    row = read("nccl1-msec.log")[0].rows[0]
    assert row.time_s == pytest.approx(2e-3)
    assert row.bus_bytes_per_s == 7.5e9


def test_what_the_user_knows_stands_above_the_log() -> None:
    raw = read_log(str(DATA / "headless.log"))[0]
    found = understand(raw, Known(gpu="h100", ranks=4, nodes=2, collective="reduce"))
    assert (found.gpu, found.nodes, found.collective) == ("h100-sxm", 2, "reduce")


def test_the_lines_of_nccl_itself_are_used() -> None:
    debug = read("info-between.log")[0].raw.debug
    assert (debug.ranks, debug.nodes, debug.rings, debug.channels) == (4, 1, 2, 2)
    assert debug.transports == ["P2P/IPC"]
    assert debug.warnings == ["something odd"]


def test_lines_of_nccl_alone_tell_of_the_machine(inputs: Path) -> None:
    file = inputs / "traces" / "nccl-debug-h100-48rank-6node-ib-sharp.log"
    found = understand(read_log(str(file))[0])
    debug = found.raw.debug
    assert (found.ranks, found.nodes, found.refused) == (48, 6, None)
    assert (debug.rings, debug.nvls_heads, debug.has_trees) == (16, 8, True)
    assert debug.has_sharp
    assert debug.has_gpu_direct
    assert debug.transports == ["NET/IBext", "P2P/IPC"]
    assert "debug_only" in codes(found)


def test_an_outlier_stays_out_of_the_fit() -> None:
    found, smooth = fit_log(read("outliers.log")[0]), fit_log(read("plain.log")[0])
    assert isinstance(found, LogFit)
    assert isinstance(smooth, LogFit)
    assert found.mean_abs_error < 0.05
    assert smooth.line_alpha_s == pytest.approx(12e-6, rel=0.02)
    assert smooth.line_bandwidth_bytes_per_s == pytest.approx(100e9, rel=0.02)


def test_runs_are_judged_and_can_be_repeated() -> None:
    reading = read("plain.log")[0]
    verdict = judge(reading)
    assert isinstance(verdict, Verdict)
    assert len(verdict.rows) == 22
    assert all(one.algorithm and one.time_s > 0 for one in verdict.rows)
    assert verdict.peak.share == pytest.approx(
        verdict.peak.row.bus_bytes_per_s / verdict.peak.bus_bytes_per_s, rel=0.01
    )
    words = "all_reduce_perf -b 8 -e 16777216 -f 2 -g 4 -n 20 -w 5 -c 1"
    assert command_line(reading) == words
    unsaid = judge(read("headless.log")[0])
    assert isinstance(unsaid, Doubt)
    assert unsaid.code == "no_verdict_gpu_unsaid"


def test_ranks_that_share_a_gpu_are_held_against_no_expectation() -> None:
    ranks = "".join(
        f"#  Rank {rank} Group 0 Pid 1 on h device 0 [0x1b] NVIDIA H100 80GB HBM3\n"
        for rank in (0, 1)
    )
    rows = "".join(
        f"{size} {size // 4} float sum -1 99.0 {size / 99e3:.2f} {size / 99e3:.2f} 0 N/A\n"
        for size in (2**20, 2**21)
    )
    found = judge(understand(read_runs(io.StringIO(ranks + rows), "all_reduce.log")[0]))
    assert isinstance(found, Doubt)
    assert found.code == "no_verdict_shared"


ODD_ROW = (
    "{size} {count} {dtype} {redop} -1 20.0 {rate:.2f} {rate:.2f} 0 10.0 {fast:.2f} {fast:.2f} 0"
)


def odd(*rows: tuple[int, str, str], header: str = "") -> Reading:
    """A run of two ranks with rows of these sizes, types and operations."""
    text = [
        ODD_ROW.format(
            size=size,
            count=size // 4,
            dtype=dtype,
            redop=redop,
            rate=size / 20e3,
            fast=size / 10e3,
        )
        for size, dtype, redop in rows
    ]
    raw = read_runs([header, *text], "all_reduce.log")[0]
    return understand(raw, Known(ranks=2, collective="all_reduce"))


@pytest.mark.parametrize(
    ("reading", "words"),
    [
        (odd(*((size, "float", "sum") for size in (3072, 4096, 5120))), "-b 3072 -e 5120 -i 1024"),
        (odd(*((size, "float", "sum") for size in (1024, 2048, 4096))), "-b 1024 -e 4096 -f 2"),
        (odd((8, "float", "sum"), (8, "float", "max")), "-o all"),
        (odd((8, "half", "max")), "-d half -o max"),
        (odd((8, "float", "sum"), (8, "half", "sum")), "-d all"),
        (
            odd(
                (8192, "float", "sum"),
                header="# nThread 1 nGpus 1 minBytes 8 maxBytes 4096 step: 2(factor)",
            ),
            "-b 8 -e 8192 -f 2",
        ),
    ],
    ids=["equal steps", "factors", "two operations", "one of each", "two types", "other header"],
)
def test_the_command_to_repeat_a_run_measures_what_its_rows_hold(
    reading: Reading, words: str
) -> None:
    assert words in str(command_line(reading))


def test_small_bus_bandwidths_are_as_exact_in_place_as_out_of_place() -> None:
    row = odd((8, "float", "sum")).rows[0]
    assert row.bus_bytes_per_s == pytest.approx(8 / 20e-6)
    assert row.in_place_bus_bytes_per_s == pytest.approx(8 / 10e-6)


def test_nothing_from_the_log_gets_into_a_shell() -> None:
    assert "'NCCL_PROTO=$(reboot)'" in str(command_line(read("hostile.log")[0]))
