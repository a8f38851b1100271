"""Rows that sum up many peers: nothing lost, nothing invented."""

from __future__ import annotations

import pytest

from gpuflow.collectives.algorithms import ALGORITHMS
from gpuflow.collectives.oracle import closed_form
from gpuflow.collectives.small import small_replay
from gpuflow.collectives.tally import tally

EVERY = [
    pytest.param(collective, algorithm, id=f"{collective}-{algorithm}")
    for collective, algorithms in ALGORITHMS.items()
    for algorithm in algorithms
]


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
@pytest.mark.parametrize("n_ranks", [16, 24, 64])
def test_what_blocks_send_adds_up_to_the_closed_form(
    collective: str, algorithm: str, n_ranks: int
) -> None:
    found = tally(collective, algorithm, n_ranks, 8)
    n_chunks = 4 if algorithm in {"tree", "chain"} else 1
    form = closed_form(collective, algorithm, n_ranks, 1, n_chunks=n_chunks)
    assert found.rounds == form.rounds
    rounds = [found.blocks(number) for number in range(1, found.rounds + 1)]
    for block, first in enumerate(range(0, n_ranks, 8)):
        sent = sum(blocks[block].inside + blocks[block].outside for blocks in rounds)
        assert sent == pytest.approx(form.bytes_sent[first : first + 8].sum())


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
@pytest.mark.parametrize("block_size", [3, 4, 16])
def test_rounds_are_those_of_the_small_picture(
    collective: str, algorithm: str, block_size: int
) -> None:
    found, replay = (
        tally(collective, algorithm, 16, block_size),
        small_replay(collective, algorithm, 16),
    )
    assert found.rounds == len(replay.rounds)
    for number, one in enumerate(replay.rounds, 1):
        whole = found.whole(number)
        assert whole.adds == any(one.adds)
        assert whole.messages >= len(one.transfers)
        blocks = found.blocks(number)
        senders = {source // block_size for source, _ in one.transfers if source < 16}
        sums = [to for (_, to), a in zip(one.transfers, one.adds, strict=True) if a and to < 16]
        adders = {to // block_size for to in sums}
        for index, block in enumerate(blocks):
            assert (block.messages_inside + block.messages_outside > 0) == (index in senders)
            assert block.adds == (index in adders)
            assert 0 <= block.alike <= block.n_peers


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
@pytest.mark.parametrize("n_ranks", [20, 32])
def test_in_the_end_all_is_moved_and_complete(
    collective: str, algorithm: str, n_ranks: int
) -> None:
    found = tally(collective, algorithm, n_ranks, 5)
    assert sum(block.n_peers for block in found.blocks(0)) == n_ranks
    assert all(block.moved == 0 for block in found.blocks(0))
    after = found.blocks(found.rounds)
    assert {block.complete for block in after} <= {1.0, None}
    assert any(block.complete == 1.0 for block in after)
    assert all(block.moved == pytest.approx(1.0) or not block.moved for block in after)
    received = sum(b.received for n in range(found.rounds + 1) for b in found.blocks(n))
    sent = sum(b.inside + b.outside for n in range(found.rounds + 1) for b in found.blocks(n))
    if not found.has_switch:
        assert received == pytest.approx(sent)


def test_what_a_ring_completes_can_be_followed() -> None:
    found = tally("all_reduce", "ring", 32, 8)
    assert [block.complete for block in found.blocks(30)] == [0.0] * 4
    assert [block.complete for block in found.blocks(31)] == [pytest.approx(1 / 32)] * 4
    assert [block.complete for block in found.blocks(62)] == [1.0] * 4
    first = found.blocks(1)[0]
    assert (first.alike, first.messages_inside, first.messages_outside) == (7, 7, 1)
    assert first.inside == pytest.approx(7 / 32)
    assert first.adds


def test_nodes_are_told_from_the_network() -> None:
    found = tally("all_reduce", "hierarchical", 64, 16, ranks_per_node=8)
    assert found.unit == 8
    inside = [found.blocks(number)[0].messages_inside for number in range(1, found.rounds + 1)]
    outside = [found.blocks(number)[0].messages_outside for number in range(1, found.rounds + 1)]
    assert inside == [16] * 7 + [0] * 14 + [16] * 7
    assert outside == [0] * 7 + [16] * 14 + [0] * 7


def test_a_switch_has_a_tally_of_its_own() -> None:
    found = tally("all_reduce", "nvls", 64, 16)
    load, store = found.switch(1), found.switch(2)
    assert load is not None
    assert store is not None
    assert (load.messages_in, load.received, load.adds) == (64, 64.0, True)
    assert (load.messages_out, load.sent) == (64, pytest.approx(1.0))
    assert (store.messages_in, store.received, store.adds) == (64, pytest.approx(1.0), False)
    assert (store.messages_out, store.sent) == (64, 64.0)
    assert tally("all_reduce", "ring", 64, 16).switch(1) is None
