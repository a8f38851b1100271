"""Laws of every schedule on every fabric: bytes add up, no link is overbooked, bounds hold."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuflow.cluster.charge import charge, round_loads
from gpuflow.cluster.nccl_model import PROTOCOLS
from gpuflow.cluster.points import cost_lines
from gpuflow.cluster.steps import FAMILIES, family_of
from gpuflow.collectives.algorithms import ALGORITHMS, build, has_levels, needs_switch
from gpuflow.collectives.oracle import bytes_sent, closed_form
from gpuflow.collectives.places import ROOTED

ITEMSIZE = 2
LAWS = settings(max_examples=150, derandomize=True, deadline=None)


@st.composite
def cases(draw, fabrics):
    """(fabric, GPUs, schedule), wherever the group lies and whether or not sizes divide."""
    fabric = draw(fabrics)
    collective = draw(st.sampled_from(sorted(ALGORITHMS)))
    algorithms = [a for a in ALGORITHMS[collective] if not needs_switch(collective, a)]
    algorithm = draw(st.sampled_from(algorithms))
    n_ranks = draw(st.integers(1, min(fabric.n_gpus, 12)))
    gpus = draw(st.permutations(range(fabric.n_gpus)))[:n_ranks]
    n_elements = draw(st.one_of(st.integers(0, 100), st.just(n_ranks * 720)))
    root = draw(st.integers(0, n_ranks - 1)) if collective in ROOTED else 0
    return fabric, np.array(gpus), build(collective, algorithm, n_ranks, n_elements, root)


def by_vertex(fabric, link_bytes, ends):
    return np.bincount(ends, link_bytes, minlength=len(fabric.vertices))


def passed_on(fabric, gpus, schedule):
    """Bytes that GPUs pass on for others, by vertex: from the routes themselves."""
    total = np.zeros(len(fabric.vertices))
    for one in schedule.rounds():
        routes = fabric.route(gpus[one.source], gpus[one.destination])
        for links, count in zip(routes, one.count, strict=True):
            for link in links[:-1][links[1:] >= 0]:
                total[fabric.link_destination[link]] += count * ITEMSIZE
    return total


@LAWS
@given(st.data())
def test_bytes_of_all_links_add_up_to_what_is_sent(any_fabric, data):
    """What leaves a GPU is what it sends and passes on; nothing is lost or made on the way."""
    fabric, gpus, schedule = data.draw(cases(any_fabric))
    cost = charge(schedule, fabric, gpus, ITEMSIZE)
    out = by_vertex(fabric, cost.link_bytes, fabric.link_source)
    into = by_vertex(fabric, cost.link_bytes, fabric.link_destination)
    through = passed_on(fabric, gpus, schedule)
    sent = np.zeros(len(fabric.vertices))
    sent[gpus] = bytes_sent(schedule, ITEMSIZE)
    np.testing.assert_allclose(out, sent + through)
    received = np.zeros(len(fabric.vertices))
    for one in schedule.rounds():
        moved = one.count * (one.source != one.destination) * ITEMSIZE
        np.add.at(received, gpus[one.destination], moved)
    np.testing.assert_allclose(into, received + through)
    assert sent[fabric.n_gpus :].sum() == 0
    np.testing.assert_allclose(cost.bytes_sent, sent[: fabric.n_gpus])


@LAWS
@given(st.data())
def test_bytes_sent_are_the_closed_form(any_fabric, data):
    fabric, gpus, schedule = data.draw(cases(any_fabric))
    n = schedule.n_ranks
    if n < 2 or schedule.n_elements != n * 720:
        return
    form = closed_form(
        schedule.collective,
        schedule.algorithm,
        n,
        schedule.n_elements * ITEMSIZE,
        schedule.root,
        n_chunks=schedule.n_chunks,
    )
    cost = charge(schedule, fabric, gpus, ITEMSIZE)
    # 720 divides by all numbers of ranks in use but 7 and 11, where a chunk of a chunk may not.
    np.testing.assert_allclose(cost.bytes_sent[gpus], form.bytes_sent, rtol=0.02)
    assert cost.bytes_sent.sum() == pytest.approx(form.bytes_sent.sum(), rel=0.02)
    assert cost.rounds == form.rounds


@LAWS
@given(st.data())
def test_no_link_carries_more_than_its_capacity(any_fabric, data):
    """Within a round the transfers of a link take turns: its bytes fit in the round's time."""
    fabric, gpus, schedule = data.draw(cases(any_fabric))
    cost = charge(schedule, fabric, gpus, ITEMSIZE)
    starts, loads = round_loads(schedule, fabric, gpus)
    simple = PROTOCOLS.index("simple")
    for time_s, start_s, load in zip(cost.round_times_s, starts[simple], loads, strict=True):
        room = (time_s - start_s) * fabric.capacity_bytes_per_s
        assert (load * ITEMSIZE <= room * (1 + 1e-9) + 1e-6).all()
    np.testing.assert_allclose(loads.sum(axis=0) * ITEMSIZE, cost.link_bytes)


@LAWS
@given(st.data())
def test_time_is_never_below_the_bandwidth_or_the_latency_bound(any_fabric, data):
    fabric, gpus, schedule = data.draw(cases(any_fabric))
    cost = charge(schedule, fabric, gpus, ITEMSIZE)
    almost = 1 - 1e-9
    links_s = cost.link_bytes / fabric.capacity_bytes_per_s
    assert cost.time_s >= links_s.max(initial=0.0) * almost
    width = by_vertex(fabric, fabric.capacity_bytes_per_s, fabric.link_source)[: fabric.n_gpus]
    sent = cost.bytes_sent[width > 0]
    assert cost.time_s >= (sent / width[width > 0]).max(initial=0.0) * almost
    busy = 0
    for one in schedule.rounds():
        busy += bool((one.count * (one.source != one.destination)).any())
    family = FAMILIES.index(family_of(schedule.algorithm))
    least = fabric.start_s[family][:, 1:].min(axis=1)
    assert (cost.latencies_s >= busy * least * almost).all()
    assert cost.time_s >= cost.latency_s * almost


@settings(max_examples=60, derandomize=True, deadline=None)
@given(st.data())
def test_lines_over_whole_fabrics_keep_the_bounds(any_fabric, data):
    """Also where rings run side by side, and a few ranks stand for all."""
    fabric = data.draw(any_fabric)
    n = fabric.n_gpus
    collective = data.draw(st.sampled_from(["all_reduce", "all_gather", "all_to_all"]))
    rivals = [
        a
        for a in ALGORITHMS[collective]
        if not needs_switch(collective, a)
        and not (has_levels(collective, a) and n % fabric.gpus_per_node)
    ]
    algorithm = data.draw(st.sampled_from(rivals))
    if n < 2:
        return
    levels = fabric.gpus_per_node if has_levels(collective, algorithm) else None
    form = closed_form(collective, algorithm, n, 10**9, ranks_per_node=levels)
    width = by_vertex(fabric, fabric.capacity_bytes_per_s, fabric.link_source)[:n]
    for line in cost_lines(collective, algorithm, fabric, n):
        assert line.seconds_per_byte * 1e9 >= (form.bytes_sent / width).max() * (1 - 1e-9)
        if algorithm != "tree":
            assert line.rounds == form.rounds
            assert (line.latencies_s >= 0).all()
