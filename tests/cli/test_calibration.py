"""`import nccl --write` and `--calibration`: own measurements stand above published ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from gpuflow.cluster.own import own_calibrations

DATA = Path(__file__).parents[1] / "data" / "nccl-tests"

Gpuflow = Callable[..., Any]


@pytest.fixture
def own(tmp_path: Path, gpuflow: Gpuflow) -> str:
    """A calibration of 16 H100 on two nodes: 12 us and 100 GB/s of bus for 4 ranks, say."""
    path = tmp_path / "own.yaml"
    arguments = ("--gpu", "h100", "--nodes", "2", "--write", str(path))
    result = gpuflow("import", "nccl", str(DATA / "headless.log"), *arguments)
    assert result.code == 0
    assert str(path) in result.err
    return str(path)


def points(result: Any) -> dict[int, float]:
    chosen = [point for point in result.json["points"] if point["chosen"]]
    return {point["size_bytes"]: point["time_s"] for point in chosen}


def test_what_is_written_gives_the_log_back(own: str, gpuflow: Gpuflow) -> None:
    entry = yaml.safe_load(Path(own).read_text("utf-8"))["calibrations"][0]
    assert (entry["gpu"], entry["ranks"], entry["nodes"]) == ("h100-sxm", 4, 2)
    assert entry["mean_abs_error"] < 0.05
    arguments = ("--gpu", "h100", "--ranks", "4", "--nodes", "2", "--sizes", "64KiB..16MiB")
    result = gpuflow(
        "collective", "all_reduce", *arguments, "--calibration", own, "--format", "json"
    )
    assert (result.code, result.err) == (0, "")
    assert result.json["calibration_file"] == own
    for size, time_s in points(result).items():
        assert time_s == pytest.approx(12e-6 + 1.5 * size / 100e9, rel=0.01)
    usual = gpuflow("collective", "all_reduce", *arguments, "--format", "json")
    assert points(usual) != points(result)
    assert own_calibrations() is None


@pytest.mark.parametrize("verb", ["estimate", "table"])
def test_scenarios_take_own_times(verb: str, own: str, gpuflow: Gpuflow) -> None:
    text = Path(own).read_text("utf-8").replace("ranks: 4", "ranks: 16")
    Path(own).write_text(text, "utf-8")
    machine = ("--gpu", "h100", "--model", "llama-3-70b", "--tp", "16", "--pp", "1")
    arguments = (verb, *machine, "--format", "json")
    usual, result = gpuflow(*arguments), gpuflow(*arguments, "--calibration", own)
    assert (result.code, result.err) == (0, "")
    assert result.json != {**usual.json, "calibration_file": own}
    assert gpuflow(*arguments).json == usual.json


@pytest.mark.parametrize(
    "arguments",
    [
        ("compare", "tp=16,pp=1", "tp=16,pp=2", "--gpu", "h100", "--model", "llama-3-70b"),
        ("sweep", "--gpu", "h100", "--model", "llama-3-70b", "--tp", "16", "--pp", "1"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_verbs_of_many_scenarios_take_own_times(
    arguments: tuple[str, ...], own: str, gpuflow: Gpuflow
) -> None:
    text = Path(own).read_text("utf-8").replace("ranks: 4", "ranks: 16")
    Path(own).write_text(text, "utf-8")
    usual = gpuflow(*arguments, "--format", "json")
    result = gpuflow(*arguments, "--format", "json", "--calibration", own)
    assert (result.code, result.err) == (0, "")
    assert result.json["calibration_file"] == own
    assert {**usual.json, "calibration_file": own} != result.json


def test_the_player_takes_own_times(own: str, gpuflow: Gpuflow) -> None:
    text = Path(own).read_text("utf-8").replace("ranks: 4", "ranks: 16")
    Path(own).write_text(text, "utf-8")
    machine = ("--gpu", "h100", "--model", "llama-3-70b", "--tp", "16", "--pp", "1")
    arguments = ("play", *machine, "--print", "--at", "6", "--size", "80x24")
    assert gpuflow(*arguments).out != gpuflow(*arguments, "--calibration", own).out


def test_a_calibration_of_other_machines_is_said_to_be_unused(own: str, gpuflow: Gpuflow) -> None:
    result = gpuflow("estimate", "--gpu", "a100", "--calibration", own)
    assert result.code == 0
    assert own in result.err
    assert result.out == gpuflow("estimate", "--gpu", "a100").out


MACHINE = ("--gpu", "h100", "--model", "llama-3-70b", "--tp", "8", "--pp", "1")
"""One node whose all_reduce vLLM runs by a kernel of its own."""


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), "differs in kernel (nccl, here trtllm_custom, which an engine brings)\nhint: "),
        (("--tp", "4"), "differs in ranks (8, here 4), kernel (nccl, here trtllm_custom"),
        (("--gpu", "b200"), "differs in GPU (h100-sxm, here b200"),
        (("--profile", "ideal"), "no collective takes a measured time"),
    ],
)
def test_why_a_calibration_is_unused_is_said(
    options: tuple[str, ...], told: str, own: str, gpuflow: Gpuflow
) -> None:
    text = Path(own).read_text("utf-8").replace("ranks: 4", "ranks: 8")
    Path(own).write_text(text.replace("nodes: 2", "nodes: 1"), "utf-8")
    arguments = ("table", *MACHINE, *options, "--calibration", own)
    assert told in gpuflow(*arguments).err
    assert "标定" in gpuflow(*arguments, "--lang", "zh").err


def test_what_the_hint_of_an_unused_calibration_names_makes_it_count(
    own: str, gpuflow: Gpuflow
) -> None:
    text = Path(own).read_text("utf-8").replace("ranks: 4", "ranks: 8")
    Path(own).write_text(text.replace("nodes: 2", "nodes: 1"), "utf-8")
    arguments = ("table", *MACHINE, "--calibration", own)
    profiles = gpuflow(*arguments).err.rstrip().split("runs by NCCL: ")[1].split(", ")
    for profile in profiles:
        assert gpuflow(*arguments, "--profile", profile).err == ""
    one = ("collective", "all_reduce", "--ranks", "8", "--calibration", own, "--kernel")
    assert gpuflow(*one, "vllm_custom").err.endswith("hint: it counts with --kernel nccl\n")
    assert gpuflow(*one, "nccl").err == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a: [",
        "gpuflow: scenario/1",
        "gpuflow: calibration/1\ncalibrations: []",
        "gpuflow: calibration/1\ncalibrations: [{gpu: 1}]",
        "[" * 20_000,
        "\x00",
        "gpuflow: calibration/1\ncalibrations: &a [*a]",
        "gpuflow: calibration/1\na: {<<: {b: 1}}\ncalibrations: [{gpu: x}]",
        "gpuflow: calibration/1\ncalibrations:\n" + "- {a: b}\n" * 60_000,
        "gpuflow: calibration/1\ncalibrations:\n" + "- {a: b}\n" * 250_000,
    ],
)
def test_what_is_no_calibration_file_is_refused(
    text: str, tmp_path: Path, gpuflow: Gpuflow
) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(text, "utf-8")
    result = gpuflow("estimate", "--calibration", str(path))
    assert (result.code, result.out) == (2, "")
    assert str(path) in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ranks", "0"),
        ("ranks", "1"),
        ("ranks", "many"),
        ("nodes", "-1"),
        ("points", "[[1, 2]]"),
        ("points", "[[1, 1e-6], [2, .inf]]"),
        ("points", "[[1, 1e-6], [2, -1]]"),
        ("points", "[[1, 1.0e-6], [2, 5.0e-324]]"),
        ("points", "[[1, 1.0e-6], [2, 1.0e+300]]"),
        ("points", "[[1.0e-300, 1.0e-6], [2, 1]]"),
        ("fabric", "[1]"),
        ("collective", "{}"),
    ],
)
def test_an_entry_that_cannot_be_used_is_named(
    key: str, value: str, own: str, gpuflow: Gpuflow
) -> None:
    content = yaml.safe_load(Path(own).read_text("utf-8"))
    content["calibrations"][0][key] = yaml.safe_load(value)
    Path(own).write_text(yaml.safe_dump(content), "utf-8")
    result = gpuflow("table", "--calibration", own)
    assert result.code == 2
    assert f"`{key}`" in result.err


def test_nothing_is_written_where_nothing_was_fitted(tmp_path: Path, gpuflow: Gpuflow) -> None:
    path = tmp_path / "none.yaml"
    log = str(DATA / "nccl1-msec.log")
    result = gpuflow("import", "nccl", log, "--write", str(path), "--format", "json")
    assert result.code == 2
    assert result.json["problems"][0]["code"] == "nccl_nothing_fitted"
    assert not path.exists()
