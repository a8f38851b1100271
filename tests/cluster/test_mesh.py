"""Ranks, groups and where tokens must travel to their experts."""

from __future__ import annotations

import pytest

from gpuflow.cluster.mesh import Mesh, is_dispatched
from gpuflow.scenario.spec import ParallelSpec


def test_tensor_parallel_ranks_are_neighbours_and_stages_follow() -> None:
    mesh = Mesh(ParallelSpec(tp=2, pp=2), 8)
    assert mesh.groups("tp", 0) == ((0, 1),)
    assert mesh.groups("tp", 1) == ((2, 3),)
    assert mesh.groups("pp", 0) == ((0, 2), (1, 3))
    assert mesh.hops(0) == ((0, 2), (1, 3))


def test_replicas_are_blocks_of_ranks() -> None:
    mesh = Mesh(ParallelSpec(tp=2, pp=2, dp=2), 8)
    assert mesh.groups("replica", 0) == ((0, 1, 2, 3), (4, 5, 6, 7))
    assert mesh.groups("dp", 1) == ((2, 6), (3, 7))
    assert mesh.stage_ranks(1) == (2, 3, 6, 7)


def test_expert_groups_overlay_tensor_and_data_parallel_ranks() -> None:
    mesh = Mesh(ParallelSpec(tp=2, dp=4, ep=4), 8)
    assert mesh.groups("ep", 0) == ((0, 1, 2, 3), (4, 5, 6, 7))


@pytest.mark.parametrize("parallel", [ParallelSpec(tp=3, pp=4, dp=5), ParallelSpec(pp=7)])
def test_rank_and_position_are_inverse(parallel: ParallelSpec) -> None:
    mesh = Mesh(parallel, 8)
    for rank in range(mesh.n_ranks):
        assert mesh.rank(*mesh.position(rank)) == rank


@pytest.mark.parametrize("name", ["tp", "dp", "ep", "pp", "replica", "world"])
def test_groups_of_a_kind_never_share_a_rank(name: str) -> None:
    mesh = Mesh(ParallelSpec(tp=2, pp=3, dp=4, ep=8), 8)
    ranks = [rank for group in mesh.groups(name, 1) for rank in group]
    assert len(ranks) == len(set(ranks))


def test_groups_over_the_node_border_are_told_apart() -> None:
    mesh = Mesh(ParallelSpec(tp=8, pp=2), 8)
    assert not mesh.crosses_nodes(mesh.groups("tp", 1))
    assert mesh.crosses_nodes(mesh.hops(0))
    assert mesh.n_nodes == 2


def test_replicated_tokens_need_no_dispatch(load) -> None:
    """vLLM at dp 1 runs two all_reduces a layer whatever ep says."""
    assert not is_dispatched(load(model="mixtral-8x7b", tp=8, pp=1, ep=8))


def test_tokens_of_several_replicas_are_dispatched(load) -> None:
    assert is_dispatched(load("moe-ep4"))
