"""Names that others' scripts rely on: options, JSON keys, exit codes. Add, never rename."""

from __future__ import annotations

from typing import Any

import pytest

from gpuflow.cli.app import build_program

VERBS = (
    "play",
    "tour",
    "notes",
    "record",
    "export",
    "table",
    "estimate",
    "card",
    "compare",
    "sweep",
    "collective",
    "accuracy",
    "probe",
    "serve",
    "new",
    "list",
    "show",
    "validate",
    "schema",
    "doctor",
    "import",
)
SCENARIO_OPTIONS = {
    "--launch",
    *(
        "--model",
        "--gpu",
        "--fabric",
        "--tp",
        "--pp",
        "--ep",
        "--dp",
        "--batch",
        "--prompt",
        "--output",
    ),
    *("--context", "--precision", "--profile", "--lang", "--no-color"),
    *("--isl", "--osl", "--concurrency"),
}
ESTIMATE = {
    *("schema", "inputs", "ttft_s", "tpot_s", "tpot_at", "tokens_per_s_per_user", "tokens_per_s"),
    *("steps", "traffic", "links", "memory", "assumed", "not_modelled"),
}
STEP = {"id", "number", "phase", "duration_s", "compute_s", "communication_s", "host_s"}
TRAFFIC = {
    *("class", "phase", "collective", "algorithm", "ranks", "message_size_bytes", "messages"),
    *("time_s", "share", "time_source"),
}
REQUIREMENT = {
    *("id", "type", "phase", "tier", "bandwidth_rule", "latency_rule", "topology", "hardware"),
    *("message_size_bytes", "messages_per_pass", "needed_bandwidth_bytes_per_s"),
    *("needed_latency_s", "needed_bandwidth_here_bytes_per_s", "available_bandwidth_bytes_per_s"),
    *("available_latency_s", "predicted_share", "headroom", "verdict", "note"),
}
MODEL = {
    *("parameters", "active_parameters", "weight_bytes", "kv_bytes_per_token", "layers"),
    *("hidden_size", "heads", "kv_heads", "head_size", "experts", "experts_per_token", "assumed"),
}
POINT = {
    *("size_bytes", "ranks", "algorithm", "protocol", "time_s", "bus_bandwidth_bytes_per_s"),
    *("time_source", "chosen"),
}
TRANSFER = {"from", "to", "from_offset", "to_offset", "count", "op"}
GROUP = {
    *("file", "source", "gpu", "ranks", "name", "split", "rows", "mean_abs_error"),
    *("worst_abs_error", "bias"),
}
PROBLEM = {"file", "line", "column", "key", "code", "message", "hint"}
INPUTS = {
    *("scenario", "model", "gpu", "nodes", "tp", "pp", "ep", "dp", "batch", "prompt", "output"),
    *("context", "precision", "profile"),
}


@pytest.fixture(scope="module")
def options() -> dict[str, set[str]]:
    commands = build_program().commands
    return {
        name: {option for item in command.params for option in item.opts}
        for name, command in commands.items()
    }


def test_verbs_are_these(options: dict[str, set[str]]) -> None:
    assert tuple(options) == VERBS


@pytest.mark.parametrize("verb", ["play", "record", "export", "table", "estimate", "card"])
def test_scenario_verbs_have_all_scenario_options(verb: str, options: dict[str, set[str]]) -> None:
    assert options[verb] >= SCENARIO_OPTIONS


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_language_format_and_colour_options(
    verb: str, options: dict[str, set[str]]
) -> None:
    assert options[verb] >= {"--lang", "--format", "--no-color"}


@pytest.mark.parametrize(
    ("verb", "names"),
    [
        ("table", {"--overhead", "--ttft", "--tpot", "--rate"}),
        ("estimate", {"--explain", "--ttft", "--tpot"}),
        ("play", {"--at", "--size", "--print", "--plain"}),
        ("play", {"--fps", "--no-animation", "--loop", "--autoplay", "--step", "--theme"}),
        ("record", {"--from", "--until", "--file", "--size", "--fps", "--speed", "--theme"}),
        ("export", {"--to", "--step", "--at", "--file", "--size", "--theme", "--ascii"}),
        ("accuracy", {"--truth", "--rows"}),
        (
            "collective",
            {
                *("--ranks", "--nodes", "--gpu", "--sizes", "--dtype", "--algorithm", "--trace"),
                *("--kernel", "--launch", "--fabric", "--ascii"),
            },
        ),
    ],
)
def test_verbs_have_their_own_options(
    verb: str, names: set[str], options: dict[str, set[str]]
) -> None:
    assert options[verb] >= names


def test_estimate_json(gpuflow: Any) -> None:
    found = gpuflow("estimate", "--format", "json").json
    assert found["schema"] == "gpuflow/estimate/1"
    assert set(found) >= ESTIMATE
    assert set(found["inputs"]) >= INPUTS
    assert [set(step) >= STEP for step in found["steps"]] == [True] * 8
    assert all(set(row) >= TRAFFIC for row in found["traffic"])
    assert all(set(row) >= {"from", "to", "phase", "bytes"} for row in found["links"])
    assert all(
        set(row) >= {"rank", "weights_bytes", "kv_bytes", "free_bytes"} for row in found["memory"]
    )
    assert all(set(row) >= {"position", "tpot_s"} for row in found["tpot_at"])


def test_estimate_explain_json(gpuflow: Any) -> None:
    found = gpuflow("estimate", "--explain", "--format", "json").json
    names = {"id", "group", "text", "value", "unit", "formula", "inputs", "time_sources"}
    assert all(set(figure) == names for figure in found["explained"])
    inputs = [one for figure in found["explained"] for one in figure["inputs"]]
    names = {"symbol", "id", "text", "value", "unit", "origin", "source"}
    assert all(set(one) == names for one in inputs)
    assert next(f["value"] for f in found["explained"] if f["id"] == "ttft_s") == found["ttft_s"]


def test_estimate_figures_of_the_default_scenario(gpuflow: Any) -> None:
    found = gpuflow("estimate", "--profile", "ideal", "--format", "json").json
    assert found["ttft_s"] == pytest.approx(7.56e-3, rel=0.01)
    assert found["tpot_s"] == pytest.approx(3.53e-3, rel=0.01)
    assert found["tokens_per_s_per_user"] == pytest.approx(1 / found["tpot_s"])
    shares = {(row["class"], row["phase"]): row["share"] for row in found["traffic"]}
    assert shares["tp", "decode"] == pytest.approx(0.145, abs=0.003)


def test_estimate_of_one_token_has_no_tpot(gpuflow: Any) -> None:
    found = gpuflow("estimate", "--output", "1", "--format", "json").json
    assert found["tpot_s"] is None
    assert found["tokens_per_s"] is None
    assert found["tpot_at"] == []


def test_table_json(gpuflow: Any) -> None:
    found = gpuflow("table", "--overhead", "10%", "--format", "json").json
    assert found["schema"] == "gpuflow/table/1"
    assert found["inputs"]["overhead"] == 0.1
    assert all(set(row) >= REQUIREMENT for row in found["rows"])
    assert len(found["conclusions"]) == 4
    assert {row["verdict"] for row in found["rows"]} <= {"ok", "tight", "short", None}


def test_table_keeps_the_rules_of_kinds_the_scenario_lacks(gpuflow: Any) -> None:
    rows = {row["id"]: row for row in gpuflow("table", "--format", "json").json["rows"]}
    lacking = rows["ep_decode"]
    assert lacking["bandwidth_rule"]
    assert lacking["hardware"]
    assert lacking["message_size_bytes"] is None
    assert lacking["verdict"] is None


@pytest.mark.parametrize("verb", ["table", "estimate"])
def test_targets_json(verb: str, gpuflow: Any) -> None:
    found = gpuflow(verb, "--ttft", "500ms", "--tpot", "1 us", "--format", "json").json
    assert (found["inputs"]["ttft_s"], found["inputs"]["tpot_s"]) == (0.5, 1e-6)
    names = {"metric", "target_s", "predicted_s", "headroom", "met"}
    assert all(set(target) == names for target in found["targets"])
    assert {target["metric"]: target["met"] for target in found["targets"]} == {
        "ttft": True,
        "tpot": False,
    }
    names = {"tp", "pp", "dp", "ep", "layers", "batch", "ttft_s", "tpot_s", "tokens_per_s", "own"}
    names |= {"fits", "meets_ttft", "meets_tpot", "meets"}
    assert all(set(split) == names for split in found["splits"])
    assert not any(split["meets"] for split in found["splits"])
    assert all(split["tp"] * split["pp"] * split["dp"] == 4 for split in found["splits"])


def test_load_json(gpuflow: Any) -> None:
    split = ("--model", "llama-3-70b", "--tp", "8", "--pp", "4", "--prompt", "8192")
    plain = gpuflow("table", *split, "--format", "json").json
    found = gpuflow("table", *split, "--rate", "1", "--format", "json").json
    assert plain["load"] is None
    assert found["inputs"]["rate"] == 1.0
    assert found["rows"][: len(plain["rows"])] == plain["rows"]
    rows = {row["id"]: row for row in found["rows"][len(plain["rows"]) :]}
    assert list(rows) == ["kv_handover", "load_nic", "load_leaf", "load_spine"]
    more = {"request_bytes", "sustained_bytes_per_s", "burst_bytes_per_s", "utilisation"}
    assert all(set(row) >= REQUIREMENT | more for row in rows.values())
    assert rows["kv_handover"]["sustained_bytes_per_s"] * 8e-9 == pytest.approx(21.5, abs=0.05)
    assert "oversubscription_tolerated" in rows["load_spine"]
    names = {"here", "tolerated", "bound", "bound_class", "with_handover"}
    assert set(found["load"]["oversubscription"]) == names
    assert any("oversubscription" in note for note in found["load"]["notes"])


def test_without_targets_no_splits_are_tried(gpuflow: Any) -> None:
    found = gpuflow("table", "--format", "json").json
    assert (found["targets"], found["splits"]) == ([], [])
    assert found["inputs"]["ttft_s"] is None


def test_show_model_json(gpuflow: Any) -> None:
    found = gpuflow("show", "model", "mixtral-8x7b", "--format", "json").json
    assert found["schema"] == "gpuflow/show/1"
    assert set(found) >= MODEL
    assert (found["experts"], found["experts_per_token"]) == (8, 2)
    assert gpuflow("show", "model", "llama-3-8b", "--format", "json").json["experts"] is None


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("gpu", "h100"),
        ("fabric", "nvlink-4"),
        ("profile", "ideal"),
        ("scenario", "moe-ep4"),
    ],
)
def test_show_knows_every_kind(kind: str, name: str, gpuflow: Any) -> None:
    found = gpuflow("show", kind, name, "--format", "json").json
    assert found["id"]
    assert found["title"]


def test_collective_json(gpuflow: Any) -> None:
    found = gpuflow("collective", "all_reduce", "--sizes", "8KiB..32KiB", "--format", "json").json
    assert found["schema"] == "gpuflow/collective/1"
    assert all(set(point) >= POINT for point in found["points"])
    assert sorted({point["size_bytes"] for point in found["points"]}) == [8192, 16384, 32768]
    for size in (8192, 16384, 32768):
        assert [p["chosen"] for p in found["points"] if p["size_bytes"] == size].count(True) == 1


def test_collective_trace_json(gpuflow: Any) -> None:
    found = gpuflow(
        *("collective", "all_reduce", "--ranks", "4", "--sizes", "16KiB"),
        *("--algorithm", "ring", "--trace", "--format", "json"),
    ).json
    transfers = [move for one in found["rounds"] for move in one["transfers"]]
    assert all(set(move) >= TRANSFER for move in transfers)
    assert len(found["start"]) == len(found["result"]) == 4
    assert found["bytes_sent"] == [24_576] * 4


def test_accuracy_json(gpuflow: Any) -> None:
    found = gpuflow("accuracy", "--format", "json").json
    assert found["schema"] == "gpuflow/accuracy/1"
    assert all(set(group) >= GROUP for group in found["groups"])
    assert {group["split"] for group in found["groups"]} <= {"fit", "test"}
    assert "rows" not in found


def test_accuracy_rows_keep_the_columns_of_the_file(gpuflow: Any) -> None:
    rows = gpuflow("accuracy", "--rows", "--format", "json").json["rows"]
    added = {"file", "metric", "measured", "predicted", "time_source", "why"}
    assert all(set(row) > added for row in rows)
    gemm = next(row for row in rows if row["file"] == "gemm.csv")
    assert {"operator", "model", "gpu", "tp", "tokens", "time_us", "source"} <= set(gemm)
    serving = [row["metric"] for row in rows if row["file"] == "serving.csv"]
    assert set(serving) == {"ttft_ms", "tpot_ms"}
    assert all(row["why"] for row in rows if row["predicted"] is None)


def test_list_json_has_an_id_for_everything(gpuflow: Any) -> None:
    found = gpuflow("list", "--format", "json").json
    assert found["schema"] == "gpuflow/list/1"
    for kind in ("models", "gpus", "fabrics", "profiles", "scenarios", "algorithms"):
        assert found[kind]
        assert all(row["id"] for row in found[kind])


def test_problems_json(gpuflow: Any) -> None:
    result = gpuflow("table", "--gpu", "h1000", "--format", "json")
    assert result.code == 2
    assert result.err == ""
    assert result.json["schema"] == "gpuflow/table/1"
    assert [set(problem) for problem in result.json["problems"]] == [PROBLEM]


def test_play_json_tells_the_eight_steps(gpuflow: Any) -> None:
    found = gpuflow("play", "--format", "json").json
    assert found["schema"] == "gpuflow/play/1"
    assert [step["number"] for step in found["steps"]] == list(range(1, 9))


@pytest.mark.parametrize("verb", ["estimate", "table", "play"])
def test_keys_and_ids_are_the_same_in_both_languages(verb: str, gpuflow: Any) -> None:
    def shape(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: value["id"] if key == "id" else shape(value[key]) for key in value}
        return [shape(item) for item in value] if isinstance(value, list) else None

    english, chinese = (
        gpuflow(verb, "--format", "json", "--lang", language).json for language in ("en", "zh")
    )
    assert shape(english) == shape(chinese)


@pytest.mark.parametrize(
    ("first", "second"),
    [("--isl", "--prompt"), ("--osl", "--output"), ("--concurrency", "--batch")],
)
def test_second_names_mean_the_same(first: str, second: str, gpuflow: Any) -> None:
    one, other = (gpuflow("estimate", name, "64", "--format", "json") for name in (first, second))
    assert one.out == other.out


def test_overhead_is_a_share_in_either_form(gpuflow: Any) -> None:
    texts = {gpuflow("table", "--overhead", text).out for text in ("20%", "0.2", "20 %")}
    assert len(texts) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--batch", "4", "--micro-batches", "2"), "Counts and times are of one pass"),
        (("--prompt", "4096", "--chunk", "1024"), "Counts and times are of one pass"),
        (("--overlap",), "a time is what the computing beside it does not hide"),
    ],
)
def test_times_of_messages_say_what_they_are_of(
    options: tuple[str, ...], said: str, gpuflow: Any
) -> None:
    assert said in gpuflow("estimate", *options, "--lang", "en").out
    assert said not in gpuflow("estimate", "--batch", "4", "--lang", "en").out


def test_the_share_of_the_table_is_not_said_to_be_that_of_the_estimate(gpuflow: Any) -> None:
    said = gpuflow("table", "--lang", "en").out
    row = gpuflow("table", "--format", "json").json["rows"][1]
    rows = gpuflow("estimate", "--format", "json").json["traffic"]
    of_whole = next(r["share"] for r in rows if (r["class"], r["phase"]) == ("tp", "decode"))
    assert row["predicted_share"] > of_whole
    assert f"{row['predicted_share']:.2%}".replace("%", " %") in said
    assert "of computing and communication together" in said
    assert "of the time" not in said
