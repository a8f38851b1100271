"""Options that would change nothing, or mean something else than was typed, are refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize("verb", ["play", "schema"])
@pytest.mark.parametrize("form", ["table", "markdown", "csv"])
def test_a_verb_without_tables_refuses_their_formats(verb: str, form: str, gpuflow: Any) -> None:
    assert "--format {json}" in gpuflow(verb, "--help").out
    result = gpuflow(verb, "--format", form)
    assert (result.code, result.out) == (2, "")
    assert f"`{form}`" in result.err
    assert "json" in result.err


@pytest.mark.parametrize("arguments", [("--format", "csv", "play"), ("--format", "csv")])
def test_a_format_before_the_verb_is_refused_too(arguments: tuple[str, ...], gpuflow: Any) -> None:
    result = gpuflow(*arguments)
    assert (result.code, result.out) == (2, "")


@pytest.mark.parametrize("options", [("--at", "6"), ("--step", "decode-first")])
def test_text_of_one_step_is_that_step_alone(options: tuple[str, ...], gpuflow: Any) -> None:
    whole = gpuflow("play", "--plain").out
    text = gpuflow("play", "--plain", *options).out
    assert text.startswith("Step 6/8")
    assert text.count("/8 (") == 1
    assert text in whole
    steps = gpuflow("play", *options, "--format", "json").json["steps"]
    assert [step["id"] for step in steps] == ["decode-first"]


def test_a_moment_tells_the_step_it_is_in(gpuflow: Any) -> None:
    assert gpuflow("play", "--plain", "--at", "1.5ms").out.startswith("Step 2/8")


@pytest.mark.parametrize(
    ("option", "most"),
    [("--tp", 16_384), ("--batch", 10**6), ("--prompt", 10**8), ("--context", 10**8)],
)
@pytest.mark.parametrize("text", ["0", "1000000000"])
def test_a_number_has_one_range(option: str, most: int, text: str, gpuflow: Any) -> None:
    result = gpuflow("estimate", option, text)
    assert result.code == 2
    assert result.err == f"{option}: `{text}` is not a whole number from 1 to {most}\n"


@pytest.mark.parametrize(
    "arguments",
    [("--model", ""), ("--gpu", " "), ("--profile", ""), ("play", ""), ("compare", "''", "a")],
)
def test_an_empty_name_is_no_name(arguments: tuple[str, ...], gpuflow: Any) -> None:
    result = gpuflow(*arguments)
    assert (result.code, result.out) == (2, "")
    assert "empty" in result.err


@pytest.mark.parametrize("name", ["zh_CN", "ZH", "zh-CN", "zh_CN.UTF-8"])
def test_a_language_is_named_as_locales_name_it(name: str, gpuflow: Any) -> None:
    assert gpuflow("list", "--lang", name).out == gpuflow("list", "--lang", "zh").out
    assert gpuflow("list", f"--lang={name}").code == 0


@pytest.mark.parametrize("name", ["fr", "", "zhx", "_zh"])
def test_another_language_is_refused(name: str, gpuflow: Any) -> None:
    assert gpuflow("list", "--lang", name).code == 2


def test_a_screen_too_large_is_told_how_large_it_may_be(gpuflow: Any) -> None:
    result = gpuflow("play", "--print", "--size", "99999x99999")
    assert result.code == 2
    assert "from 1 to 2000" in result.err


@pytest.mark.parametrize("verb", [("play", "--print"), ("export",)])
@pytest.mark.parametrize("at", ["1.5", "0", "1.5MS", "9", "2 S"])
def test_a_time_without_its_unit_is_told_so(at: str, verb: tuple[str, ...], gpuflow: Any) -> None:
    result = gpuflow(*verb, "--at", at)
    assert result.code == 2
    assert "hint: a time has a unit" in result.err
    assert "1.5ms" in result.err


def test_a_word_is_no_time(gpuflow: Any) -> None:
    assert "hint" not in gpuflow("play", "--print", "--at", "banana").err


def test_the_hint_of_an_empty_scenario_writes_a_whole_one(tmp_path: Path, gpuflow: Any) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("", "utf-8")
    err = gpuflow("validate", str(mine)).err
    command = err.split("`gpuflow ")[1].split(" > ")[0].split()
    mine.write_text(gpuflow(*command).out, "utf-8")
    assert gpuflow("validate", str(mine)).code == 0
    assert gpuflow("play", str(mine), "--plain").out == gpuflow("play", "--plain").out


def test_only_a_scenario_has_a_file_of_its_own(gpuflow: Any) -> None:
    result = gpuflow("show", "gpu", "h100", "--source")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("--source: only a scenario")


@pytest.mark.parametrize("verb", ["record", "export"])
@pytest.mark.parametrize("form", ["markdown", "latex", "csv", "table"])
def test_what_writes_files_of_its_own_forms_refuses_those_of_tables(
    verb: str, form: str, gpuflow: Any
) -> None:
    result = gpuflow(verb, "--format", form)
    assert (result.code, result.out) == (2, "")
    assert f"`{form}`" in result.err


def test_json_without_a_form_exports_the_timeline(gpuflow: Any) -> None:
    asked = ("export", "--step", "2")
    assert gpuflow(*asked, "--format", "json").out == gpuflow(*asked, "--to", "json").out
    assert (
        gpuflow(*asked, "--format", "json", "--to", "txt").out == gpuflow(*asked, "--to", "txt").out
    )


@pytest.mark.parametrize("form", ["markdown", "latex", "csv", "json"])
def test_the_source_of_a_scenario_has_no_other_form(form: str, gpuflow: Any) -> None:
    result = gpuflow("show", "scenario", "tp2-pp2", "--source", "--format", form)
    assert result.code == 2
    assert "source_format" in result.out or f"no {form}" in result.err


@pytest.mark.parametrize("form", ["markdown", "latex"])
def test_what_is_wrong_with_a_scenario_is_no_table(form: str, gpuflow: Any) -> None:
    result = gpuflow("validate", "no.yaml", "--format", form)
    assert f"`{form}` is none of: table, csv, json" in result.err


@pytest.mark.parametrize("verb", ["play", "tour", "notes", "serve", "new", "record", "export"])
@pytest.mark.parametrize(
    ("language", "promise"), [("en", "table when not given"), ("zh", "默认 table")]
)
def test_help_promises_no_table_where_there_is_none(
    verb: str, language: str, promise: str, gpuflow: Any
) -> None:
    assert promise in gpuflow("table", "--help", "--lang", language).out
    assert promise not in gpuflow(verb, "--help", "--lang", language).out


@pytest.mark.parametrize(
    ("arguments", "option", "code"),
    [
        (("play", "--plain", "--print"), "--plain", "option_print_and_plain"),
        (("play", "--collective", "all_reduce", "--plain", "--step", "2"), "--step", "of_rounds"),
        (
            ("play", "--collective", "all_reduce", "--print", "--follow", "0"),
            "--follow",
            "of_rounds",
        ),
        (("play", "--collective", "all_reduce", "--plain", "--ask"), "--ask", "of_rounds"),
        (("table", "--overhead", "5%", "--ttft", "1s", "--tpot", "2ms"), "--overhead", "targets"),
        (("collective", "all_reduce", "--trace", "--sizes", "64,128"), "--sizes", "trace_sizes"),
        (("export", "--to", "txt", "--theme", "light"), "--theme", "option_not_in_form"),
        (("new", "--force"), "--force", "new_force"),
        (("new", "--name", ""), "--name", "option_empty"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    arguments: tuple[str, ...], option: str, code: str, gpuflow: Any
) -> None:
    if "--plain" in arguments or "--print" in arguments:
        result = gpuflow(*arguments)
        assert (result.code, result.out) == (2, "")
        assert result.err.startswith(f"{option}: ")
        return
    result = gpuflow(*arguments, "--format", "json")
    assert result.code == 2
    found = result.json["problems"]
    assert [problem["key"] for problem in found] == [option]
    assert code in found[0]["code"]


def test_a_trace_is_not_lost_in_csv(gpuflow: Any) -> None:
    result = gpuflow("collective", "all_reduce", "--trace", "--format", "csv", "--lang", "en")
    assert "--trace: CSV holds the points alone" in result.err


def test_a_machine_of_its_own_has_links_of_its_own(gpuflow: Any) -> None:
    topology = str(Path(__file__).parents[1] / "data" / "topo" / "switch-nv8.txt")
    asked = ("estimate", "--topo", topology, "--tp", "4")
    assert gpuflow(*asked).code == 0
    result = gpuflow(*asked, "--fabric", "pcie-5", "--lang", "en")
    assert result.code == 2
    assert result.err.startswith("--fabric: the machine of --topo has links of its own")
