"""One collective looked at by itself: what can be chosen of it, and what it costs on a cluster.

n  ranks        S  message size by nccl-tests' convention
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from gpuflow.cluster.points import runnable
from gpuflow.cluster.prediction import TimeSource
from gpuflow.cluster.selection import Case, Rule, default_launch, library_kernel, select
from gpuflow.collectives.algorithms import (
    ALGORITHMS,
    build,
    default_algorithm,
    default_ranks_per_node,
    has_levels,
    needs_switch,
)
from gpuflow.collectives.oracle import closed_form
from gpuflow.collectives.small import SmallReplay, small_replay
from gpuflow.collectives.tally import Tally, tally, tally_elements
from gpuflow.engine.state import State
from gpuflow.engine.timeline import Span, Timeline
from gpuflow.scenario.spec import ClusterSpec

FEWEST_RANKS, MOST_RANKS = 2, 1024
MOST_DRAWN_RANKS = 16
"""Groups up to this size are shown rank by rank, larger ones summed up."""
RANK_CHOICES = (*range(FEWEST_RANKS, MOST_DRAWN_RANKS + 1), 32, 64, 256, MOST_RANKS)
"""What the keys for more and fewer ranks go through."""
EXAMPLE_BYTES = 2**20
"""The message where nothing in the play is like it."""

SizeSource = Literal["step", "play", "example"]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """A collective, run in one way by so many ranks."""

    collective: str
    algorithm: str
    n_ranks: int
    ranks_per_node: int
    """A divisor of the ranks; counts where the algorithm has two levels."""
    root: int = 0

    @property
    def has_levels(self) -> bool:
        """Whether the inside of a node differs from the outside."""
        return has_levels(self.collective, self.algorithm)

    @property
    def has_switch(self) -> bool:
        """Whether a switch adds or multicasts."""
        return needs_switch(self.collective, self.algorithm)

    @property
    def is_drawn(self) -> bool:
        """Whether every rank is shown by itself."""
        return self.n_ranks <= MOST_DRAWN_RANKS

    @property
    def rounds(self) -> int:
        """Rounds as they are shown."""
        return form_of(self, self.algorithm)[0]

    def replay(self) -> SmallReplay:
        """All of it on small numbers; for groups whose ranks are drawn."""
        return small_replay(
            self.collective,
            self.algorithm,
            self.n_ranks,
            self.root,
            ranks_per_node=self.ranks_per_node,
        )

    def tally(self, block_size: int) -> Tally:
        """All of it summed up over blocks of so many ranks."""
        return tally(
            self.collective,
            self.algorithm,
            self.n_ranks,
            block_size,
            self.root,
            self.ranks_per_node,
        )


# ---------------------------------------------------------------- choosing


def node_sizes(n_ranks: int) -> tuple[int, ...]:
    """Node sizes that make two nodes or more of two ranks or more; one rank a node where none do.

    Example:
        >>> node_sizes(12), node_sizes(7)
        ((2, 3, 4, 6), (1,))
    """
    return tuple(g for g in range(2, n_ranks) if n_ranks % g == 0) or (1,)


def subject_of(
    collective: str,
    algorithm: str | None = None,
    n_ranks: int = 4,
    *,
    gpus_per_node: int = 0,
    root: int = 0,
) -> Subject:
    """A subject with what is usual where nothing is said.

    Args:
        collective: A key of `gpuflow.collectives.algorithms.ALGORITHMS`.
        algorithm: One of its algorithms; None: the default.
        n_ranks: Cut to what can be shown.
        gpus_per_node: Of the machines, taken for the nodes where it divides the ranks.
        root: Taken where there is such a rank.

    Raises:
        ValueError: A name is unknown.
    """
    n = min(max(n_ranks, FEWEST_RANKS), MOST_RANKS)
    name = default_algorithm(collective) if algorithm is None else algorithm
    sizes = node_sizes(n)
    per_node = gpus_per_node if gpus_per_node in sizes else default_ranks_per_node(n)
    found = Subject(
        collective=collective,
        algorithm=name,
        n_ranks=n,
        ranks_per_node=per_node,
        root=root if 0 <= root < n else 0,
    )
    has_levels(collective, name)  # an unknown name is said here
    return found


def subject_at(timeline: Timeline, state: State) -> Subject:
    """The collective of a moment: of the span that runs, else the step's first, else all_reduce."""
    span = span_at(timeline, state)
    scenario = timeline.scenario
    per_node = scenario.cluster.gpus_per_node
    if span is None or span.collective is None:
        ranks = scenario.parallel.tp if scenario.parallel.tp > 1 else 4
        return subject_of("all_reduce", n_ranks=ranks, gpus_per_node=per_node)
    return subject_of(
        span.collective,
        span.algorithm or None,
        len(span.groups[0]),
        gpus_per_node=per_node,
        root=span.root,
    )


def span_at(timeline: Timeline, state: State) -> Span | None:
    """The span of a collective that runs, or the first of the step; None where it has none."""
    if state.span is not None and state.span.collective and state.span.groups:
        return state.span
    spans = timeline.spans[state.step.first_span : state.step.last_span]
    return next((span for span in spans if span.collective and span.groups), None)


def other_collective(subject: Subject, way: int) -> Subject:
    """The next (way above 0) or previous collective, its default algorithm, the same ranks."""
    name = _beside(tuple(ALGORITHMS), subject.collective, way)
    return replace(subject, collective=name, algorithm=default_algorithm(name), root=0)


def other_algorithm(subject: Subject, way: int = 1) -> Subject:
    """The next or previous algorithm of the collective."""
    name = _beside(ALGORITHMS[subject.collective], subject.algorithm, way)
    return replace(subject, algorithm=name)


def other_ranks(subject: Subject, way: int, gpus_per_node: int = 0) -> Subject:
    """More (way above 0) or fewer ranks, by the steps of `RANK_CHOICES`; the ends stay."""
    n = subject.n_ranks
    if way > 0:
        n = next((choice for choice in RANK_CHOICES if choice > n), n)
    else:
        n = next((choice for choice in reversed(RANK_CHOICES) if choice < n), n)
    per_node = subject.ranks_per_node if subject.ranks_per_node in node_sizes(n) else gpus_per_node
    return subject_of(
        subject.collective,
        subject.algorithm,
        n,
        gpus_per_node=per_node,
        root=subject.root,
    )


def other_node_size(subject: Subject, way: int = 1) -> Subject:
    """The next node size that divides the ranks, round again at the end."""
    sizes = node_sizes(subject.n_ranks)
    if subject.ranks_per_node not in sizes:
        return replace(subject, ranks_per_node=sizes[0])
    return replace(subject, ranks_per_node=_beside(sizes, subject.ranks_per_node, way))


def _beside(items: tuple[_T, ...], item: _T, way: int) -> _T:
    return items[(items.index(item) + way) % len(items)]


# ---------------------------------------------------------------- costs


@dataclass(frozen=True, slots=True, kw_only=True)
class AlgorithmCost:
    """What one algorithm costs, by formula and on the cluster."""

    algorithm: str
    rounds: int
    sent_least: float
    """Parts of S that the rank with the least sends."""
    sent_most: float
    time_s: float | None
    """Simulated; None where the machines cannot run it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LibraryTime:
    """How long the collective takes as the library runs it."""

    algorithm: str
    time_s: float
    source: TimeSource
    rule: Rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """A subject on the machines of a play, with a message of it."""

    subject: Subject
    gpu: str
    """Its title."""
    n_nodes: int
    gpus_per_node: int
    """Ranks of one node."""
    size_bytes: float
    size_source: SizeSource
    algorithms: tuple[AlgorithmCost, ...]
    """All of the collective, in their order."""
    library_name: str
    """nccl or rccl."""
    library: LibraryTime | None

    @property
    def own(self) -> AlgorithmCost:
        """The subject's own algorithm."""
        return next(one for one in self.algorithms if one.algorithm == self.subject.algorithm)

    @property
    def quickest(self) -> str:
        """The algorithm with the least simulated time; empty where none has one."""
        timed = [(one.time_s, one.algorithm) for one in self.algorithms if one.time_s is not None]
        return min(timed)[1] if timed else ""


def form_of(subject: Subject, algorithm: str) -> tuple[int, float, float]:
    """Rounds, and the least and the most that a rank sends as parts of S, by closed form."""
    collective, n = subject.collective, subject.n_ranks
    chunks = build(collective, algorithm, n, tally_elements(collective, algorithm, n)).n_chunks
    form = closed_form(
        collective,
        algorithm,
        n,
        1,
        subject.root,
        ranks_per_node=subject.ranks_per_node,
        n_chunks=chunks,
    )
    return form.rounds, float(form.bytes_sent.min()), float(form.bytes_sent.max())


def outlook(subject: Subject, timeline: Timeline, step: int) -> Outlook:
    """Costs and times of a subject on the machines of a timeline.

    The message is the first of the collective in the step, else in the play, else an example.
    Nodes are the cluster's own, but for algorithms with two levels, which bring their node size;
    a group that the play spreads over more nodes than it needs, as the two ends of a hand-over
    between nodes, is spread here too.
    """
    span, size_bytes, source = _message(subject.collective, timeline, step)
    cluster = timeline.scenario.cluster
    if subject.has_levels:
        cluster = _with_nodes_of(cluster, subject.ranks_per_node)
    elif span is not None:
        cluster = _spread_as(span, subject.n_ranks, cluster)
    kernel = library_kernel(cluster)
    case = Case(
        collective=subject.collective,
        cluster=cluster,
        n_ranks=subject.n_ranks,
        kernel=kernel,
        launch=default_launch(kernel),
    )
    return Outlook(
        subject=subject,
        gpu=cluster.device.title,
        n_nodes=case.n_nodes,
        gpus_per_node=min(cluster.gpus_per_node, subject.n_ranks),
        size_bytes=size_bytes,
        size_source=source,
        algorithms=_costs(subject, case, size_bytes),
        library_name=kernel,
        library=_library(case, size_bytes),
    )


def _message(
    collective: str, timeline: Timeline, step: int
) -> tuple[Span | None, float, SizeSource]:
    alike = [span for span in timeline.spans if span.collective == collective]
    here = next((span for span in alike if span.step == step), None)
    if here is not None:
        return here, here.message_size_bytes, "step"
    if alike:
        return alike[0], alike[0].message_size_bytes, "play"
    return None, float(EXAMPLE_BYTES), "example"


def _spread_as(span: Span, n_ranks: int, cluster: ClusterSpec) -> ClusterSpec:
    """The cluster with nodes as small as the span's widest group of so many ranks has of each."""
    per_node = [
        Counter(rank // cluster.gpus_per_node for rank in group)
        for group in span.groups
        if len(group) == n_ranks
    ]
    widest = max(per_node, key=len, default=Counter())
    most = max(widest.values(), default=0)
    is_spread = len(widest) > 1 and most < min(cluster.gpus_per_node, n_ranks)
    return _with_nodes_of(cluster, most) if is_spread else cluster


def _with_nodes_of(cluster: ClusterSpec, ranks: int) -> ClusterSpec:
    nics = cluster.nics_per_node
    keeps = nics is None or ranks % nics == 0
    return replace(cluster, gpus_per_node=ranks, nics_per_node=nics if keeps else None)


def _costs(subject: Subject, case: Case, size_bytes: float) -> tuple[AlgorithmCost, ...]:
    try:
        known = runnable(case.collective, case.cluster, case.n_ranks)
    except ValueError:
        known = ()
    costs = []
    for name in ALGORITHMS[subject.collective]:
        rounds, least, most = form_of(subject, name)
        costs.append(
            AlgorithmCost(
                algorithm=name,
                rounds=rounds,
                sent_least=least,
                sent_most=most,
                time_s=_time_s(case, size_bytes, name) if name in known else None,
            )
        )
    return tuple(costs)


def _time_s(case: Case, size_bytes: float, algorithm: str) -> float | None:
    try:
        return float(select(case, [size_bytes], algorithm).time_s[0])
    except ValueError:
        return None


def _library(case: Case, size_bytes: float) -> LibraryTime | None:
    try:
        found = select(case, [size_bytes])
    except ValueError:
        return None
    return LibraryTime(
        algorithm=found.choices[int(found.choice[0])].algorithm,
        time_s=float(found.time_s[0]),
        source=found.time_source[0],
        rule=found.rule,
    )
