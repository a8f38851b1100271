"""Memory of one GPU against sums done by hand: weights, KV cache, activations, and what fits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuflow.cluster.cost import CostModel, decode_shape
from gpuflow.cluster.memory import (
    activation_bytes,
    has_room,
    largest_batch,
    largest_context,
    last_tokens,
    smallest_split,
    stage_memories,
    tokens_at_once,
    what_fits,
)
from gpuflow.cluster.parameters import held_mixing_weights
from gpuflow.scenario.spec import Scenario

H100_BYTES = 81_559 * 2**20
V, H, F = 128_256, 8192, 28_672


@pytest.fixture
def big(load) -> Scenario:
    """Llama-3-70B in bf16 on 8 x H100, 32 sequences of 2048 + 256 tokens."""
    return load(model="llama-3-70b", tp=8, pp=1, batch=32, prompt=2048, output=256)


def test_weights_of_a_tensor_parallel_rank(big: Scenario) -> None:
    """An eighth of every matrix, whole norms, the whole embedding and an eighth of the head."""
    layer = (2 * H * 64 * 128 + 2 * H * 8 * 128 + 3 * H * F) / 8 + 2 * H
    held = 80 * layer + V * H + V * H / 8 + H
    assert stage_memories(big)[0].weights_bytes == pytest.approx(2 * held)


def test_cache_of_a_tensor_parallel_rank(big: Scenario) -> None:
    """One of 8 KV heads: 80 layers x 2 x 128 values of 2 bytes, 2048 + 255 tokens, 32 times."""
    assert last_tokens(big) == 2303
    assert stage_memories(big)[0].kv_bytes == 80 * 2 * 128 * 2 * 2303 * 32


def test_cache_is_replicated_beyond_the_kv_heads(load) -> None:
    """Qwen3-235B: 4 KV heads at tp 8 are held twice, as much a GPU as at tp 4."""
    token = 94 * 2 * 128 * 2
    for tp, held in ((1, 4 * token), (2, 2 * token), (4, token), (8, token), (16, token)):
        scenario = load(model="qwen3-235b-a22b", gpu="h200", tp=tp, pp=1, batch=1, context=1000)
        assert stage_memories(scenario)[0].kv_bytes == 1000 * held
        cost = CostModel(scenario)
        attention = scenario.model.layers[0].attention
        assert cost.kv_bytes_per_token(attention) * 94 == held


def test_key_and_value_projections_are_replicated_with_their_heads(load) -> None:
    """From tp 4 to tp 8 the query and output matrices halve, and the K and V matrices do not."""
    h, query, kv = 4096, 64 * 128 * 4096, 4 * 128 * 4096
    norms = 2 * 128 + 2 * h
    for tp in (4, 8):
        cost = CostModel(load(model="qwen3-235b-a22b", gpu="h200", tp=tp, pp=1))
        experts = 128 * 3 * h * 1536 / tp + 128 * h
        held = 2 * query / tp + 2 * kv / 4 + norms + experts
        layer = cost.scenario.model.layers[0]
        assert cost.layer_weight_bytes(layer) == pytest.approx(2 * held)


def test_a_latent_is_held_whole_by_every_rank(load) -> None:
    """DeepSeek-V3: 576 values a token and layer on each GPU, whatever tp is."""
    for tp in (1, 2, 4, 8, 16):
        scenario = load(model="deepseek-v3", gpu="h200", tp=tp, pp=1, batch=4, context=5000)
        assert stage_memories(scenario)[0].kv_bytes == 61 * 576 * 2 * 5000 * 4


def test_latent_down_projections_are_replicated(load) -> None:
    """Query and KV down-projections stay whole; up-projections and output are divided by heads."""
    h, q, c, r, n, v, heads = 7168, 1536, 512, 64, 128, 128, 128
    down = h * q + q + h * (c + r) + c
    up = q * heads * (n + r) + c * heads * (n + v) + heads * v * h
    dense = 3 * h * 18432
    for tp in (1, 8):
        cost = CostModel(load(model="deepseek-v3", gpu="h200", tp=tp, pp=1))
        held = (down + up / tp) * 1.0 + dense / tp * 1.0 + 2 * h * 2.0
        assert cost.layer_weight_bytes(cost.scenario.model.layers[0]) == pytest.approx(held)


def test_attention_data_parallel_experts_are_divided_by_ep(load) -> None:
    """DeepSeek-V3, dp 8 and ep 8: attention whole, 32 of 256 experts a GPU."""
    scenario = load(model="deepseek-v3", gpu="h200", tp=1, pp=1, dp=8, ep=8)
    cost = CostModel(scenario)
    h, expert = 7168, 3 * 7168 * 2048
    attention = 187_107_328
    router = 256 * (h + 1) * 2.0
    held = attention + 32 * expert + expert + router + 2 * h * 2.0
    assert cost.layer_weight_bytes(scenario.model.layers[5]) == pytest.approx(held, rel=1e-4)


def test_activations_of_a_dense_layer(big: Scenario) -> None:
    """8192 tokens: two vectors of h and gate, up and product of f / 8, 16 bit."""
    assert tokens_at_once(big) == 8192
    assert activation_bytes(big, 0) == 8192 * 2 * (2 * H + 3 * F / 8)


def test_activations_of_a_short_prompt_are_those_of_its_tokens(load) -> None:
    scenario = load(model="llama-3-8b", tp=2, pp=2, batch=1, prompt=512)
    assert tokens_at_once(scenario) == 512
    assert activation_bytes(scenario, 0) == 512 * 2 * (2 * 4096 + 3 * 14_336 / 2)


def test_activations_of_chunks(load) -> None:
    scenario = load(model="llama-3-70b", tp=8, pp=1, batch=32, prompt=2048)
    chunked = replace(scenario, workload=replace(scenario.workload, chunk_tokens=512))
    assert activation_bytes(chunked, 0) == 512 * 2 * (2 * H + 3 * F / 8)


def test_logits_of_many_sequences_are_the_widest(load) -> None:
    """4096 one-token prompts: 4096 x V values of 4 bytes outweigh one layer's work."""
    scenario = load(model="llama-3-8b", gpu="h200", tp=1, pp=1, batch=4096, prompt=1)
    assert activation_bytes(scenario, 0) == 4096 * V * 4 + 4096 * 2 * 4096


def test_activations_of_experts_copy_the_token(load) -> None:
    """Mixtral at tp 8: 2 copies in and out, and gate, up and product of 14336 / 8 for each."""
    scenario = load(model="mixtral-8x7b", tp=8, pp=1, batch=8, prompt=1024)
    widest = 2 * (2 * 4096 + 3 * 14_336 / 8)
    assert activation_bytes(scenario, 0) == 8192 * 2 * (2 * 4096 + widest)


def test_parts_add_up_to_the_device(big: Scenario) -> None:
    (stage,) = stage_memories(big)
    used = stage.weights_bytes + stage.kv_bytes + stage.activations_bytes
    assert used + stage.spare_bytes == big.cluster.device.memory_bytes == H100_BYTES


def test_the_largest_batch_is_the_last_that_fits(big: Scenario) -> None:
    most = largest_batch(big)
    free = H100_BYTES - stage_memories(big)[0].weights_bytes - activation_bytes(big, 0)
    assert most == int(free // (80 * 2 * 128 * 2 * 2303))
    assert has_room(big.with_workload(batch=most))
    assert not has_room(big.with_workload(batch=most + 1))


def test_the_largest_context_is_the_last_that_fits(big: Scenario) -> None:
    most = largest_context(big)
    assert most is not None
    assert has_room(big.with_workload(prompt_tokens=most, context_tokens=most))
    assert not has_room(big.with_workload(prompt_tokens=most + 1, context_tokens=most + 1))


def test_windows_and_states_have_no_largest_context(load) -> None:
    """A model of mixers alone keeps as much for a million tokens as for one."""
    layers = load(model="jamba-1.5-mini", gpu="h200", tp=2, pp=1).model.layers
    mixers = tuple(layer for layer in layers if layer.mixer is not None)
    scenario = load(model="jamba-1.5-mini", gpu="h200", tp=2, pp=1)
    alone = replace(scenario, model=replace(scenario.model, layers=mixers))
    assert largest_context(alone) is None
    assert isinstance(largest_context(scenario), int)


@pytest.mark.parametrize(
    ("changes", "split"),
    [
        # 141 GB of weights and 85.5 GB of memory: two GPUs
        ({"model": "llama-3-70b", "tp": 1, "pp": 1}, (2, 1)),
        # 812 GB over even splits of 126 layers: twelve GPUs, eleven would not divide
        ({"model": "llama-3.1-405b", "tp": 8, "pp": 1}, (4, 3)),
        # 673 GB of FP8 and a node of 684 GB without room for the embedding: stages of two nodes
        ({"model": "deepseek-v3", "gpu": "h100", "tp": 8, "pp": 1}, (8, 2)),
    ],
)
def test_the_smallest_split_that_fits(
    load, changes: dict[str, object], split: tuple[int, int]
) -> None:
    scenario = load(**changes)
    found = what_fits(scenario)
    assert not found.fits
    assert found.max_batch == 0
    assert found.smallest is not None
    assert (found.smallest.tp, found.smallest.pp) == split
    assert has_room(replace(scenario, parallel=found.smallest))
    if scenario.model.name == "deepseek-v3":
        assert found.smallest.stage_layers == (31, 30)


def test_nothing_is_proposed_where_all_fits(big: Scenario) -> None:
    found = what_fits(big)
    assert found.fits
    assert found.smallest is None


def test_a_batch_that_fits_no_split_has_none(load) -> None:
    scenario = load(model="llama-3-8b", tp=1, pp=1, batch=1_000_000, prompt=1_000_000)
    assert smallest_split(scenario) is None


@pytest.mark.parametrize(
    ("name", "tp", "cached"),
    [("qwen3-235b-a22b", 4, 256), ("qwen3-235b-a22b", 8, 256), ("deepseek-v3", 8, 576)],
)
def test_a_decoded_token_reads_what_its_gpu_holds(load, name: str, tp: int, cached: int) -> None:
    """Attention reads its weights once and 16 bits of every cached value of 3000 tokens."""
    scenario = load(model=name, gpu="h200", tp=tp, pp=1, batch=2, context=3000)
    cost, layer = CostModel(scenario), scenario.model.layers[-1]
    held = held_mixing_weights(layer, scenario.model.hidden_size, tp)
    stored = 1.0 if name == "deepseek-v3" else 2.0
    read = cost.attention(layer, decode_shape(scenario)).read_bytes
    assert read == pytest.approx(held * stored + 2 * 3000 * cached * 2)
