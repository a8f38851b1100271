"""Parameter counts and cache sizes against what the models' makers publish."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuflow.cluster.cost import CostModel, PassShape, read_tokens, seen_tokens
from gpuflow.cluster.parameters import (
    active_parameters,
    cached_bytes,
    kv_bytes_per_token,
    lasting_kv_bytes_per_token,
    model_bytes,
    parameters,
    state_bytes_per_sequence,
)
from gpuflow.scenario.catalog import model, model_names
from gpuflow.scenario.model_spec import AttentionSpec

PUBLISHED = {
    # model: (billions, active billions, KV bytes a token in 16 bit)
    "llama-3-8b": (8.03, 8.03, 131_072),
    "llama-3-70b": (70.55, 70.55, 327_680),
    "llama-3.1-405b": (405.85, 405.85, 516_096),
    "qwen3-8b": (8.19, 8.19, 147_456),
    "qwen3-32b": (32.76, 32.76, 262_144),
    "qwen3-30b-a3b": (30.53, 3.35, 98_304),
    "qwen3-235b-a22b": (235.09, 22.19, 192_512),
    "mixtral-8x7b": (46.70, 12.88, 131_072),
    "gpt-oss-120b": (116.83, 5.71, 73_728),
    "deepseek-v3": (671.03, 37.55, 70_272),
    "llama-2-7b": (6.74, 6.74, 524_288),
    "llama-2-70b": (68.98, 68.98, 327_680),
    "gpt-j-6b": (6.05, 6.05, 458_752),
    "gpt-6.7b": (6.65, 6.65, 524_288),
    "gpt-20b": (20.25, 20.25, 1_081_344),
    "gpt-175b": (174.59, 174.59, 4_718_592),
}
CARDS: dict[str, tuple[float, int, int, int]] = {
    # model: (billions on the model card, layers that keep all tokens, layers with a window,
    # KV values a token and layer)
    "llama-2-13b": (13.02, 40, 0, 2 * 40 * 128),
    "llama-3.2-1b": (1.24, 16, 0, 2 * 8 * 64),
    "llama-3.2-3b": (3.21, 28, 0, 2 * 8 * 128),
    "llama-4-scout": (107.8, 12, 36, 2 * 8 * 128),
    "llama-4-maverick": (400, 12, 36, 2 * 8 * 128),
    "qwen2.5-7b": (7.61, 28, 0, 2 * 4 * 128),
    "qwen2.5-14b": (14.7, 48, 0, 2 * 8 * 128),
    "qwen2.5-32b": (32.5, 64, 0, 2 * 8 * 128),
    "qwen2.5-72b": (72.7, 80, 0, 2 * 8 * 128),
    "qwen3-4b": (4.0, 36, 0, 2 * 8 * 128),
    "qwen3-14b": (14.8, 40, 0, 2 * 8 * 128),
    "qwen3-coder-480b-a35b": (480, 62, 0, 2 * 8 * 128),
    "qwen3-next-80b-a3b": (80, 12, 0, 2 * 2 * 256),
    "qwen3.5-397b-a17b": (397, 15, 0, 2 * 2 * 256),
    "mistral-7b": (7.25, 32, 0, 2 * 8 * 128),
    "mistral-nemo-12b": (12.2, 40, 0, 2 * 8 * 128),
    "mistral-small-24b": (23.6, 40, 0, 2 * 8 * 128),
    "mistral-large-123b": (123, 88, 0, 2 * 8 * 128),
    "mixtral-8x22b": (141, 56, 0, 2 * 8 * 128),
    "gemma-2-9b": (9.24, 21, 21, 2 * 8 * 256),
    "gemma-2-27b": (27.2, 23, 23, 2 * 16 * 128),
    "gemma-3-4b": (3.88, 5, 29, 2 * 4 * 256),
    "gemma-3-12b": (11.8, 8, 40, 2 * 8 * 256),
    "gemma-3-27b": (27.0, 10, 52, 2 * 16 * 128),
    "gpt-oss-20b": (20.9, 12, 12, 2 * 8 * 64),
    "deepseek-v2": (236, 60, 0, 512 + 64),
    "deepseek-v2-lite": (15.7, 27, 0, 512 + 64),
    "kimi-k2": (1030, 61, 0, 512 + 64),
    "glm-4.5": (355, 92, 0, 2 * 8 * 128),
    "glm-4.5-air": (106, 46, 0, 2 * 8 * 128),
    "minimax-m2": (230, 62, 0, 2 * 8 * 128),
    "phi-4": (14.7, 40, 0, 2 * 10 * 128),
    "phi-3.5-mini": (3.82, 32, 0, 2 * 32 * 96),
    "nemotron-h-56b": (56.3, 10, 0, 2 * 8 * 128),
    "nemotron-3-nano-30b-a3b": (31.6, 6, 0, 2 * 2 * 128),
    "falcon-40b": (41.3, 60, 0, 2 * 8 * 64),
    "yi-34b": (34.4, 60, 0, 2 * 8 * 128),
    "opt-66b": (65.7, 64, 0, 2 * 72 * 128),
    "command-r-plus": (104, 64, 0, 2 * 8 * 128),
    "dbrx": (132, 40, 0, 2 * 8 * 128),
    "jamba-1.5-mini": (51.6, 4, 0, 2 * 8 * 128),
    "seed-oss-36b": (36.2, 64, 0, 2 * 8 * 128),
}
ACTIVE = {
    # billions active, where the maker says so to a tenth
    "deepseek-v2": 21.4,
    "kimi-k2": 32.9,
    "minimax-m2": 11.0,
    "mixtral-8x22b": 39.2,
    "qwen3-coder-480b-a35b": 35.5,
    "nemotron-3-nano-30b-a3b": 3.6,
    "jamba-1.5-mini": 12.1,
    "dbrx": 36.5,
    "llama-4-maverick": 17.2,
}


def test_every_catalogue_model_is_checked() -> None:
    assert set(model_names()) == set(PUBLISHED) | set(CARDS)


@pytest.mark.parametrize("name", sorted(CARDS))
def test_counts_are_those_of_the_model_card(name: str) -> None:
    spec = model(name)
    total, lasting, windowed, values = CARDS[name]
    assert parameters(spec) / 1e9 == pytest.approx(total, rel=0.01)
    assert kv_bytes_per_token(spec) == 2 * (lasting + windowed) * values
    assert lasting_kv_bytes_per_token(spec) == 2 * lasting * values
    assert spec.source
    if name in ACTIVE:
        assert active_parameters(spec) / 1e9 == pytest.approx(ACTIVE[name], abs=0.06)


def test_states_of_hybrid_models() -> None:
    """Layers x (heads x head size x key size + 3 tokens of values and both key groups), 16 bit."""
    qwen = 36 * 2 * (32 * 128 * 128 + 3 * (32 * 128 + 2 * 16 * 128))
    assert state_bytes_per_sequence(model("qwen3-next-80b-a3b")) == qwen
    nano = 23 * 2 * (64 * 64 * 128 + 3 * (64 * 64 + 2 * 8 * 128))
    assert state_bytes_per_sequence(model("nemotron-3-nano-30b-a3b")) == nano
    jamba = 28 * 2 * (8192 * 16 + 3 * 8192)
    assert state_bytes_per_sequence(model("jamba-1.5-mini")) == jamba
    assert state_bytes_per_sequence(model("llama-3-8b")) == 0


def test_equal_layers_of_an_entry_share_one_object() -> None:
    for name, kinds in (("nemotron-h-56b", 3), ("gemma-3-27b", 2), ("llama-4-maverick", 3)):
        assert len({id(layer) for layer in model(name).layers}) == kinds


@pytest.mark.parametrize(("name", "published"), PUBLISHED.items())
def test_counts_are_the_published_ones(name: str, published: tuple[float, float, int]) -> None:
    spec = model(name)
    total, active, kv = published
    # half a unit of the last published digit
    assert parameters(spec) / 1e9 == pytest.approx(total, abs=0.006)
    assert active_parameters(spec) / 1e9 == pytest.approx(active, abs=0.006)
    assert kv_bytes_per_token(spec) == kv


def test_gpt_oss_checkpoint_size() -> None:
    # MXFP4 experts and the rest in bf16: about 65 GB on disk
    assert model_bytes(model("gpt-oss-120b"), "fp4") / 1e9 == pytest.approx(65.2, abs=0.5)


def test_kv_heads_fewer_than_tp_are_replicated(load) -> None:
    """Qwen3-235B has 4 KV heads: at tp 8 each GPU holds one head, not half of one."""
    cost = CostModel(load(model="qwen3-235b-a22b", gpu="h200", tp=8, pp=1))
    layer = cost.scenario.model.layers[0]
    assert cost.kv_bytes_per_token(layer.attention) == 2 * 128 * 2


def test_a_latent_is_not_split(load) -> None:
    cost = CostModel(load(model="deepseek-v3", gpu="h200", tp=8, pp=1))
    layer = cost.scenario.model.layers[0]
    assert cost.kv_bytes_per_token(layer.attention) == 576 * 2


def test_distinct_experts_of_few_tokens(load) -> None:
    """Mixtral reads 2.0, 5.5, 7.2 and 8.0 experts for 1, 4, 8 and 32 tokens."""
    layer = model("mixtral-8x7b").layers[0]
    expert = 3 * 4096 * 14336
    for tokens, distinct in ((1, 2.0), (4, 5.5), (8, 7.2), (32, 8.0)):
        scenario = load(model="mixtral-8x7b", tp=1, pp=1, gpu="h200", batch=tokens)
        shape = PassShape(phase="decode", sequences=tokens, tokens=tokens, context=1.0)
        read = CostModel(scenario).mlp(layer, shape).read_bytes - 2 * 8 * 4096
        # the published counts are rounded to one decimal
        assert read / 2 / expert == pytest.approx(distinct, abs=0.05)


def _window(size: int) -> AttentionSpec:
    return AttentionSpec(heads=8, kv_heads=8, head_size=64, window=size)


def test_a_sliding_window_bounds_what_prefill_sees() -> None:
    shape = PassShape(phase="prefill", sequences=1, tokens=1000, context=1000.0)
    one_by_one = sum(min(i, 128) for i in range(1000)) / 1000
    # the closed form is the continuous one: it differs by half a token
    assert seen_tokens(_window(128), shape) == pytest.approx(one_by_one, abs=0.6)


def test_a_sliding_window_that_fills_during_decode() -> None:
    contexts = range(101, 301)
    mean = sum(contexts) / 200
    shape = PassShape(phase="decode", sequences=1, tokens=1, context=mean, growth=199.0)
    one_by_one = sum(min(c, 128) for c in contexts) / 200
    assert seen_tokens(_window(128), shape) == pytest.approx(one_by_one, abs=0.1)


@pytest.mark.parametrize("window", [None, 200])
def test_chunks_of_a_prompt_read_what_came_before_them_and_themselves(window: int | None) -> None:
    attention = replace(_window(1), window=window)
    shape = PassShape(phase="prefill", sequences=1, tokens=256, context=1024.0)
    before = [min(start, window or start) for start in range(0, 1024, 256)]
    mean = sum(held + 256 for held in before) / 4
    assert read_tokens(attention, shape) == pytest.approx(mean, rel=0.15 if window else 1e-12)


def test_a_chunk_of_many_prompts_reads_its_own_ones() -> None:
    """Not the caches of all 64 prompts; whole prompts are read once each."""
    chunk = PassShape(phase="prefill", sequences=64, tokens=512, context=1024.0)
    assert read_tokens(replace(_window(1), window=None), chunk) == (512 + 1024) / 2
    assert chunk.sequences_at_work == 1
    whole = PassShape(phase="prefill", sequences=64, tokens=64 * 1024, context=1024.0)
    assert read_tokens(replace(_window(1), window=None), whole) == 64 * 1024
    assert whole.sequences_at_work == 64


def test_windows_bound_what_a_sequence_caches() -> None:
    """gpt-oss-120b: 18 of 36 layers keep 128 tokens."""
    token = 2 * 8 * 64 * 2
    assert cached_bytes(model("gpt-oss-120b"), 100) == 36 * token * 100
    assert cached_bytes(model("gpt-oss-120b"), 1000) == 18 * token * (1000 + 128)
