"""Logs of nccl-tests at their limits, and words in them that look like others."""

from __future__ import annotations

import gzip
import io
import os
import random
from pathlib import Path

import pytest

from gpuflow.errors import ImportFormatError
from gpuflow.importers import nccl_lines, nccl_log
from gpuflow.importers.nccl_fit import fit_log
from gpuflow.importers.nccl_judge import command_line
from gpuflow.importers.nccl_log import read_log, read_runs
from gpuflow.importers.nccl_names import catalog_gpu
from gpuflow.importers.nccl_reading import Reading, understand

DATA = Path(__file__).parents[1] / "data" / "nccl-tests"


def codes(reading: Reading) -> set[str]:
    """Of its doubts."""
    return {doubt.code for doubt in reading.doubts}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no named pipes")
def test_a_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.log")
    for path, code in ((tmp_path / "pipe.log", "file_not_regular"), (tmp_path, "file_is_folder")):
        with pytest.raises(ImportFormatError) as caught:
            read_log(str(path))
        assert [problem.code for problem in caught.value.problems] == [code]
    with pytest.raises(ImportFormatError) as caught:
        read_log(str(tmp_path / "pipe.log"))
    assert [problem.hint for problem in caught.value.problems] == ["pipe_in"]


def test_compressed_logs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"0" * 1_000_000))
    with pytest.raises(ImportFormatError):
        read_log(str(path))


def test_logs_in_utf_16_are_read(tmp_path: Path) -> None:
    path = tmp_path / "windows.log"
    path.write_text((DATA / "plain.log").read_text("utf-8"), "utf-16")
    assert (
        understand(read_log(str(path))[0]).rows
        == understand(read_log(str(DATA / "plain.log"))[0]).rows
    )


def test_long_lines_and_many_rows_are_bounded(tmp_path: Path) -> None:
    path = tmp_path / "long.log"
    path.write_bytes(b"8 2 float sum -1 1 1 1 0 1 1 1 0" + b" " * 200_000 + b"\n" + b"x" * 200_000)
    assert len(read_log(str(path))[0].rows) == 1
    row = "      1024    256   float  sum  -1  9.0 0.11 0.17 0  9.0 0.11 0.17 0\n"
    found = read_runs([row] * (nccl_log.MOST_ROWS + 5), "many.log")[0]
    assert len(found.rows) == nccl_log.MOST_ROWS
    assert "too_many_rows" in codes(understand(found))


def test_figures_out_of_this_world_are_left_out() -> None:
    row = "   1048576   262144   float  sum  -1  {} 1.0 1.5 0  9.0 1.0 {} 0"
    for time, rate in (("1e-300", "1.5"), ("9.0", "1e300"), ("1e999", "nan")):
        raw = read_runs([row.format(time, rate)], "odd.log")[0]
        assert all(row.bus_bytes_per_s < 1e24 for row in understand(raw).rows)


def test_a_log_without_end_is_not_read_to_the_end() -> None:
    row = "      1024    256   float  sum  -1  9.0 0.11 0.17 0  9.0 0.11 0.17 0\n"
    lines = iter([row] * (nccl_log.MOST_ROWS_LOOKED_AT + 100))
    runs = read_runs(lines, "endless.log")
    assert next(lines) == row
    assert "log_cut" in codes(understand(runs[-1]))
    whole = read_runs([row] * nccl_log.MOST_ROWS_LOOKED_AT, "just.log")
    assert "log_cut" not in codes(understand(whole[-1]))


def test_a_row_is_found_behind_words_that_look_like_its_type() -> None:
    row = "       8       2   float  sum  -1  9.0 0.11 0.17 0  9.0 0.11 0.17 0"
    for before in ("", "rank0|", "took 3 float ops, 4 int ops: "):
        found = nccl_lines.read_row(before + row, None)
        assert found is not None
        assert (found.size_bytes, found.count, found.dtype) == (8, 2, "float")
    for before in ("1:", "0x", "1.", "12345678901234567"):
        assert nccl_lines.read_row(before + row.strip(), None) is None


@pytest.mark.parametrize(
    ("name", "gpu"),
    [
        ("NVIDIA A100-PCIE-40GB", None),
        ("NVIDIA A100 80GB PCIe", None),
        ("A100-SXM4-40GB", "a100-40gb-sxm"),
        ("NVIDIA A100-SXM4-80GB", "a100-80gb-sxm"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("NVIDIA H100 PCIe", "h100-pcie"),
        ("NVIDIA H100 NVL", None),
        ("NVIDIA H200 NVL", None),
        ("NVIDIA H200", "h200-sxm"),
        ("Tesla V100-FHHL-16GB", None),
        ("Tesla V100-SXM2-32GB", "v100-sxm2"),
        ("gb200-72gpu-nvl72", "gb200"),
        ("h200-8gpu-nvlink", "h200-sxm"),
    ],
)
def test_cards_are_not_taken_for_the_modules_of_the_same_name(name: str, gpu: str | None) -> None:
    assert catalog_gpu(name) == gpu


@pytest.mark.parametrize(
    ("line", "ranks"),
    [
        ("running on 16 GPUs", 16),
        ("2 nodes with 8 GPUs each", None),
        ("8 GPUs per node, 2 nodes", None),
        ("8 GPUs/node", None),
        ("64 GPUs in each pod", None),
        ("h100-64-worker-0", 64),
        ("8 GPUs per node, 16 GPUs", 16),
    ],
)
def test_gpus_of_a_node_are_not_all_of_them(line: str, ranks: int | None) -> None:
    assert nccl_lines.said_ranks(line) == ranks


@pytest.mark.parametrize(
    ("line", "collective"),
    [
        ("./build/all_reduce_perf -b 8", "all_reduce"),
        ("+ mpirun alltoall_perf_mpi", "all_to_all"),
        ("sendrecv_perf then reduce_scatter_test", "reduce_scatter"),
        ("my_all_reduce_perf", None),
        ("averylongnameofthem_all_reduce_perf", None),
        ("all_reduce_perf_old", None),
        ("cublas_perf and gather_perf and cudnn_perf", "gather"),
        ("bench.sh -t broadcast", "broadcast"),
    ],
)
def test_programs_are_told_by_their_whole_name(line: str, collective: str | None) -> None:
    assert nccl_lines.collective_of(line) == collective


def test_broken_logs_never_raise() -> None:
    random_ = random.Random(7)
    texts = [path.read_text("utf-8") for path in sorted(DATA.iterdir())]
    for _ in range(300):
        text = random_.choice(texts)
        for _ in range(random_.randint(1, 6)):
            place = random_.randrange(len(text))
            junk = random_.choice(["", "9" * 20, "-1", " nan ", "inf", "\x1b[2J", "0", "\n", "1e9"])
            text = text[:place] + junk + text[place + random_.randint(0, 9) :]
        for raw in read_runs(io.StringIO(text), "broken.log"):
            reading = understand(raw)
            fit_log(reading)
            command_line(reading)
            assert all(row.time_s > 0 and row.size_bytes > 0 for row in reading.rows)


def test_runs_beyond_the_most_are_not_mixed_into_the_last() -> None:
    text = (DATA / "plain.log").read_text("utf-8")
    lines = iter(io.StringIO(text * (nccl_log.MOST_RUNS + 20)))
    raws = read_runs(lines, "many.log")
    assert len(raws) == nccl_log.MOST_RUNS
    found = [understand(raw) for raw in raws]
    assert {len(one.rows) for one in found} == {22}
    assert "too_many_runs" in codes(found[-1])
    assert "too_many_runs" not in codes(found[0])
    assert next(lines, None) is not None


def test_what_follows_the_most_that_is_read_is_said_to_be_missing(tmp_path: Path) -> None:
    path = tmp_path / "long.log"
    plain = (DATA / "plain.log").read_text("utf-8")
    for tail in ("\n" * nccl_log.MOST_LINES, (" " * 100_000 + "\n") * 350):
        path.write_text(plain + tail, "utf-8")
        assert "log_cut" in codes(understand(read_log(str(path))[-1]))
    path.write_text(plain, "utf-8")
    assert "log_cut" not in codes(understand(read_log(str(path))[-1]))
