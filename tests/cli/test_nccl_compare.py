"""Two logs of nccl-tests side by side: what is noise, what changed, and what binds there."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Gpuflow = Callable[..., Any]
HEAD = """# Collective test starting: all_reduce_perf
# nThread 1 nGpus 8 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20
"""
RANK = "#  Rank {n} Group 0 Pid 1 on node device {n} [0000:0{n}:00] {gpu}\n"
ROW = "{size} {count} float sum -1 {time:.2f} {rate:.2f} {bus:.2f} 0 {time:.2f} 0.1 0.2 0\n"


def write(path: Path, floor_us: float, gb_per_s: float, gpus: int = 8) -> str:
    """A log of 28 sizes whose times are floor + f S / B."""
    text = HEAD + "".join(RANK.format(n=n, gpu="NVIDIA H100 80GB HBM3") for n in range(gpus))
    factor = 2 * (gpus - 1) / gpus
    for place in range(28):
        size = 8 << place
        time = floor_us + factor * size / gb_per_s / 1e3
        rate = size / time / 1e3
        text += ROW.format(size=size, count=size // 4, time=time, rate=rate, bus=factor * rate)
    path.write_text(text, "utf-8")
    return str(path)


def compared(gpuflow: Gpuflow, *logs: str) -> dict[str, Any]:
    found: list[dict[str, Any]] = gpuflow("import", "nccl", *logs, "--format", "json").json[
        "comparisons"
    ]
    assert len(found) == 1
    return found[0]


@pytest.mark.parametrize(
    ("floor_us", "gb_per_s", "changes"),
    [
        (16.0, 400.0, {"latency": "same", "middle": "same", "bandwidth": "same"}),
        (16.5, 390.0, {"latency": "same", "middle": "same", "bandwidth": "same"}),
        (32.0, 400.0, {"latency": "slower", "middle": "slower", "bandwidth": "same"}),
        (16.0, 100.0, {"latency": "same", "middle": "slower", "bandwidth": "slower"}),
        (8.0, 400.0, {"latency": "faster", "middle": "faster", "bandwidth": "same"}),
    ],
)
def test_the_regime_that_changed_is_named(
    floor_us: float, gb_per_s: float, changes: dict[str, str], gpuflow: Gpuflow, tmp_path: Path
) -> None:
    before = write(tmp_path / "before.log", 16.0, 400.0)
    after = write(tmp_path / "after.log", floor_us, gb_per_s)
    found = compared(gpuflow, before, after)
    told = {one["regime"]: one["change"] for one in found["regimes"]}
    assert told["latency"] == changes["latency"]
    assert told["bandwidth"] == changes["bandwidth"]
    assert len(found["rows"]) == sum(one["rows"] for one in found["regimes"]) == 28
    assert found["noise"] == 0.11
    small, large = found["rows"][0], found["rows"][-1]
    assert small["second_over_first"] == pytest.approx(floor_us / 16, rel=0.01)
    rate = large["second_bus_bandwidth_bytes_per_s"] / large["first_bus_bandwidth_bytes_per_s"]
    assert rate == pytest.approx(gb_per_s / 400, rel=0.02)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_it_is_told_to_people(language: str, gpuflow: Gpuflow, tmp_path: Path) -> None:
    before = write(tmp_path / "before.log", 16.0, 400.0)
    after = write(tmp_path / "after.log", 16.0, 100.0, gpus=4)
    asked = ("import", "nccl", before, after, "--compare", "--lang", language)
    text = gpuflow(*asked).out
    assert text.count("after.log") == 1
    assert "11 %" in text
    assert ("ranks differ, 8 and 4" if language == "en" else "8 与 4") in text
    assert ("Change of time" if language == "en" else "耗时变化") in text
    assert not re.search(r"\d×", text)
    assert "+229 %" in text
    assert "| 8 B |" in gpuflow(*asked, "--format", "markdown").out
    rows = list(csv.DictReader(io.StringIO(gpuflow(*asked, "--format", "csv").out)))
    assert len(rows) == 28
    assert {row["first"] for row in rows} == {before}
    assert {row["regime"] for row in rows} == {"latency", "middle", "bandwidth"}


def test_sizes_that_an_average_hides_are_named(gpuflow: Gpuflow, tmp_path: Path) -> None:
    before = write(tmp_path / "before.log", 16.0, 400.0)
    after = tmp_path / "after.log"
    lines = Path(before).read_text("utf-8").splitlines()
    changed = {"64 ": 1.5, "128 ": 1 / 1.5}
    for place, line in enumerate(lines):
        for size, times in changed.items():
            if line.startswith(size):
                cells = line.split()
                cells[5] = cells[9] = f"{float(cells[5]) * times:.2f}"
                lines[place] = " ".join(cells)
    after.write_text("\n".join(lines), "utf-8")
    latency = compared(gpuflow, before, str(after))["regimes"][0]
    assert (latency["change"], latency["rows_slower"], latency["rows_faster"]) == ("same", 1, 1)
    for language, words in (("en", "Other than the average"), ("zh", "与平均值不符的大小")):
        asked = ("import", "nccl", before, str(after), "--compare", "--lang", language)
        said = " ".join(gpuflow(*asked).out.split())
        assert words in said
        assert "128 B −33.3 %" in said
        assert "64 B +50 %" not in said  # an outlier in the second log, marked as such


def test_logs_without_a_collective_in_common_are_refused(gpuflow: Gpuflow, tmp_path: Path) -> None:
    one = write(tmp_path / "one.log", 16.0, 400.0)
    result = gpuflow("import", "nccl", one, "--compare", "--format", "json")
    assert result.code == 2
    assert json.loads(result.out)["problems"][0]["code"] == "nccl_nothing_to_compare"
    assert gpuflow("import", "nccl", one, one, "--compare").code == 2
