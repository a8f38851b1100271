"""The load of requests on 4 x 8 GPUs against calculations by hand."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpuflow.engine.load import NetworkLoad, kv_bytes_of_request, network_load
from gpuflow.engine.requirements import requirement_table
from gpuflow.engine.simulate import simulate
from gpuflow.engine.targets import NO_TARGETS, Targets, on_scaled_fabric, phase_seconds
from gpuflow.scenario.spec import Scenario

Load = Callable[..., Scenario]

TOKEN_BYTES = 8192 * 2
"""Activations of one token of Llama-3-70B."""
KV_BYTES = 327_680
"""KV cache of one token of Llama-3-70B, bf16."""
PROMPT, OUTPUT = 8192, 256


def loaded(
    scenario: Scenario, rate: float, overhead: float = 0.2, targets: Targets = NO_TARGETS
) -> NetworkLoad:
    return network_load(requirement_table(scenario, overhead, targets), rate)


@pytest.fixture(scope="module")
def stages(load: Load) -> Scenario:
    """Four stages of eight A100, two nodes below each leaf switch of 20 ports."""
    return load(model="llama-3-70b", gpu="a100", tp=8, pp=4, batch=2, prompt=PROMPT, output=OUTPUT)


@pytest.fixture(scope="module")
def experts(load: Load) -> Scenario:
    """Attention on each of 32 GPUs, experts spread over all of them."""
    return load(
        "moe-ep4", model="qwen3-30b-a3b", gpu="a100", dp=32, ep=32, batch=4, prompt=512, output=65
    )


# ---------------------------------------------------------------- KV hand-over


def test_kv_hand_over_of_a_request_a_second_is_21_5_gigabits(stages: Scenario) -> None:
    over = loaded(stages, 1.0).handover
    assert over.request_bytes == KV_BYTES * PROMPT
    assert over.sustained_bytes_per_s * 8e-9 == pytest.approx(21.47, abs=0.005)
    assert loaded(stages, 5.0).handover.sustained_bytes_per_s == 5 * over.sustained_bytes_per_s


def test_every_nic_hands_over_what_its_gpu_holds(stages: Scenario, load: Load) -> None:
    # 80 layers over 4 stages, KV heads over 8 ranks: a 32nd part each
    assert loaded(stages, 3.0).handover.per_nic_bytes_per_s == 3 * KV_BYTES * PROMPT / 32
    # one replica a node: an eighth of every fourth request
    replicas = load(model="llama-3-70b", tp=8, pp=1, dp=4, prompt=PROMPT)
    assert loaded(replicas, 3.0).handover.per_nic_bytes_per_s == 3 / 4 * KV_BYTES * PROMPT / 8
    # 16 ranks share 8 KV heads: every value leaves twice
    copies = load(model="llama-3-70b", tp=16, pp=1, prompt=PROMPT)
    assert loaded(copies, 1.0).handover.per_nic_bytes_per_s == KV_BYTES * PROMPT / 8


def test_a_latent_cache_is_not_split(load: Load) -> None:
    scenario = load(model="deepseek-v3", gpu="h200", tp=8, pp=1, precision="fp8", prompt=4096)
    whole = 61 * (512 + 64) * 2 * 4096
    assert kv_bytes_of_request(scenario) == whole
    assert loaded(scenario, 1.0).handover.per_nic_bytes_per_s == whole


def test_a_hand_over_after_prefill_keeps_its_share_of_ttft(stages: Scenario) -> None:
    ttft_s = simulate(stages).ttft_s
    over = loaded(stages, 1.0, overhead=0.1).handover
    budget_s = 0.1 / 0.9 * ttft_s
    assert over.budget_s == pytest.approx(budget_s)
    assert over.burst_bytes_per_s == pytest.approx(2 * KV_BYTES * PROMPT / 32 / budget_s)
    assert over.layered_bytes_per_s == pytest.approx(2 * KV_BYTES * PROMPT / 32 / ttft_s)


def test_a_target_leaves_the_hand_over_what_ttft_does_not_take(stages: Scenario) -> None:
    ttft_s = simulate(stages).ttft_s
    left = loaded(stages, 1.0, targets=Targets(ttft_s=ttft_s + 0.5)).handover
    assert left.budget_s == pytest.approx(0.5)
    nothing = loaded(stages, 1.0, targets=Targets(ttft_s=0.9 * ttft_s)).handover
    assert (nothing.budget_s, nothing.burst_bytes_per_s) == (None, None)


# ---------------------------------------------------------------- NICs, leaves, spine


def test_hops_between_stages(stages: Scenario) -> None:
    """Each token crosses three borders; of the middle one the spine sees eight NICs."""
    load = loaded(stages, 2.0)
    nic = (PROMPT + OUTPUT - 1) * TOKEN_BYTES
    # token ids and sampled tokens are 4 bytes each beside 16 KiB
    assert load.place("nic").request_bytes == pytest.approx(nic, rel=1e-3)
    assert load.place("nic").sustained_bytes_per_s == pytest.approx(2 * nic, rel=1e-3)
    assert load.place("leaf").sustained_bytes_per_s == pytest.approx(2 * 8 * nic, rel=1e-3)
    assert load.place("spine").sustained_bytes_per_s == pytest.approx(2 * 8 * nic, rel=1e-3)
    by_class = {(one.traffic_class, one.phase): one.request_bytes for one in load.by_class}
    assert by_class["pp", "prefill"] == 3 * 8 * PROMPT * TOKEN_BYTES
    assert by_class["pp", "decode"] == 3 * 8 * (OUTPUT - 1) * TOKEN_BYTES


def test_bursts_are_one_message_at_its_speed(stages: Scenario) -> None:
    load = loaded(stages, 0.01)
    size = 2 * PROMPT * TOKEN_BYTES
    rate = size / (10e-6 + size / 24e9)
    assert load.place("nic").burst_bytes_per_s == pytest.approx(rate)
    assert load.place("leaf").burst_bytes_per_s == pytest.approx(8 * rate)
    assert load.place("spine").burst_bytes_per_s == pytest.approx(8 * rate)
    assert load.place("nic").capacity_bytes_per_s == 24e9
    assert load.place("leaf").capacity_bytes_per_s == 16 * 24e9
    assert load.place("spine").capacity_bytes_per_s == 32 * 24e9


def test_the_hand_over_adds_to_each_place(stages: Scenario) -> None:
    load, whole = loaded(stages, 2.0), 2 * KV_BYTES * PROMPT
    assert load.place("nic").handover_bytes_per_s == whole / 32
    assert load.place("leaf").handover_bytes_per_s == whole / 2
    assert load.place("spine").handover_bytes_per_s == whole


def test_exchange_with_experts(experts: Scenario) -> None:
    """Dispatch and combine, 48 layers: 24 of 32 peers in other nodes, 16 below the other leaf."""
    load = loaded(experts, 100.0)
    token = 48 * 2 * 8 * 2048 * 2
    a_request = (512 + 64) * token
    # a request lives on one GPU; replicas take turns
    assert load.place("nic").request_bytes == pytest.approx(a_request * 24 / 32 / 32, rel=1e-4)
    assert load.place("leaf").request_bytes == pytest.approx(
        16 * a_request * 16 / 32 / 32, rel=1e-4
    )
    assert load.place("spine").request_bytes == pytest.approx(
        32 * a_request * 16 / 32 / 32, rel=1e-4
    )
    assert load.place("spine").sustained_bytes_per_s == pytest.approx(100 * a_request / 2, rel=1e-4)


def test_a_rate_is_weighed_against_what_the_gpus_finish(stages: Scenario) -> None:
    timeline = simulate(stages)
    assert loaded(stages, 1.0).served_per_s == pytest.approx(2 / timeline.end_s)


def test_traffic_inside_a_node_loads_no_nic(load: Load) -> None:
    found = loaded(load(), 10.0)
    assert [place.sustained_bytes_per_s for place in found.places] == [0.0, 0.0, 0.0]
    assert found.by_class == ()
    assert found.oversubscription.bound == "nothing_crosses"
    assert found.oversubscription.tolerated is None
    # the hand-over takes the NICs all the same
    assert found.place("nic").handover_bytes_per_s == 10 * 512 * 131_072 / 4


def test_chunks_and_micro_batches_carry_as_much(load: Load) -> None:
    more = {"model": "llama-3-70b", "tp": 8, "pp": 2, "batch": 8, "prompt": 2048, "output": 64}
    plain = loaded(load(**more), 1.0)
    cut = loaded(load(**more, chunk=1024, micro_batches=4), 1.0)
    assert cut.place("nic").request_bytes == pytest.approx(
        plain.place("nic").request_bytes, rel=1e-3
    )


def test_shared_nics_carry_more_each(load: Load, tmp_path) -> None:
    from gpuflow.scenario.load import Overrides, load_scenario, scenario_path

    text = scenario_path("tp2-pp2").read_text("utf-8")
    changed = text.replace("gpu: h100-sxm", "{gpu: h100-sxm, gpus_per_node: 2, nics_per_node: 1}")
    path = tmp_path / "shared.yaml"
    path.write_text(changed.replace("cluster:\n  {", "cluster: {"), "utf-8")
    scenario = load_scenario(path, Overrides(profile="ideal"))
    found = loaded(scenario, 1.0)
    assert found.place("nic").request_bytes == pytest.approx(2 * (512 + 127) * 8192, rel=1e-2)
    assert found.place("nic").capacity_bytes_per_s == pytest.approx(46e9)
    assert found.handover.per_nic_bytes_per_s == 512 * 131_072 / 2


# ---------------------------------------------------------------- oversubscription


def test_tolerated_oversubscription_spends_a_target_exactly(stages: Scenario) -> None:
    """Eight of sixteen NICs send at once: up to 2:1 is free, beyond hops take longer."""
    ttft_s = simulate(stages).ttft_s
    targets = Targets(ttft_s=1.2 * ttft_s)
    over = loaded(stages, 0.01, targets=targets).oversubscription
    assert (over.bound, over.bound_class) == ("budget", "pp")
    size = 2 * PROMPT * TOKEN_BYTES
    used = 8 * size / (10e-6 + size / 24e9) / (16 * 24e9)
    slower = on_scaled_fabric(stages, "scale_out", "hop", 1 / (over.tolerated * used))
    assert phase_seconds(slower, "prefill") == pytest.approx(1.2 * ttft_s, rel=1e-6)
    assert over.tolerated > 2


def test_the_load_itself_bounds_it_where_budgets_are_wide(experts: Scenario) -> None:
    load = loaded(experts, 200.0, targets=Targets(ttft_s=1e5, tpot_s=1e5))
    over = load.oversubscription
    assert over.bound == "sustained"
    leaf = load.place("leaf")
    assert over.tolerated == pytest.approx(16 * 24e9 / leaf.sustained_bytes_per_s)
    assert loaded(experts, 1e6, targets=Targets(ttft_s=1e5, tpot_s=1e5)).oversubscription.bound == (
        "overloaded"
    )


def test_a_budget_that_is_missed_tolerates_none(experts: Scenario) -> None:
    over = loaded(experts, 1.0, overhead=0.01).oversubscription
    assert (over.tolerated, over.bound, over.bound_class) == (None, "missed", "ep")


def test_the_hand_over_narrows_what_the_load_tolerates(stages: Scenario) -> None:
    load = loaded(stages, 1.0)
    leaf = load.place("leaf")
    both = leaf.sustained_bytes_per_s + leaf.handover_bytes_per_s
    assert load.oversubscription.with_handover == pytest.approx(16 * 24e9 / both)
