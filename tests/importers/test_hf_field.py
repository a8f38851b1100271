"""Files from the field: their counts within one per cent of what their sources publish."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpuflow.cluster.parameters import (
    active_parameters,
    kv_bytes_per_token,
    lasting_kv_bytes_per_token,
    model_bytes,
    parameters,
    state_bytes_per_sequence,
)
from gpuflow.errors import ImportFormatError
from gpuflow.importers.hf_config import read_model

PUBLISHED = {
    # file: (billions, active billions, KV bytes a token, beyond all windows)
    "deepseek-v3.1-nvfp4.json": (671.0, 37.6, 61 * 576 * 2, 61 * 576 * 2),
    "deepseek-v3.json": (671.0, 37.6, 61 * 576 * 2, 61 * 576 * 2),
    "falcon-40b-stripped.json": (41.3, 41.3, 60 * 2 * 8 * 64 * 2, 60 * 2 * 8 * 64 * 2),
    "gemma-2-9b.json": (9.24, 9.24, 42 * 2 * 8 * 256 * 2, 21 * 2 * 8 * 256 * 2),
    "gemma-3-4b-sparse-nested.json": (3.88, 3.88, 34 * 2 * 4 * 256 * 2, 5 * 2 * 4 * 256 * 2),
    "gemma-4-26b-a4b.json": (
        25.2,
        3.8,
        (25 * 2 * 8 * 256 + 5 * 2 * 2 * 512) * 2,
        5 * 2 * 2 * 512 * 2,
    ),
    "glm-4-9b-chat.json": (9.40, 9.40, 40 * 2 * 2 * 128 * 2, 40 * 2 * 2 * 128 * 2),
    "llama-2-7b-chat.json": (6.74, 6.74, 32 * 2 * 32 * 128 * 2, 32 * 2 * 32 * 128 * 2),
    "llama-3.1-405b.json": (405.85, 405.85, 126 * 2 * 8 * 128 * 2, 126 * 2 * 8 * 128 * 2),
    "llama-3.1-70b-instruct-fp8-modelopt.json": (70.55, 70.55, 327_680, 327_680),
    "minicpm3-4b-mla-dense.json": (4.07, 4.07, 62 * 288 * 2, 62 * 288 * 2),
    "minimax-m2.5.json": (228.7, 11.0, 62 * 2 * 8 * 128 * 2, 62 * 2 * 8 * 128 * 2),
    "mixtral-8x7b.json": (46.7, 12.9, 131_072, 131_072),
    "nemotron-h-56b-hybrid-mamba.json": (56.3, 56.3, 10 * 2 * 8 * 128 * 2, 10 * 2 * 8 * 128 * 2),
    "phi-mini-moe-instruct.json": (7.65, 2.36, 32 * 2 * 8 * 128 * 2, 0),
    "qwen-72b-chat-v1.json": (72.3, 72.3, 80 * 2 * 64 * 128 * 2, 80 * 2 * 64 * 128 * 2),
    "qwen2.5-7b-instruct.json": (7.62, 7.62, 28 * 2 * 4 * 128 * 2, 28 * 2 * 4 * 128 * 2),
    "qwen2.5-omni-7b-awq-thinker-nested.json": (7.6, 7.6, 57_344, 57_344),
    "qwen3-235b-a22b-fp8.json": (235.1, 22.2, 94 * 2 * 4 * 128 * 2, 94 * 2 * 4 * 128 * 2),
    "qwen3-32b-fp8.json": (32.8, 32.8, 64 * 2 * 8 * 128 * 2, 64 * 2 * 8 * 128 * 2),
    "qwen3-vl-30b-a3b.json": (30.5, 3.35, 48 * 2 * 4 * 128 * 2, 48 * 2 * 4 * 128 * 2),
}
CHECKPOINTS = {
    # gigabytes of weights: quantised ones with their scales, embedding and head 16 bit
    "deepseek-v3.json": ("fp8", 673.2),
    "minimax-m2.5.json": ("fp8", 230.0),
    "qwen2.5-omni-7b-awq-thinker-nested.json": ("int4", 5.57),
    "qwen3-235b-a22b-fp8.json": ("fp8", 236.4),
    "qwen3-32b-fp8.json": ("fp8", 34.3),
}


@pytest.mark.parametrize("name", sorted(PUBLISHED))
def test_counts_are_the_published_ones(inputs: Path, name: str) -> None:
    model = read_model(inputs / "hf-config" / name)
    total, active, kv, lasting = PUBLISHED[name]
    assert parameters(model) / 1e9 == pytest.approx(total, rel=0.01)
    assert active_parameters(model) / 1e9 == pytest.approx(active, rel=0.01)
    assert (kv_bytes_per_token(model), lasting_kv_bytes_per_token(model)) == (kv, lasting)


@pytest.mark.parametrize("name", sorted(CHECKPOINTS))
def test_checkpoints_have_their_size(inputs: Path, name: str) -> None:
    model = read_model(inputs / "hf-config" / name)
    precision, gigabytes = CHECKPOINTS[name]
    assert model.precision == precision
    assert model_bytes(model, precision) / 1e9 == pytest.approx(gigabytes, rel=0.002)


def test_every_file_is_read_or_refused_as_its_source_says(inputs: Path) -> None:
    refused = {}
    for path in sorted((inputs / "hf-config").glob("*.json")):
        try:
            read_model(path)
        except ImportFormatError as error:
            refused[path.name] = [(p.code, p.mark and p.mark.line) for p in error.problems]
    assert refused == {
        "llm_counts-many-models-merge-conflict.json": [("merge_conflict", 124)],
    }


def test_a_table_of_models_is_no_config_even_when_it_is_mended(
    inputs: Path, tmp_path: Path
) -> None:
    broken = (inputs / "hf-config" / "llm_counts-many-models-merge-conflict.json").read_text()
    lines = [line for line in broken.splitlines() if not line.startswith(("<<<", "===", ">>>"))]
    path = tmp_path / "models.json"
    path.write_text("\n".join(lines))
    with pytest.raises(ImportFormatError) as caught:
        read_model(path)
    (problem,) = caught.value.problems
    assert (problem.code, problem.values["count"]) == ("config_table", 13)


def test_names_that_speak_of_a_quantisation_raise_a_doubt(inputs: Path) -> None:
    for name, hint in (
        ("deepseek-v3.1-nvfp4.json", "NVFP4"),
        ("llama-3.1-70b-instruct-fp8-modelopt.json", "FP8"),
    ):
        model = read_model(inputs / "hf-config" / name)
        assert model.precision == "bf16"
        doubts = {a.value: a.reason for a in model.assumed}
        assert doubts[hint] == "name_hints_quantised"


def test_the_state_of_mamba_layers(inputs: Path) -> None:
    """Nemotron-H-56B: 54 layers of 256 x 64 x 256 values and 3 tokens of 16384 + 2 x 8 x 256."""
    model = read_model(inputs / "hf-config" / "nemotron-h-56b-hybrid-mamba.json")
    assert state_bytes_per_sequence(model) == 54 * 2 * (256 * 64 * 256 + 3 * (16_384 + 4096))
    kinds = [(layer.attention is not None, layer.mixer is not None) for layer in model.layers]
    assert kinds.count((True, False)) == 10
    assert kinds.count((False, True)) == 54
    assert kinds.count((False, False)) == 54
