"""Parameter counts and cache sizes against what the models' makers publish."""

from __future__ import annotations

import pytest

from gpuflow.cluster.cost import CostModel, PassShape, seen_tokens
from gpuflow.cluster.parameters import (
    active_parameters,
    kv_bytes_per_token,
    model_bytes,
    parameters,
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


def test_every_catalogue_model_is_checked() -> None:
    assert set(model_names()) == set(PUBLISHED)


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
    shape = PassShape(phase="decode", sequences=1, tokens=1, context=sum(contexts) / 200)
    one_by_one = sum(min(c, 128) for c in contexts) / 200
    assert seen_tokens(_window(128), shape, growth=199.0) == pytest.approx(one_by_one, abs=0.1)
