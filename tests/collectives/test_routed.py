"""Uneven all_to_all: what hot experts make of it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuflow.collectives.algorithms import build
from gpuflow.collectives.oracle import bytes_sent
from gpuflow.collectives.replay import run
from gpuflow.collectives.routed import (
    ROUTED_ALGORITHMS,
    build_routed,
    counts_of_experts,
    routed_meaning,
)


def numbered(counts):
    """Inputs whose numbers say where they come from, where they go and which they are."""
    return [
        np.concatenate([100 * (10 * s + d) + np.arange(c) for d, c in enumerate(row)])
        for s, row in enumerate(counts)
    ]


def check(algorithm, counts, per_node=1):
    counts = np.asarray(counts)
    inputs = numbered(counts)
    outputs = run(build_routed(algorithm, counts, per_node), inputs)
    for got, wanted in zip(outputs, routed_meaning(inputs, counts), strict=True):
        assert wanted.tolist() == got.tolist()


def test_meaning_by_hand():
    counts = [[1, 2], [0, 3]]
    inputs = [np.array([1, 2, 3]), np.array([4, 5, 6])]
    assert [v.tolist() for v in routed_meaning(inputs, counts)] == [[1], [2, 3, 4, 5, 6]]


@settings(max_examples=150, derandomize=True, deadline=None)
@given(st.data())
def test_any_amounts_arrive_by_any_route(data):
    per_node, n_nodes = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 3))
    n = per_node * n_nodes
    row = st.lists(st.integers(0, 5), min_size=n, max_size=n)
    counts = data.draw(st.lists(row, min_size=n, max_size=n))
    check(data.draw(st.sampled_from(ROUTED_ALGORITHMS)), counts, per_node)


@pytest.mark.parametrize("algorithm", ROUTED_ALGORITHMS)
@pytest.mark.parametrize(
    "counts",
    [
        np.zeros((4, 4), dtype=int),
        np.diag([3, 0, 2, 1]),
        [[0, 0, 9, 0]] * 4,
        [[0] * 4, [0] * 4, [7, 0, 0, 1], [0] * 4],
    ],
    ids=["nothing", "only-own", "all-to-one", "one-sender"],
)
def test_lopsided_amounts_arrive(algorithm, counts):
    check(algorithm, counts, per_node=2)


@pytest.mark.parametrize("algorithm", ROUTED_ALGORITHMS)
def test_bytes_sent_are_the_row_less_what_stays(algorithm):
    counts = np.random.default_rng(3).integers(0, 9, (8, 8))
    sent = bytes_sent(build_routed(algorithm, counts, 1), 2)
    assert sent.tolist() == (2 * (counts.sum(axis=1) - np.diag(counts))).tolist()


def test_node_limited_sends_each_byte_over_the_network_once():
    counts = np.random.default_rng(4).integers(0, 9, (8, 8))
    over_rails, _ = build_routed("node_limited", counts, 4).rounds()
    leaving = counts.reshape(8, 2, 4).sum(axis=2)
    expected = [leaving[peer, 1 - peer // 4] for peer in range(8)]
    assert np.bincount(over_rails.source, over_rails.count).tolist() == expected


@pytest.mark.parametrize("algorithm", ROUTED_ALGORITHMS)
def test_even_amounts_are_the_ordinary_all_to_all(algorithm):
    even = build("all_to_all", algorithm, 6, 24, ranks_per_node=3)
    routed = build_routed(algorithm, np.full((6, 6), 4), 3)
    assert bytes_sent(even, 4).tolist() == bytes_sent(routed, 4).tolist()
    assert len(list(even.rounds())) == len(list(routed.rounds()))


def test_routing_is_counted_by_the_peers_that_hold_the_experts():
    rng = np.random.default_rng(5)
    experts = rng.integers(0, 16, (4, 100, 2))
    counts = counts_of_experts(experts, 16, 7)
    assert counts.sum() == 4 * 100 * 2 * 7
    by_hand = [[7 * ((experts[s] // 4) == d).sum() for d in range(4)] for s in range(4)]
    assert counts.tolist() == by_hand


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("direct", [[1, 2, 3], [4, 5, 6]]), "a square of numbers"),
        (("direct", [[1, -2], [4, 5]]), "a square of numbers"),
        (("bruck", [[1]]), "no algorithm 'bruck'"),
        (("node_limited", np.ones((4, 4)), 3), "do not fill nodes of 3"),
    ],
)
def test_misuse_is_told(arguments, told):
    with pytest.raises(ValueError, match=told):
        build_routed(*arguments)
