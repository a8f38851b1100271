"""What differs between two scenarios and why, for the four questions that are asked most."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gpuflow.engine.comparison import Cause, Comparison, compare
from gpuflow.engine.simulate import simulate
from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.scenario.spec import Phase, Scenario

Load = Callable[..., Scenario]
LARGE = {"model": "llama-3-70b", "prompt": 2048, "output": 256}


def compared(a: Scenario, b: Scenario) -> Comparison:
    return compare(simulate(a), simulate(b))


def first(found: Comparison, phase: Phase) -> Cause:
    return found.of(phase)[0]


def cause(found: Comparison, phase: Phase, bound: str, kind: str | None = None) -> Cause:
    return next(c for c in found.of(phase) if (c.bound, c.traffic_class) == (bound, kind))


@pytest.mark.parametrize("profile", ["ideal", "vllm"])
@pytest.mark.parametrize(
    ("name", "a", "b"),
    [
        ("tp2-pp2", {"tp": 4, "pp": 1}, {"tp": 2, "pp": 2}),
        ("tp2-pp2", {}, {"model": "mixtral-8x7b"}),
        ("tp2-pp2", {"batch": 8, "micro_batches": 4, "chunk": 512}, {"batch": 8, "overlap": True}),
        ("moe-ep4", {}, {"ep": 1}),
        ("moe-ep4", {"precision": "fp8"}, {"gpu": "h200", "precision": "fp8"}),
    ],
)
def test_parts_add_up_to_both_times_and_their_difference(
    name: str, a: dict[str, Any], b: dict[str, Any], profile: str
) -> None:
    one, other = (load_scenario(name, Overrides(profile=profile, **changes)) for changes in (a, b))
    found = compared(one, other)
    for phase, metric in (("prefill", "ttft_s"), ("decode", "tpot_s")):
        times = found.metric(metric)
        assert sum(c.a_s for c in found.of(phase)) == pytest.approx(times.a)
        assert sum(c.b_s for c in found.of(phase)) == pytest.approx(times.b)
        total = sum(c.difference_s for c in found.of(phase))
        assert total == pytest.approx(times.difference, abs=1e-7 * times.a)
        assert sum(c.share for c in found.of(phase)) == pytest.approx(times.ratio - 1, abs=1e-6)


def test_tp8_against_tp4_pp2(load: Load) -> None:
    """Half the ranks read and compute twice as much each; fewer of them add up sums sooner."""
    found = compared(load(**LARGE, tp=8, pp=1), load(**LARGE, tp=4, pp=2))
    assert found.metric("gpus").difference == 0
    memory = first(found, "decode")
    assert (memory.bound, memory.traffic_class) == ("memory", None)
    assert memory.b_s == pytest.approx(2 * memory.a_s, rel=0.01)
    arithmetic = first(found, "prefill")
    assert (arithmetic.bound, arithmetic.traffic_class) == ("arithmetic", None)
    assert arithmetic.difference_s == pytest.approx(arithmetic.a_s, rel=0.01)
    wire = cause(found, "prefill", "bandwidth", "tp")
    # 160 all_reduces of 32 MiB on 370 GB/s, bus factors 2 x 7 / 8 and 2 x 3 / 4
    one = 160 * 2048 * 16_384 / 370e9
    assert (wire.a_s, wire.b_s) == (pytest.approx(1.75 * one), pytest.approx(1.5 * one))
    assert (wire.a_messages.ranks, wire.b_messages.ranks) == (8, 4)
    hop = cause(found, "decode", "latency", "pp")
    assert (hop.a_s, hop.b_s) == (0.0, pytest.approx(5e-6))
    assert hop.a_messages is None


def test_h100_against_h200(load: Load) -> None:
    """The same arithmetic and links; memory of 4.8 instead of 3.35 TB/s decides decode."""
    split = {**LARGE, "tp": 8, "pp": 1}
    found = compared(load(**split, gpu="h100"), load(**split, gpu="h200"))
    memory = first(found, "decode")
    assert memory.bound == "memory"
    assert memory.b_s / memory.a_s == pytest.approx(3.35 / 4.8)
    assert memory.share == pytest.approx(found.metric("tpot_s").ratio - 1, rel=1e-3)
    a, b = found.work["decode"]
    assert a.read_bytes == b.read_bytes
    assert (a.memory_bytes_per_s, b.memory_bytes_per_s) == (3.35e12, 4.8e12)
    assert not [c for c in found.of("decode") if c.traffic_class and c.difference_s]
    assert abs(found.metric("ttft_s").ratio - 1) < 0.02
    assert found.metric("spare_bytes").difference == pytest.approx(61e9, rel=0.1)


def test_nvlink_against_pcie(load: Load) -> None:
    """The bus falls from 370 to 50 GB/s: TP bandwidth in prefill, hardly anything in decode."""
    found = compared(load(fabric="nvlink-4"), load(fabric="pcie-5"))
    wire = first(found, "prefill")
    assert (wire.bound, wire.traffic_class) == ("bandwidth", "tp")
    size = 64 * 4 * 2**20
    assert wire.difference_s == pytest.approx(size / 50e9 - size / 370e9)
    assert wire.share == pytest.approx(wire.difference_s / found.metric("ttft_s").a)
    assert wire.b_messages.fabric == "PCIe 5.0 x16"
    assert abs(found.metric("tpot_s").ratio - 1) < 0.01


def test_400g_against_800g(load: Load) -> None:
    """Twice the rate halves what hops between nodes take beyond their latency."""
    split = {**LARGE, "tp": 8, "pp": 4}
    found = compared(load(**split, fabric="ib-ndr"), load(**split, fabric="ib-xdr"))
    wire = first(found, "prefill")
    assert (wire.bound, wire.traffic_class) == ("bandwidth", "pp")
    assert wire.a_messages.is_across_nodes
    assert wire.a_s == pytest.approx(3 * 2048 * 16_384 / 46e9)
    assert wire.difference_s == pytest.approx(-wire.a_s / 2)
    assert cause(found, "prefill", "latency", "pp").difference_s == 0.0


def test_waiting_for_micro_batches_is_a_part_of_its_own(load: Load) -> None:
    found = compared(load(batch=4), load(batch=4, micro_batches=4))
    waiting = cause(found, "prefill", "waiting")
    assert waiting.a_s == 0.0
    assert waiting.b_s > 0


def test_an_answer_of_one_token_has_no_decode_to_compare(load: Load) -> None:
    found = compared(load(output=1), load())
    assert found.of("decode") == ()
    assert found.metric("tpot_s").difference is None
    assert found.metric("tpot_s").ratio is None


def test_the_same_twice_differs_in_nothing(load: Load) -> None:
    found = compared(load(), load())
    assert [c for c in found.causes if c.difference_s] == []
    assert {metric.difference for metric in found.metrics} == {0.0}
