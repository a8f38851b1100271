"""`gpuflow import trace`: documents, statuses, tables, comparisons, hostile text, the bar."""

from __future__ import annotations

import csv
import gzip
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gpuflow.cells import cell_width

DATA = Path(__file__).parents[1] / "data" / "traces"
HIDDEN = str(DATA / "hidden.json")
ROW = {
    *("kind", "kernel", "count", "bytes", "time_s", "bus_bandwidth_bytes_per_s", "predicted_s"),
    *("exposed_s", "overlapped_s", "share_of_busy", "share_of_step", "sizes"),
}

Gpuflow = Callable[..., Any]


def steps(n_steps: int, name: str, length: float = 10.0) -> str:
    """Steps of eight layers, each with one collective of that name."""
    events, clock = [], 1000.0
    for _ in range(n_steps):
        parts = ("embedding", *("gemm_a", "attention_b", name, "norm_c") * 8, "head_gemm", "argmax")
        for part in parts:
            lasts = length if part == name else 10.0
            about = {"ph": "X", "cat": "kernel", "name": part, "pid": 0, "tid": 7}
            events.append({**about, "ts": clock, "dur": lasts, "args": {"device": 0, "stream": 7}})
            clock += lasts + 1
        clock += 200
    job = {"rank": 0, "world_size": 8}
    return json.dumps({"distributedInfo": job, "traceEvents": events})


def write(path: Path, text: str) -> str:
    path.write_text(text, "utf-8")
    return str(path)


def test_the_document_keeps_its_names(gpuflow: Gpuflow) -> None:
    result = gpuflow("import", "trace", HIDDEN, "--format", "json")
    assert (result.code, result.err) == (0, "")
    document = result.json
    assert document["schema"] == "gpuflow/import-trace/1"
    assert set(document) >= {"inputs", "collectives", "busy_s", "step", "doubts", "refused"}
    assert all(set(row) >= ROW for row in document["collectives"])
    assert (document["gpu"], document["rank"], document["refused"]) == ("h100-sxm", 3, None)
    assert document["step"] is None
    exchanged = next(one for one in document["collectives"] if one["kernel"].endswith("SendRecv"))
    assert exchanged["kind"] == "all_to_all"
    assert exchanged["bus_bandwidth_bytes_per_s"] == pytest.approx(2 * 2**20 * 7 / 8 / 60e-6)
    assert exchanged["predicted_s"] > 0


def test_the_repeating_step_is_in_the_document(gpuflow: Gpuflow, tmp_path: Path) -> None:
    file = write(tmp_path / "a.json", steps(3, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"))
    document = gpuflow("import", "trace", file, "--format", "json").json
    assert (document["step"]["unit"], document["step"]["count"]) == ("step", 3)
    assert document["step"]["duration_s"] == pytest.approx((35 * 11 + 200) * 1e-6)
    assert (document["layer"]["unit"], document["layer"]["count"]) == ("layer", 24)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [None, 60, 200])
def test_the_tables_name_what_was_found(language: str, width: int | None, gpuflow: Gpuflow) -> None:
    result = gpuflow("import", "trace", HIDDEN, "--lang", language, width=width)
    assert (result.code, result.err) == (0, "")
    for word in ("cross_device_reduce_1stage", "all_to_all", "dispatch", "combine", "h100-sxm"):
        assert word in result.out
    if width is not None:
        plain = re.sub(r"\x1b\[[0-9;]*m", "", result.out)
        assert max(map(cell_width, plain.splitlines())) <= width


def test_two_files_say_what_grew(gpuflow: Gpuflow, tmp_path: Path) -> None:
    name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"
    before = write(tmp_path / "before.json", steps(2, name))
    after = write(tmp_path / "after.json", steps(4, name, 35.0))
    result = gpuflow("import", "trace", before, after, "--format", "json")
    document = result.json
    assert len(document["runs"]) == 2
    (compared,) = document["comparisons"]
    assert (compared["first_steps"], compared["second_steps"]) == (2, 4)
    grown = compared["changes"][0]
    assert grown["kind"] == "all_reduce"
    assert grown["grown_s_per_step"] == pytest.approx(8 * 25e-6)
    told = gpuflow("import", "trace", before, after).out
    assert "+200 µs" in told
    assert f"{after} against {before}, per step" in told
    assert "No step repeats" not in told


def test_a_trace_without_steps_says_that_it_is_compared_whole(
    gpuflow: Gpuflow, tmp_path: Path
) -> None:
    file = write(tmp_path / "steps.json", steps(3, "all_reduce_kernel"))
    told = gpuflow("import", "trace", file, HIDDEN).out
    assert f"No step repeats in {HIDDEN}: all of it counts as one step." in " ".join(told.split())
    assert f"No step repeats in {file}" not in told


def test_rows_come_as_csv(gpuflow: Gpuflow) -> None:
    result = gpuflow("import", "trace", HIDDEN, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(result.out)))
    assert len(rows) == 8
    assert {row["kind"] for row in rows} == {
        *("all_reduce", "all_gather", "all_to_all", "send_recv")
    }


@pytest.mark.parametrize("content", ["", "text", '{"model_type": "llama"}'])
def test_what_is_no_trace_ends_in_two(content: str, gpuflow: Gpuflow, tmp_path: Path) -> None:
    file = write(tmp_path / "no.json", content)
    result = gpuflow("import", "trace", file, "--format", "json")
    assert result.code == 2
    assert result.json["refused"]["code"] in {"not_json", "no_events"}
    assert result.err
    told = gpuflow("import", "trace", file)
    assert told.code == 2
    assert "Refused" in told.out


def test_a_missing_file_ends_in_two(gpuflow: Gpuflow, tmp_path: Path) -> None:
    result = gpuflow("import", "trace", str(tmp_path / "none.json"))
    assert (result.code, result.out) == (2, "")
    assert "none.json" in result.err


@pytest.mark.parametrize(
    ("options", "named"), [(("--gpu", "h1000"), "h1000"), (("--model", "llama-9"), "llama-9")]
)
def test_unknown_names_end_in_two(options: tuple[str, ...], named: str, gpuflow: Gpuflow) -> None:
    result = gpuflow("import", "trace", HIDDEN, *options)
    assert result.code == 2
    assert named in result.err


def test_a_cut_file_is_read_with_a_doubt(gpuflow: Gpuflow, tmp_path: Path) -> None:
    text = steps(3, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL")
    path = tmp_path / "cut.json.gz"
    path.write_bytes(gzip.compress(text[: len(text) * 2 // 3].encode()))
    result = gpuflow("import", "trace", str(path), "--format", "json")
    assert result.code == 0
    assert result.json["doubts"][0]["code"] == "cut"
    assert result.json["kernels"] > 50


def test_hostile_names_are_shown_literally(gpuflow: Gpuflow, tmp_path: Path) -> None:
    evil = "all_reduce\x1b[31m\x9b2J\u202e\ud800[bold]x[/bold]\r\n"
    head = {
        "deviceProperties": [{"id": 0, "name": f"B200{evil}"}],
        "distributedInfo": {"rank": 0, "world_size": 2, "backend": evil, "nccl_version": evil},
        "traceName": "/etc/passwd",
    }
    note = {"ph": "X", "cat": "user_annotation", "name": f"nccl:{evil}", "ts": 1, "dur": 1}
    event = {"ph": "X", "cat": "kernel", "name": evil, "pid": evil, "tid": evil, "ts": 1, "dur": 1}
    path = tmp_path / "evil.json"
    path.write_text(json.dumps({**head, "traceEvents": [note, event, {**event, "args": []}]}))
    for form in ("table", "markdown", "json", "csv"):
        result = gpuflow("import", "trace", str(path), "--format", form)
        assert result.code == 0
        for sign in ("\x1b", "\x9b", "\u202e", "\r"):
            assert sign not in result.out + result.err
    assert "[bold]" in gpuflow("import", "trace", str(path)).out


def test_the_bar_is_drawn_while_reading(
    gpuflow: Gpuflow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[int, int]] = []

    class Watched:
        def __init__(self, output: Any, total: int) -> None:
            self.total = total

        def update(self, done: int) -> None:
            told.append((done, self.total))

        def end(self) -> None:
            told.append((-1, self.total))

    monkeypatch.setattr("gpuflow.cli.progress.Progress", Watched)
    files = [write(tmp_path / f"{n}.json", steps(2, "all_reduce_kernel")) for n in range(2)]
    assert gpuflow("import", "trace", *files).code == 0
    total = sum(Path(file).stat().st_size for file in files)
    assert [whole for _, whole in told] == [total] * len(told)
    done = [part for part, _ in told[:-1]]
    assert done == sorted(done)
    assert done[-1] == total
    assert told[-1] == (-1, total)


def test_a_server_on_b200_reads_as_it_should(gpuflow: Gpuflow, inputs: Path) -> None:
    file = inputs / "traces" / "b200-8gpu-vllm-gpt-oss-120b-tp8-eager-rank0.json.gz"
    document = gpuflow("import", "trace", str(file), "--format", "json").json
    rows = {row["kind"]: row for row in document["collectives"]}
    assert {kind: row["count"] for kind, row in rows.items()} == {"all_reduce": 73, "all_gather": 1}
    assert document["busy_s"] == pytest.approx(10.8e-3, rel=0.01)
    assert (document["step"]["unit"], document["step"]["count"]) == ("layer", 36)
    assert rows["all_gather"]["bytes"] == 402176
    assert rows["all_reduce"]["predicted_s"] == pytest.approx(1.67e-3, rel=0.05)


def test_a_step_is_played(gpuflow: Gpuflow, tmp_path: Path) -> None:
    file = write(tmp_path / "rank0.json", steps(3, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"))
    told = gpuflow("import", "trace", file, "--play")
    assert (told.code, told.err) == (0, "")
    assert "Recorded: rank0.json" in told.out
    assert "8 × all_reduce in" in told.out
    frame = gpuflow("import", "trace", file, "--print", "--at", "layers", "--size", "120x40")
    assert frame.code == 0
    assert "rank0.json" in frame.out
    assert len(frame.out.splitlines()) == 40
    ascii_ = gpuflow("import", "trace", file, "--print", "--ascii", "--at", "100us", "--lang", "zh")
    assert ascii_.out.isascii()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--play", "--format", "json"), "--play"),
        (("--at", "2"), "--at"),
        (("--size", "80x24"), "--size"),
        (("--print", "--at", "nine"), "--at"),
    ],
)
def test_plays_that_make_no_sense_are_refused(
    options: tuple[str, ...], named: str, gpuflow: Gpuflow
) -> None:
    result = gpuflow("import", "trace", HIDDEN, *options)
    assert result.code == 2
    assert named in result.err + result.out


def test_the_player_gets_the_recording(
    gpuflow: Gpuflow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    played: list[Any] = []

    def run_player(timeline: Any, options: Any) -> int:
        played.append((timeline, options))
        return 0

    monkeypatch.setattr("gpuflow.tui.player.run_player", run_player)
    monkeypatch.setattr("gpuflow.cli.streams.Streams.is_terminal", lambda streams: True)
    file = write(tmp_path / "rank0.json", steps(3, "all_reduce_kernel"))
    assert gpuflow("import", "trace", file, "--play", "--lang", "zh").code == 0
    ((timeline, options),) = played
    assert timeline.recording.file == file
    assert options.language == "zh"
