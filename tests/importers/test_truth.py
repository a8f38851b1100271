"""Tables of measurements as anybody may have filled them in."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuflow.cli.app import run
from gpuflow.errors import ImportFormatError
from gpuflow.importers import truth
from gpuflow.importers.truth import read_truth, shipped_truth

COLLECTIVES = "gpu,ranks,nodes,collective,kernel,launch,size_bytes,time_us,source\n"


def written(folder: Path, text: str, name: str = "a.csv") -> Path:
    (folder / name).write_text(text, "utf-8")
    return folder


@pytest.mark.parametrize(
    "text",
    [
        "gpu,ranks,nodes,collective,kernel,size_bytes,time_us\nh100-sxm,8,1,all_reduce,nccl,8,5\n",
        COLLECTIVES + "h100-sxm,8,1,all_reduce,nccl,nccl-tests,1e999,nan,x\n",
        COLLECTIVES + "h100-sxm,8,1,all_reduce,nccl,nccl-tests,8,1e306,x\n",
        COLLECTIVES + "h100-sxm,inf,1,all_reduce,nccl,nccl-tests,8,5,x\n",
        "operator,model,gpu,tp,tokens,time_us\nqkv,llama-3-8b,h100-sxm,1,inf,1\n",
        "operator,model,gpu,tp,tokens,time_us\nqkv,llama-3-8b,h100-sxm,1,nan,1\n",
        "gpu,ep,tokens_per_rank,op,kernel,time_us,hidden,top_k,dtype\n"
        "h100-sxm,inf,1,dispatch,deepep,1,1,1,bf16\n",
        "gpu,fabric,ep,tokens_per_rank,op,kernel,time_us,hidden,top_k,dtype\n"
        f"h100-sxm,{'9' * 5000} nodes,8,1,dispatch,deepep,inf,1,1,bf16\n",
        "model,fabric,tokens,size_bytes,time_ms\n"
        f"x,8 x {'9' * 5000}G RoCE,1,inf,1\nx,8 x 400G IB,1,inf,inf\nx,8 x 400G IB,1,9,9\n",
    ],
)
@pytest.mark.parametrize("format_", ["json", "csv", "table"])
def test_numbers_that_are_none_are_no_bug(
    text: str, format_: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(written(tmp_path, text))
    assert run(["accuracy", "--truth", folder, "--rows", "--format", format_]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    if format_ == "json":
        json.loads(shown.out, parse_constant=pytest.fail)


WILD = (
    *("0", "-1", "-0.0", "0.5", "5e-324", "1e-30", "1e9", "1e12", "2147483648", "1e18", "1e19"),
    *("1e40", "1.7976931348623157e308", "1e999", "-1e300", "nan", "-inf", "9" * 5000, "1_0", "²"),
)
SHIPPED = sorted(path.name for path in shipped_truth().glob("*.csv"))


@pytest.mark.parametrize("name", [*SHIPPED, "ratio.csv"])
def test_any_number_in_any_field_of_any_table_is_taken_or_refused(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if name == "ratio.csv":
        header = ["engine", "model", "gpu", "tp", "pp", "batch", "metric", "value"]
        metrics = (
            f"ratio_tp{a}_over_pp{b}_{what}"
            for a, b in ((2, 0), (0, 2), (9999, 9999))
            for what in ("throughput", "single_user_speed")
        )
        rows = [["trtllm", "llama-3-8b", "h100-sxm", "1", "1", "1", m, "2"] for m in metrics]
    else:
        with (shipped_truth() / name).open(encoding="utf-8", newline="") as stream:
            header, *lines = csv.reader(stream)
        # Each kind of row is tried, not each row.
        kinds = {tuple(re.sub(r"[\d.]+", "#", cell) for cell in line): line for line in lines}
        rows = [
            [*line[:place], wild, *line[place + 1 :]]
            for line in list(kinds.values())[:6]
            for place, cell in enumerate(line)
            if re.fullmatch(r"[\d.eE+-]*", cell)
            for wild in WILD
        ]
    with (tmp_path / name).open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows([header, *rows])
    assert run(["accuracy", "--truth", str(tmp_path), "--rows", "--format", "json"]) == 0
    shown = capsys.readouterr()
    assert shown.err == ""
    assert len(json.loads(shown.out, parse_constant=pytest.fail)["rows"]) >= len(rows)


def test_names_of_columns_cannot_steer_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = "h100-sxm,8,1,all_reduce,nccl,nccl-tests,8,5,x,y\n"
    written(tmp_path, COLLECTIVES.rstrip() + ",\x1b]0;t\x07\x7f\n" + row)
    for format_ in ("csv", "json", "table", "markdown"):
        assert run(["accuracy", "--truth", str(tmp_path), "--rows", "--format", format_]) == 0
        assert not set("\x1b\x07\x7f") & set(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda folder: os.mkfifo(folder / "pipe.csv"), "file_not_regular"),
        (lambda folder: (folder / "folder.csv").mkdir(), "file_is_folder"),
        (lambda folder: (folder / "a.csv").write_text("x" * 2000), "file_too_large"),
        (lambda folder: (folder / "a.csv").write_text("a\n" + "1\n" * 30), "truth_rows"),
        (lambda folder: [(folder / f"{n}.csv").touch() for n in range(9)], "truth_files"),
    ],
)
def test_what_has_no_end_is_refused(
    make: Callable[[Path], Any], code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = {"MOST_BYTES": 1000, "MOST_ROWS": 20, "MOST_FILES": 8}
    for name, limit in limits.items():
        monkeypatch.setattr(truth, name, limit)
    make(tmp_path)
    with pytest.raises(ImportFormatError) as caught:
        read_truth(tmp_path)
    assert [problem.code for problem in caught.value.problems] == [code]
