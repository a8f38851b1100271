"""`gpuflow new`: files that validate, say what was asked, and read well in both languages."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from gpuflow.cells import cell_width
from gpuflow.engine.composition import composed
from gpuflow.engine.simulate import simulate
from gpuflow.engine.timeline import Timeline
from gpuflow.exporters.plain import steps_text
from gpuflow.exporters.scenario_file import scenario_file, scenario_title
from gpuflow.importers.hf_config import read_model
from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.scenario.model_spec import NO_MLP
from gpuflow.scenario.schema import json_schema
from gpuflow.scenario.spec import Language, Scenario

CASES: dict[str, dict[str, Any]] = {
    "one-gpu": {"tp": 1, "pp": 1},
    "tp8": {"model": "llama-3-70b", "tp": 8, "pp": 1, "prompt": 2048},
    "tp8-pp4": {"model": "llama-3-70b", "tp": 8, "pp": 4, "batch": 8},
    "uneven-pp": {
        "model": "llama-3.1-405b",
        "precision": "fp8",
        "tp": 8,
        "layers": (32, 32, 31, 31),
    },
    "ep64": {"model": "deepseek-v3", "gpu": "h200", "tp": 1, "pp": 1, "dp": 64, "ep": 64},
    "kv-copies": {"model": "llama-3-70b", "tp": 16, "pp": 1},
    "attention-dp": {
        "model": "deepseek-v3",
        "gpu": "h200",
        "tp": 1,
        "pp": 1,
        "dp": 8,
        "ep": 8,
        "batch": 16,
    },
    "experts-tp": {"model": "mixtral-8x7b", "tp": 8, "pp": 1},
    "experts-tp-dp": {
        "model": "qwen3-235b-a22b",
        "gpu": "h200",
        "tp": 4,
        "pp": 1,
        "dp": 2,
        "ep": 8,
    },
    "experts-stages": {
        "model": "qwen3-235b-a22b",
        "gpu": "h200",
        "tp": 2,
        "pp": 2,
        "dp": 2,
        "ep": 4,
    },
    "pcie": {"model": "qwen3-32b", "gpu": "l40s", "precision": "fp8", "tp": 4, "pp": 2},
    "mesh-overlap": {
        "model": "llama-3-70b",
        "gpu": "mi300x",
        "tp": 8,
        "pp": 1,
        "batch": 64,
        "overlap": True,
    },
    "replicas": {"tp": 1, "pp": 1, "dp": 4},
    "micro-batches": {"tp": 1, "pp": 8, "batch": 8, "micro_batches": 4, "chunk": 256},
    "network": {"model": "llama-3-70b", "gpu": "a100", "fabric": "roce-200", "tp": 8, "pp": 2},
    "one-token": {"tp": 2, "pp": 1, "output": 1, "context": 2048},
}
LLAMA = {
    "model_type": "llama",
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 4,
    "num_attention_heads": 8,
    "num_key_value_heads": 8,
    "vocab_size": 1000,
    "torch_dtype": "bfloat16",
}
LANGUAGES: tuple[Language, ...] = ("en", "zh")


def asked(name: str, profile: str = "vllm") -> Scenario:
    changes = Overrides(profile=profile, **CASES[name])
    return load_scenario("tp2-pp2", changes, resolve_model=read_model)


@pytest.fixture(scope="module")
def write(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], tuple[Path, Scenario]]:
    """The file of a case, and the scenario it was written from."""
    folder = tmp_path_factory.mktemp("new")
    made: dict[str, tuple[Path, Scenario]] = {}

    def _write(name: str) -> tuple[Path, Scenario]:
        if name not in made:
            scenario = composed(asked(name))
            path = folder / f"{name}.yaml"
            path.write_text(scenario_file(scenario, scenario.model.name, "en"), "utf-8")
            made[name] = path, scenario
        return made[name]

    return _write


Write = Callable[[str], tuple[Path, Scenario]]


@pytest.mark.parametrize("name", CASES)
def test_a_file_says_exactly_what_was_asked(name: str, write: Write) -> None:
    path, scenario = write(name)
    Draft202012Validator(json_schema()).validate(yaml.safe_load(path.read_text("utf-8")))
    found = load_scenario(path)
    assert found.steps == scenario.steps
    assert found.parallel == scenario.parallel
    assert found.workload == scenario.workload
    assert found.cluster == scenario.cluster
    assert (found.model, found.precision) == (scenario.model, scenario.precision)
    assert found.profile == scenario.profile


@pytest.mark.parametrize("name", CASES)
def test_its_times_are_those_of_the_same_options(name: str, write: Write) -> None:
    path, scenario = write(name)
    base = "moe-ep4" if scenario.steps[2].id == "first-dispatch" else "tp2-pp2"
    usual = load_scenario(base, Overrides(profile="vllm", **CASES[name]))
    found, expected = simulate(load_scenario(path)), simulate(usual)
    assert found.ttft_s == pytest.approx(expected.ttft_s)
    assert found.tpot_s == pytest.approx(expected.tpot_s)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", CASES)
def test_it_reads_as_if_written_for_its_split(name: str, language: Language, write: Write) -> None:
    path, scenario = write(name)
    written = path.read_text("utf-8")
    assert "{if_" not in written
    assert "{unless_" not in written
    assert "{end}" not in written
    told = steps_text(simulate(load_scenario(path)), language, None)
    assert "–." not in told
    assert not re.search(r"(?<!\d)–(?!\d)", told), told
    parallel, moves = scenario.parallel, all_reduce_word(language)
    if parallel.world == 1:
        assert "NVLink" not in told
    if parallel.tp == 1 and not scenario.model.has_experts:
        assert (
            re.findall(moves, told) == [] or "no all_reduce" in told or "不需要 AllReduce" in told
        )
    if parallel.pp == 1:
        assert "Stage" not in told
        assert "last stage" not in told
    else:
        assert ("Stage" if language == "zh" else "stage") in told
    if not scenario.model.has_experts:
        assert "Dispatch" not in told
        assert "expert" not in told


def all_reduce_word(language: Language) -> str:
    return "AllReduce" if language == "zh" else "all_reduce"


@pytest.mark.parametrize("name", CASES)
def test_idle_steps_are_few_and_say_why(name: str, write: Write) -> None:
    _, scenario = write(name)
    timeline: Timeline = simulate(scenario)
    idle = [step for step in timeline.steps if step.is_idle]
    assert len([step for step in idle if step.phase == "prefill"]) <= 1 + (
        scenario.parallel.tp * scenario.parallel.pp == 1
    )
    for step in timeline.steps:
        assert (scenario.steps[step.index].idle is not None) == step.is_idle


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_key_has_its_comment(language: Language) -> None:
    scenario = composed(asked("kv-copies"))
    lines = scenario_file(scenario, "llama-3-70b", language).splitlines()
    head = lines[: lines.index("steps:")]
    key = re.compile(r" *(model|precision|gpu|scale_\w+|[tpde]p):")
    keyed = [number for number, line in enumerate(head) if key.match(line)]
    assert len(keyed) == 9
    assert all(" # " in head[n] or head[n - 1].lstrip().startswith("#") for n in keyed)
    assert ("8 KV heads" if language == "en" else "KV 头只有 8 个") in "\n".join(head)
    first = next(n for n, line in enumerate(lines) if "{collective: all_reduce" in line)
    assert " # " in lines[first] or lines[first - 1].lstrip().startswith("#")
    assert max(map(cell_width, lines)) <= 100


def test_titles_name_model_machines_and_split() -> None:
    title = scenario_title(asked("experts-tp-dp"))
    assert title.en == "Qwen3-235B-A22B on 8 × H200 SXM: TP4×DP2, EP8"
    assert title.zh == "Qwen3-235B-A22B，8 × H200 SXM：TP4×DP2，EP8"


def test_later_stages_are_called_by_their_numbers() -> None:
    two, four = composed(asked("pcie")), composed(asked("tp8-pp4"))
    assert two.steps[3].title.en == "Stage 2 computes layers {rest_layers}"
    assert four.steps[3].title.en == "Stages 2 to {pp}: layers {rest_layers}"
    assert four.steps[3].title.zh == "Stage 2 到 {pp}：第 {rest_layers} 层"


def test_stages_with_experts_mention_their_hand_overs(write: Write) -> None:
    _, scenario = write("experts-stages")
    assert "{hop_size}" in scenario.steps[4].detail.zh
    assert "cut into {pp} stages" in scenario.steps[6].detail.en


def test_layers_that_only_mix_are_not_taken_apart() -> None:
    scenario = asked("one-gpu")
    first, *others = scenario.model.layers
    mixing = replace(scenario.model, layers=(replace(first, mlp=NO_MLP), *others))
    steps = composed(replace(scenario, model=mixing)).steps
    assert [step.id for step in steps[1:4]] == ["prefill-first", "prefill-hop", "prefill-rest"]


# ---------------------------------------------------------------- the verb


def test_it_prints_or_writes_and_never_overwrites(gpuflow: Any, tmp_path: Path) -> None:
    printed = gpuflow("new", "--tp", "4", "--pp", "1")
    assert printed.out.startswith("# A scenario of gpuflow")
    assert "name: llama-3-8b-tp4\n" in printed.out
    path = tmp_path / "My First.yaml"
    written = gpuflow("new", str(path), "--tp", "4", "--pp", "1")
    assert (written.code, written.out) == (0, "")
    assert f"gpuflow play {path}" in written.err
    assert "name: my-first\n" in path.read_text("utf-8")
    assert gpuflow("validate", str(path)).code == 0
    again = gpuflow("new", str(path))
    assert again.code == 2
    assert "is there already" in again.err
    assert gpuflow("new", str(path), "--force", "--name", "other").code == 0
    assert "name: other\n" in path.read_text("utf-8")


def test_new_json(gpuflow: Any) -> None:
    found = gpuflow("new", "--model", "mixtral-8x7b", "--tp", "8", "--pp", "1", "--format", "json")
    assert found.json["schema"] == "gpuflow/new/1"
    assert found.json["name"] == "mixtral-8x7b-tp8"
    assert yaml.safe_load(found.json["text"])["parallel"]["tp"] == 8
    assert found.json["inputs"]["file"] is None


def test_comments_speak_the_language_and_texts_both(gpuflow: Any) -> None:
    english, chinese = (gpuflow("new", "--lang", language).out for language in LANGUAGES)
    assert english != chinese
    assert yaml.safe_load(english) == yaml.safe_load(chinese)


def test_a_launch_line_becomes_a_scenario(gpuflow: Any) -> None:
    line = "vllm serve Qwen/Qwen3-32B -tp 2 -pp 2 --max-num-batched-tokens 2048"
    found = yaml.safe_load(gpuflow("new", "--launch", line).out)
    assert (found["model"], found["parallel"]["tp"], found["parallel"]["pp"]) == ("qwen3-32b", 2, 2)
    assert found["workload"]["chunk"] == 2048


def test_a_model_s_own_file_is_named_from_where_the_scenario_lies(
    gpuflow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "config.json").write_text(json.dumps(LLAMA), "utf-8")
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "scenarios" / "own.yaml"
    path.parent.mkdir()
    result = gpuflow("new", str(path), "--model", "models/config.json", "--tp", "1", "--pp", "1")
    assert result.code == 0, result.err
    assert yaml.safe_load(path.read_text("utf-8"))["model"] == "../models/config.json"
    assert gpuflow("validate", str(path)).code == 0


def test_what_does_not_fit_is_written_and_said(gpuflow: Any) -> None:
    result = gpuflow("new", "--model", "llama-3.1-405b", "--tp", "1", "--pp", "1")
    assert result.code == 0
    assert "It does not fit into memory" in result.out
    assert result.err


def test_takeaways_and_notes_come_back_as_they_were_composed(tmp_path: Path) -> None:
    scenario = composed(load_scenario("tp2-pp2", Overrides(tp=8, pp=1)))
    file = tmp_path / "written.yaml"
    file.write_text(scenario_file(scenario, "llama-3-8b", "zh"), "utf-8")
    read = load_scenario(str(file), Overrides())
    assert [step.takeaway for step in read.steps] == [step.takeaway for step in scenario.steps]
    assert [step.notes for step in read.steps] == [step.notes for step in scenario.steps]
    assert all(step.notes and "\n" in step.notes.zh for step in read.steps)


def test_a_file_that_cannot_be_written_is_said_to_be_that(gpuflow: Any, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere" / "own.yaml"):
        done = gpuflow("new", str(place))
        assert done.code == 2
        assert done.err.startswith(f"{place}: cannot be written")
