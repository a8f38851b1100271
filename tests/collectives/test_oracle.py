"""Bytes sent by every rank agree with the closed forms."""

import numpy as np
import pytest

from gpuflow.collectives.algorithms import ALGORITHMS, build
from gpuflow.collectives.oracle import bus_factor, bytes_sent, closed_form
from gpuflow.collectives.pipeline import depths, tree_parents
from gpuflow.collectives.places import ROOTED

EVERY = [
    pytest.param(collective, algorithm, id=f"{collective}-{algorithm}")
    for collective, algorithms in ALGORITHMS.items()
    for algorithm in algorithms
]
KIB = 1024


@pytest.mark.parametrize(
    ("collective", "algorithm", "expected"),
    [
        ("all_reduce", "ring", 24576),
        ("all_reduce", "two_shot", 24576),
        ("all_reduce", "halving_doubling", 24576),
        ("all_reduce", "recursive_doubling", 32768),
        ("all_reduce", "one_shot", 49152),
        ("all_gather", "ring", 12288),
        ("all_to_all", "direct", 12288),
        ("all_to_all", "bruck", 16384),
        ("all_reduce", "nvls", 20480),
    ],
)
def test_four_ranks_and_16_kib(collective, algorithm, expected):
    schedule = build(collective, algorithm, 4, 16 * KIB // 4)
    assert bytes_sent(schedule, 4).tolist() == [expected] * 4
    assert closed_form(collective, algorithm, 4, 16 * KIB).bytes_sent.tolist() == [expected] * 4


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
def test_bytes_and_rounds_equal_the_closed_form_where_sizes_divide(collective, algorithm):
    for n_ranks in [2, 3, 4, 5, 6, 7, 8, 9, 16, 64]:
        n_elements = 64 * n_ranks
        for root in {0, n_ranks - 1} if collective in ROOTED else {0}:
            schedule = build(collective, algorithm, n_ranks, n_elements, root)
            form = closed_form(
                collective,
                algorithm,
                n_ranks,
                2 * n_elements,
                root,
                n_chunks=schedule.n_chunks,
            )
            assert form.rounds == len(list(schedule.rounds()))
            np.testing.assert_allclose(bytes_sent(schedule, 2), form.bytes_sent, rtol=1e-12)


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
def test_bytes_equal_the_sum_of_the_actual_chunks_where_sizes_do_not_divide(collective, algorithm):
    for n_ranks in (3, 4, 7, 8):
        n_elements = 5 * n_ranks + 3
        schedule = build(collective, algorithm, n_ranks, n_elements)
        by_hand = [0] * (n_ranks + schedule.n_switches)
        for one in schedule.rounds():
            for source, to, count in zip(one.source, one.destination, one.count, strict=True):
                by_hand[source] += 2 * int(count) if source != to else 0
        counted = bytes_sent(schedule, 2)
        assert by_hand[:n_ranks] == counted.tolist()
        # Every chunk is off its mean by less than one element, once a message at most.
        form = closed_form(collective, algorithm, n_ranks, 2 * n_elements)
        messages = sum(len(one) for one in schedule.rounds())
        assert abs(counted.sum() - form.bytes_sent.sum()) <= 2 * n_ranks * messages


@pytest.mark.parametrize("per_node", [1, 2, 4, 8, 16])
def test_hierarchical_sends_what_the_levels_say(per_node):
    """2(g-1)/g of the vector inside the node, 2(k-1)/k of 1/g of it outside (domain note 1.1)."""
    n, size = 16, 4096
    k = n // per_node
    schedule = build("all_reduce", "hierarchical", n, size, ranks_per_node=per_node)
    inside, outside = np.zeros(n), np.zeros(n)
    for one in schedule.rounds():
        crosses = one.source // per_node != one.destination // per_node
        outside += np.bincount(one.source, one.count * crosses, minlength=n)
        inside += np.bincount(one.source, one.count * ~crosses, minlength=n)
    assert inside.tolist() == [2 * (per_node - 1) / per_node * size] * n
    assert outside.tolist() == [2 * (k - 1) / k * size / per_node] * n
    form = closed_form("all_reduce", "hierarchical", n, size, ranks_per_node=per_node)
    np.testing.assert_allclose(form.bytes_sent, inside + outside)


def test_node_limited_sends_one_message_a_node_over_the_network():
    schedule = build("all_to_all", "node_limited", 16, 160, ranks_per_node=4)
    over_rails, in_nodes = schedule.rounds()
    assert np.bincount(over_rails.source).tolist() == [3] * 16
    assert (over_rails.source % 4 == over_rails.destination % 4).all()
    assert (in_nodes.source // 4 == in_nodes.destination // 4).all()


@pytest.mark.parametrize("n_ranks", [2, 3, 4, 5, 8, 13, 14, 16, 64])
def test_double_tree_has_the_shape_of_nccls(n_ranks):
    """Both reach everyone in ceil(log2 n) hops; no one has more than two children in either."""
    trees = tree_parents(n_ranks)
    for parents in trees:
        assert (parents == -1).sum() == 1
        assert depths(parents).max() == (n_ranks - 1).bit_length()
        assert np.bincount(parents[parents >= 0]).max() <= 2
    if n_ranks % 2 == 0:
        inner = [set(parents.tolist()) - {-1} for parents in trees]
        roots = {int(np.flatnonzero(parents == -1)[0]) for parents in trees}
        assert not (inner[0] & inner[1]) - roots


def test_tree_of_fourteen_is_the_one_nccl_draws():
    first = tree_parents(14)[0]
    assert first.tolist() == [-1, 2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8, 12]


def test_pipelined_tree_takes_twice_its_depth_and_a_round_for_each_further_chunk():
    for n_chunks in (1, 4, 9):
        schedule = build("all_reduce", "tree", 16, 1600, n_chunks=n_chunks)
        assert len(list(schedule.rounds())) == 2 * 4 + n_chunks - 1


def test_ring_sends_exactly_all_chunks_but_one_twice():
    sizes = np.array([3, 3, 2, 2])
    expected = [2 * 10 - sizes[r] - sizes[(r + 1) % 4] for r in range(4)]
    assert bytes_sent(build("all_reduce", "ring", 4, 10), 1).tolist() == expected


def test_bus_factors_of_nccl_tests():
    assert bus_factor("all_reduce", 8) == 1.75
    for collective in ("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter"):
        assert bus_factor(collective, 8) == 0.875
    for collective in ("broadcast", "reduce", "send_recv"):
        assert bus_factor(collective, 8) == 1.0


def test_no_closed_form_without_algorithm_or_partner():
    with pytest.raises(ValueError, match="no algorithm 'tree'"):
        closed_form("all_to_all", "tree", 4, 16)
    with pytest.raises(ValueError, match="two ranks or more"):
        closed_form("all_to_all", "direct", 1, 16)
