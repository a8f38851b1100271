from __future__ import annotations

import pytest

from gpuflow.cluster.parameters import active_parameters, kv_bytes_per_token, parameters
from gpuflow.errors import ScenarioError
from gpuflow.scenario import catalog


def test_every_entry_builds_and_names_its_source() -> None:
    specs = [
        *map(catalog.model, catalog.model_names()),
        *map(catalog.device, catalog.device_names()),
        *map(catalog.fabric, catalog.fabric_names()),
        *map(catalog.profile, catalog.profile_names()),
    ]
    assert all(spec.source for spec in specs)


@pytest.mark.parametrize(
    ("name", "total", "active", "kv_bytes"),
    [
        ("llama-3-8b", 8.030e9, 8.030e9, 131072),
        ("llama-3-70b", 70.554e9, 70.554e9, 327680),
        ("llama-3.1-405b", 405.853e9, 405.853e9, 516096),
        ("qwen3-8b", 8.191e9, 8.191e9, 147456),
        ("qwen3-32b", 32.762e9, 32.762e9, 262144),
        ("qwen3-30b-a3b", 30.532e9, 3.353e9, 98304),
        ("qwen3-235b-a22b", 235.094e9, 22.19e9, 192512),
        ("mixtral-8x7b", 46.703e9, 12.88e9, 131072),
        ("gpt-oss-120b", 116.829e9, 5.71e9, 73728),
        ("deepseek-v3", 671.026e9, 37.55e9, 70272),
    ],
)
def test_models_have_the_published_size(
    name: str, total: float, active: float, kv_bytes: int
) -> None:
    model = catalog.model(name)
    assert parameters(model) == pytest.approx(total, rel=1e-4)
    assert active_parameters(model) == pytest.approx(active, rel=2e-3)
    assert kv_bytes_per_token(model) == kv_bytes


def test_layers_follow_their_pattern() -> None:
    windows = [layer.attention.window for layer in catalog.model("gpt-oss-120b").layers]
    assert windows == [128, None] * 18
    deepseek = catalog.model("deepseek-v3").layers
    assert [layer.mlp.experts for layer in deepseek] == [0] * 3 + [256] * 58
    assert {layer.mlp.ffn_size for layer in deepseek[:3]} == {18432}


def test_fabrics_of_every_device_exist_and_fit_their_tier() -> None:
    for device in map(catalog.device, catalog.device_names()):
        assert catalog.fabric(device.fabric).tier == "scale_up"
        assert catalog.fabric(device.nic).tier == "scale_out"
        assert "bf16" in device.peak_flop_per_s


def test_nothing_is_reached_beyond_the_nominal_rate() -> None:
    for fabric in map(catalog.fabric, catalog.fabric_names()):
        assert fabric.bus_bandwidth_bytes_per_s <= fabric.link_bandwidth_bytes_per_s
        assert fabric.hop_bandwidth_bytes_per_s <= fabric.link_bandwidth_bytes_per_s


def test_the_ideal_constants_are_those_of_the_worked_figures() -> None:
    fabric = catalog.fabric("nvlink-4")
    assert fabric.collective_latency_s == 8e-6
    assert fabric.bus_bandwidth_bytes_per_s == 370e9
    assert (fabric.hop_latency_s, fabric.hop_bandwidth_bytes_per_s) == (5e-6, 360e9)
    device = catalog.device("h100-sxm")
    assert device.memory_bytes == 81559 * 2**20
    profile = catalog.profile("ideal")
    assert (profile.compute_fraction, profile.memory_fraction) == (0.6, 0.75)


@pytest.mark.parametrize(
    ("spelling", "name"),
    [("H100", "h100-sxm"), ("h100_sxm", "h100-sxm"), ("910B", "ascend-910b"), ("4090", "rtx-4090")],
)
def test_devices_answer_to_their_aliases(spelling: str, name: str) -> None:
    assert catalog.device(spelling).name == name


def test_models_answer_to_their_hub_name() -> None:
    assert catalog.model("meta-llama/Meta-Llama-3-8B").name == "llama-3-8b"


def test_an_unknown_name_is_a_problem_with_the_nearest_spelling() -> None:
    with pytest.raises(ScenarioError) as caught:
        catalog.model("lama-3-8b")
    (problem,) = caught.value.problems
    assert (problem.code, problem.hint) == ("unknown_model", "did_you_mean")
    assert problem.values["suggestion"] == "llama-3-8b"


def test_an_unknown_name_like_nothing_lists_what_is_known() -> None:
    with pytest.raises(ScenarioError) as caught:
        catalog.device("zx81")
    (problem,) = caught.value.problems
    assert problem.hint == "known_gpu"
    assert "h100-sxm" in problem.values["known"]  # type: ignore[operator]


def test_four_bit_weights_need_no_peak_of_their_own_but_eight_bit_do() -> None:
    a100, b200 = catalog.device("a100"), catalog.device("b200")
    assert [p for p in catalog.PRECISIONS if not catalog.has_peak(a100, p)] == ["fp8"]
    assert all(catalog.has_peak(b200, precision) for precision in catalog.PRECISIONS)
