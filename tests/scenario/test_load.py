from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gpuflow.errors import ImportFormatError, Problem, ScenarioError
from gpuflow.importers.hf_config import read_model
from gpuflow.scenario import catalog
from gpuflow.scenario.load import (
    DEFAULT_SCENARIO,
    Overrides,
    load_scenario,
    scenario_names,
    scenario_path,
)
from gpuflow.scenario.model_spec import ModelSpec
from gpuflow.scenario.spec import CollectiveOp, ComputeOp, LayersOp, SendOp, StagesOp

DATA = Path(__file__).parent.parent / "data"
SMALL = DATA / "scenarios" / "small.yaml"
CONFIG = DATA / "hf-config" / "dense.json"


def problems_of(overrides: Overrides, path: str | Path = SMALL) -> list[tuple[str, str, bool]]:
    """Key, code and whether there is a place, of all problems."""
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path, overrides, read_model)
    return [(p.key, p.code, p.mark is not None) for p in caught.value.problems]


def edited(tmp_path: Path, *edits: tuple[str, str]) -> Path:
    text = SMALL.read_text("utf-8")
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "edited.yaml"
    path.write_text(text, "utf-8")
    return path


def test_a_file_becomes_a_scenario() -> None:
    scenario = load_scenario(SMALL)
    assert (scenario.name, scenario.title.zh, scenario.title.en) == (
        "small",
        "小例子",
        "A small one",
    )
    assert scenario.model == catalog.model("llama-3-8b")
    assert scenario.cluster.scale_up == catalog.fabric("nvlink-4")
    assert scenario.cluster.scale_out == catalog.fabric("ib-ndr")
    assert scenario.parallel.world == 4
    assert (scenario.precision, scenario.profile.name) == ("bf16", "vllm")
    assert scenario.workload.context_tokens is None
    assert [step.id for step in scenario.steps][:2] == ["one", "two"]
    assert scenario.steps[-1].operations == (
        StagesOp(
            stages="all",
            operations=(
                LayersOp(
                    which="all",
                    operations=(
                        ComputeOp(part="attention"),
                        CollectiveOp(collective="all_reduce", group="tp", payload="activations"),
                    ),
                ),
                SendOp(payload="activations"),
            ),
        ),
    )


@pytest.mark.parametrize("name", scenario_names())
def test_shipped_scenarios_load_by_name(name: str) -> None:
    scenario = load_scenario(name)
    assert scenario.name == name == scenario_path(name).stem
    assert len(scenario.steps) == 8


def test_the_default_comes_first() -> None:
    assert scenario_names()[0] == DEFAULT_SCENARIO


@pytest.mark.parametrize("name", scenario_names())
@pytest.mark.parametrize("split", [{"tp": 8, "pp": 4}, {"pp": 1}, {"tp": 1, "pp": 1}])
def test_shipped_scenarios_take_other_splits(name: str, split: dict[str, int]) -> None:
    scenario = load_scenario(name, Overrides(**split))  # type: ignore[arg-type]
    assert scenario.parallel.pp == split["pp"]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: "\ufeff" + text,
        lambda text: text.replace("\n", "\r\n"),
        lambda text: "---\n" + text + "...\n",
        lambda text: "%YAML 1.2\n---\n" + text,
        lambda text: text.replace("tp: 2", '"tp": 2').replace("name: small", "'name': \"small\""),
        lambda text: text.rstrip("\n"),
    ],
)
def test_forms_that_yaml_allows_load_alike(tmp_path: Path, change: object) -> None:
    path = tmp_path / "other.yaml"
    path.write_bytes(change(SMALL.read_text("utf-8")).encode())  # type: ignore[operator]
    assert load_scenario(path) == load_scenario(SMALL)


def test_overrides_replace_single_values() -> None:
    scenario = load_scenario(
        SMALL,
        Overrides(tp=4, dp=2, batch=8, prompt=2048, output=64, context=4096, precision="fp8"),
    )
    parallel, workload = scenario.parallel, scenario.workload
    assert (parallel.tp, parallel.pp, parallel.dp) == (4, 2, 2)
    assert (workload.batch, workload.prompt_tokens, workload.output_tokens) == (8, 2048, 64)
    assert (workload.context_tokens, scenario.precision) == (4096, "fp8")


def test_a_gpu_brings_its_own_fabrics_and_node(tmp_path: Path) -> None:
    path = edited(
        tmp_path,
        (
            "{gpu: h100-sxm}",
            "{gpu: h100-sxm, scale_up: pcie-5, scale_out: roce-200, gpus_per_node: 4,"
            " nic_bandwidth: 100 Gb/s}",
        ),
    )
    here = load_scenario(path).cluster
    assert (here.scale_up.name, here.gpus_per_node) == ("pcie-5", 4)
    there = load_scenario(path, Overrides(gpu="a100")).cluster
    assert (there.device.name, there.scale_up.name, there.scale_out.name, there.gpus_per_node) == (
        "a100-80gb-sxm",
        "nvlink-3",
        "ib-hdr",
        8,
    )
    assert there.scale_out == catalog.fabric("ib-hdr")


def test_the_nic_rate_replaces_the_nominal_one_and_scales_what_is_reached(tmp_path: Path) -> None:
    path = edited(tmp_path, ("{gpu: h100-sxm}", "{gpu: h100-sxm, nic_bandwidth: 200 Gb/s}"))
    fabric, usual = load_scenario(path).cluster.scale_out, catalog.fabric("ib-ndr")
    assert fabric.link_bandwidth_bytes_per_s == 25e9
    assert fabric.bus_bandwidth_bytes_per_s == usual.bus_bandwidth_bytes_per_s / 2
    assert fabric.hop_bandwidth_bytes_per_s == usual.hop_bandwidth_bytes_per_s / 2
    assert fabric.title == "InfiniBand NDR @ 200 Gb/s"
    assert fabric.name == "ib-ndr"


def test_a_model_brings_its_own_precision_unless_one_is_given(tmp_path: Path) -> None:
    path = edited(tmp_path, ("model: llama-3-8b", "model: llama-3-8b\nprecision: fp8"))
    assert load_scenario(path).precision == "fp8"
    assert load_scenario(path, Overrides(model="llama-3-70b")).precision == "bf16"
    both = Overrides(model="llama-3-70b", precision="int8")
    assert load_scenario(path, both).precision == "int8"
    assert load_scenario(SMALL, Overrides(model="gpt-oss-120b")).precision == "fp4"


def test_a_model_may_be_a_file_named_by_an_option() -> None:
    scenario = load_scenario(SMALL, Overrides(model=str(CONFIG), pp=2), read_model)
    assert (scenario.model.title, len(scenario.model.layers)) == ("dense", 6)


def test_a_model_in_a_file_is_relative_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.json").write_bytes(CONFIG.read_bytes())
    path = edited(tmp_path, ("model: llama-3-8b", "model: ./config.json"))
    monkeypatch.chdir("/")
    assert len(load_scenario(path, resolve_model=read_model).model.layers) == 6


def test_a_catalogue_name_wins_over_a_folder_of_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "llama-3-70b").mkdir()
    monkeypatch.chdir(tmp_path)
    scenario = load_scenario(SMALL, Overrides(model="llama-3-70b"), read_model)
    assert scenario.model.title == "Llama-3-70B"


def test_problems_of_a_models_file_keep_their_place(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    path = edited(tmp_path, ("model: llama-3-8b", "model: config.json"), ("tp: 2", "tp: two"))
    with pytest.raises(ScenarioError) as caught:
        load_scenario(path, resolve_model=read_model)
    found = [(Path(p.file).name, p.key, p.code) for p in caught.value.problems]
    assert found == [
        ("config.json", "model_type", "config_unsupported"),
        ("edited.yaml", "parallel.tp", "not_whole_number"),
    ]


def test_a_reader_that_fails_is_heard() -> None:
    def fail(path: Path) -> ModelSpec:
        raise ImportFormatError([Problem(code="config_missing", file=str(path))])

    with pytest.raises(ScenarioError) as caught:
        load_scenario(SMALL, Overrides(model="./nowhere"), fail)
    assert caught.value.problems[0].code == "config_missing"


@pytest.mark.parametrize(
    ("overrides", "expected"),
    [
        (Overrides(tp=3), ("--tp", "tp_heads")),
        (Overrides(pp=5), ("--pp", "pp_layers")),
        (Overrides(model="deepseek-v3"), ("--model", "pp_layers")),
        (Overrides(ep=2), ("--ep", "ep_without_experts")),
        (Overrides(model="mixtral-8x7b", ep=16), ("--ep", "ep_ranks")),
        (Overrides(model="mixtral-8x7b", dp=8, ep=16), ("--ep", "ep_experts")),
        (Overrides(tp=0), ("--tp", "out_of_range")),
        (Overrides(batch=10**9), ("--batch", "out_of_range")),
        (Overrides(tp=128, pp=1, dp=1000), ("--tp", "world_too_large")),
        (Overrides(model="llama-9"), ("--model", "unknown_model")),
        (Overrides(gpu="h1000"), ("--gpu", "unknown_gpu")),
        (Overrides(profile="no-engine"), ("--profile", "unknown_profile")),
        (Overrides(precision="fp32"), ("--precision", "unknown_precision")),
        (Overrides(precision="fp8", gpu="a100"), ("--precision", "no_peak")),
        (Overrides(model="deepseek-v3", pp=1, gpu="a100"), ("--gpu", "no_peak")),
    ],
)
def test_problems_made_by_an_option_name_it_and_have_no_place(
    overrides: Overrides, expected: tuple[str, str]
) -> None:
    assert problems_of(overrides) == [(*expected, False)]


def test_an_ep_of_the_file_that_an_option_breaks_is_the_options_problem() -> None:
    assert problems_of(Overrides(dp=3), "moe-ep4") == [("--dp", "ep_ranks", False)]
    assert problems_of(Overrides(model="llama-3-8b"), "moe-ep4") == [
        ("--model", "ep_without_experts", False)
    ]


def test_what_the_file_has_wrong_is_forgiven_where_an_option_replaces_it(tmp_path: Path) -> None:
    path = edited(tmp_path, ("model: llama-3-8b", "model: nothing"), ("pp: 2", "pp: 7"))
    assert load_scenario(path, Overrides(model="llama-3-70b", pp=4)).parallel.pp == 4


def test_kv_heads_fewer_than_tp_are_no_problem() -> None:
    assert load_scenario(SMALL, Overrides(tp=32)).parallel.tp == 32


def test_a_scenario_can_be_changed_by_replacing_its_parts() -> None:
    scenario = load_scenario(SMALL)
    assert replace(scenario, precision="fp8").precision == "fp8"
