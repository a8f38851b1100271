"""One collective by itself: choices lead where they say, costs are those of the other rooms."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpuflow.cluster.selection import Case, select
from gpuflow.collectives.algorithms import ALGORITHMS, default_algorithm
from gpuflow.engine.explore import (
    RANK_CHOICES,
    Subject,
    node_sizes,
    other_algorithm,
    other_collective,
    other_node_size,
    other_ranks,
    outlook,
    subject_at,
    subject_of,
)
from gpuflow.engine.moment import Moments
from gpuflow.engine.pace import Pace
from gpuflow.engine.simulate import simulate

EVERY = [(c, a) for c, algorithms in ALGORITHMS.items() for a in algorithms]


@pytest.fixture(scope="module")
def timeline(load):
    return simulate(load())


def test_collectives_and_algorithms_go_round() -> None:
    subject = start = subject_of("all_reduce", n_ranks=6)
    seen = []
    for _ in ALGORITHMS:
        seen.append(subject.collective)
        subject = other_collective(subject, 1)
    assert subject == start
    assert seen == list(ALGORITHMS)
    assert other_collective(start, -1).collective == list(ALGORITHMS)[-1]
    for _ in ALGORITHMS["all_reduce"]:
        subject = other_algorithm(subject)
    assert subject == start
    assert other_algorithm(start, -1).algorithm == ALGORITHMS["all_reduce"][-1]


def test_another_collective_takes_its_default_algorithm_and_keeps_the_ranks() -> None:
    subject = subject_of("all_reduce", "nvls", 5)
    following = other_collective(subject, 1)
    assert following.algorithm == default_algorithm(following.collective)
    assert following.n_ranks == 5


def test_ranks_go_up_one_by_one_then_in_leaps_and_stop_at_both_ends() -> None:
    subject = subject_of("all_reduce", n_ranks=2)
    seen = [2]
    for _ in range(30):
        subject = other_ranks(subject, 1, 8)
        seen.append(subject.n_ranks)
    assert tuple(dict.fromkeys(seen)) == RANK_CHOICES
    for _ in range(30):
        subject = other_ranks(subject, -1, 8)
    assert subject.n_ranks == 2


def test_ranks_beside_the_choices_join_them() -> None:
    subject = subject_of("all_reduce", n_ranks=24)
    assert other_ranks(subject, 1).n_ranks == 32
    assert other_ranks(subject, -1).n_ranks == 16
    assert subject_of("all_reduce", n_ranks=9999).n_ranks == 1024
    assert subject_of("all_reduce", n_ranks=1).n_ranks == 2


def test_node_sizes_divide_the_ranks_and_follow_them() -> None:
    assert node_sizes(16) == (2, 4, 8)
    subject = subject_of("all_reduce", "hierarchical", 16, gpus_per_node=8)
    assert subject.ranks_per_node == 8
    assert [
        other_node_size(subject).ranks_per_node,
        other_ranks(subject, -1, 8).ranks_per_node,
    ] == [
        2,
        5,
    ]
    assert other_ranks(subject, 1, 8).ranks_per_node == 8
    assert other_node_size(subject_of("all_reduce", "hierarchical", 7)).ranks_per_node == 1


@pytest.mark.parametrize(
    ("collective", "algorithm"), [("all_reduce", "bogus"), ("bogus", None), ("scatter", "ring")]
)
def test_unknown_names_are_refused(collective: str, algorithm: str | None) -> None:
    with pytest.raises(ValueError, match=r"bogus|ring"):
        subject_of(collective, algorithm)


def test_a_root_that_is_not_there_falls_back() -> None:
    assert subject_of("broadcast", n_ranks=4, root=3).root == 3
    assert subject_of("broadcast", n_ranks=3, root=3).root == 0


@pytest.mark.parametrize(
    ("step", "collective", "ranks"),
    [(0, "broadcast", 4), (1, "all_reduce", 2), (2, "send_recv", 2), (4, "all_gather", 2)],
)
def test_the_moment_s_collective_is_chosen(timeline, step, collective, ranks) -> None:
    moments = Moments(Pace(timeline))
    subject = subject_at(timeline, moments.at(moments.pace.step_start(step)))
    span = next(s for s in timeline.spans if s.step == step and s.collective)
    assert (subject.collective, subject.algorithm) == (collective, span.algorithm)
    assert subject.n_ranks == len(span.groups[0])
    assert subject.collective == span.collective


def test_a_step_without_any_shows_an_all_reduce(load) -> None:
    timeline = simulate(load(tp=1, pp=1))
    moments = Moments(Pace(timeline))
    subject = subject_at(timeline, moments.at(moments.pace.step_start(1)))
    assert (subject.collective, subject.n_ranks) == ("all_reduce", 4)


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
def test_rounds_of_the_formula_are_those_that_are_shown(collective: str, algorithm: str) -> None:
    for n in (2, 3, 4, 7, 12, 16):
        subject = subject_of(collective, algorithm, n)
        assert subject.rounds == len(subject.replay().rounds)
    large = subject_of(collective, algorithm, 32)
    assert large.rounds == large.tally(8).rounds


def test_the_message_is_the_step_s_own_where_it_has_one(timeline) -> None:
    span = next(s for s in timeline.spans if s.collective == "all_reduce" and s.step == 1)
    subject = subject_of("all_reduce", n_ranks=2)
    here = outlook(subject, timeline, 1)
    assert (here.size_bytes, here.size_source) == (span.message_size_bytes, "step")
    assert outlook(subject, timeline, 0).size_source == "play"
    assert outlook(subject_of("all_to_all"), timeline, 1).size_source == "example"


def test_times_are_those_of_the_collective_verb(timeline) -> None:
    found = outlook(subject_of("all_reduce", n_ranks=8), timeline, 1)
    case = Case(collective="all_reduce", cluster=timeline.scenario.cluster, n_ranks=8)
    for one in found.algorithms:
        if one.time_s is None:
            assert one.algorithm == "hierarchical"
            continue
        alone = select(case, [found.size_bytes], one.algorithm)
        assert one.time_s == pytest.approx(float(alone.time_s[0]))
    library = select(case, [found.size_bytes])
    assert found.library is not None
    assert found.library.time_s == pytest.approx(float(library.time_s[0]))
    assert found.library.source == library.time_source[0]
    assert (
        found.quickest
        == min(
            (one for one in found.algorithms if one.time_s), key=lambda one: one.time_s or 0
        ).algorithm
    )


def test_two_levels_bring_their_own_nodes(timeline) -> None:
    subject = subject_of("all_reduce", "hierarchical", 8)
    found = outlook(replace(subject, ranks_per_node=2), timeline, 1)
    assert (found.n_nodes, found.gpus_per_node) == (4, 2)
    assert found.own.time_s is not None
    switch = next(one for one in found.algorithms if one.algorithm == "nvls")
    assert switch.time_s is None


def test_a_hop_between_nodes_is_timed_between_nodes(load) -> None:
    """As the play has it: its two ends are in two nodes, though one node would hold both."""
    timeline = simulate(load(model="llama-3-70b", tp=8, pp=2))
    span = next(span for span in timeline.spans if span.collective == "send_recv")
    found = outlook(subject_of("send_recv", n_ranks=2), timeline, span.step)
    assert found.n_nodes == 2
    inside = outlook(subject_of("all_reduce", n_ranks=8), timeline, 1)
    assert inside.n_nodes == 1
    assert found.own.time_s == pytest.approx(span.duration_s, rel=0.2)


@pytest.mark.parametrize("gpu", ["rtx-4090", "mi300x", "ascend-910b", "b200-sxm"])
def test_any_machine_has_an_outlook(load, gpu: str) -> None:
    timeline = simulate(load(gpu=gpu))
    for collective, algorithm in EVERY:
        subject: Subject = subject_of(collective, algorithm, 8)
        assert outlook(subject, timeline, 1).own.rounds == subject.rounds
