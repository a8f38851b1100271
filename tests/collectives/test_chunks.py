"""How vectors are cut."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuflow.collectives.chunks import chunk_edges, chunk_run_round, joined, make_round


@settings(max_examples=100, derandomize=True, deadline=None)
@given(st.integers(0, 200), st.integers(1, 40))
def test_chunks_cover_everything_and_differ_by_one_at_most(n_elements, n_chunks):
    edges = chunk_edges(n_elements, n_chunks)
    sizes = np.diff(edges)
    assert (edges[0], edges[-1]) == (0, n_elements)
    assert sizes.max() - sizes.min() <= 1
    assert sizes.tolist() == [len(part) for part in np.array_split(np.arange(n_elements), n_chunks)]


def test_a_run_of_chunks_round_the_end_is_two_transfers():
    edges = chunk_edges(8, 4)
    peers = np.array([0, 1])
    one = chunk_run_round(peers, peers + 2, np.array([3, 1]), 2, edges, add=False)
    assert list(zip(one.source, one.source_offset, one.count, strict=True)) == [
        (0, 6, 2),
        (1, 2, 4),
        (0, 0, 2),
    ]


def test_joining_drops_transfers_of_nothing():
    nothing = make_round([0], [1], 0, 0, 0, add=False)
    something = make_round([1], [0], 2, 2, 3, add=True)
    one = joined(nothing, something)
    assert len(one) == 1
    assert one.add.tolist() == [True]
