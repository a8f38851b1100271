"""Which rank does what: world = tp x pp x dp, tensor-parallel ranks beside each other.

rank = (dp_rank * pp + stage) * tp + tp_rank, the order in which vLLM and Megatron number their
workers. Expert groups of ep ranks overlay the tp x dp ranks of one stage.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from gpuflow.scenario.spec import GroupName, ParallelSpec, Scenario

Groups = tuple[tuple[int, ...], ...]


class Position(NamedTuple):
    """Where a rank stands in the mesh."""

    dp_rank: int
    stage: int
    tp_rank: int


@dataclass(frozen=True, slots=True)
class Mesh:
    """Ranks and their process groups."""

    parallel: ParallelSpec
    gpus_per_node: int

    @property
    def n_ranks(self) -> int:
        """Number of GPUs."""
        return self.parallel.world

    def rank(self, dp_rank: int, stage: int, tp_rank: int) -> int:
        """The rank at a position."""
        return (dp_rank * self.parallel.pp + stage) * self.parallel.tp + tp_rank

    def position(self, rank: int) -> Position:
        """The position of a rank."""
        rest, tp_rank = divmod(rank, self.parallel.tp)
        dp_rank, stage = divmod(rest, self.parallel.pp)
        return Position(dp_rank, stage, tp_rank)

    def node(self, rank: int) -> int:
        """The node a rank lives on; ranks fill nodes in order."""
        return rank // self.gpus_per_node

    @property
    def n_nodes(self) -> int:
        """Nodes needed."""
        return -(-self.n_ranks // self.gpus_per_node)

    def stage_ranks(self, stage: int) -> tuple[int, ...]:
        """All ranks of a pipeline stage, data-parallel replica by replica."""
        return _stage_ranks(self.parallel, stage)

    def groups(self, name: GroupName, stage: int) -> Groups:
        """Process groups of that name; `stage` picks those of tp, dp and ep."""
        p = self.parallel
        if name == "tp":
            return tuple(tuple(self.rank(d, stage, t) for t in range(p.tp)) for d in range(p.dp))
        if name == "dp":
            return tuple(tuple(self.rank(d, stage, t) for d in range(p.dp)) for t in range(p.tp))
        if name == "ep":
            ranks = self.stage_ranks(stage)
            return tuple(ranks[i : i + p.ep] for i in range(0, len(ranks), p.ep))
        if name == "pp":
            return tuple(
                tuple(self.rank(d, s, t) for s in range(p.pp))
                for d in range(p.dp)
                for t in range(p.tp)
            )
        if name == "replica":
            size = p.tp * p.pp
            return tuple(tuple(range(d * size, (d + 1) * size)) for d in range(p.dp))
        return (tuple(range(self.n_ranks)),)

    def hops(self, stage: int) -> Groups:
        """(sender, receiver) pairs between a stage and the next one."""
        return tuple(
            (self.rank(d, stage, t), self.rank(d, stage + 1, t))
            for d in range(self.parallel.dp)
            for t in range(self.parallel.tp)
        )

    def crosses_nodes(self, groups: Groups) -> bool:
        """True when any group has ranks on more than one node."""
        return any(len({self.node(r) for r in group}) > 1 for group in groups)


@lru_cache(maxsize=1024)
def _stage_ranks(p: ParallelSpec, stage: int) -> tuple[int, ...]:
    return tuple((d * p.pp + stage) * p.tp + t for d in range(p.dp) for t in range(p.tp))


def mesh_of(scenario: Scenario) -> Mesh:
    """The mesh of a scenario."""
    return Mesh(scenario.parallel, scenario.cluster.gpus_per_node)


def is_dispatched(scenario: Scenario) -> bool:
    """True when tokens travel to their experts by all_to_all.

    Ranks of one tensor-parallel group hold the same tokens, so experts spread over them need no
    dispatch: an all_reduce adds their contributions (vLLM at dp 1). Tokens must travel only where
    an expert group spans several data-parallel ranks.
    """
    p = scenario.parallel
    return p.ep > p.tp and p.dp > 1 and scenario.model.has_experts
