"""A trace is complete: replaying its JSON by hand gives its result."""

import json

import pytest

from gpuflow.collectives.algorithms import ALGORITHMS
from gpuflow.collectives.trace import trace

EVERY = [
    pytest.param(collective, algorithm, id=f"{collective}-{algorithm}")
    for collective, algorithms in ALGORITHMS.items()
    for algorithm in algorithms
]


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
@pytest.mark.parametrize(("n_ranks", "n_elements"), [(2, 2), (3, 7), (4, 0), (5, 3), (8, 16)])
def test_the_json_replays_to_its_result(collective, algorithm, n_ranks, n_elements):
    told = json.loads(json.dumps(trace(collective, algorithm, n_ranks, n_elements)))
    n_vertices = n_ranks + told["switches"]
    buffers = [[0] * told["buffer_elements"] for _ in range(n_vertices)]
    for buffer, at, numbers in zip(buffers, told["start_offset"], told["start"], strict=False):
        buffer[at : at + len(numbers)] = numbers
    sent = [0] * n_vertices
    for one in told["rounds"]:
        for is_switch in (False, True):
            part = [t for t in one["transfers"] if (t["from"] >= n_ranks) == is_switch]
            move(part, buffers)
            for t in part:
                assert t["count"] > 0
                sent[t["from"]] += 4 * t["count"] * (t["from"] != t["to"])
    for buffer, at, numbers in zip(buffers, told["result_offset"], told["result"], strict=False):
        assert numbers == buffer[at : at + len(numbers)]
    assert sent[:n_ranks] == told["bytes_sent"]


def move(transfers, buffers):
    read = [buffers[t["from"]][t["from_offset"] : t["from_offset"] + t["count"]] for t in transfers]
    for t, numbers in zip(transfers, read, strict=True):
        place = slice(t["to_offset"], t["to_offset"] + t["count"])
        held = buffers[t["to"]][place] if t["op"] == "add" else [0] * t["count"]
        buffers[t["to"]][place] = [a + b for a, b in zip(held, numbers, strict=True)]


def test_peers_without_input_or_output_have_empty_lists():
    told = trace("reduce", "direct", 3, 2)
    assert told["result"] == [[9, 12], [], []]
    told = trace("send_recv", "direct", 3, 1, root=2)
    assert told["start"] == [[], [], [1]]
    assert told["result"] == [[1], [], []]


def test_bytes_follow_the_element_type():
    assert trace("all_reduce", "ring", 4, 4096, "float32")["bytes_sent"] == [24576] * 4
    assert trace("all_reduce", "ring", 4, 4096, "float64")["bytes_sent"] == [49152] * 4
