"""Quantised checkpoints: bytes of every part, exceptions left in 16 bit, side files."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest

from gpuflow.cluster.parameters import model_bytes
from gpuflow.errors import ImportFormatError
from gpuflow.importers.hf_config import read_model
from gpuflow.scenario.model_spec import ModelSpec, StoredSpec

DATA = Path(__file__).parent.parent / "data" / "hf-config"
HIDDEN, FFN, LAYERS, VOCAB = 512, 1024, 4, 1000
QUERY, KV, WIDE = 512 * 512, 512 * 128, 2.0
MLP = 3 * HIDDEN * FFN


def config(tmp_path: Path, quantisation: dict[str, Any] | None, **changes: Any) -> Path:
    """A small Llama in a folder of its own."""
    data = {
        "model_type": "llama",
        "hidden_size": HIDDEN,
        "intermediate_size": FFN,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "vocab_size": VOCAB,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        **changes,
    }
    if quantisation is not None:
        data["quantization_config"] = quantisation
    folder = tmp_path / "model"
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(data))
    return folder


def stored(model: ModelSpec) -> list[StoredSpec]:
    """What every layer is stored in."""
    return [layer.stored or StoredSpec(attention=2, experts=2, dense=2) for layer in model.layers]


AWQ = 4 + (16 + 4) / 128
METHODS: list[tuple[dict[str, Any], str, float]] = [
    # file, our name, bits a weight with scales
    ({"quant_method": "awq", "bits": 4, "group_size": 128, "zero_point": True}, "int4", AWQ),
    ({"quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": False}, "int4", 4.25),
    ({"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True}, "int4", AWQ),
    ({"quant_method": "gptq", "bits": 8, "group_size": -1}, "int8", 8.0),
    ({"quant_method": "gptq_marlin", "bits": 4, "group_size": 32}, "int4", 4.625),
    ({"quant_method": "auto-round", "bits": 4, "group_size": 128, "sym": True}, "int4", 4.125),
    ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8", 8 + 32 / 16384),
    ({"quant_method": "fp8", "activation_scheme": "static"}, "fp8", 8.0),
    ({"quant_method": "fbgemm_fp8", "modules_to_not_convert": ["lm_head"]}, "fp8", 8.0),
    ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8", 8.0),
    ({"quant_method": "bitsandbytes", "load_in_4bit": True}, "int4", 4.5),
    (
        {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_use_double_quant": True},
        "int4",
        4.127,
    ),
    ({"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]}, "fp4", 4.5),
    ({"quant_method": "modelopt", "quant_algo": "FP8"}, "fp8", 8.0),
    ({"quant_method": "modelopt", "quant_algo": "W4A16_AWQ"}, "int4", 4.125),
    ({"quant_method": "modelopt", "quant_algo": "W4A8_NVFP4_FP8"}, "fp4", 4.5),
    ({"quant_method": "mxfp8"}, "fp8", 8.25),
    (
        {"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp8_e4m3"}}},
        "fp8",
        8.0,
    ),
    (
        {
            "quant_method": "compressed-tensors",
            "format": "pack-quantized",
            "ignore": ["lm_head"],
            "config_groups": {
                "group_0": {
                    "targets": ["Linear"],
                    "weights": {"num_bits": 4, "type": "int", "group_size": 32, "symmetric": True},
                }
            },
        },
        "int4",
        4.5,
    ),
    (
        {
            "quant_method": "compressed-tensors",
            "format": "nvfp4-pack-quantized",
            "config_groups": {
                "group_0": {"weights": {"num_bits": 4, "type": "float", "group_size": 16}}
            },
        },
        "fp4",
        4.5,
    ),
    (
        {
            "quant_method": "compressed-tensors",
            "format": "float-quantized",
            "config_groups": {
                "group_0": {"targets": ["Linear"], "weights": {"num_bits": 8, "type": "float"}}
            },
        },
        "fp8",
        8.0,
    ),
]


@pytest.mark.parametrize(("quantisation", "precision", "bits"), METHODS)
def test_every_method_has_its_bits(
    tmp_path: Path, quantisation: dict[str, Any], precision: str, bits: float
) -> None:
    model = read_model(config(tmp_path, quantisation))
    assert model.precision == precision
    assert {(s.attention, s.dense) for s in stored(model)} == {(bits / 8, bits / 8)}
    layer = 2 * QUERY + 2 * KV + MLP
    outer = 2 * VOCAB * HIDDEN + HIDDEN + LAYERS * 2 * HIDDEN
    assert model_bytes(model, precision) == pytest.approx(LAYERS * layer * bits / 8 + outer * WIDE)
    assert [a.reason for a in model.assumed][-1] == "quantised_read"


@pytest.mark.parametrize(
    "ignored",
    [
        ["model.layers.1.self_attn", "lm_head"],
        ["model.layers.1.self_attn.q_proj", "model.layers.1.self_attn.k_proj",
         "model.layers.1.self_attn.v_proj", "model.layers.1.self_attn.o_proj"],
        ["model.layers.1.self_attn*"],
        ["re:.*layers\\.1\\.self_attn.*"],
        ["language_model.model.layers.1.self_attn.qkv_proj",
         "language_model.model.layers.1.self_attn.o_proj"],
    ],
)  # fmt: skip
def test_exceptions_of_one_layer_stay_wide(tmp_path: Path, ignored: list[str]) -> None:
    quantisation = {"quant_method": "fp8", "modules_to_not_convert": ignored}
    found = stored(read_model(config(tmp_path, quantisation)))
    assert [s.attention for s in found] == [1.0, 2.0, 1.0, 1.0]
    assert {s.dense for s in found} == {1.0}


def test_exceptions_of_all_layers_count_by_their_weights(tmp_path: Path) -> None:
    quantisation = {"quant_method": "fp8", "modules_to_not_convert": ["o_proj", "down_proj"]}
    found = stored(read_model(config(tmp_path, quantisation)))
    mean = (QUERY * 1.0 + 2 * KV * 1.0 + QUERY * 2.0) / (2 * QUERY + 2 * KV)
    assert {s.attention for s in found} == {mean}
    assert {s.dense for s in found} == {(2 * 1.0 + 2.0) / 3}


def test_exceptions_of_other_towers_are_not_ours(tmp_path: Path) -> None:
    quantisation = {
        "quant_method": "fp8",
        "modules_to_not_convert": ["visual.layers.1.self_attn", "vision_tower.layers.0.mlp"],
    }
    found = stored(read_model(config(tmp_path, quantisation)))
    assert {(s.attention, s.dense) for s in found} == {(1.0, 1.0)}


def test_a_router_called_gate_is_no_gate_projection() -> None:
    """MiniMax-M2's list: `gate` names the router, which is never quantised."""
    found = stored(read_model(DATA / "minimax-m2.json"))
    assert {(s.attention, s.experts) for s in found} == {(8.001953125 / 8, 8.001953125 / 8)}


def test_mxfp4_of_experts_only() -> None:
    """gpt-oss's form: attention, router, embedding and head stay in 16 bit."""
    model = read_model(DATA / "gpt-oss.json")
    assert model.quantised == "experts"
    assert {(s.attention, s.experts) for s in stored(model)} == {(2.0, 4.25 / 8)}
    expert = 3 * 512 * 512 + 2 * 512 + 512
    experts = 6 * 16 * expert
    assert model_bytes(model, "fp4") == (80_664_720 - experts) * 2 + experts * 4.25 / 8


def test_groups_of_different_bits(tmp_path: Path) -> None:
    quantisation = {
        "quant_method": "compressed-tensors",
        "ignore": ["lm_head"],
        "config_groups": {
            "attention": {
                "targets": ["re:.*self_attn.*"],
                "weights": {"num_bits": 8, "type": "float"},
            },
            "mlp": {
                "targets": ["re:.*mlp.*"],
                "weights": {"num_bits": 4, "type": "float", "group_size": 16},
            },
        },
    }
    model = read_model(config(tmp_path, quantisation))
    assert model.precision == "fp4"
    assert {(s.attention, s.dense) for s in stored(model)} == {(1.0, 4.5 / 8)}


def test_a_side_file_says_how_the_weights_are_stored(tmp_path: Path) -> None:
    folder = config(tmp_path, None)
    (folder / "hf_quant_config.json").write_text(
        json.dumps(
            {
                "producer": {"name": "modelopt"},
                "quantization": {
                    "quant_algo": "NVFP4",
                    "kv_cache_quant_algo": "FP8",
                    "group_size": 16,
                    "exclude_modules": ["lm_head", "model.layers.3*"],
                },
            }
        )
    )
    for path in (folder, folder / "config.json"):
        model = read_model(path)
        assert model.precision == "fp4"
        assert [s.dense for s in stored(model)] == [4.5 / 8] * 3 + [2.0]
        assert {a.reason for a in model.assumed} >= {
            "side_file",
            "kv_cache_scheme",
            "quantised_read",
        }


def test_mixed_precision_is_a_list_of_modules(tmp_path: Path) -> None:
    folder = config(tmp_path, None)
    layers = {
        f"model.layers.{number}.mlp.{name}": {"quant_algo": "NVFP4"}
        for number in range(LAYERS)
        for name in ("gate_proj", "up_proj", "down_proj")
    }
    layers |= {f"model.layers.0.self_attn.{name}_proj": {"quant_algo": "FP8"} for name in "qkvo"}
    (folder / "hf_quant_config.json").write_text(
        json.dumps({"quantization": {"quant_algo": "MIXED_PRECISION", "quantized_layers": layers}})
    )
    found = stored(read_model(folder))
    assert [s.attention for s in found] == [1.0, 2.0, 2.0, 2.0]
    assert {s.dense for s in found} == {4.5 / 8}


def test_a_broken_side_file_is_refused_at_its_own_place(tmp_path: Path) -> None:
    folder = config(tmp_path, None)
    side = folder / "hf_quant_config.json"
    for text, code in (("{", "json_cut_short"), ('{"quantization": 3}', "config_side_file")):
        side.write_text(text)
        with pytest.raises(ImportFormatError) as caught:
            read_model(folder)
        assert [(p.code, p.file) for p in caught.value.problems] == [(code, str(side))]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("My-Model-FP8.json", "FP8"),
        ("model_awq.json", "AWQ"),
        ("m-w4a16.json", "W4A16"),
        ("llama-nvfp4-v2.json", "NVFP4"),
        ("affp8x.json", None),
        ("plain.json", None),
    ],
)
def test_a_name_that_speaks_of_a_quantisation_raises_a_doubt(
    tmp_path: Path, name: str, hint: str | None
) -> None:
    path = tmp_path / name
    path.write_bytes((config(tmp_path, None) / "config.json").read_bytes())
    model = read_model(path)
    doubts = [a.value for a in model.assumed if a.reason == "name_hints_quantised"]
    assert doubts == ([hint] if hint else [])
    assert model.precision == "bf16"


def test_the_name_a_file_was_saved_under_counts_too(tmp_path: Path) -> None:
    model = read_model(config(tmp_path, None, _name_or_path="/models/Llama-FP8/"))
    assert [a.value for a in model.assumed if a.reason == "name_hints_quantised"] == ["FP8"]


@pytest.mark.parametrize(
    "pattern", ["re:(a+)+$", "re:(", "re:.*a.*b.*c.*d.*e.*f.*g.*h", "re:(?i)x"]
)
def test_patterns_that_could_take_for_ever_are_refused(tmp_path: Path, pattern: str) -> None:
    quantisation = {"quant_method": "fp8", "modules_to_not_convert": [pattern]}
    with pytest.raises(ImportFormatError) as caught:
        read_model(config(tmp_path, quantisation))
    assert [p.code for p in caught.value.problems] == ["config_pattern"]


@pytest.mark.parametrize("value", [[], {}, "x", 1.5, None, True, -3, [[1]], {"a": {}}, ["re:["]])
@pytest.mark.parametrize("method", [method for method, _, _ in METHODS[::3]])
def test_no_value_of_any_quantisation_key_is_a_crash(
    tmp_path: Path, method: dict[str, Any], value: object
) -> None:
    for key in (*method, "modules_to_not_convert", "config_groups", "ignore", "quantized_layers"):
        with contextlib.suppress(ImportFormatError):
            read_model(config(tmp_path, method | {key: value}))


@pytest.mark.parametrize(
    ("patterns", "layers", "is_read"),
    [
        (["model.layers.*.self_attn"], 1000, True),
        ([f"model.layers.{number}.self_attn" for number in range(1000)], 1000, True),
        (["re:model.layers.[0-9]+.self_attn"], 126, True),
        (["re:model.layers.[0-9]+.nothing"], 1000, False),
        ([f"*a{number}[0-9]*b*c*d*" for number in range(200)], 1000, False),
    ],
)
def test_patterns_on_layers_have_a_bound(
    patterns: list[str], layers: int, is_read: bool, tmp_path: Path
) -> None:
    data = json.loads((DATA / "gpt-oss.json").read_text("utf-8"))
    data |= {"num_hidden_layers": layers, "layer_types": ["full_attention"] * layers}
    data["quantization_config"]["modules_to_not_convert"] = patterns
    path = tmp_path / "config.json"
    path.write_text(json.dumps(data), "utf-8")
    if is_read:
        stored = read_model(path).layers[0].stored
        assert stored is not None
        assert stored.attention > 0.5
        return
    with pytest.raises(ImportFormatError) as caught:
        read_model(path)
    assert {problem.code for problem in caught.value.problems} == {"config_patterns"}
