"""Rounds applied to real buffers: hazards, order of reads and writes, both ways through."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuflow.collectives.algorithms import ALGORITHMS, build
from gpuflow.collectives.chunks import make_round
from gpuflow.collectives.meaning import meaning, start
from gpuflow.collectives.replay import apply, load, reads_what_is_written, replay, run
from gpuflow.collectives.schedule import Round


def apply_by_hand(one, buffers):
    """The rule in plain words: read all, then copy, then add."""
    read = [
        buffers[s, o : o + c].copy()
        for s, o, c in zip(one.source, one.source_offset, one.count, strict=True)
    ]
    for wants_add in (False, True):
        for values, to, at, add in zip(
            read, one.destination, one.destination_offset, one.add, strict=True
        ):
            place = buffers[to, at : at + len(values)]
            if add and wants_add:
                place += values
            elif not add and not wants_add:
                place[:] = values


@st.composite
def rounds(draw, width, n_ranks=4):
    """Any transfers at all, except copies that meet other writes."""
    n = draw(st.integers(1, 6))
    columns = []
    written = []
    for _ in range(n):
        count = draw(st.integers(0, width))
        source, to = draw(st.integers(0, n_ranks - 1)), draw(st.integers(0, n_ranks - 1))
        take, put = draw(st.integers(0, width - count)), draw(st.integers(0, width - count))
        meets = any(t == to and put < e and s < put + count for t, s, e in written)
        if not meets:
            written.append((to, put, put + count))
            columns.append((source, to, take, put, count, draw(st.booleans())))
    table = [np.array(c) for c in zip(*columns, strict=True)]
    return Round(*table[:5], table[5].astype(bool))


@settings(max_examples=150, derandomize=True, deadline=None)
@given(st.data(), st.sampled_from([1, 300]))
def test_any_round_reads_before_it_writes(data, stretch):
    """Stretched, the same round goes through slices instead of indices."""
    one = data.draw(rounds(8))
    one = Round(
        one.source,
        one.destination,
        one.source_offset * stretch,
        one.destination_offset * stretch,
        one.count * stretch,
        one.add,
    )
    buffers = np.arange(4 * 8 * stretch).reshape(4, -1)
    expected = buffers.copy()
    apply_by_hand(one, expected)
    apply(one, buffers, len(buffers))
    assert np.array_equal(expected, buffers)


@settings(max_examples=150, derandomize=True, deadline=None)
@given(rounds(8))
def test_hazards_are_found_exactly(one):
    writes = {
        (to, element)
        for to, at, count in zip(one.destination, one.destination_offset, one.count, strict=True)
        for element in range(at, at + count)
    }
    by_hand = [
        any((source, element) in writes for element in range(at, at + count))
        for source, at, count in zip(one.source, one.source_offset, one.count, strict=True)
    ]
    assert by_hand == reads_what_is_written(one, 8).tolist()


@pytest.mark.parametrize("size", [3, 3000])
def test_partners_can_exchange_and_add_in_one_round(size):
    one = make_round([0, 1], [1, 0], 0, 0, size, add=True)
    buffers = np.stack([np.full(size, 1), np.full(size, 10)])
    apply(one, buffers, len(buffers))
    assert (buffers == 11).all()


@pytest.mark.parametrize("size", [3, 3000])
def test_many_can_add_to_one_place(size):
    one = make_round([1, 2, 3], 0, 0, 0, size, add=True)
    buffers = np.stack([np.full(size, 10**k) for k in range(4)])
    apply(one, buffers, len(buffers))
    assert (buffers[0] == 1111).all()


def test_ring_rounds_have_no_hazard_and_doubling_has():
    for one in build("all_reduce", "ring", 8, 64).rounds():
        assert not reads_what_is_written(one, 64).any()
    for one in build("all_reduce", "recursive_doubling", 8, 64).rounds():
        assert reads_what_is_written(one, 64).all()


@pytest.mark.parametrize("size", [7, 7000])
@pytest.mark.parametrize("collective", ALGORITHMS)
def test_inputs_are_left_alone(collective, size):
    for algorithm in ALGORITHMS[collective]:
        inputs = start(collective, 4, size)
        kept = [vector.copy() for vector in inputs]
        run(build(collective, algorithm, 4, size), inputs)
        assert all(np.array_equal(a, b) for a, b in zip(kept, inputs, strict=True))


def test_replay_shows_the_buffers_after_each_round():
    states = [
        b.tolist() for b in replay(build("all_reduce", "ring", 2, 2), start("all_reduce", 2, 2))
    ]
    assert states == [[[4, 2], [3, 6]], [[4, 6], [4, 6]]]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32])
def test_the_element_type_is_kept(dtype):
    inputs = start("all_reduce", 3, 5, 0, dtype)
    outputs = run(build("all_reduce", "ring", 3, 5), inputs)
    assert {output.dtype for output in outputs} == {np.dtype(dtype)}
    assert meaning("all_reduce", inputs)[0].dtype == dtype


def test_inputs_of_the_wrong_length_are_told():
    schedule = build("all_gather", "ring", 2, 3)
    with pytest.raises(ValueError, match=r"vectors of \[2, 1\] elements, got \[3, 3\]"):
        load(schedule, [np.zeros(3), np.zeros(3)])
