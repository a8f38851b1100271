"""The meaning of collectives, written out by hand, and inputs that can be read."""

import numpy as np
import pytest

from gpuflow.collectives.meaning import meaning, start
from gpuflow.collectives.places import places
from gpuflow.scenario.spec import COLLECTIVES


def lists(vectors):
    return [None if v is None else v.tolist() for v in vectors]


@pytest.mark.parametrize(
    ("collective", "inputs", "root", "expected"),
    [
        ("all_reduce", [[1, 2], [3, 4], [5, 6]], 0, [[9, 12]] * 3),
        ("all_gather", [[1, 2], [3], [4]], 0, [[1, 2, 3, 4]] * 3),
        ("reduce_scatter", [[1, 2, 3], [4, 5, 6]], 0, [[5, 7], [9]]),
        ("all_to_all", [[1, 2, 3], [4, 5, 6]], 0, [[1, 2, 4, 5], [3, 6]]),
        ("broadcast", [[], [7, 8], []], 1, [[7, 8]] * 3),
        ("reduce", [[1], [2], [3]], 2, [None, None, [6]]),
        ("scatter", [[1, 2, 3, 4], []], 0, [[1, 2], [3, 4]]),
        ("gather", [[1, 2], [3]], 0, [[1, 2, 3], None]),
        ("send_recv", [[], [9], []], 1, [None, None, [9]]),
    ],
)
def test_meaning(collective, inputs, root, expected):
    vectors = [np.array(v, dtype=np.int32) for v in inputs]
    assert expected == lists(meaning(collective, vectors, root))


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_inputs_of_small_groups_are_distinct_small_integers(collective):
    for n_ranks in range(1, 10):
        numbers = np.concatenate(start(collective, n_ranks, 2 * n_ranks)).tolist()
        assert list(range(1, len(numbers) + 1)) == numbers


def test_inputs_of_the_seed():
    assert lists(start("reduce", 3, 1)) == [[1], [2], [3]]
    assert lists(start("scatter", 2, 4)) == [[1, 2, 3, 4], []]
    assert lists(start("all_to_all", 2, 2)) == [[1, 2], [3, 4]]


def test_inputs_of_large_groups_sum_exactly_in_float32():
    vectors = start("all_reduce", 64, 1000, 0, np.float32)
    exact = np.sum([v.astype(np.float64) for v in vectors], axis=0)
    assert exact.max() < 2**24
    assert exact.tolist() == meaning("all_reduce", vectors)[0].tolist()


@pytest.mark.parametrize("function", [places, lambda c, n, e: meaning(c, [np.zeros(1)])])
def test_unknown_collectives_are_told(function):
    with pytest.raises(ValueError, match="unknown collective"):
        function("sum", 2, 2)
