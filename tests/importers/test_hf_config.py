from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpuflow.errors import ImportFormatError, Problem
from gpuflow.importers.hf_config import read_model
from gpuflow.words import report

CRASH_TESTED = (
    "qwen3-moe.json",
    "deepseek-v32.json",
    "gemma4-nested.json",
    "nemotron-h.json",
    "jamba.json",
    "qwen3-next.json",
    "deci-blocks.json",
    "gpt-oss.json",
    "lfm2.json",
    "llama4-nested.json",
    "starcoder-mqa.json",
    "chatglm.json",
)
DATA = Path(__file__).parent.parent / "data" / "hf-config"


def refused(name: str) -> str:
    """The English report of a file, without the folder in front of its name."""
    with pytest.raises(ImportFormatError) as caught:
        read_model(DATA / name)
    return report(caught.value.problems, "en").replace(f"{DATA}/", "")


def test_a_dense_model_is_read() -> None:
    model = read_model(DATA / "dense.json")
    assert (model.title, model.precision, model.tied_embeddings) == ("dense", "bf16", False)
    assert len(model.layers) == 6
    assert len(set(map(id, model.layers))) == 1
    attention = model.attention
    assert (attention.heads, attention.kv_heads, attention.head_size) == (16, 4, 64)
    assert [(a.key, a.value, a.reason) for a in model.assumed] == [
        ("head_dim", "64", "head_size_derived")
    ]


def test_what_a_file_leaves_out_is_listed_as_assumed() -> None:
    model = read_model(DATA / "bare-architecture.json")
    assert {a.key: (a.value, a.reason) for a in model.assumed} == {
        "num_key_value_heads": ("8", "kv_heads_all"),
        "head_dim": ("64", "head_size_derived"),
        "tie_word_embeddings": ("false", "embeddings_untied"),
        "torch_dtype": ("bf16", "precision_absent"),
    }


def test_qwen3_has_its_own_head_size_and_norms() -> None:
    model = read_model(DATA / "qwen3.json")
    assert (model.attention.head_size, model.attention.qk_norm) == (128, True)
    assert (model.tied_embeddings, model.precision) == (True, "fp16")
    assert model.assumed == ()


def test_a_mixture_may_keep_some_layers_dense() -> None:
    model = read_model(DATA / "qwen3-moe.json")
    assert [layer.mlp.experts for layer in model.layers] == [0, 16, 0, 0, 0, 16]
    assert [layer.mlp.ffn_size for layer in model.layers] == [1024, 64, 1024, 1024, 1024, 64]


def test_mistral_windows_every_layer_and_32_bit_weights_are_served_in_16() -> None:
    model = read_model(DATA / "mistral-window.json")
    assert {layer.attention.window for layer in model.layers} == {4096}
    assert [a.reason for a in model.assumed] == ["head_size_derived", "precision_halved"]


def test_a_folder_stands_for_its_config(tmp_path: Path) -> None:
    folder = tmp_path / "my-model"
    folder.mkdir()
    (folder / "config.json").write_bytes((DATA / "dense.json").read_bytes())
    assert read_model(folder).title == "my-model"
    assert read_model(folder / "config.json").title == "my-model"


def test_a_folder_without_config_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ImportFormatError) as caught:
        read_model(tmp_path)
    assert report(caught.value.problems, "en") == (
        f"{tmp_path}: there is no config.json in this folder"
    )


def test_all_wrong_values_are_named_at_once() -> None:
    lines = refused("many-wrong.json").splitlines()
    assert [line for line in lines if line.startswith("many-wrong")] == [
        "many-wrong.json:3:18: hidden_size: `1024` is not a whole number",
        "many-wrong.json:4:24: intermediate_size: -1 is out of range",
        "many-wrong.json:6:26: num_key_value_heads: `true` is not a whole number",
        "many-wrong.json:7:26: tie_word_embeddings: `no` is neither true nor false",
        "many-wrong.json:8:18: torch_dtype: weights held as `float8_e4m3fn` cannot be read yet; "
        "what can: bfloat16, float16",
        "many-wrong.json:9:17: vocab_size: `100000.0` is not a whole number",
        "many-wrong.json: num_hidden_layers: the key `num_hidden_layers` is missing",
    ]
    assert lines[-1] == (
        "hint: names that are known for it: num_hidden_layers, n_layer, n_layers, num_layers"
    )


@pytest.mark.parametrize(
    ("name", "first_line"),
    [
        (
            "heads.json",
            "heads.json:6:26: num_key_value_heads: 8 KV heads do not divide 12 attention heads",
        ),
        (
            "experts.json",
            "experts.json:8:26: num_experts_per_tok: "
            "8 experts a token are more than the 4 there are",
        ),
        ("bert.json", "bert.json:5:17: model_type: `bert` models cannot be read"),
        (
            "unknown-strange.json",
            "unknown-strange.json:5:17: model_type: `starlight` models cannot be read",
        ),
        (
            "layer-list-short.json",
            "layer-list-short.json:15:18: layer_types: "
            "the list is for 1 layers, but the model has 6",
        ),
        (
            "unknown-quantisation.json",
            "unknown-quantisation.json:14:26: quantization_config: "
            "weights quantised by `aqlm` cannot be counted",
        ),
        (
            "awq-bits.json",
            "awq-bits.json:13:26: quantization_config: "
            "weights quantised by `awq` cannot be counted",
        ),
        (
            "table-of-models.json",
            "table-of-models.json:1:14: llama-7B: "
            "the file holds 2 models; a config.json describes one",
        ),
        ("conflict.json", "conflict.json:3:1: `<<<<<<<` is the mark of a merge conflict"),
        ("trailing-comma.json", "trailing-comma.json:3:22: nothing follows this comma"),
        ("comma-missing.json", 'comma-missing.json:3:3: JSON cannot go on at `"`'),
        ("cut-short.json", "cut-short.json:3:20: the file ends before its JSON does"),
        ("list.json", "list.json: the file should hold one JSON object, {...}"),
        ("bad-utf8.json", "bad-utf8.json:1:17: byte 0xFF at offset 19 is not UTF-8 text"),
        ("empty.json", "empty.json: there is nothing in the file"),
    ],
)
def test_what_cannot_be_read_is_refused_at_its_place(name: str, first_line: str) -> None:
    assert refused(name).splitlines()[0] == first_line


def test_equal_keys_and_constants_are_reported_where_they_do_harm() -> None:
    assert refused("infinity.json") == (
        "infinity.json:4:18: hidden_size: `NaN` is not a whole number\n"
        '    "hidden_size": NaN,\n'
        "                   ^\n"
        "infinity.json:5:3: `model_type` is written a second time; the first is on line 2\n"
        '    "model_type": "nemotron_h",\n'
        "    ^\n"
        "hint: keep one of them\n"
        "infinity.json:6:30: hybrid_override_pattern: `?` layers cannot be read\n"
        '    "hybrid_override_pattern": "M?",\n'
        "                               ^\n"
        "infinity.json: mamba_num_heads: the key `mamba_num_heads` is missing\n"
        "infinity.json: ssm_state_size: the key `ssm_state_size` is missing"
    )


def test_problems_inside_a_nested_block_have_their_place() -> None:
    assert [line for line in refused("other-forms.json").splitlines() if ".json:" in line] == [
        "other-forms.json:5:20: text_config.hidden_size: `2560` is not a whole number",
        "other-forms.json:6:31: text_config.cross_attention_layers: "
        "`cross_attention_layers` is set, and models of that form cannot be read",
        "other-forms.json:7:21: text_config.kv_lora_rank: "
        "`kv_lora_rank` is set, and models of that form cannot be read",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '"' + '\\"' * 200_000,
        "9" * 100_000,
        '{"a": ' + "9" * 5000 + "}",
    ],
)
def test_hostile_json_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(text)
    with pytest.raises(ImportFormatError):
        read_model(path)


def test_a_huge_file_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    with path.open("wb") as stream:
        stream.truncate(5 * 2**30)
    with pytest.raises(ImportFormatError) as caught:
        read_model(path)
    assert caught.value.problems[0].code == "file_too_large"


@pytest.mark.parametrize("value", [[], {}, "x", 1.5, None, True, -3, 10**30, [[1]], {"a": {}}])
@pytest.mark.parametrize("name", CRASH_TESTED)
def test_no_value_of_any_key_is_a_crash(tmp_path: Path, name: str, value: object) -> None:
    data = json.loads((DATA / name).read_text())
    inner = data.get("text_config", data)
    path = tmp_path / "model.json"
    for key in inner:
        changed = inner | {key: value}
        whole = data | {"text_config": changed} if "text_config" in data else changed
        path.write_text(json.dumps(whole))
        _assert_read_or_reported(path)


def _assert_read_or_reported(path: Path) -> None:
    problems: tuple[Problem, ...] = ()
    try:
        read_model(path)
    except ImportFormatError as error:
        problems = error.problems
    assert bool(report(problems, "zh")) == bool(problems)


@pytest.mark.parametrize("key", ["block_configs", "num_kv_shared_layers", "mamba_d_state"])
def test_keys_of_other_forms_are_refused_wherever_they_stand(tmp_path: Path, key: str) -> None:
    data = json.loads((DATA / "dense.json").read_text())
    path = tmp_path / "model.json"
    path.write_text(json.dumps(data | {key: 7}))
    with pytest.raises(ImportFormatError) as caught:
        read_model(path)
    assert [(p.code, p.key) for p in caught.value.problems] == [("config_other_form", key)]


@pytest.mark.parametrize("multiple", ["1e308", "1e999", "-1", "true", '"2"'])
def test_an_impossible_width_of_a_block_is_refused(tmp_path: Path, multiple: str) -> None:
    path = tmp_path / "model.json"
    text = (DATA / "deci-blocks.json").read_text()
    path.write_text(text.replace('"ffn_mult": 2.625', f'"ffn_mult": {multiple}'))
    with pytest.raises(ImportFormatError) as caught:
        read_model(path)
    assert {p.code for p in caught.value.problems} == {"config_block"}
