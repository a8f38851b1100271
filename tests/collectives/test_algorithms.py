"""Every algorithm of every collective produces exactly what the collective means."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuflow.collectives.algorithms import (
    ALGORITHMS,
    build,
    default_algorithm,
    has_levels,
    is_pipelined,
    needs_switch,
)
from gpuflow.collectives.meaning import meaning, start
from gpuflow.collectives.places import ROOTED
from gpuflow.collectives.replay import run
from gpuflow.scenario.spec import COLLECTIVES

EVERY = [
    pytest.param(collective, algorithm, id=f"{collective}-{algorithm}")
    for collective, algorithms in ALGORITHMS.items()
    for algorithm in algorithms
]
RANKS = [2, 3, 4, 5, 6, 7, 8, 9, 16, 64]


def element_counts(n_ranks):
    """None, one, dividing, and not dividing from below and from above."""
    return sorted({0, 1, n_ranks - 1, n_ranks, 3 * n_ranks, 3 * n_ranks + 1, 5 * n_ranks - 1})


def check(collective, algorithm, n_ranks, n_elements, root, dtype, **options):
    schedule = build(collective, algorithm, n_ranks, n_elements, root, **options)
    inputs = start(collective, n_ranks, n_elements, root, dtype)
    expected = meaning(collective, inputs, root)
    outputs = run(schedule, inputs)
    assert [o is None for o in expected] == [o is None for o in outputs]
    for peer, (wanted, got) in enumerate(zip(expected, outputs, strict=True)):
        if wanted is not None:
            assert got.dtype == dtype
            assert wanted.tolist() == got.tolist(), (n_ranks, n_elements, root, peer)


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
def test_equals_its_meaning(collective, algorithm, dtype):
    for n_ranks in RANKS:
        for n_elements in element_counts(n_ranks):
            check(collective, algorithm, n_ranks, n_elements, 0, dtype)


@pytest.mark.parametrize(("collective", "algorithm"), [p for p in EVERY if p.values[0] in ROOTED])
def test_equals_its_meaning_for_every_root(collective, algorithm):
    for n_ranks in range(2, 10):
        for root in range(n_ranks):
            for n_elements in (1, 2 * n_ranks, 2 * n_ranks + 1):
                check(collective, algorithm, n_ranks, n_elements, root, np.int64)


@settings(max_examples=200, derandomize=True, deadline=None)
@given(data=st.data())
def test_equals_its_meaning_for_any_group_and_size(data):
    collective = data.draw(st.sampled_from(COLLECTIVES))
    algorithm = data.draw(st.sampled_from(ALGORITHMS[collective]))
    n_ranks = data.draw(st.integers(1, 40))
    n_elements = data.draw(st.integers(0, 4 * n_ranks))
    root = data.draw(st.integers(0, n_ranks - 1)) if collective in ROOTED else 0
    check(collective, algorithm, n_ranks, n_elements, root, np.int32)


@pytest.mark.parametrize(("collective", "algorithm"), [p for p in EVERY if has_levels(*p.values)])
@pytest.mark.parametrize("n_ranks", [6, 8, 12, 16])
def test_two_levels_equal_the_meaning_for_any_node_size(collective, algorithm, n_ranks):
    for per_node in (g for g in range(1, n_ranks + 1) if n_ranks % g == 0):
        for n_elements in element_counts(n_ranks):
            check(collective, algorithm, n_ranks, n_elements, 0, np.int32, ranks_per_node=per_node)


@pytest.mark.parametrize(("collective", "algorithm"), [p for p in EVERY if is_pipelined(*p.values)])
@pytest.mark.parametrize("n_chunks", [1, 2, 3, 16])
def test_pipelines_equal_the_meaning_for_any_number_of_chunks(collective, algorithm, n_chunks):
    for n_ranks in (2, 5, 8):
        for n_elements in element_counts(n_ranks):
            check(collective, algorithm, n_ranks, n_elements, 0, np.int32, n_chunks=n_chunks)


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
def test_large_vectors_equal_the_meaning_too(collective, algorithm):
    """Large transfers go another way through replay: slices instead of indices."""
    check(collective, algorithm, 5, 5 * 1024 + 3, 0, np.float32)


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
def test_a_group_of_one_needs_no_round(collective, algorithm):
    assert list(build(collective, algorithm, 1, 5).rounds()) == []
    check(collective, algorithm, 1, 5, 0, np.int32)


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
@pytest.mark.parametrize("n_ranks", [2, 5, 8])
def test_transfers_stay_inside_the_buffers_and_copies_do_not_meet(collective, algorithm, n_ranks):
    """Two writes to one element of a round must both add, or the order would matter."""
    schedule = build(collective, algorithm, n_ranks, 3 * n_ranks + 2)
    for one in schedule.rounds():
        for column in (one.source, one.destination):
            assert column.min() >= 0
            assert column.max() < n_ranks + schedule.n_switches
        for offset in (one.source_offset, one.destination_offset):
            assert offset.min() >= 0
            assert (offset + one.count).max() <= schedule.buffer_elements
        writes = {}
        for source, to, at, count, add in zip(
            one.source,
            one.destination,
            one.destination_offset,
            one.count,
            one.add,
            strict=True,
        ):
            assert max(source, to) < n_ranks or source != to
            for element in range(at, at + count):
                writes.setdefault((to, element), []).append(add)
        assert all(len(adds) == 1 or all(adds) for adds in writes.values())


@pytest.mark.parametrize(
    ("collective", "algorithm"),
    [p for p in EVERY if p.id in {"all_reduce-ring", "reduce_scatter-ring", "all_gather-ring"}],
)
def test_rounds_of_16384_ranks_stream(collective, algorithm):
    rounds = build(collective, algorithm, 16384, 16384 * 4).rounds()
    first = next(rounds)
    assert len(first) == 16384
    assert first.count.tolist() == [4] * 16384


def test_all_reduce_gives_every_rank_the_same_float_bits():
    """Sums are made in one order for a chunk, so ranks cannot drift apart by rounding."""
    values = np.random.default_rng(1).random((6, 13)).astype(np.float32)
    for algorithm in ALGORITHMS["all_reduce"]:
        if algorithm == "one_shot":
            continue  # every rank adds in an order of its own
        outputs = run(build("all_reduce", algorithm, 6, 13), list(values))
        assert len({output.tobytes() for output in outputs}) == 1, algorithm


def test_all_nine_collectives_are_there_with_a_default():
    assert set(COLLECTIVES) == set(ALGORITHMS)
    assert default_algorithm("all_reduce") == "ring"
    assert all(default_algorithm(c) == ALGORITHMS[c][0] for c in COLLECTIVES)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("all_sum", "ring", 4, 8), "unknown collective 'all_sum'"),
        (("all_reduce", "bruck", 4, 8), "no algorithm 'bruck'; known: ring"),
        (("all_reduce", "ring", 0, 8), "at least one rank"),
        (("all_reduce", "ring", 4, -1), "0 or more"),
        (("all_reduce", "ring", 4, 8, 1), "no root 1"),
        (("broadcast", "binomial", 4, 8, 4), "no root 4"),
    ],
)
def test_misuse_is_told(arguments, told):
    with pytest.raises(ValueError, match=told):
        build(*arguments)


def test_nodes_and_pipelines_that_cannot_be_are_told():
    with pytest.raises(ValueError, match="8 ranks do not fill nodes of 3"):
        build("all_reduce", "hierarchical", 8, 8, ranks_per_node=3)
    with pytest.raises(ValueError, match="at least one chunk, got 0"):
        build("all_reduce", "tree", 8, 8, n_chunks=0)
    assert build("all_reduce", "ring", 8, 8, ranks_per_node=3).ranks_per_node == 0


def test_a_switch_is_one_more_vertex():
    assert build("all_reduce", "nvls", 4, 8).n_switches == 1
    assert needs_switch("all_gather", "nvls")
    assert not needs_switch("all_gather", "ring")


def test_default_of_an_unknown_collective_is_told():
    with pytest.raises(ValueError, match="unknown collective"):
        default_algorithm("sum")
