"""`gpuflow import nccl`: documents, statuses, pictures, comparisons, and hostile text."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DATA = Path(__file__).parents[1] / "data" / "nccl-tests"
RUN = {
    *("collective", "gpu", "ranks", "nodes", "dtype", "rows", "peak_bus_bandwidth_bytes_per_s"),
    *("floor_s", "fit", "expected", "doubts", "refused", "command"),
}
ROW = {"size_bytes", "time_s", "bus_bandwidth_bytes_per_s", "in_place_time_s"}
FIT = {"alpha_s", "bandwidth_bytes_per_s", "q", "mean_abs_error"}

Gpuflow = Callable[..., Any]


def log(name: str) -> str:
    return str(DATA / f"{name}.log")


def test_the_document_keeps_its_names(gpuflow: Gpuflow) -> None:
    result = gpuflow("import", "nccl", log("plain"), "--format", "json")
    assert (result.code, result.err) == (0, "")
    assert result.json["schema"] == "gpuflow/import-nccl/1"
    run = result.json["runs"][0]
    assert set(run) >= RUN
    assert all(set(row) >= ROW for row in run["rows"])
    assert set(run["fit"]) >= FIT
    assert (run["collective"], run["gpu"], run["ranks"]) == ("all_reduce", "l40s", 4)
    assert run["floor_s"] == pytest.approx(12e-6, rel=0.01)
    assert run["fit"]["mean_abs_error"] < 0.05
    expected = run["expected"]["rows"]
    assert [row["size_bytes"] for row in expected] == [row["size_bytes"] for row in run["rows"]]
    assert run["refused"] is None


@pytest.mark.parametrize(("share", "code"), [("0.01", 0), ("0.999", 1)])
def test_below_what_is_expected_the_status_is_one(share: str, code: int, gpuflow: Gpuflow) -> None:
    name = "h100" if code else "l40s"
    result = gpuflow("import", "nccl", log("plain"), "--gpu", name, "--expect", share)
    assert result.code == code
    assert log("plain") in result.err


def test_runs_of_one_log_are_told_apart(gpuflow: Gpuflow) -> None:
    told = gpuflow("import", "nccl", log("two-runs"), "--gpu", "l40s", "--expect", "0.01")
    places = re.findall(r"two-runs\.log:(\d+): ", told.err)
    lines = [
        run["line"]
        for run in gpuflow("import", "nccl", log("two-runs"), "--format", "json").json["runs"]
    ]
    assert [int(place) for place in places] == lines
    alone = gpuflow("import", "nccl", log("plain"), "--gpu", "l40s", "--expect", "0.01")
    assert "plain.log: " in alone.err


def test_rows_of_several_types_and_operations_are_told_apart(
    gpuflow: Gpuflow, tmp_path: Path
) -> None:
    rows = [
        f"{size} {size // width} {dtype} {operation} -1 20.0 {size / 20e3:.2f} {size / 20e3:.2f} 0"
        f" 20.0 {size / 20e3:.2f} {size / 20e3:.2f} 0"
        for dtype, width in (("float", 4), ("half", 2))
        for operation in ("sum", "max")
        for size in (1024, 2048)
    ]
    path = tmp_path / "all_reduce.log"
    path.write_text("\n".join(rows), encoding="utf-8")
    shown = gpuflow("import", "nccl", str(path), "--ranks", "2", "--gpu", "h100")
    assert [len(re.findall(rf"KiB +{kind} ", shown.out)) for kind in ("float sum", "half max")] == [
        2,
        2,
    ]
    assert not re.search(r"KiB +float sum", gpuflow("import", "nccl", log("plain")).out)


def test_expecting_of_an_unknown_gpu_is_refused(gpuflow: Gpuflow) -> None:
    result = gpuflow("import", "nccl", log("headless"), "--expect", "0.9")
    assert result.code == 2
    assert "--gpu" in result.err
    told = gpuflow("import", "nccl", log("headless"), "--expect", "0.01", "--gpu", "h100")
    assert told.code == 0


@pytest.mark.parametrize("name", ["failed", "no-table", "not-a-log", "empty-messages"])
@pytest.mark.parametrize("form", ["table", "json"])
def test_nothing_usable_is_status_two(name: str, form: str, gpuflow: Gpuflow) -> None:
    result = gpuflow("import", "nccl", log(name), "--format", form)
    assert result.code == 2
    assert result.err.count("\n") == 1
    if form == "json":
        assert result.json["runs"][0]["refused"]["message"]
    else:
        assert "Not usable: " in result.out


def test_one_usable_log_is_enough(gpuflow: Gpuflow) -> None:
    assert gpuflow("import", "nccl", log("failed"), log("plain")).code == 0


def test_a_log_that_is_not_there_is_named(gpuflow: Gpuflow) -> None:
    result = gpuflow("import", "nccl", "nowhere.log")
    assert result.code == 2
    assert "nowhere.log" in result.err


@pytest.mark.parametrize("language", ["en", "zh"])
def test_points_and_curve_are_drawn(language: str, gpuflow: Gpuflow) -> None:
    arguments = ("import", "nccl", log("plain"), "--plot", "--lang", language)
    fine, plain = gpuflow(*arguments, width=90), gpuflow(*arguments, "--ascii", width=90)
    assert "●" in fine.out
    assert "━━" in fine.out
    assert "●" not in plain.out
    assert "*" in plain.out


def test_two_logs_are_compared(gpuflow: Gpuflow) -> None:
    result = gpuflow("import", "nccl", log("plain"), log("wrong-ranks"), "--format", "json")
    found = result.json["comparisons"][0]
    assert (found["first"], found["second"], len(found["rows"])) == (0, 1, 22)
    assert {row["second_over_first"] for row in found["rows"]} == {1.0}


def test_csv_has_a_row_for_every_row(gpuflow: Gpuflow) -> None:
    result = gpuflow("import", "nccl", log("two-runs"), "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert [sum(row["run"] == run for row in rows) for run in "12"] == [22, 21]


@pytest.mark.parametrize("form", ["table", "markdown", "csv", "json"])
def test_text_of_the_log_steers_no_terminal(form: str, gpuflow: Gpuflow) -> None:
    result = gpuflow("import", "nccl", log("hostile"), "--format", form)
    assert result.code == 0
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", result.out + result.err)


def test_the_page_of_the_verb_names_its_options(gpuflow: Gpuflow) -> None:
    for language in ("en", "zh"):
        page = gpuflow("import", "nccl", "--help", "--lang", language)
        assert page.code == 0
        for option in ("--gpu", "--expect", "--plot", "--fabric"):
            assert option in page.out
        assert "nccl " in gpuflow("import", "--help", "--lang", language).out


def test_an_unknown_kind_of_file_is_named(gpuflow: Gpuflow) -> None:
    result = gpuflow("import", "ncl", log("plain"))
    assert result.code == 2
    assert "gpuflow import nccl" in result.err


def test_lines_of_nccl_alone_become_a_scenario(gpuflow: Gpuflow, tmp_path: Path) -> None:
    head = "node-0:1:1 [0] NCCL INFO "
    said = ("comm 0x1 rank 0 nRanks 16 nNodes 2 localRanks 8", "Channel 00/0 : 0 -> 1 via P2P/IPC")
    log_file, own = tmp_path / "h100-info.log", tmp_path / "own.yaml"
    log_file.write_text("".join(f"{head}{line}\n" for line in said), "utf-8")
    asked = ("import", "nccl", str(log_file), "--gpu", "h100", "--write", str(own))
    result = gpuflow(*asked, "--lang", "en")
    assert result.code == 0
    assert "gpuflow play" in result.err
    found = gpuflow("estimate", str(own), "--format", "json").json["inputs"]
    assert (found["gpu"], found["tp"], found["pp"], found["nodes"]) == ("h100-sxm", 8, 2, 2)
