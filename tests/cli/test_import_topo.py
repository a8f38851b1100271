"""`import topo`, `probe` and --topo: what they say of a machine, and how a split runs on it."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import pytest

from gpuflow.cli.boxes import topology_of

DATA = Path(__file__).parent.parent / "data" / "topo"
NVLINK, PAIRS, SWITCHES = (
    str(DATA / f"{name}.txt") for name in ("switch-nv8", "bridged-pairs", "switches")
)


def test_the_document_has_what_the_contract_names(gpuflow: Any) -> None:
    found = gpuflow("import", "topo", str(DATA / "tabs-empty-cell.txt"), "--format", "json")
    assert found.code == 0
    document = found.json
    assert document["gpus"] == 2
    assert document["nics"] == ["NIC0", "NIC1"]
    assert document["links"] == [{"a": 0, "b": 1, "kind": "NV18"}]
    assert {"gpu": 1, "nic": "NIC0", "kind": "NODE"} in document["nic_affinity"]
    assert document["numa"] == [{"gpu": 0, "node": 0}, {"gpu": 1, "node": 1}]
    assert document["doubts"] == []
    assert document["refused"] is None


def test_the_matrix_is_drawn_with_what_hurts_below(gpuflow: Any) -> None:
    found = gpuflow("import", "topo", PAIRS, "--lang", "en")
    lines = found.out.splitlines()
    assert "GPU0  GPU1  GPU2  GPU3" in lines[3]
    assert any(line.split() == ["GPU2", "SYS", "SYS", "·", "NV9"] for line in lines)
    assert "GPU2–GPU3 has 9 NVLinks where other pairs have 12" in found.out
    assert "Pairs that no direct link joins: 4" in found.out


@pytest.mark.parametrize(
    ("rows", "said", "unsaid"),
    [
        # a ring of four: every GPU is reached over NVLink, not every pair directly
        (("X NV2 SYS NV2", "NV2 X NV2 SYS", "SYS NV2 X NV2", "NV2 SYS NV2 X"), "pass", "speed"),
        # two pairs that only PCIe joins
        (("X NV2 SYS SYS", "NV2 X SYS SYS", "SYS SYS X NV2", "SYS SYS NV2 X"), "speed", "pass"),
    ],
)
def test_pairs_without_a_direct_link_are_told_by_what_carries_their_data(
    gpuflow: Any, tmp_path: Path, rows: tuple[str, ...], said: str, unsaid: str
) -> None:
    lines = ["  GPU0 GPU1 GPU2 GPU3", *(f"GPU{gpu} {row}" for gpu, row in enumerate(rows))]
    (tmp_path / "topo.txt").write_text("\n".join(lines) + "\n", "utf-8")
    path = str(tmp_path / "topo.txt")
    warned = gpuflow("import", "topo", path, "--lang", "en", "--format", "json").json["warnings"]
    assert [warning["code"] for warning in warned] == ["no_nvlink_pair"]
    words = {"pass": "other GPUs pass their data on", "speed": "at the speed of PCIe"}
    assert words[said] in warned[0]["text"]
    assert words[unsaid] not in warned[0]["text"]


def test_a_nic_behind_the_other_socket_is_warned_of(gpuflow: Any) -> None:
    found = gpuflow("import", "topo", str(DATA / "front.md"), "--format", "json").json
    far = [warning for warning in found["warnings"] if warning["code"] == "far_nic"]
    assert len(far) == 1
    assert "GPU0" in far[0]["text"]
    assert "GPU1" not in far[0]["text"]


@pytest.mark.parametrize("name", ["mp", "p2p"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_what_does_not_tell_links_is_refused_with_the_right_command(
    gpuflow: Any, name: str, language: str
) -> None:
    path = str(DATA / f"{name}.txt")
    read = gpuflow("import", "topo", path, "--format", "json", "--lang", language)
    assert read.code == 2
    assert "nvidia-smi topo -m" in read.json["refused"]
    assert read.json["links"] == []
    played = gpuflow("table", "--topo", path, "--lang", language)
    assert played.code == 2
    assert "nvidia-smi topo -m" in played.err


def test_steering_characters_never_reach_the_terminal(gpuflow: Any) -> None:
    for options in ((), ("--format", "json"), ("--format", "csv"), ("--format", "markdown")):
        found = gpuflow("import", "topo", str(DATA / "quoted-ansi.txt"), *options)
        assert found.code == 0
        assert "\x1b" not in found.out + found.err
        assert "\u202e" not in found.out + found.err


def test_standard_input_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    topology_of.cache_clear()
    data = io.TextIOWrapper(io.BytesIO(Path(PAIRS).read_bytes()))
    monkeypatch.setattr(sys, "stdin", data)
    assert topology_of("-").n_gpus == 4
    topology_of.cache_clear()


def _table(gpuflow: Any, path: str, *options: str) -> Any:
    command = ("table", "--topo", path, "--model", "llama-3-8b", *options)
    found = gpuflow(*command, "--lang", "en", "--format", "json")
    assert found.code == 0
    return found.json


def _prefill(document: Any) -> Any:
    return next(row for row in document["rows"] if row["id"] == "tp_prefill")


def test_full_nvlink_has_the_rate_of_its_links(gpuflow: Any) -> None:
    found = _table(gpuflow, NVLINK, "--tp", "4")
    assert found["topology"]["bound"] == "nvlink"
    assert "Full NVLink" in found["topology"]["text"][0]
    assert (
        "160 GB/s of bus bandwidth for the group in the ideal profile"
        in (found["topology"]["text"][0])
    )
    # eight of the A100's twelve links, 240 GB/s
    assert _prefill(found)["available_bandwidth_bytes_per_s"] == pytest.approx(160e9)


def test_a_group_over_an_unbridged_pair_is_named_and_held_to_pcie(gpuflow: Any) -> None:
    found = _table(gpuflow, PAIRS, "--tp", "4")
    box = found["topology"]
    assert (box["bound"], box["pair"], box["kind"], box["better_tp"]) == (
        "unbridged",
        [0, 2],
        "SYS",
        2,
    )
    assert "GPU0–GPU2" in box["text"][0]
    assert "--tp 2 --pp 2" in box["text"][1]
    other = box["other_split"]
    assert (other["tp"], other["pp"]) == (2, 2)
    assert other["ttft_s"] < other["ttft_here_s"]
    within = _table(gpuflow, PAIRS, "--tp", "2", "--pp", "2")
    assert within["topology"]["bound"] == "nvlink"
    slow, quick = (_prefill(document) for document in (found, within))
    assert slow["available_bandwidth_bytes_per_s"] == pytest.approx(22e9)
    # nine of twelve links; the pair that lost some holds both back
    assert quick["available_bandwidth_bytes_per_s"] == pytest.approx(247e9 * 9 / 12)
    assert quick["predicted_share"] < slow["predicted_share"] / 2


def test_a_group_over_host_bridges_is_bound_by_them(gpuflow: Any) -> None:
    found = _table(gpuflow, SWITCHES, "--tp", "4")
    assert found["topology"]["bound"] == "host_bridge"
    assert found["topology"]["better_tp"] == 2
    assert _prefill(found)["available_bandwidth_bytes_per_s"] == pytest.approx(24e9)
    below = _table(gpuflow, SWITCHES, "--tp", "2")
    assert below["topology"]["bound"] == "pcie"
    assert "Host-bridge-bound as soon as a group passes 2" in below["topology"]["text"][1]
    assert _prefill(below)["available_bandwidth_bytes_per_s"] == pytest.approx(50e9)


@pytest.mark.parametrize(("tp", "gb"), [(2, 21), (4, 63), (8, 147)])
def test_boxes_of_other_makers_have_the_rate_of_their_links(gpuflow: Any, tp: int, gb: int) -> None:
    options = ("--topo", str(DATA / "npu.txt"), "--model", "llama-3-8b", "--tp", str(tp))
    found = gpuflow("estimate", *options, "--profile", "ideal", "--format", "json").json
    assert found["inputs"]["gpu"] == "ascend-910b"
    told = gpuflow("estimate", *options).out
    assert "HCCS" in told
    assert f"{gb} GB/s" in told


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("verb", ["table", "estimate"])
def test_tables_begin_with_the_machine(gpuflow: Any, verb: str, language: str) -> None:
    found = gpuflow(verb, "--topo", PAIRS, "--tp", "4", "--lang", language)
    assert found.code == 0
    assert "GPU0–GPU2" in found.out.split("\n\n")[0]


def test_a_gpu_that_is_named_is_not_assumed(gpuflow: Any) -> None:
    found = _table(gpuflow, NVLINK, "--tp", "4", "--gpu", "h800")
    assert found["topology"]["assumed"] is None
    assert found["inputs"]["scale_up"] == "nvlink-4-h800"


@pytest.mark.parametrize(
    ("name", "options", "code"),
    [
        ("bridged-pairs.txt", ("--tp", "8"), "topo_too_few"),
        ("headless.txt", ("--tp", "2"), "topo_unknown_pair"),
        ("mx.txt", ("--tp", "2"), "topo_no_figures"),
        ("bridged-pairs.txt", ("--tp", "4", "--gpu", "mi300x"), "topo_shape"),
    ],
)
def test_what_cannot_be_played_is_refused(
    gpuflow: Any, name: str, options: tuple[str, ...], code: str
) -> None:
    found = gpuflow("estimate", "--topo", str(DATA / name), *options, "--format", "json")
    assert found.code == 2
    assert [problem["code"] for problem in found.json["problems"]] == [code]


def test_probe_without_a_gpu_is_one_line(gpuflow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    found = gpuflow("probe", "--lang", "en")
    assert (found.code, found.out) == (1, "")
    assert found.err.count("\n") == 1
    assert "No GPU" in found.err


def test_probe_without_a_gpu_tells_programs_too(
    gpuflow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    found = gpuflow("probe", "--format", "json", "--lang", "en")
    assert (found.code, found.err) == (1, "")
    (problem,) = found.json["problems"]
    assert problem["code"] == "no_gpu"
    assert "nvidia-smi" in problem["message"]


def test_probe_reads_what_the_tool_prints(
    gpuflow: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tool = tmp_path / "nvidia-smi"
    tool.write_text(f'#!/bin/sh\nwhile read -r line; do echo "$line"; done < "{PAIRS}"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = gpuflow("probe", "--format", "json")
    assert found.code == 0
    assert found.json["schema"] == "gpuflow/probe/1"
    assert found.json["gpus"] == 4


def test_a_machine_of_the_catalogue_is_written_as_a_scenario(gpuflow: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "box.yaml")
    command = ("import", "topo", NVLINK, "--write", path)
    assert gpuflow(*command, "--gpu", "h800").code == 0
    found = gpuflow("estimate", path, "--format", "json")
    assert found.code == 0
    inputs = found.json["inputs"]
    assert (inputs["gpu"], inputs["scale_up"], inputs["tp"]) == ("h800", "nvlink-4-h800", 8)
    again = gpuflow(*command, "--gpu", "h800", "--lang", "en")
    assert again.code == 2
    assert "exists already" in again.err


def test_what_scenarios_cannot_say_is_not_written(gpuflow: Any, tmp_path: Path) -> None:
    path = tmp_path / "box.yaml"
    found = gpuflow("import", "topo", PAIRS, "--write", str(path), "--lang", "en")
    assert found.code == 2
    assert "--topo" in found.err
    assert not path.exists()


def test_passed_on_links_are_not_called_pcie(gpuflow: Any) -> None:
    found = _table(gpuflow, str(DATA / "cube.txt"), "--tp", "8")
    assert found["topology"]["bound"] == "unbridged"
    assert "pass their data on" in found["topology"]["text"][0]
    assert found["inputs"]["scale_up"] == "nvlink-2-cube"


def test_a_launch_line_runs_on_the_machine(gpuflow: Any) -> None:
    line = "vllm serve meta-llama/Meta-Llama-3-8B --tensor-parallel-size 4"
    found = gpuflow("table", "--topo", NVLINK, "--launch", line, "--format", "json")
    assert found.code == 0
    assert found.json["topology"]["bound"] == "nvlink"
    assert "A100" in found.json["topology"]["assumed"]


@pytest.mark.parametrize(
    ("file", "tp", "bound", "said"),
    [
        (
            "a800-8gpu-nv8-9nic-truncated.txt",
            4,
            "nvlink",
            ("Full NVLink", "NV8", "160 GB/s"),
        ),
        (
            "4gpu-two-bridged-pairs-nv12-nv10-trailing-space.txt",
            4,
            "unbridged",
            ("GPU0–GPU2, which no NVLink joins (NODE)", "24 GB/s", "--tp 2 --pp 2", "lost link"),
        ),
        (
            "rtxpro6000-8gpu-3switch-pix-pxb-noaffinity.txt",
            4,
            "pcie",
            ("PXB", "50 GB/s", "Host-bridge-bound as soon as a group passes 4 GPUs", "24 GB/s"),
        ),
        (
            "rtxpro6000-8gpu-3switch-pix-pxb-noaffinity.txt",
            2,
            "pcie",
            ("PIX", "Host-bridge-bound as soon as a group passes 4 GPUs"),
        ),
        (
            "rtxpro6000-8gpu-3switch-pix-pxb-noaffinity.txt",
            8,
            "host_bridge",
            ("Host-bridge-bound: TP 8", "GPU0–GPU4 (NODE)", "--tp 4 --pp 2"),
        ),
    ],
)
def test_real_boxes_say_what_binds_a_group(
    file: str, tp: int, bound: str, said: tuple[str, ...], gpuflow: Any, inputs: Path
) -> None:
    """PXB does not traverse a host bridge, NODE does: the matrix's own legend."""
    asked = ("--topo", str(inputs / "topo" / file), "--model", "llama-3-8b", "--tp", str(tp))
    found = gpuflow("table", *asked, "--pp", "1", "--lang", "en", "--format", "json").json[
        "topology"
    ]
    assert found["bound"] == bound
    text = " ".join([*found["text"], *found["warnings"]])
    for words in said:
        assert words in text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_legend_explains_the_kinds_that_stand_there(gpuflow: Any, language: str) -> None:
    switches = gpuflow("import", "topo", SWITCHES, "--lang", language).out.splitlines()[1]
    nvlink = gpuflow("import", "topo", NVLINK, "--lang", language).out.splitlines()[1]
    assert "NV#" in nvlink
    assert "NV#" not in switches
    assert "PIX" in switches
