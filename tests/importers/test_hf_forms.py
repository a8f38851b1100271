"""One small file of every form: its counts, its cache, and what was assumed about it.

The counts are those of Transformers' own modules built from the same file, except for the families
that have code of their own (chatglm, qwen, nemotron-nas): those were added up by hand. Router
biases, which Transformers keeps outside its parameters, count here.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gpuflow.cluster.parameters import (
    active_parameters,
    kv_bytes_per_token,
    lasting_kv_bytes_per_token,
    parameters,
    state_bytes_per_sequence,
)
from gpuflow.errors import ImportFormatError
from gpuflow.importers.hf_config import read_model
from gpuflow.scenario.model_spec import ModelSpec
from gpuflow.words import t

DATA = Path(__file__).parent.parent / "data" / "hf-config"

FORMS = {
    # file: (parameters, active, KV bytes a token, of them beyond all windows, state bytes)
    "bare-architecture.json": (7_350_784, 7_350_784, 4096, 4096, 0),
    "chatglm.json": (12_328_448, 12_328_448, 2048, 2048, 0),
    "deci-blocks.json": (7_646_720, 7_646_720, 768, 768, 0),
    "deepseek-v3.json": (20_200_576, 10_763_392, 1600, 1600, 0),
    "deepseek-v32.json": (20_621_056, 11_183_872, 2240, 2240, 0),
    "dense.json": (133_182_464, 133_182_464, 6144, 6144, 0),
    "falcon-h1.json": (21_976_752, 21_976_752, 3072, 3072, 622_080),
    "falcon-mamba.json": (7_805_440, 7_805_440, 0, 0, 155_648),
    "falcon-stripped.json": (41_303_293_952, 41_303_293_952, 122_880, 122_880, 0),
    "gemma2.json": (12_157_376, 12_157_376, 3072, 1536, 0),
    "gemma3-nested.json": (218_956_416, 218_956_416, 32_768, 4096, 0),
    "gemma4-nested.json": (17_299_840, 9_337_216, 5120, 1024, 0),
    "gpt-oss.json": (80_664_720, 23_931_024, 3072, 1536, 0),
    "gpt2.json": (2_658_560, 2_658_560, 3072, 3072, 0),
    "gptj.json": (2_878_184, 2_878_184, 3072, 3072, 0),
    "jamba.json": (45_017_024, 32_434_112, 512, 512, 272_384),
    "lfm2.json": (15_467_264, 15_467_264, 1024, 1024, 8192),
    "llama4-nested.json": (30_927_360, 14_412_288, 3072, 512, 0),
    "minicpm3.json": (10_478_976, 10_478_976, 640, 640, 0),
    "minimax-m2.json": (31_508_096, 9_488_000, 4096, 4096, 0),
    "mistral-window.json": (6_564_352, 6_564_352, 1024, 0, 0),
    "nemotron-h.json": (13_555_488, 13_555_488, 512, 512, 420_864),
    "omni-thinker-awq.json": (17_943_552, 17_943_552, 3072, 3072, 0),
    "opt.json": (2_659_072, 2_659_072, 3072, 3072, 0),
    "phimoe.json": (12_068_328, 8_529_384, 3072, 0, 0),
    "qwen-v1.json": (13_879_808, 13_879_808, 8192, 8192, 0),
    "qwen2-windows.json": (17_943_552, 17_943_552, 3072, 2048, 0),
    "qwen3-moe.json": (6_225_536, 5_045_888, 1536, 1536, 0),
    "qwen3-next.json": (32_883_744, 14_009_376, 1024, 1024, 116_736),
    "qwen3-vl-moe.json": (18_363_392, 8_926_208, 2048, 2048, 0),
    "qwen3.json": (7_363_584, 7_363_584, 2048, 2048, 0),
    "small-deepseek-nvfp4.json": (20_200_576, 10_763_392, 1600, 1600, 0),
    "starcoder-mqa.json": (2_362_496, 2_362_496, 768, 768, 0),
    "unknown-family.json": (17_938_944, 17_938_944, 3072, 3072, 0),
}


def reasons(model: ModelSpec) -> dict[str, tuple[str, str]]:
    """What was assumed, by key."""
    return {a.key: (a.value, a.reason) for a in model.assumed}


@pytest.mark.parametrize(("name", "figures"), FORMS.items())
def test_every_form_has_its_counts(name: str, figures: tuple[int, ...]) -> None:
    model = read_model(DATA / name)
    assert figures == (
        parameters(model),
        active_parameters(model),
        kv_bytes_per_token(model),
        lasting_kv_bytes_per_token(model),
        state_bytes_per_sequence(model),
    )


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("language", ["zh", "en"])
def test_everything_assumed_is_a_sentence(name: str, language: str) -> None:
    for item in read_model(DATA / name).assumed:
        text = t(f"assumed.{item.reason}", language, key=item.key, value=item.value)  # type: ignore[arg-type]
        assert text.strip("`")
        assert "{" not in text


def test_a_latent_is_cached_whatever_the_kv_heads_say() -> None:
    """DeepSeek-V3's form: c + d_r = 128 + 32 values in each of 5 layers."""
    model = read_model(DATA / "deepseek-v3.json")
    assert kv_bytes_per_token(model) == 5 * (128 + 32) * 2
    assert [layer.mlp.experts for layer in model.layers] == [0, 16, 16, 16, 16]
    assert model.layers[1].mlp.shared_ffn_size == 128
    assert reasons(model)["num_nextn_predict_layers"] == ("1", "mtp_left_out")


def test_an_indexer_adds_its_key_to_the_cache() -> None:
    """DeepSeek-V3.2's form: one key of 64 values more."""
    model = read_model(DATA / "deepseek-v32.json")
    assert kv_bytes_per_token(model) == 5 * (128 + 32 + 64) * 2
    assert reasons(model)["index_topk"] == ("2048", "sparse_timed_dense")


def test_mla_without_a_model_type_or_a_value_size() -> None:
    model = read_model(DATA / "minicpm3.json")
    assert model.layers[0].attention is not None
    assert model.layers[0].attention.latent is not None
    assert model.layers[0].attention.latent.value_size == 512 // 8
    assert reasons(model)["v_head_dim"] == ("64", "head_size_derived")
    assert model.tied_embeddings


def test_windows_alternate_follow_patterns_or_begin_at_a_layer() -> None:
    def windows(name: str) -> list[int | None]:
        layers = read_model(DATA / name).layers
        return [layer.attention.window if layer.attention else 0 for layer in layers]

    assert windows("gemma2.json") == [256, None] * 3
    assert windows("gpt-oss.json") == [128, None] * 3
    assert windows("gemma3-nested.json") == [512] * 5 + [None] + [512] * 2
    assert windows("gemma4-nested.json") == [128, 128, None] * 2
    assert windows("qwen2-windows.json") == [None] * 4 + [512] * 2
    assert windows("llama4-nested.json") == [256, 256, 256, None, 256, 256]
    assert windows("phimoe.json") == [2047] * 6


def test_a_nested_block_takes_what_it_leaves_out_from_its_class() -> None:
    model = read_model(DATA / "gemma3-nested.json")
    assert (model.vocab_size, model.tied_embeddings) == (262_208, True)
    assert reasons(model) == {
        "text_config": ("text_config", "text_part"),
        "text_config.vocab_size": ("262208", "class_default"),
        "text_config.sliding_window_pattern": ("6", "rule_default"),
        "text_config.num_attention_heads": ("8", "class_default"),
        "text_config.num_key_value_heads": ("4", "class_default"),
        "text_config.head_dim": ("256", "head_size_default"),
        "text_config.tie_word_embeddings": ("true", "embeddings_tied"),
    }


def test_the_thinker_is_read_and_not_the_talker() -> None:
    model = read_model(DATA / "omni-thinker-awq.json")
    assert (model.hidden_size, len(model.layers), model.precision) == (512, 6, "int4")


def test_gemma4_has_wider_full_attention_whose_values_are_keys() -> None:
    sliding, _, full = read_model(DATA / "gemma4-nested.json").layers[:3]
    assert sliding.attention is not None
    assert full.attention is not None
    assert (sliding.attention.kv_heads, sliding.attention.head_size) == (4, 64)
    assert (full.attention.kv_heads, full.attention.head_size) == (1, 128)
    assert (sliding.attention.value_is_key, full.attention.value_is_key) == (False, True)
    # the dense MLP beside the experts
    assert full.mlp.shared_ffn_size == 320


def test_mamba_layers_keep_a_state_and_no_cache() -> None:
    """Nemotron-H: 3 of 7 layers, 32 heads x 32 x 64 and 3 tokens of 1024 + 2 x 4 x 64, 16 bit."""
    model = read_model(DATA / "nemotron-h.json")
    assert state_bytes_per_sequence(model) == 3 * 2 * (32 * 32 * 64 + 3 * (1024 + 512))
    assert [layer.attention is None for layer in model.layers] == [
        *(True, True, True, False, True, True, True),
    ]
    assert [layer.mlp.ffn_size for layer in model.layers] == [0, 2048, 0, 0, 2048, 0, 2048]


def test_linear_attention_stands_between_full_layers() -> None:
    model = read_model(DATA / "qwen3-next.json")
    assert [layer.mixer is None for layer in model.layers] == [*[False] * 3, True] * 2
    assert model.attention is not None
    assert model.attention.has_gate


def test_falcon_h1_has_attention_and_a_mixer_in_every_layer() -> None:
    layers = read_model(DATA / "falcon-h1.json").layers
    assert all(layer.attention is not None and layer.mixer is not None for layer in layers)


def test_a_model_of_mixers_alone_has_no_heads() -> None:
    assert read_model(DATA / "falcon-mamba.json").attention is None


def test_old_files_say_what_their_keys_leave_open() -> None:
    assert reasons(read_model(DATA / "falcon-stripped.json")) == {
        "num_kv_heads": ("8", "kv_heads_known_shape"),
        "head_dim": ("64", "head_size_derived"),
        "intermediate_size": ("32768", "ffn_multiple"),
        "tie_word_embeddings": ("true", "embeddings_tied"),
        "torch_dtype": ("bf16", "precision_absent"),
    }
    qwen = read_model(DATA / "qwen-v1.json")
    assert qwen.layers[0].mlp.ffn_size == 1408
    assert reasons(qwen)["intermediate_size"] == ("1408", "ffn_halved")
    star = read_model(DATA / "starcoder-mqa.json").attention
    assert star is not None
    assert star.kv_heads == 1


def test_an_unknown_family_is_read_by_its_keys_and_says_so() -> None:
    model = read_model(DATA / "unknown-family.json")
    assert reasons(model)["model_type"] == ("starlight", "family_unknown")


def test_the_kv_heads_of_blocks_are_their_own() -> None:
    layers = read_model(DATA / "deci-blocks.json").layers
    assert [layer.attention.kv_heads if layer.attention else 0 for layer in layers] == [2, 0, 0, 1]
    assert [layer.mlp.ffn_size for layer in layers] == [1024, 512, 0, 1792]
    assert [layer.mixer is not None for layer in layers] == [False, False, True, False]


@pytest.mark.parametrize("factor", ["Infinity", "NaN", "1e300", "-3.0", "0", "true", '"wide"'])
def test_a_width_times_what_is_no_factor_is_refused(tmp_path: Path, factor: str) -> None:
    data = json.loads((DATA / "lfm2.json").read_text("utf-8"))
    data |= {"block_auto_adjust_ff_dim": True, "block_ffn_dim_multiplier": "FACTOR"}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(data).replace('"FACTOR"', factor), "utf-8")
    with pytest.raises(ImportFormatError) as caught:
        read_model(path)
    found = [(one.code, one.key) for one in caught.value.problems]
    assert found == [("out_of_range", "block_ffn_dim_multiplier")]
