"""`gpuflow compare`: how sides are written, and what is said of them."""

from __future__ import annotations

import re
from typing import Any

import pytest

SAME = [
    ("tp=8,pp=1", "tp=4,pp=2"),
    ("tp=8 pp=1", "tp=4 pp=2"),
    ("--tp 8 --pp 1", "--tp 4 --pp 2"),
    ("--tp=8 --pp=1", "--tp=4 --pp=2"),
    ("tp2-pp2,tp=8,pp=1", "tp2-pp2 --tp 4 --pp 2"),
]
QUESTIONS = [
    ("tp=8,pp=1", "tp=4,pp=2", ("--prompt", "2048")),
    ("gpu=h100", "gpu=h200", ("--tp", "8", "--pp", "1")),
    ("fabric=nvlink-4", "fabric=pcie-5", ("--tp", "8", "--pp", "1")),
    ("fabric=ib-ndr", "fabric=ib-xdr", ("--tp", "8", "--pp", "4", "--prompt", "2048")),
]


def figures(document: dict[str, Any]) -> Any:
    return document["metrics"], document["reasons"], document["differs"]


def test_sides_may_be_written_in_several_ways(gpuflow: Any) -> None:
    more = ("--model", "llama-3-70b", "--format", "json")
    found = [gpuflow("compare", a, b, *more).json for a, b in SAME]
    assert all(figures(one) == figures(found[0]) for one in found)
    assert found[0]["differs"] == [
        {"name": "tp", "a": 8, "b": 4},
        {"name": "pp", "a": 1, "b": 2},
    ]
    assert found[2]["inputs"]["a"]["text"] == "--tp 8 --pp 1"


def test_options_outside_hold_for_both_and_a_side_overrules_them(gpuflow: Any) -> None:
    found = gpuflow(
        *("compare", "gpu=h200,layers=18,14", "moe-ep4,isl=64,no-overlap", "--profile", "ideal"),
        *("--batch", "4", "--overlap", "--format", "json"),
    ).json["inputs"]
    a, b = found["a"], found["b"]
    assert (a["gpu"], a["layers"], a["pp"]) == ("h200-sxm", [18, 14], 2)
    assert (b["scenario"], b["prompt"]) == ("moe-ep4", 64)
    assert {a["batch"], b["batch"]} == {4}
    assert (a["overlap"], b["overlap"]) == (True, False)
    assert {a["profile"], b["profile"]} == {"ideal"}


def test_compare_json(gpuflow: Any) -> None:
    found = gpuflow("compare", "tp2-pp2", "moe-ep4", "--format", "json").json
    assert found["schema"] == "gpuflow/compare/1"
    assert set(found["inputs"]) == {"a", "b"}
    names = {"id", "a", "b", "difference", "ratio"}
    assert all(set(metric) == names for metric in found["metrics"])
    names = {"phase", "bound", "class", "a_s", "b_s", "difference_s", "share", "text"}
    names |= {"a_messages", "b_messages"}
    assert all(set(reason) == names for reason in found["reasons"])
    assert {one["phase"] for one in found["conclusions"]} == {"prefill", "decode"}


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(("a", "b", "more"), QUESTIONS)
def test_the_usual_questions_are_answered_with_class_bound_time_and_per_cent(
    a: str, b: str, more: tuple[str, ...], language: str, gpuflow: Any
) -> None:
    shared = ("--model", "llama-3-70b", "--profile", "ideal", *more, "--lang", language)
    text = gpuflow("compare", a, b, *shared).out
    found = gpuflow("compare", a, b, *shared, "--format", "json").json
    for reason in [one for one in found["reasons"] if abs(one["share"]) >= 0.01]:
        assert reason["text"] in text
        assert re.search(r"[+−][\d.]+ (ms|µs|s)", reason["text"])
        assert re.search(r"[+−][\d.]+ %", reason["text"])
        if reason["class"]:
            assert ("latency" if language == "en" else "延迟") in reason["text"] or (
                "bandwidth" if language == "en" else "带宽"
            ) in reason["text"]
    assert all(one["text"] in text for one in found["conclusions"])


def test_measured_times_against_assumed_ones_are_called_so(gpuflow: Any) -> None:
    text = gpuflow("compare", "fabric=nvlink-4", "fabric=pcie-5", "--profile", "vllm").out
    assert "Times of A are calibrated, those of B assumed" in text


def test_parts_that_change_their_bound_are_named(gpuflow: Any) -> None:
    text = gpuflow("compare", "tp=8,pp=1", "tp=4,pp=2", "--model", "llama-3-70b").out
    assert "memory-bound in A are compute-bound in B" in text


@pytest.mark.parametrize(
    ("side", "code", "begins"),
    [
        ("tpp=8", "side_unknown", "A: there is no option `tpp`"),
        ("lang=zh", "side_unknown", "A: there is no option `lang`"),
        ("tp=x", "option_whole", "--tp: `x` is not a whole number"),
        ("", "side_empty", "A: is empty"),
        ("tp2-pp2 moe-ep4", "side_two_scenarios", "A: a side has one scenario"),
        ("model='llama", "side_quotes", "A: `model='llama` has a quotation mark"),
        ("moe-ep4 --tp", "side_no_value", "A: `--tp` needs a value"),
        ("overlap=maybe", "option_choice", "overlap: `maybe` is none of"),
        ("gpu=h1000", "unknown_gpu", "--gpu: "),
        ("no-such", "unknown_scenario", "SCENARIO: there is no scenario"),
    ],
)
def test_a_wrong_side_is_said_in_words(side: str, code: str, begins: str, gpuflow: Any) -> None:
    result = gpuflow("compare", side, "tp2-pp2")
    assert result.code == 2
    assert result.err.startswith(begins)
    found = gpuflow("compare", side, "tp2-pp2", "--format", "json").json["problems"]
    assert [problem["code"] for problem in found] == [code]


def test_csv_and_markdown(gpuflow: Any) -> None:
    rows = gpuflow("compare", "gpu=h100", "gpu=h200", "--format", "csv").out.splitlines()
    assert rows[0] == "section,row,name,value"
    text = gpuflow("compare", "gpu=h100", "gpu=h200", "--format", "markdown").out
    assert text.startswith("## A: gpu=h100")
    assert "| TPOT |" in text


def test_all_that_is_wrong_with_both_sides_is_told_at_once(gpuflow: Any) -> None:
    result = gpuflow("compare", "tq=1,tp=x", "tp=y", "--lang", "en")
    assert (result.code, result.out) == (2, "")
    lines = [line for line in result.err.splitlines() if not line.startswith("hint")]
    assert [line.partition(" ")[0] for line in lines] == ["A:", "--tp:", "--tp:"]
