"""The card: names that scripts rely on, figures that agree with the other verbs, and its limits."""

from __future__ import annotations

from typing import Any

import pytest

from gpuflow.cells import cell_width

CARD = {
    *("schema", "inputs", "ttft_s", "tpot_s", "answer_s", "time", "traffic", "bottleneck"),
    *("memory", "best_change", "second_change", "changes"),
}
TRAFFIC = {
    *("class", "phase", "collective", "payload", "ranks", "message_size_bytes", "messages"),
    *("time_s", "share", "time_source", "gpu_bytes", "gpu_bytes_per_s", "nic_bytes"),
    "nic_bytes_per_s",
}
CHANGE = {
    *("kind", "value", "tp", "pp", "dp", "ep", "batch", "gpus", "fits", "ttft_s", "tpot_s"),
    *("answer_s", "tokens_per_s", "gain", "text"),
}
MEMORY = {
    *("device_bytes", "weights_bytes", "kv_bytes", "activations_bytes", "pool_bytes"),
    *("pool_tokens", "request_tokens", "requests", "fits"),
}


def test_the_document_has_these_names(gpuflow: Any) -> None:
    found = gpuflow("card", "--format", "json").json
    assert found["schema"] == "gpuflow/card/1"
    assert set(found) >= CARD
    assert all(set(row) >= TRAFFIC for row in found["traffic"])
    assert all(set(change) >= CHANGE for change in found["changes"])
    assert set(found["memory"]) >= MEMORY
    assert [row["phase"] for row in found["bottleneck"]] == ["prefill", "decode"]


def test_its_figures_are_those_of_estimate(gpuflow: Any) -> None:
    options = ("--model", "llama-3-70b", "--tp", "8", "--pp", "2", "--batch", "4")
    card = gpuflow("card", *options, "--format", "json").json
    estimate = gpuflow("estimate", *options, "--format", "json").json
    assert card["ttft_s"] == estimate["ttft_s"]
    assert card["tpot_s"] == estimate["tpot_s"]
    for phase in ("prefill", "decode"):
        for name in ("tp", "pp"):
            rows = [
                [
                    row
                    for row in document["traffic"]
                    if (row["phase"], row["class"]) == (phase, name)
                ]
                for document in (card, estimate)
            ]
            messages = [sum(row["messages"] for row in part) for part in rows]
            assert messages[0] == messages[1] > 0
            seconds = [sum(row["time_s"] for row in part) for part in rows]
            assert seconds[0] == pytest.approx(seconds[1])
        shares = [part["share"] for part in card["time"] if part["phase"] == phase]
        assert sum(shares) == pytest.approx(1)


def test_wire_bytes_agree_with_a_hand_calculation(gpuflow: Any) -> None:
    """Two all_reduces a layer: two-shot and ring send 2 (n-1)/n of the message; a hop all of it."""
    options = ("--profile", "ideal", "--model", "llama-3-70b", "--tp", "8", "--pp", "2")
    found = gpuflow("card", *options, "--format", "json").json
    rows = {(row["phase"], row["class"]): row for row in found["traffic"]}
    message = 512 * 8192 * 2
    tp, pp = rows["prefill", "tp"], rows["prefill", "pp"]
    assert tp["message_size_bytes"] == pp["message_size_bytes"] == message
    # 80 layers over two stages: a GPU sees half of the 160 all_reduces
    assert tp["messages"] == 160
    assert tp["gpu_bytes"] == pytest.approx(80 * 2 * 7 / 8 * message)
    assert tp["gpu_bytes_per_s"] == pytest.approx(tp["gpu_bytes"] / (tp["time_s"] / 2))
    assert tp["nic_bytes"] is None
    assert pp["gpu_bytes"] == pp["nic_bytes"] == message
    assert pp["nic_bytes_per_s"] == pytest.approx(message / pp["time_s"])


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    "options",
    [
        (),
        ("moe-ep4",),
        ("--output", "1"),
        ("--model", "llama-3-8b", "--tp", "1", "--pp", "1"),
        ("--model", "deepseek-v3", "--tp", "8", "--dp", "16", "--ep", "128", "--pp", "1"),
        ("--model", "llama-3.1-405b", "--tp", "8", "--pp", "1"),
        (
            "--model",
            "gpt-oss-120b",
            "--tp",
            "4",
            "--pp",
            "2",
            "--dp",
            "4",
            "--ep",
            "8",
            "--batch",
            "1024",
            "--prompt",
            "65536",
            "--output",
            "4096",
            "--overlap",
        ),
        ("--gpu", "rtx-4090", "--profile", "ideal"),
        ("--gpu", "v100", "--precision", "fp16"),
    ],
    ids=" ".join,
)
def test_every_card_fits_its_screen(options: tuple[str, ...], language: str, gpuflow: Any) -> None:
    result = gpuflow("card", *options, "--lang", language)
    assert (result.code, result.err) == (0, "")
    lines = result.out.removesuffix("\n").split("\n")
    assert len(lines) <= 24
    assert max(map(cell_width, lines)) <= 80


def test_the_change_that_is_named_is_the_best_that_fits(gpuflow: Any) -> None:
    found = gpuflow("card", "--model", "llama-3-70b", "--tp", "4", "--format", "json").json
    helping = [c for c in found["changes"] if c["fits"] and c["kind"] != "batch"]
    assert found["best_change"]["gain"] == max(change["gain"] for change in helping) > 0
    assert found["best_change"]["answer_s"] < found["answer_s"]


def test_a_change_gives_what_the_changed_scenario_gives(gpuflow: Any) -> None:
    options = ("--model", "llama-3-70b", "--pp", "1", "--batch", "8")
    found = gpuflow("card", *options, "--tp", "8", "--format", "json").json
    for change in found["changes"]:
        changed = list(options)
        if change["kind"] == "precision":
            changed += ["--tp", "8", "--precision", change["value"]]
        elif change["kind"] == "gpu":
            changed += ["--tp", "8", "--gpu", change["value"]]
        elif change["kind"] in {"split", "gpus"}:
            changed += ["--tp", str(change["tp"]), "--dp", str(change["dp"])]
            changed += ["--pp", str(change["pp"]), "--batch", str(change["batch"])]
        else:
            continue
        there = gpuflow("card", *changed, "--format", "json").json
        assert there["ttft_s"] == pytest.approx(change["ttft_s"])
        assert there["tpot_s"] == pytest.approx(change["tpot_s"])


def test_what_does_not_fit_is_told_the_smallest_split_that_does(gpuflow: Any) -> None:
    result = gpuflow("card", "--model", "llama-3.1-405b", "--tp", "8", "--pp", "1")
    assert "it does not fit" in result.out
    assert "is the smallest split that fits" in " ".join(result.out.split())


def test_memory_is_divided_as_the_engine_divides_it(gpuflow: Any) -> None:
    lines = {
        "vllm serve llama-3-8b --gpu-memory-utilization 0.5": 0.5,
        "sglang serve llama-3-8b --mem-fraction-static 0.5": 0.5,
        "trtllm-serve llama-3-8b --kv_cache_free_gpu_memory_fraction 0.5": 0.5,
    }
    for line, part in lines.items():
        m = gpuflow("card", "--launch", line, "--format", "json").json["memory"]
        device, weights, working = m["device_bytes"], m["weights_bytes"], m["activations_bytes"]
        pool = {
            "vllm": part * device - weights - working,
            "sglang": part * device - weights,
            "trtllm-serve": part * (device - weights - working),
        }[line.split()[0]]
        assert m["pool_bytes"] == pytest.approx(pool)
        # 131,072 bytes of cache a token over the whole model
        assert m["pool_tokens"] == pytest.approx(pool / 131_072, rel=1e-3)


def test_other_formats(gpuflow: Any) -> None:
    markdown = gpuflow("card", "--format", "markdown").out
    assert markdown.startswith("```\n")
    assert markdown.endswith("\n```\n")
    csv = gpuflow("card", "--format", "csv").out
    assert csv.startswith("section,row,name,value\n")


@pytest.mark.parametrize(
    "options",
    [(), ("--batch", "4", "--micro-batches", "2"), ("--prompt", "4096", "--chunk", "1024")],
    ids=["one-pass", "micro-batches", "chunks"],
)
def test_times_are_of_one_pass_and_shares_of_all(options: tuple[str, ...], gpuflow: Any) -> None:
    card = gpuflow("card", *options, "--format", "json").json
    estimate = gpuflow("estimate", *options, "--format", "json").json
    for phase in ("prefill", "decode"):
        times = [one for one in card["time"] if one["phase"] == phase]
        steps = [one["duration_s"] for one in estimate["steps"] if one["phase"] == phase]
        assert sum(one["time_s"] for one in times) == pytest.approx(sum(steps))
        assert sum(one["share"] for one in times) == pytest.approx(1)
    described = gpuflow("schema", "card").json["$defs"]["time"]["properties"]["share"]
    assert "of that pass" in described["description"]


@pytest.mark.parametrize(
    ("language", "plain", "hidden"), [("en", "time", "exposed"), ("zh", "耗时", "未掩盖")]
)
def test_what_computing_hides_is_not_said_to_be_all_the_time(
    language: str, plain: str, hidden: str, gpuflow: Any
) -> None:
    heads = [
        next(
            line
            for line in gpuflow("card", *options, "--lang", language).out.splitlines()
            if "Gb/s" in line and line.startswith("  ")
        )
        for options in ((), ("--overlap",))
    ]
    assert plain in heads[0]
    assert hidden not in heads[0]
    assert hidden in heads[1]
