"""`gpuflow collective`: points, plots, measurements and what cannot be asked together."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest

from gpuflow.cells import cell_width
from gpuflow.cli.collective import KERNELS, LAUNCHES
from gpuflow.cluster import selection

COLOR = re.compile(r"\x1b\[[0-9;]*m")
BRAILLE = re.compile("[\u2801-\u28ff]")
ASKED = ("collective", "all_reduce", "--gpu", "h100", "--ranks", "8", "--sizes", "1KiB..1GiB")


def test_names_of_options_are_those_of_the_cluster_room() -> None:
    assert KERNELS == selection.KERNELS
    assert LAUNCHES == selection.LAUNCHES


def test_defaults_are_the_library_and_the_way_it_is_measured_and_said(gpuflow: Any) -> None:
    inputs = gpuflow(*ASKED, "--format", "json").json["inputs"]
    assert (inputs["kernel"], inputs["launch"]) == ("nccl", "nccl-tests")
    assert "Kernel nccl, launched as nccl-tests" in gpuflow(*ASKED, "--lang", "en").out
    amd = gpuflow("collective", "all_reduce", "--gpu", "mi300x", "--format", "json").json["inputs"]
    assert (amd["kernel"], amd["launch"]) == ("rccl", "rccl-tests")


@pytest.mark.parametrize(
    ("options", "kernel", "launch"),
    [
        (("--kernel", "vllm_custom"), "vllm_custom", "cuda_graph"),
        (("--launch", "custom"), "vllm_custom", "custom"),
        (("--launch", "fused"), "trtllm_custom", "fused"),
        (("--launch", "eager"), "nccl", "eager"),
        (("--kernel", "custom"), "custom", "stream"),
    ],
)
def test_kernel_and_launch_mode_imply_each_other(
    options: tuple[str, ...], kernel: str, launch: str, gpuflow: Any
) -> None:
    found = gpuflow("collective", "all_reduce", *options, "--format", "json").json
    assert (found["inputs"]["kernel"], found["inputs"]["launch"]) == (kernel, launch)
    assert found["points"]


@pytest.mark.parametrize(
    ("arguments", "code", "key"),
    [
        (("all_gather", "--kernel", "vllm_custom"), "kernel_all_reduce_only", "--kernel"),
        (("all_gather", "--launch", "fused"), "kernel_all_reduce_only", "--launch"),
        (("all_reduce", "--kernel", "nccl", "--launch", "fused"), "launch_engine_only", "--kernel"),
        (("all_reduce", "--kernel", "one_shot", "--ranks", "16"), "kernel_one_node", "--kernel"),
        (
            ("all_reduce", "--kernel", "nvls_multimem", "--gpu", "a100"),
            "kernel_needs_switch",
            "--kernel",
        ),
        (("all_reduce", "--kernel", "ncl"), "option_choice", "--kernel"),
        (("all_reduce", "--fabric", "ib-nrd"), "unknown_fabric", "--fabric"),
        (("all_reduce", "--fabric", "ib-ndr"), "fabric_between_nodes", "--fabric"),
    ],
)
def test_what_does_not_go_together_is_refused(
    arguments: tuple[str, ...], code: str, key: str | None, gpuflow: Any
) -> None:
    result = gpuflow("collective", *arguments, "--format", "json")
    problem = result.json["problems"][0]
    assert result.code == 2
    assert (problem["code"], problem["key"]) == (code, key)
    for language in ("en", "zh"):
        said = gpuflow("collective", *arguments, "--lang", language)
        assert (said.code, said.out) == (2, "")
        assert said.err.startswith(f"{key}: " if key else "")


def test_every_point_has_the_keys_of_the_contract(gpuflow: Any) -> None:
    found = gpuflow(*ASKED, "--format", "json").json
    assert set(found) == {
        *("schema", "inputs", "points", "measured", "calibration", "choice", "winners"),
    }
    for point in found["points"]:
        assert list(point)[:8] == [
            *("size_bytes", "ranks", "algorithm", "protocol", "time_s"),
            *("bus_bandwidth_bytes_per_s", "time_source", "chosen"),
        ]
    assert {point["time_source"] for point in found["points"] if point["chosen"]} == {
        "calibrated",
        "extrapolated",
    }
    assert {
        "size_bytes",
        "time_s",
        "bus_bandwidth_bytes_per_s",
        "kernel",
        "launch",
        "source",
    } <= set(found["measured"][0])


def test_csv_holds_the_points_of_json(gpuflow: Any) -> None:
    rows = list(csv.DictReader(io.StringIO(gpuflow(*ASKED, "--format", "csv").out)))
    points = gpuflow(*ASKED, "--format", "json").json["points"]
    assert [row["time_s"] for row in rows] == [str(point["time_s"]) for point in points]
    assert list(rows[0]) == list(points[0])


def test_json_is_the_same_in_both_languages(gpuflow: Any) -> None:
    outputs = {gpuflow(*ASKED, "--format", "json", "--lang", one).out for one in ("en", "zh")}
    assert len(outputs) == 1


def test_a_fabric_between_nodes_replaces_the_usual_one(gpuflow: Any) -> None:
    asked = ("collective", "all_reduce", "--gpu", "b200", "--ranks", "16", "--sizes", "1MiB..1GiB")
    found = gpuflow(*asked, "--fabric", "roce-400", "--format", "json").json
    assert found["inputs"]["scale_out"] == "roce-400"
    times = {p["size_bytes"]: p["time_s"] for p in found["points"] if p["chosen"]}
    measured = [one for one in found["measured"] if one["fabric"] == "roce-400"]
    assert len(measured) >= 4
    on_grid = [one for one in measured if one["size_bytes"] in times]
    errors = [abs(times[one["size_bytes"]] / one["time_s"] - 1) for one in on_grid]
    assert sum(errors) / len(errors) < 0.3
    assert found["calibration"]["step"] == "several_nodes"


# ---------------------------------------------------------------- for people


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_nothing_is_wider_than_the_terminal(width: int, language: str, gpuflow: Any) -> None:
    for more in ((), ("--ascii",), ("--ranks", "16")):
        text = COLOR.sub("", gpuflow(*ASKED, *more, "--lang", language, width=width).out)
        assert [line for line in text.splitlines() if cell_width(line) > width] == []
        assert "…" not in text


@pytest.mark.parametrize("language", ["en", "zh"])
def test_two_plots_stand_in_the_table_format_only(language: str, gpuflow: Any) -> None:
    table = gpuflow(*ASKED, "--lang", language).out
    assert len(BRAILLE.findall(table)) > 100
    assert "● " in table
    for form in ("markdown", "csv", "json"):
        assert not BRAILLE.search(gpuflow(*ASKED, "--lang", language, "--format", form).out)


def test_a_pipe_gets_plots_of_eighty_columns_without_colour(gpuflow: Any) -> None:
    text = gpuflow(*ASKED).out
    plots = [line for line in text.splitlines() if BRAILLE.search(line)]
    assert 76 <= max(map(cell_width, plots)) <= 80
    assert "\x1b" not in text


def test_plots_look_the_same_without_colour(gpuflow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    colored = gpuflow(*ASKED, width=80).out
    plain = gpuflow(*ASKED, "--no-color", width=80).out
    assert "\x1b[" in colored
    assert COLOR.sub("", colored) == plain
    monkeypatch.setenv("NO_COLOR", "1")
    assert gpuflow(*ASKED, width=80).out == plain


@pytest.mark.parametrize("encoding", ["ascii", "gbk", "latin-1"])
def test_an_encoding_without_dots_gets_the_ascii_twin(encoding: str, gpuflow: Any) -> None:
    text = gpuflow(*ASKED, "--lang", "en", encoding=encoding, width=80).out
    plots = text.split("busbw by size")[1].splitlines()[1:17]
    assert all("?" not in line for line in plots)
    assert any("#" in line for line in plots)


def test_one_size_has_no_plot_and_no_ranges(gpuflow: Any) -> None:
    result = gpuflow("collective", "all_reduce", "--sizes", "1MiB", "--lang", "en")
    assert not BRAILLE.search(result.out)
    assert "What wins where" not in result.out
    assert (
        gpuflow("collective", "all_reduce", "--sizes", "1MiB", "--format", "json").json["winners"]
        == []
    )


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ("64KiB,8MiB,128MiB", [2**16, 2**23, 2**27]),
        ("8MiB, 64KiB, 8MiB", [2**16, 2**23]),
        ("1KiB..4KiB,1MiB", [2**10, 2**11, 2**12, 2**20]),
    ],
)
def test_sizes_may_be_listed(asked: str, found: list[int], gpuflow: Any) -> None:
    result = gpuflow("collective", "all_reduce", "--sizes", asked, "--format", "json")
    assert result.json["inputs"]["sizes_bytes"] == found


def test_a_size_of_nothing_takes_no_time(gpuflow: Any) -> None:
    points = gpuflow("collective", "all_reduce", "--sizes", "0", "--format", "json").json["points"]
    assert {(p["time_s"], p["bus_bandwidth_bytes_per_s"]) for p in points} == {(0.0, 0.0)}


def test_every_collective_has_a_table_in_both_languages(gpuflow: Any) -> None:
    for op in ("all_gather", "reduce_scatter", "all_to_all", "broadcast", "reduce", "scatter"):
        for language in ("en", "zh"):
            result = gpuflow("collective", op, "--sizes", "4KiB..64KiB", "--lang", language)
            assert (result.code, result.err) == (0, "")


def test_a_trace_follows_what_is_chosen_unless_an_algorithm_is_asked_for(gpuflow: Any) -> None:
    asked = ("collective", "all_reduce", "--ranks", "4", "--trace", "--format", "json")
    assert gpuflow(*asked).json["algorithm"] == "ring"
    assert gpuflow(*asked, "--algorithm", "two_shot").json["algorithm"] == "two_shot"
    # the plan of NCCL for several nodes has no schedule of its name
    nodes = gpuflow(*asked[:2], "--ranks", "16", *asked[4:], "--sizes", "1KiB").json
    assert nodes["rounds"]
