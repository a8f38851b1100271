"""The small picture of a collective: the seed's before and after, and nothing invented between."""

import itertools

import pytest

from gpuflow.collectives.algorithms import ALGORITHMS
from gpuflow.collectives.meaning import meaning, start
from gpuflow.collectives.places import ROOTED, places
from gpuflow.collectives.small import (
    LARGEST_SUM,
    small_elements,
    small_inputs,
    small_replay,
)

EVERY = [
    pytest.param(collective, algorithm, id=f"{collective}-{algorithm}")
    for collective, algorithms in ALGORITHMS.items()
    for algorithm in algorithms
]


def values(rows):
    return [row.values for row in rows]


_ = None


@pytest.mark.parametrize(
    ("collective", "n_ranks", "n_elements", "before", "after"),
    [
        ("all_reduce", 2, 1, [(1,), (2,)], [(3,), (3,)]),
        ("all_gather", 2, 2, [(1, _), (_, 2)], [(1, 2), (1, 2)]),
        ("all_to_all", 2, 2, [(1, 2), (3, 4)], [(1, 3), (2, 4)]),
        ("send_recv", 2, 1, [(1,), (_,)], [(_,), (1,)]),
        ("broadcast", 2, 1, [(1,), (_,)], [(1,), (1,)]),
        ("scatter", 2, 4, [(1, 2, 3, 4), (_,) * 4], [(1, 2, _, _), (_, _, 3, 4)]),
        ("gather", 2, 2, [(1, _), (_, 2)], [(1, 2), (_, _)]),
        (
            "reduce_scatter",
            3,
            3,
            [(1, 2, 3), (4, 5, 6), (7, 8, 9)],
            [(12, _, _), (_, 15, _), (_, _, 18)],
        ),
        ("reduce", 3, 1, [(1,), (2,), (3,)], [(6,), (_,), (_,)]),
    ],
)
def test_before_and_after_are_those_of_the_seed(collective, n_ranks, n_elements, before, after):
    for algorithm in ALGORITHMS[collective]:
        replay = small_replay(collective, algorithm, n_ranks, 0, n_elements)
        assert before == values(replay.before)
        assert after == values(replay.after)


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
@pytest.mark.parametrize("n_ranks", [2, 3, 5, 8, 16])
def test_in_the_end_every_shown_number_is_the_result(collective, algorithm, n_ranks):
    root = n_ranks - 1 if collective in ROOTED else 0
    replay = small_replay(collective, algorithm, n_ranks, root)
    n = replay.n_elements
    expected = meaning(collective, small_inputs(collective, n_ranks, n, root), root)
    for row, wanted in zip(replay.after, expected, strict=True):
        shown = [value for value in row.values if value is not None]
        assert ([] if wanted is None else wanted.tolist()) == shown
        assert row.is_final == tuple(value is not None for value in row.values)


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
@pytest.mark.parametrize("n_ranks", [2, 3, 4, 7])
def test_before_shows_the_inputs_and_rows_keep_their_width(collective, algorithm, n_ranks):
    replay = small_replay(collective, algorithm, n_ranks)
    inputs = start(collective, n_ranks, replay.n_elements)
    shown = [[v for v in row.values if v is not None] for row in replay.before]
    assert [vector.tolist() for vector in inputs] == shown
    widths = {len(row.values) for k in range(len(replay.rounds)) for row in replay.rows_after(k)}
    assert len(widths) == 1


@pytest.mark.parametrize("algorithm", ALGORITHMS["all_to_all"])
@pytest.mark.parametrize("n_ranks", [2, 4, 5, 8])
def test_all_to_all_never_loses_or_doubles_a_number(algorithm, n_ranks):
    replay = small_replay("all_to_all", algorithm, n_ranks)
    everything = list(range(1, n_ranks * n_ranks + 1))
    for done in range(len(replay.rounds) + 1):
        shown = [v for row in replay.rows_after(done) for v in row.values if v is not None]
        assert everything == sorted(shown)


def test_uneven_all_to_all_shows_everything_too():
    replay = small_replay("all_to_all", "bruck", 4, 0, 7)
    assert replay.after[0].values == (1, 2, 8, 9, 15, 16, 22, 23)
    assert replay.after[3].values == (7, 14, 21, 28, None, None, None, None)


def test_a_final_number_stays_final():
    for collective, algorithm in (p.values for p in EVERY):
        replay = small_replay(collective, algorithm, 6)
        place = places(collective, 6, replay.n_elements)
        for peer in range(6):
            if not place.has_output[peer] or collective == "all_to_all":
                continue
            finals = [replay.rows_after(k)[peer].is_final for k in range(len(replay.rounds) + 1)]
            for earlier, later in itertools.pairwise(finals):
                assert all(b or not a for a, b in zip(earlier, later, strict=True))


def test_partial_sums_are_shown_on_their_way_and_not_called_final():
    replay = small_replay("reduce", "binomial", 3)
    assert replay.rounds[0].transfers == ((1, 0),)
    assert replay.rounds[0].adds == (True,)
    assert values(replay.rounds[0].rows) == [(3,), (None,), (3,)]
    assert not replay.rounds[0].rows[0].is_final[0]


def test_each_pair_is_listed_once_and_local_copies_are_not():
    replay = small_replay("all_to_all", "bruck", 4)
    for one in replay.rounds:
        assert len(one.transfers) == len(set(one.transfers)) == 4
        assert all(source != to for source, to in one.transfers)


def test_values_are_plain_python():
    replay = small_replay("all_reduce", "ring", 4)
    for row in replay.after:
        assert all(type(value) is int for value in row.values)
        assert all(type(flag) is bool for flag in row.is_final)
    assert all(type(end) is int for pair in replay.rounds[0].transfers for end in pair)


def test_sizes_that_make_good_pictures():
    assert small_elements("broadcast", "binomial", 8) == 1
    assert small_elements("broadcast", "chain", 8) == 4
    assert small_elements("all_reduce", "ring", 2) == 4
    assert small_elements("all_to_all", "direct", 3) == 3
    assert small_elements("all_reduce", "tree", 16) == 8
    assert small_elements("all_reduce", "one_shot", 16) == 4
    assert small_elements("all_reduce", "ring", 3) == 6
    assert small_elements("all_reduce", "ring", 5) == 5


def test_the_switch_shows_the_sum_it_passes_on():
    replay = small_replay("all_reduce", "nvls", 3, 0, 3)
    assert replay.n_switches == 1
    load, store = replay.rounds
    assert load.transfers == ((0, 3), (1, 3), (2, 3), (3, 0), (3, 1), (3, 2))
    assert load.switch_row is not None
    assert load.switch_row.values == (12, 15, 18)
    assert values(load.rows) == [(12, _, _), (_, 15, _), (_, _, 18)]
    assert values(store.rows) == [(12, 15, 18)] * 3
    assert small_replay("all_reduce", "ring", 3).rounds[0].switch_row is None


def test_two_levels_are_told():
    assert small_replay("all_reduce", "hierarchical", 8).ranks_per_node == 4
    assert small_replay("all_reduce", "ring", 8).ranks_per_node == 0


def test_a_node_can_have_any_size_that_divides():
    replay = small_replay("all_reduce", "hierarchical", 12, ranks_per_node=3)
    assert replay.ranks_per_node == 3
    inside = {(a // 3, b // 3) for a, b in replay.rounds[0].transfers}
    assert inside == {(node, node) for node in range(4)}
    assert {abs(a - b) % 3 for a, b in replay.rounds[2].transfers} == {0}


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
@pytest.mark.parametrize("n_ranks", [2, 5, 8, 13, 16])
def test_sums_stay_short_and_inputs_are_those_of_the_trace_while_they_can(
    collective, algorithm, n_ranks
):
    replay = small_replay(collective, algorithm, n_ranks)
    rows = [row for k in range(len(replay.rounds) + 1) for row in replay.rows_after(k)]
    assert max(v for row in rows for v in row.values if v is not None) <= LARGEST_SUM
    given = small_inputs(collective, n_ranks, replay.n_elements)
    plain = start(collective, n_ranks, replay.n_elements)
    sums = collective in {"all_reduce", "reduce_scatter", "reduce"}
    is_short = not sums or bool(sum(plain).max() <= LARGEST_SUM)
    assert all((a == b).all() for a, b in zip(given, plain, strict=True)) is is_short


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
@pytest.mark.parametrize("n_ranks", [2, 3, 6, 8])
def test_what_is_sent_was_shown_and_is_counted(collective, algorithm, n_ranks):
    replay = small_replay(collective, algorithm, n_ranks)
    for index, one in enumerate(replay.rounds):
        shown = replay.rows_after(index)
        senders = {source for source, _ in one.transfers if source < n_ranks}
        assert len(one.counts) == len(one.adds) == len(one.transfers)
        assert all(count > 0 for count in one.counts)
        assert {peer for peer, found in enumerate(one.sent) if found} == senders
        for peer, found in enumerate(one.sent):
            assert all(shown[peer].values[place] is not None for place in found)


def test_a_ring_sends_the_chunk_that_has_just_come():
    replay = small_replay("all_reduce", "ring", 4)
    assert replay.rounds[0].sent == ((3,), (0,), (1,), (2,))
    assert replay.rounds[1].sent == ((2,), (3,), (0,), (1,))
    assert set(replay.rounds[0].counts) == {1}
