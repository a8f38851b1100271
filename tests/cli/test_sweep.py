"""`gpuflow sweep`: axes, forms, the bar, and what an interruption leaves."""

from __future__ import annotations

import csv
import io
import signal
from typing import Any

import pytest

from gpuflow.cells import cell_width
from gpuflow.cli.options import Early
from gpuflow.cli.output import Output, output_for
from gpuflow.cli.progress import Progress
from gpuflow.cli.streams import Streams
from gpuflow.engine.sweep_grid import SweepGrid

SMALL = ("sweep", "--tp", "1,2", "--pp", "1", "--batch", "1..8")
POINT = {
    *("tp", "pp", "dp", "ep", "gpus", "batch", "prompt", "ttft_s", "tpot_s"),
    *("tokens_per_s_per_user", "tokens_per_s_per_gpu", "spare_bytes"),
}


def test_sweep_json(gpuflow: Any) -> None:
    found = gpuflow(*SMALL, "--format", "json").json
    assert found["schema"] == "gpuflow/sweep/1"
    assert found["inputs"]["batch"] == [1, 2, 4, 8]
    assert found["inputs"]["tp"] == [1, 2]
    assert (found["complete"], found["points_total"], found["points_evaluated"]) == (True, 8, 8)
    assert found["front"]
    assert all(set(point) == POINT for point in found["front"])
    assert "points" not in found
    everything = gpuflow(*SMALL, "--all", "--format", "json").json
    assert len(everything["points"]) == 8
    assert all(set(point) == POINT | {"fits", "allowed", "front"} for point in everything["points"])
    best = [p for p in everything["points"] if p["front"]]
    assert len(best) == len(found["front"])


def test_a_point_is_what_estimate_says(gpuflow: Any) -> None:
    points = gpuflow(*SMALL, "--all", "--format", "json").json["points"]
    point = next(p for p in points if (p["tp"], p["batch"]) == (2, 4))
    split = ("--tp", "2", "--pp", "1", "--batch", "4")
    found = gpuflow("estimate", *split, "--format", "json").json
    assert point["ttft_s"] == pytest.approx(found["ttft_s"])
    assert point["tpot_s"] == pytest.approx(found["tpot_s"])
    assert point["tokens_per_s_per_user"] == pytest.approx(found["tokens_per_s_per_user"])
    spare = min(row["spare_bytes"] for row in found["memory"])
    assert point["spare_bytes"] == pytest.approx(spare)


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("3", [3]),
        ("1,4,2,4", [1, 2, 4]),
        ("1..10", [1, 2, 4, 8, 10]),
        ("10..50:20", [10, 30, 50]),
        ("1..4:1,64..128", [1, 2, 3, 4, 64, 128]),
    ],
)
def test_values_of_an_axis(text: str, values: list[int], gpuflow: Any) -> None:
    found = gpuflow("sweep", "--tp", "1", "--pp", "1", "--batch", text, "--format", "json").json
    assert found["inputs"]["batch"] == values


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("--batch", "8..4"), "sweep_range"),
        (("--batch", "1..x"), "option_whole"),
        (("--batch", "1..9:0"), "option_whole"),
        (("--batch", "1..9999999:1"), "sweep_values"),
        (("--batch", "1..999999:1", "--prompt", "1..999:1"), "sweep_points"),
        (("--tp", "3"), "sweep_no_split"),
        (("--gpus", "1000"), "sweep_no_split"),
        (("--batch", "1..60000:1", "--all"), "sweep_all"),
    ],
)
def test_what_cannot_be_swept_is_said(arguments: tuple[str, ...], code: str, gpuflow: Any) -> None:
    result = gpuflow("sweep", *arguments, "--format", "json")
    assert result.code == 2
    assert [problem["code"] for problem in result.json["problems"]] == [code]


def test_csv_has_the_front_or_all(gpuflow: Any) -> None:
    front = list(csv.DictReader(io.StringIO(gpuflow(*SMALL, "--format", "csv").out)))
    everything = list(csv.DictReader(io.StringIO(gpuflow(*SMALL, "--all", "--format", "csv").out)))
    assert set(front[0]) == POINT
    assert len(everything) == 8
    assert {row["front"] for row in everything} == {"true", "false"}
    assert sum(row["front"] == "true" for row in everything) == len(front)


def test_csv_goes_on_over_blocks(gpuflow: Any) -> None:
    more = ("sweep", "--tp", "1", "--pp", "1", "--batch", "1..30000:1", "--all", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(gpuflow(*more).out)))
    assert [int(row["batch"]) for row in rows] == list(range(1, 30_001))


@pytest.mark.parametrize("language", ["en", "zh"])
def test_people_get_a_picture_and_a_table(language: str, gpuflow: Any) -> None:
    more = ("--prompt", "512,4096", "--lang", language)
    text = gpuflow(*SMALL, *more, width=100).out
    assert "━" in text
    assert "●" in text
    assert "TP 2" in text
    plain = gpuflow(*SMALL, *more, "--ascii").out
    assert "#" in plain
    assert "━" not in plain
    markdown = gpuflow(*SMALL, *more, "--format", "markdown").out
    assert markdown.startswith("## ")
    assert "━" not in markdown


def test_targets_and_gpus_narrow_the_front(gpuflow: Any) -> None:
    more = ("--model", "llama-3-70b", "--gpus", "8", "--dp", "1..8", "--tpot", "30ms")
    found = gpuflow("sweep", *more, "--format", "json").json
    assert {point["gpus"] for point in found["front"]} == {8}
    assert all(point["tpot_s"] <= 30e-3 for point in found["front"])
    assert found["points_within_targets"] < found["points_that_fit"]
    nothing = gpuflow("sweep", *more, "--ttft", "1us").out
    assert "None of them fits and keeps what was asked." in nothing


def test_launch_lines_and_other_models_can_be_swept(gpuflow: Any) -> None:
    line = "vllm serve meta-llama/Llama-3.3-70B-Instruct -tp 8"
    found = gpuflow("sweep", "--launch", line, "--format", "json").json
    assert "70b" in found["inputs"]["model"]
    assert found["inputs"]["tp"] == [8]
    assert gpuflow("sweep", "--model", "deepseek-v3", "--gpu", "h200", "--tp", "8").code == 0


def test_replicas_and_expert_groups_are_the_scenarios_own(gpuflow: Any) -> None:
    found = gpuflow("sweep", "moe-ep4", "--tp", "1", "--pp", "1", "--format", "json").json
    assert (found["inputs"]["dp"], found["inputs"]["ep"]) == ([4], [4])
    dense = gpuflow("sweep", "moe-ep4", "--model", "llama-3-8b", "--format", "json").json
    assert (dense["inputs"]["dp"], dense["inputs"]["ep"]) == ([4], [1])


# ---------------------------------------------------------------- interruption


@pytest.fixture
def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ctrl-C while the second split is worked on."""
    plain, calls = SweepGrid._fill, [0]

    def fill(self: SweepGrid, *arguments: Any) -> None:
        calls[0] += 1
        if calls[0] == 2:
            # A shell has it ignored for what it starts in the background.
            signal.signal(signal.SIGINT, signal.default_int_handler)
            signal.raise_signal(signal.SIGINT)
        plain(self, *arguments)

    monkeypatch.setattr(SweepGrid, "_fill", fill)


@pytest.mark.usefixtures("interrupted")
def test_interrupted_it_prints_what_it_has_and_exits_130(gpuflow: Any) -> None:
    result = gpuflow(*SMALL)
    assert result.code == 130
    assert "TP 1" in result.out
    assert "TP 2" not in result.out
    assert "4 of 8 points evaluated" in result.out
    assert result.err.startswith("interrupted: this is what the first 4 of 8 points give")


@pytest.mark.usefixtures("interrupted")
def test_interrupted_json_is_whole_and_says_so(gpuflow: Any) -> None:
    result = gpuflow(*SMALL, "--format", "json")
    assert result.code == 130
    assert result.json["complete"] is False
    assert result.json["points_evaluated"] == 4
    assert {point["tp"] for point in result.json["front"]} == {1}


@pytest.mark.usefixtures("interrupted")
def test_interrupted_csv_has_the_points_that_are_done(gpuflow: Any) -> None:
    result = gpuflow(*SMALL, "--all", "--format", "csv")
    assert result.code == 130
    assert len(result.out.splitlines()) == 1 + 4


# ---------------------------------------------------------------- the bar


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


def output_on(stderr: Any) -> Output:
    early = Early("sweep", "en", "table", no_color=True)
    return output_for(Streams(io.StringIO(), io.StringIO(), stderr), early, "sweep")


def test_a_bar_runs_on_a_terminal_and_is_taken_away() -> None:
    now, stream = [0.0], Terminal()
    bar = Progress(output_on(stream), 1_000_000, clock=lambda: now[0])
    for done in range(0, 1_000_001, 100_000):
        bar.update(done)
        now[0] += 0.5
    bar.end()
    lines = stream.getvalue().split("\r")[1:]
    assert len(lines) == 12
    assert lines[5].startswith("████████████░░░░░░░░░░░░ 50 %  500,000 of 1,000,000, 2 s left")
    assert lines[10].startswith("████████████████████████ 100 %")
    assert lines[-1] == "\x1b[K"


def test_it_draws_ten_times_a_second_at_most() -> None:
    now, stream = [0.0], Terminal()
    bar = Progress(output_on(stream), 1000, clock=lambda: now[0])
    for done in range(1000):
        bar.update(done)
        now[0] += 0.001
    assert stream.getvalue().count("\r") == 10


def test_without_a_terminal_there_is_no_bar(gpuflow: Any) -> None:
    stream = io.StringIO()
    bar = Progress(output_on(stream), 10)
    bar.update(5)
    bar.end()
    assert stream.getvalue() == ""
    assert gpuflow(*SMALL).err == ""


def test_the_bar_stays_on_one_line_of_a_narrow_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuflow.cli.progress.terminal_width", lambda stream: 40)
    stream = Terminal()
    bar = Progress(output_on(stream), 1_000_000, clock=lambda: 0.0)
    bar.update(1000)
    (drawn,) = stream.getvalue().split("\r")[1:]
    assert cell_width(drawn.removesuffix("\x1b[K")) == 39
