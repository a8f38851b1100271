"""What a library or an engine is said to run, where its time is from, and who wins where."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from gpuflow.cluster.measurements import shipped_rows
from gpuflow.cluster.nccl_model import nccl_predict
from gpuflow.cluster.points import collective_points, runnable, schedule_times
from gpuflow.cluster.selection import (
    KERNELS,
    LAUNCHES,
    Case,
    Choice,
    default_launch,
    library_kernel,
    select,
)
from gpuflow.cluster.winners import choice_winners, measured_winners, schedule_winners, winners
from gpuflow.scenario import catalog
from gpuflow.scenario.machines import machines

SIZES = [2**power for power in range(10, 31, 2)]
KIB, MIB = 1024, 1024 * 1024


def case(
    collective: str = "all_reduce", gpu: str = "h100-sxm", ranks: int = 8, **more: str
) -> Case:
    return Case(collective=collective, cluster=machines(gpu, ranks), n_ranks=ranks, **more)


def test_times_are_those_measured_where_the_machine_was_measured() -> None:
    rows = [
        row
        for row in shipped_rows()
        if row.key == case().key and "aiconfigurator" in row.source and row.size_bytes > KIB
    ]
    found = select(case(), [row.size_bytes for row in rows])
    assert len(rows) > 5
    assert set(found.time_source) == {"calibrated"}
    assert found.time_s == pytest.approx([row.time_s for row in rows], rel=1e-9)


def test_each_size_says_whether_it_lies_in_the_range_measured() -> None:
    found = select(case(), [256, 1024, 2**29, 2**30])
    assert found.time_source == ("extrapolated", "calibrated", "calibrated", "extrapolated")
    assert found.detail is not None
    assert found.detail.step == "fit"


@pytest.mark.parametrize(
    ("asked", "step"),
    [
        (case(launch="cuda_graph", ranks=4, collective="all_gather"), "other_launch"),
        (case(ranks=6), "other_ranks"),
        (case(gpu="h20"), "other_gpus"),
        (case(ranks=16), "several_nodes"),
    ],
)
def test_what_was_measured_elsewhere_is_extrapolated(asked: Case, step: str) -> None:
    found = select(asked, SIZES)
    assert found.detail is not None
    assert found.detail.step == step
    assert set(found.time_source) == {"extrapolated"}
    assert (np.diff(found.time_s) > 0).all()


def test_without_any_curve_the_planner_gives_time_and_choice() -> None:
    found = select(case("broadcast"), SIZES)
    planned = nccl_predict("broadcast", 8, 1, np.array(SIZES, float), "h100-sxm")
    assert found.detail is None
    assert set(found.time_source) == {"simulated"}
    assert found.time_s == pytest.approx(np.minimum.reduce(list(planned.values())))


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        (case("gather"), {"direct"}),
        (case(ranks=12), {"ring", "tree"}),
        (
            replace(case(), cluster=replace(case().cluster, scale_up=catalog.fabric("pcie-5"))),
            {"ring", "tree"},
        ),
    ],
)
def test_without_a_plan_the_library_takes_its_quickest_schedule(
    asked: Case, names: set[str]
) -> None:
    found = select(asked, SIZES)
    assert found.rule == "schedules"
    assert found.planned == {}
    assert {choice.algorithm for choice in found.choices} <= names
    for which, choice in enumerate(found.choices[i] for i in found.choice):
        row = found.simulated.algorithms.index(choice.algorithm)
        assert found.time_s[which] == found.simulated.time_s[row, which]


def test_nccl_runs_what_its_planner_expects_to_be_quickest() -> None:
    found = select(case(), SIZES)
    best = np.stack(list(found.planned.values())).argmin(axis=0)
    assert [found.choices[i] for i in found.choice] == [list(found.planned)[i] for i in best]
    assert found.choices[found.choice[-1]] == Choice("nvls", "simple")


def test_vllm_goes_from_one_shot_to_multimem_and_leaves_the_rest_to_nccl() -> None:
    eight = select(case(kernel="vllm_custom", launch="cuda_graph"), [64 * KIB, MIB, 128 * MIB])
    four = select(case(ranks=4, kernel="vllm_custom", launch="cuda_graph"), [64 * KIB, MIB])
    names = [eight.choices[i].algorithm for i in eight.choice]
    assert names[:2] == ["one_shot", "nvls"]
    assert names[2] in {algorithm for algorithm, _ in eight.planned}
    assert [four.choices[i].algorithm for i in four.choice] == ["one_shot", "two_shot"]
    assert eight.rule == "vllm"


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("gpu", ["h100-sxm", "mi300x", "l40s"])
def test_every_kernel_has_a_time_and_one_choice_for_every_size(kernel: str, gpu: str) -> None:
    asked = case(gpu=gpu, ranks=4, kernel=kernel, launch=default_launch(kernel))
    if kernel == "nvls_multimem" and gpu != "h100-sxm":
        with pytest.raises(ValueError, match="switch"):
            select(asked, SIZES)
        return
    found = select(asked, SIZES)
    assert found.time_s.shape == (len(SIZES),)
    assert (found.time_s > 0).all()
    assert found.choice.shape == (len(SIZES),)
    assert len(found.time_source) == len(SIZES)


def test_an_engine_s_kernel_over_other_links_has_a_time() -> None:
    cluster = replace(machines("h100-sxm", 8), scale_up=catalog.fabric("pcie-5"))
    found = select(replace(case(kernel="vllm_custom"), cluster=cluster), SIZES)
    assert set(found.time_source) == {"simulated"}
    assert (found.time_s > 0).all()


@pytest.mark.parametrize("launch", LAUNCHES)
def test_every_launch_mode_has_a_time(launch: str) -> None:
    found = select(case(kernel="vllm_custom", launch=launch), SIZES)
    assert (found.time_s > 0).all()


def test_a_launch_from_python_takes_longer_than_a_replayed_graph() -> None:
    eager, graph = (
        select(case("broadcast", launch=mode), [KIB]) for mode in ("eager", "cuda_graph")
    )
    assert eager.time_s[0] > 2 * graph.time_s[0] > 0


def test_a_fused_kernel_takes_longer_than_the_same_kernel_alone() -> None:
    alone, fused = (
        select(case(kernel="trtllm_custom", launch=launch), [8 * KIB])
        for launch in ("cuda_graph", "fused")
    )
    assert alone.time_s[0] < fused.time_s[0] < 10e-6
    assert fused.time_source == ("extrapolated",)


def test_a_single_algorithm_is_simulated_since_curves_are_of_the_library_s_choice() -> None:
    found = select(case(), SIZES, "ring")
    assert found.rule == "asked"
    assert found.detail is None
    assert found.planned == {}
    assert {choice.algorithm for choice in found.choices} == {"ring"}
    assert found.time_s == pytest.approx(found.simulated.time_s[0])


def test_nothing_takes_no_time() -> None:
    for asked in (case(), case("broadcast"), case("gather")):
        assert select(asked, [0, KIB]).time_s[0] == 0


def test_each_gpu_comes_with_its_maker_s_library() -> None:
    assert library_kernel(machines("h100", 8)) == "nccl"
    assert library_kernel(machines("mi300x", 8)) == "rccl"


def test_times_in_arrays_are_those_of_the_points() -> None:
    cluster = machines("h100-sxm", 8)
    points = collective_points("all_reduce", cluster, 8, SIZES)
    times = schedule_times("all_reduce", cluster, 8, SIZES)
    assert times.algorithms == runnable("all_reduce", cluster, 8)
    assert times.time_s.T.ravel().tolist() == [point.time_s for point in points]
    chosen = [point.algorithm for point in points if point.chosen]
    assert [times.algorithms[row] for row in times.best] == chosen


# ---------------------------------------------------------------- who wins where


def test_ranges_change_at_the_size_where_the_winner_does() -> None:
    found = winners(lambda at: ["a" if s < 100_000 else "b" for s in at], 1024, 2**20)
    assert [one.label for one in found] == ["a", "b"]
    assert found[1].first_bytes == pytest.approx(100_000, rel=1e-3)
    assert found[1].first_bytes >= 100_000
    assert (found[0].first_bytes, found[1].end_bytes) == (1024, 2**20)


@pytest.mark.parametrize("asked", [case(), case(ranks=16), case("all_gather"), case("gather")])
def test_ranges_follow_each_other_and_agree_with_the_sizes_between(asked: Case) -> None:
    for find in (choice_winners, schedule_winners):
        found = find(asked, 1024, 2**30)
        assert found[0].first_bytes == 1024
        assert found[-1].end_bytes == 2**30
        for one, after in pairwise(found):
            assert one.end_bytes == after.first_bytes
            assert one.label != after.label
    chosen = select(asked, SIZES)
    for size, index in zip(SIZES, chosen.choice, strict=True):
        label = " ".join(chosen.choices[index])
        ranges = choice_winners(asked, 1024, 2**30)
        at = next(o for o in ranges if size < o.end_bytes or o is ranges[-1])
        assert at.label == label


def test_measured_kernels_are_compared_where_all_of_them_still_run() -> None:
    found = measured_winners(case(), 1024, 2**30)
    assert found[0].label == "trtllm_custom cuda_graph"
    assert found[-1].end_bytes == 8 * MIB
    assert measured_winners(case("all_gather"), 1024, 2**30) == ()
    assert measured_winners(case(gpu="h20"), 1024, 2**30) == ()


@pytest.mark.parametrize("changes", [{"nics": 4}, {"oversubscription": 4.0}, {"share": 0.5}])
def test_a_network_of_another_rate_has_no_measured_times(changes: dict[str, float]) -> None:
    """They are those of the catalogue's; the plan and the schedules know the rate asked for."""
    usual = case(ranks=32)
    network = usual.cluster.scale_out
    share = changes.get("share", changes.get("nics", 8) / 8)
    rate = network.bus_bandwidth_bytes_per_s * share
    slower = replace(
        network,
        bus_bandwidth_bytes_per_s=rate,
        hop_bandwidth_bytes_per_s=network.hop_bandwidth_bytes_per_s * share,
        oversubscription=changes.get("oversubscription", 1.0),
    )
    altered = replace(usual, cluster=replace(usual.cluster, scale_out=slower))
    found, before = select(altered, [2.0**30]), select(usual, [2.0**30])
    assert before.time_source == ("extrapolated",)
    assert found.time_source == ("simulated",)
    assert found.detail is None
    assert (found.planned == before.planned) == (share == 1)
    if share < 1:
        assert found.time_s[0] > before.time_s[0]
        planned = found.planned[found.choices[found.choice[0]]]
        assert planned > before.planned[found.choices[found.choice[0]]]
