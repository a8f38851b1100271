"""Bytes on the links, summed by hand for the default scenario."""

from __future__ import annotations

import pytest

from gpuflow.engine.link_traffic import link_traffic
from gpuflow.engine.simulate import simulate

MIB = 2**20


def _carried(load, phase: str, **overrides: object) -> dict[tuple[str, str], float]:
    rows = link_traffic(simulate(load(**overrides)))
    return {(r.source, r.destination): r.size_bytes for r in rows if r.phase == phase}


def test_prefill_of_the_first_stage(load) -> None:
    """32 all_reduces of 4 MiB between two ranks send 4 MiB each, then one hop of 4 MiB."""
    carried = _carried(load, "prefill")
    small = 2 * 2048 + 3 * 4  # token ids of two tree edges and a few copies of one token at most
    assert carried["gpu0", "switch0"] == pytest.approx(33 * 4 * MIB, abs=small)
    assert carried["switch0", "gpu0"] == pytest.approx(32 * 4 * MIB, abs=small)


def test_what_enters_a_switch_leaves_it(load) -> None:
    for phase in ("prefill", "decode"):
        carried = _carried(load, phase)
        into = sum(v for (_, b), v in carried.items() if b == "switch0")
        out = sum(v for (a, _), v in carried.items() if a == "switch0")
        assert into == pytest.approx(out)


def test_a_hop_between_nodes_crosses_nics(load) -> None:
    carried = _carried(load, "prefill", model="llama-3-70b", tp=8, pp=2)
    assert carried["gpu0", "nic0"] >= 512 * 8192 * 2
    assert any(b.startswith("leaf") for _, b in carried)


@pytest.mark.parametrize("gpu", ["h100-sxm", "mi300x", "l40s"])
def test_links_stand_in_the_order_of_their_numbers(load, gpu: str) -> None:
    rows = link_traffic(simulate(load(gpu=gpu, tp=4, pp=4)))
    assert [row.phase for row in rows] == sorted((row.phase for row in rows), reverse=True)
    prefill = [row for row in rows if row.phase == "prefill"]
    sources = [int(row.source[3:]) for row in prefill if row.source.startswith("gpu")]
    assert sources == sorted(sources)
    assert sources[-1] == 15
    for source in {row.source for row in prefill}:
        ends = [row.destination for row in prefill if row.source == source]
        numbers = [int(end[3:]) for end in ends if end.startswith("gpu")]
        assert numbers == sorted(numbers)
