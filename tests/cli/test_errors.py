"""What is wrong with a command line or a file, in words, and the status to exit with."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gpuflow.cli import app as application
from gpuflow.cli.output import Output
from gpuflow.errors import MissingExtra

# arguments, code of the problem, English line begins with
WRONG = [
    (("tabel",), "verb_unknown", "there is no verb `tabel`"),
    (("table", "--tpp", "2"), "option_unknown", "there is no option `--tpp`"),
    (("table", "--tp"), "option_needs_value", "--tp: this option needs a value"),
    (("table", "--no-color=1"), "option_takes_none", "--no-color: this option takes no value"),
    (("table", "--tp", "two"), "option_whole", "--tp: `two` is not a whole number"),
    (("table", "--tp", "0"), "option_whole", "--tp: `0` is not a whole number"),
    (("table", "--tp", "-1"), "option_whole", "--tp: `-1` is not a whole number"),
    (("table", "--tp", "1e3"), "option_whole", "--tp: `1e3` is not a whole number"),
    (("table", "--batch", "9" * 40), "option_whole", "--batch: `999"),
    (("table", "--overhead", "1"), "option_share", "--overhead: `1` is not between"),
    (("table", "--overhead", "120%"), "share_range", "--overhead: `120%`"),
    (("table", "--overhead", "much"), "number_unreadable", "--overhead: `much`"),
    (("table", "--tpot", "30"), "unit_missing", "--tpot: `30` has no unit"),
    (("estimate", "--ttft", "0ms"), "option_time", "--ttft: `0ms` is not a time above zero"),
    (("table", "--rate", "0"), "option_rate", "--rate: `0` is not a number of requests a second"),
    (("table", "--rate", "nan"), "option_rate", "--rate: `nan` is not a number of requests"),
    (("table", "--lang", "fr"), "option_choice", "--lang: `fr` is none of: zh, en"),
    (("table", "a", "b"), "argument_left_over", "too many arguments: b"),
    (("show",), "argument_missing", "{model|gpu|fabric|profile|scenario|term} is missing"),
    (("show", "planet", "x"), "option_choice", "KIND: `planet` is none of: model"),
    (("show", "model", "llama-9"), "unknown_model", "there is no model `llama-9`"),
    (("collective", "allreduce"), "option_choice", "OP: `allreduce` is none of"),
    (("collective", "all_reduce", "--ranks", "1"), "option_whole", "--ranks: `1`"),
    (("collective", "all_reduce", "--sizes", "1x"), "unit_unknown", "--sizes: "),
    (("collective", "all_reduce", "--sizes", "8..4"), "option_sizes", "--sizes: `8..4`"),
    (("collective", "all_reduce", "--sizes", "0,8"), "option_sizes", "--sizes: `0,8`"),
    (("collective", "all_reduce", "--sizes", "8,"), "number_unreadable", "--sizes: "),
    (("collective", "all_reduce", "--algorithm", "rings"), "option_choice", "--algorithm: "),
    (("collective", "all_reduce", "--ranks", "9", "--nodes", "2"), "nodes_do_not_divide", "--n"),
    (("collective", "all_reduce", "--ranks", "9", "--nodes", "1"), "node_too_small", "--nodes: "),
    (("collective", "send_recv", "--ranks", "4"), "ranks_send_recv", "--ranks: "),
    (
        ("collective", "all_reduce", "--sizes", "1GiB", "--trace"),
        "trace_too_large",
        "--trace: 8 ranks",
    ),
    (("play", "--at", "9"), "option_at", "--at: `9` is neither"),
    (("play", "--size", "80"), "option_size", "--size: `80` is no size"),
    (("play", "--size", "0x24"), "option_size", "--size: `0x24`"),
    (("play", "no-such"), "unknown_scenario", "SCENARIO: there is no scenario `no-such`"),
    (("list", "planets"), "option_choice", "KIND: `planets`"),
    (("validate",), "argument_missing", "FILE... is missing"),
]


@pytest.mark.parametrize(("arguments", "code", "begins"), WRONG, ids=lambda value: str(value)[:40])
def test_a_wrong_command_line_is_said_in_one_line_and_a_hint(
    arguments: tuple[str, ...], code: str, begins: str, gpuflow: Any
) -> None:
    result = (
        gpuflow(*arguments, "--lang", "en") if "--lang" not in arguments else gpuflow(*arguments)
    )
    if arguments[-1] in {"--tp"}:
        result = gpuflow(*arguments)
    assert result.code == 2
    assert result.out == ""
    lines = result.err.splitlines()
    assert lines[0].startswith(begins)
    assert len(lines) <= 2
    assert all(line.startswith("hint: ") for line in lines[1:])


@pytest.mark.parametrize(("arguments", "code", "begins"), WRONG, ids=lambda value: str(value)[:40])
def test_the_same_is_a_problem_with_a_code_in_json(
    arguments: tuple[str, ...], code: str, begins: str, gpuflow: Any
) -> None:
    result = gpuflow(arguments[0], "--format", "json", *arguments[1:])
    if code == "verb_unknown":
        result = gpuflow("--format", "json", *arguments)
    assert result.code == 2
    assert [problem["code"] for problem in result.json["problems"]] == [code]


def test_chinese_users_read_chinese_problems(gpuflow: Any) -> None:
    result = gpuflow("table", "--tp", "two", "--lang", "zh")
    assert result.err == "--tp: `two` 不是 1 到 16384 之间的整数\n"


def test_the_largest_size_is_named_in_a_unit_that_is_taken(gpuflow: Any) -> None:
    said = gpuflow("collective", "all_reduce", "--sizes", "2048TiB", "--lang", "en").err
    assert "none is above 1,024 TiB" in said
    assert gpuflow("collective", "all_reduce", "--sizes", "1024TiB").code == 0


def test_a_near_verb_option_and_choice_are_suggested(gpuflow: Any) -> None:
    assert "hint: did you mean `gpuflow table`?" in gpuflow("tabel").err
    assert "hint: did you mean `--batch`?" in gpuflow("table", "--bach", "3").err
    assert "hint: did you mean `all_reduce`?" in gpuflow("collective", "allreduce").err
    assert "hint: to play it: gpuflow play moe-ep4" in gpuflow("moe-ep4").err


def test_a_scenario_is_reported_whole_with_positions(tmp_path: Path, gpuflow: Any) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text("gpuflow: scenario/1\nname: x\nmodle: llama-3-8b\n", "utf-8")
    result = gpuflow("validate", str(file))
    assert result.code == 2
    assert f"{file}:3:1: modle: " in result.err
    assert "\n  modle: llama-3-8b\n  ^\n" in result.err
    assert gpuflow("play", str(file)).err == result.err
    problems = gpuflow("validate", str(file), "--format", "json").json["problems"]
    assert len(problems) > 1
    assert (problems[0]["line"], problems[0]["column"]) == (3, 1) or any(
        (problem["line"], problem["column"]) == (3, 1) for problem in problems
    )


def test_a_good_scenario_validates(gpuflow: Any, shipped: Path) -> None:
    result = gpuflow("validate", str(shipped))
    assert (result.code, result.out) == (0, "")
    assert result.err == "1 checked, no problem\n"
    found = gpuflow("validate", str(shipped), "--format", "json")
    assert (found.code, found.json["problems"]) == (0, [])


@pytest.fixture
def shipped() -> Path:
    from gpuflow.scenario.load import scenario_path

    return scenario_path("tp2-pp2")


@pytest.mark.parametrize("name", ["folder", "missing.json"])
def test_a_model_that_is_no_file_is_no_traceback(name: str, tmp_path: Path, gpuflow: Any) -> None:
    (tmp_path / "folder").mkdir()
    result = gpuflow("estimate", "--model", str(tmp_path / name))
    assert result.code == 2
    assert str(tmp_path / name) in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    "arguments", [("import", "nccl"), ("import", "trace"), ("table", "--calibration")]
)
def test_a_name_that_is_empty_is_not_the_folder_one_stands_in(
    arguments: tuple[str, ...], gpuflow: Any
) -> None:
    """As `"$LOG"` is where nobody set it."""
    result = gpuflow(*arguments, "")
    assert (result.code, result.out) == (2, "")
    assert "the name of the file is empty" in result.err


def test_problems_of_measurements(tmp_path: Path, gpuflow: Any) -> None:
    assert "there is no such folder" in gpuflow("accuracy", "--truth", str(tmp_path / "no")).err
    (tmp_path / "file.txt").write_text("", "utf-8")
    taken_for_one = gpuflow("accuracy", "--truth", str(tmp_path / "file.txt")).err
    assert "this is no folder; --truth takes the folder" in taken_for_one
    assert gpuflow("accuracy", "--truth", str(tmp_path)).code == 2
    (tmp_path / "bad.csv").write_bytes(b"\xff\xfe\x00")
    result = gpuflow("accuracy", "--truth", str(tmp_path))
    assert result.code == 2
    assert "bad.csv: is no CSV file in UTF-8" in result.err


def test_a_missing_extra_has_a_status_of_its_own(
    gpuflow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def needs_extra(output: Output) -> None:
        raise MissingExtra("mpi")

    monkeypatch.setitem(application.VERBS, "schema", needs_extra)
    result = gpuflow("schema")
    assert result.code == 3
    assert "pip install 'gpuflow[mpi]'" in result.err


def test_a_bug_is_one_line_unless_somebody_asks(
    gpuflow: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(output: Output) -> None:
        raise ZeroDivisionError("by nothing")

    monkeypatch.setitem(application.VERBS, "schema", broken)
    result = gpuflow("schema")
    assert result.code == 1
    assert len(result.err.splitlines()) == 1
    assert "GPUFLOW_DEBUG=1" in result.err
    monkeypatch.setenv("GPUFLOW_DEBUG", "1")
    assert "Traceback" in gpuflow("schema").err


def test_an_interrupt_is_130_and_silent(gpuflow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(output: Output) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(application.VERBS, "schema", interrupted)
    result = gpuflow("schema")
    assert (result.code, result.out, result.err) == (130, "", "")


def test_text_from_outside_cannot_steer_the_terminal(tmp_path: Path, gpuflow: Any) -> None:
    name = "\x1b[31mred\u202e.csv"
    (tmp_path / name).write_text("a,b\n1,2\n", "utf-8")
    columns = "gpu,ranks,nodes,collective,kernel,launch,size_bytes,time_us,source"
    row = "h100-sxm,8,1,all_reduce,nccl,x,1048576,50,\x1b]0;title\x07"
    (tmp_path / "truth.csv").write_text(f"{columns}\n{row}\n", "utf-8")
    for form in ("table", "markdown", "csv", "json"):
        result = gpuflow("accuracy", "--truth", str(tmp_path), "--rows", "--format", form)
        assert result.code == 0
        assert not {"\x1b", "\x07", "\u202e"} & set(result.out)
    wrong = gpuflow("table", "--gpu", "\x1b[2J")
    assert "\x1b" not in wrong.err
    assert json.loads(gpuflow("table", "--gpu", "\x1b[2J", "--format", "json").out)


def test_all_wrong_options_of_a_line_are_told_at_once(gpuflow: Any) -> None:
    result = gpuflow("table", "--tp", "0", "--pp", "x", "--overhead", "2", "--lang", "en")
    assert (result.code, result.out) == (2, "")
    told = [line.partition(":")[0] for line in result.err.splitlines()]
    assert told == ["--tp", "--pp", "--overhead"]
    document = gpuflow("table", "--tp", "0", "--pp", "x", "--format", "json").json
    assert [problem["key"] for problem in document["problems"]] == ["--tp", "--pp"]


def test_what_is_missing_is_told_beside_what_is_wrong(gpuflow: Any) -> None:
    err = gpuflow("collective", "--ranks", "1", "--lang", "en").err
    assert "--ranks: `1` is not a whole number" in err
    assert "OP is missing" in err


def test_help_is_given_whatever_else_is_wrong(gpuflow: Any) -> None:
    result = gpuflow("table", "--tp", "0", "--help")
    assert (result.code, result.err) == (0, "")


@pytest.mark.parametrize("verb", [("import", "nccl"), ("import", "topo"), ("import", "trace")])
def test_a_file_that_is_not_there_is_said_to_be_that(verb: tuple[str, ...], gpuflow: Any) -> None:
    result = gpuflow(*verb, "/nowhere.txt", "--lang", "en")
    assert (result.code, result.err) == (2, "/nowhere.txt: there is no such file\n")


@pytest.mark.parametrize(
    "verb",
    [("import", "nccl"), ("import", "topo"), ("import", "trace"), ("validate",), ("play",)],
)
def test_what_keeps_a_file_from_being_opened_has_one_wording(
    verb: tuple[str, ...], tmp_path: Path, gpuflow: Any
) -> None:
    below = tmp_path / "file"
    below.write_text("", "utf-8")
    inside = str(below / "log.txt")
    assert gpuflow(*verb, inside).err == f"{inside}: there is no such file\n"
    long = str(tmp_path / ("x" * 300))
    assert ": the file cannot be opened (" in gpuflow(*verb, long).err


@pytest.mark.parametrize(
    "arguments",
    [
        ("import", "nccl", ""),
        ("import", "topo", ""),
        ("import", "trace", ""),
        ("validate", ""),
        ("table", "--topo", ""),
        ("table", "--calibration", ""),
    ],
)
def test_the_empty_name_of_a_file_is_not_the_folder_one_stands_in(
    arguments: tuple[str, ...], gpuflow: Any
) -> None:
    result = gpuflow(*arguments)
    assert result.code == 2
    assert result.err.startswith("the name of the file is empty")


def test_a_split_that_the_scenario_makes_is_said_to_be_its_own(gpuflow: Any) -> None:
    model = ("--model", "deepseek-v3", "--tp", "8")
    result = gpuflow("card", *model)
    assert result.code == 2
    assert "hint: pp 2 comes from the scenario tp2-pp2; say --pp" in result.err
    assert "such as --layers 31,30\n" in result.err
    assert "tp2-pp2" in gpuflow("card", *model, "--lang", "zh").err
    assert "comes from" not in gpuflow("card", *model, "--pp", "2").err
    assert gpuflow("card", *model, "--pp", "1").code == 0
