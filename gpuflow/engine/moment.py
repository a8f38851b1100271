"""State at one moment: a look-up in the timeline, never a simulation."""

from __future__ import annotations

from bisect import bisect_right
from itertools import pairwise

from gpuflow.cluster.mesh import Mesh, mesh_of
from gpuflow.cluster.parameters import stage_layers
from gpuflow.collectives.algorithms import has_levels
from gpuflow.collectives.small import SmallReplay, SmallRow, small_replay
from gpuflow.engine.cache import CacheFill
from gpuflow.engine.gpu_states import Channels, Doing, GpuStates, StageState
from gpuflow.engine.pace import Pace, Stretch
from gpuflow.engine.state import (
    SWITCH,
    Channel,
    Known,
    Replay,
    ReplayRow,
    State,
)
from gpuflow.engine.timeline import Span, StepTime, tokens_per_s
from gpuflow.scenario.spec import TrafficClass

MAX_REPLAY_RANKS = 16
"""Groups above this size are too many rows for a picture."""


class Moments:
    """States of one paced timeline."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace
        self.timeline = pace.timeline
        self.mesh: Mesh = mesh_of(self.timeline.scenario)
        self.fill = CacheFill(self.timeline)
        self.lines = _channel_lines(self.mesh)
        self._span_ends = [s.end_s for s in self.timeline.spans]
        stages = range(self.timeline.scenario.parallel.pp)
        self._stage_layers = [stage_layers(self.timeline.scenario, s) for s in stages]
        self._kv_each = [self.fill.bytes_per_token(s) for s in stages]
        self._kv_room = [self.fill.capacity_bytes(s) for s in stages]
        self._last_doing: tuple[int | None, Doing] | None = None
        self._layers = [self._count_layers(step) for step in self.timeline.steps]
        """By stage, for each step: (layers shown slowly, layers compressed)."""

    def at(self, screen_s: float, *, is_covered: bool = False) -> State:
        """The state at a screen second, clipped to the play's length.

        Args:
            screen_s: Which one.
            is_covered: Leave out what runs: no activity, no message, no replay.
        """
        moment_s = min(max(screen_s, 0.0), self.pace.duration_s)
        stretch = self.pace.stretch(moment_s)
        time_s = self.pace.time(moment_s)
        is_end = moment_s >= self.pace.duration_s
        span, progress = self._span(stretch, time_s, moment_s)
        step = self.timeline.steps[stretch.step]
        running = None if is_end or is_covered else span
        at_work = None if running is None else running.stage
        shown, alike = self._layers[step.index].get(at_work, (0, 0))
        return State(
            screen_s=moment_s,
            time_s=time_s,
            slowdown=stretch.slowdown,
            step=step,
            span=running,
            span_progress=progress,
            repeat_shown=shown,
            repeat_alike=alike,
            is_compressed=stretch.is_compressed and not is_covered,
            gpus=self._gpus(running, time_s),
            channels=self._channels(running, progress),
            replay=self._replay(running, progress),
            known=self._known(step, time_s, is_end=is_end),
            is_end=is_end,
        )

    def kv_bytes(self, time_s: float) -> float:
        """KV cache of all GPUs at a simulated second."""
        p = self.timeline.scenario.parallel
        return sum(self.fill.bytes_at(s, time_s) for s in range(p.pp)) * p.tp * p.dp

    def _span(self, stretch: Stretch, time_s: float, screen_s: float) -> tuple[Span | None, float]:
        """The span that runs, and how far it is (by the screen's time where it takes none)."""
        if stretch.first_span == stretch.last_span:
            return None, 0.0
        lasts_s = stretch.screen_end_s - stretch.screen_start_s
        if stretch.last_span - stretch.first_span == 1:
            span = self.timeline.spans[stretch.first_span]
            return span, min((screen_s - stretch.screen_start_s) / lasts_s, 1.0)
        index = bisect_right(
            self._span_ends, time_s, lo=stretch.first_span, hi=stretch.last_span - 1
        )
        span = self.timeline.spans[index]
        if span.duration_s <= 0:
            return span, 1.0
        return span, min(max((time_s - span.start_s) / span.duration_s, 0.0), 1.0)

    def _count_layers(self, step: StepTime) -> dict[int | None, tuple[int, int]]:
        shown: dict[int | None, set[int]] = {}
        alike: dict[int | None, set[int]] = {}
        for stretch in self.pace.stretches:
            if stretch.step != step.index:
                continue
            for span in self.timeline.spans[stretch.first_span : stretch.last_span]:
                if span.layer:
                    found = alike if stretch.is_compressed else shown
                    found.setdefault(span.stage, set()).add(span.layer)
        return {
            stage: (
                len(shown.get(stage, ())),
                len(alike.get(stage, set()) - shown.get(stage, set())),
            )
            for stage in shown | alike
        }

    # ------------------------------------------------------------ GPUs

    def _gpus(self, span: Span | None, time_s: float) -> GpuStates:
        working = span.stage if span is not None and span.layer > 0 else None
        stages = []
        for stage, layers in enumerate(self._stage_layers):
            held, each = self.fill.bytes_at(stage, time_s), self._kv_each[stage]
            stages.append(
                StageState(
                    stage=stage,
                    first_layer=layers.start + 1,
                    last_layer=layers.stop,
                    layer=span.layer if span is not None and stage == working else 0,
                    layers=len(layers),
                    kv_tokens=round(held / each) if each else 0,
                    kv_bytes=held,
                    kv_capacity_bytes=self._kv_room[stage],
                )
            )
        return GpuStates(self.mesh, tuple(stages), self._doing(span))

    def _doing(self, span: Span | None) -> Doing:
        """What the ranks do, kept while the same span runs."""
        index = None if span is None else span.index
        if self._last_doing is None or self._last_doing[0] != index:
            self._last_doing = (index, Doing(span, self.mesh))
        return self._last_doing[1]

    # ------------------------------------------------------------ lines

    def _channels(self, span: Span | None, progress: float) -> Channels:
        return Channels(self.lines, lambda: self._moving(span, progress))

    def _moving(self, span: Span | None, progress: float) -> frozenset[tuple[int, int]]:
        """Directed neighbour pairs over which bytes move in the round under way."""
        if span is None or span.collective is None:
            return frozenset()
        pairs: set[tuple[int, int]] = set()
        for group in span.groups:
            for source, destination in self._round_transfers(span, group, progress):
                pairs.update(self._path(source, destination))
        return frozenset(pairs)

    def _path(self, source: int, destination: int) -> list[tuple[int, int]]:
        """Neighbour to neighbour: down or up the stages, then along the tensor-parallel row."""
        a, b = self.mesh.position(source), self.mesh.position(destination)
        path: list[tuple[int, int]] = []
        here = source
        if a.dp_rank != b.dp_rank:
            row = self.mesh.stage_ranks(a.stage)
            i, j = row.index(source), row.index(self.mesh.rank(b.dp_rank, a.stage, b.tp_rank))
            way = 1 if j > i else -1
            path.extend((row[k], row[k + way]) for k in range(i, j, way))
            return path
        for stage in _between(a.stage, b.stage):
            there = self.mesh.rank(a.dp_rank, stage, a.tp_rank)
            path.append((here, there))
            here = there
        for tp_rank in _between(a.tp_rank, b.tp_rank):
            there = self.mesh.rank(b.dp_rank, b.stage, tp_rank)
            path.append((here, there))
            here = there
        return path

    # ------------------------------------------------------------ replay and figures

    def _replay(self, span: Span | None, progress: float) -> Replay | None:
        if span is None or span.collective is None or not span.groups:
            return None
        group = span.groups[0]
        if len(group) > MAX_REPLAY_RANKS:
            return None
        small = self._small(span, group)
        done = min(int(progress * len(small.rounds)), len(small.rounds))
        running = small.rounds[done].transfers if done < len(small.rounds) else ()
        ranks = (*group, SWITCH)
        return Replay(
            collective=span.collective,
            algorithm=span.algorithm,
            round=done,
            rounds=len(small.rounds),
            before=_rows(small.before, group),
            now=_rows(small.rows_after(done), group),
            after=_rows(small.after, group),
            transfers=tuple((ranks[a], ranks[b]) for a, b in running),
            ranks_per_node=small.ranks_per_node,
        )

    def _small(self, span: Span, group: tuple[int, ...]) -> SmallReplay:
        """The span's collective on small numbers, cut into nodes as the group lies on them."""
        collective = span.collective or ""
        per_node = None
        if has_levels(collective, span.algorithm):
            nodes = [self.mesh.node(rank) for rank in group]
            per_node = nodes.count(nodes[0])
            alike = [nodes[0] + peer // per_node for peer in range(len(group))]
            per_node = per_node if nodes == alike and len(group) % per_node == 0 else None
        return small_replay(
            collective, span.algorithm, len(group), span.root, ranks_per_node=per_node
        )

    def _round_transfers(
        self, span: Span, group: tuple[int, ...], progress: float
    ) -> list[tuple[int, int]]:
        """(from, to) ranks of the round under way.

        Neighbours in turn in groups too large to replay, and from neighbour to neighbour what goes
        through a switch.
        """
        n = len(group)
        if n > MAX_REPLAY_RANKS:
            return [(group[i], group[(i + 1) % n]) for i in range(n)]
        rounds = self._small(span, group).rounds
        if not rounds:
            return []
        current = rounds[min(int(progress * len(rounds)), len(rounds) - 1)]
        if any(n in pair for pair in current.transfers):
            there = list(pairwise(group))
            return there + [(b, a) for a, b in there]
        return [(group[a], group[b]) for a, b in current.transfers]

    def _known(self, step: StepTime, time_s: float, *, is_end: bool) -> Known:
        timeline = self.timeline
        lap_end = timeline.steps[-1].end_s
        lap_done = timeline.laps > 0 and (is_end or time_s >= lap_end) and step.phase == "decode"
        spent, communicated = self._spent(step, time_s)
        p = timeline.scenario.parallel
        return Known(
            ttft_s=timeline.ttft_s if time_s >= timeline.ttft_s else None,
            tpot_s=timeline.tpot_s if lap_done else None,
            tokens_per_s=tokens_per_s(timeline) if lap_done else None,
            communication_share=communicated / spent if spent else None,
            kv_bytes=self.kv_bytes(time_s),
            kv_capacity_bytes=sum(self._kv_room) * p.tp * p.dp,
        )

    def _spent(self, step: StepTime, time_s: float) -> tuple[float, float]:
        """(seconds, of them communication) of a step so far, without what is folded."""
        spent = communicated = 0.0
        for span in self.timeline.spans[step.first_span : step.last_span]:
            if span.start_s >= time_s or span.kind == "fold":
                break
            part = min(span.end_s, time_s) - span.start_s
            spent += part
            communicated += part if span.traffic_class is not None else 0.0
        return spent, communicated


def state_at(pace: Pace, screen_s: float) -> State:
    """The state at a screen second; for many moments of one timeline keep a `Moments`."""
    return Moments(pace).at(screen_s)


def _between(start: int, end: int) -> range:
    """The numbers after start up to end, either way."""
    return range(start + 1, end + 1) if end > start else range(start - 1, end - 1, -1)


def _rows(rows: tuple[SmallRow, ...], group: tuple[int, ...]) -> tuple[ReplayRow, ...]:
    return tuple(
        ReplayRow(rank=group[row.peer], values=row.values, is_final=row.is_final) for row in rows
    )


def _channel_lines(mesh: Mesh) -> tuple[Channel, ...]:
    """The lines of the picture: neighbours in a row, the same position one stage on."""
    p = mesh.parallel
    lines: list[Channel] = []
    for stage in range(p.pp):
        for group in mesh.groups("tp", stage):
            lines.extend(_line("tp", a, b) for a, b in pairwise(group))
        if p.ep > p.tp:
            row = mesh.stage_ranks(stage)
            for a, b in pairwise(row):
                if mesh.position(a).dp_rank != mesh.position(b).dp_rank:
                    lines.append(_line("ep", a, b))
        if stage + 1 < p.pp:
            lines.extend(_line("pp", a, b) for a, b in mesh.hops(stage))
    return tuple(lines)


def _line(traffic_class: TrafficClass, source: int, destination: int) -> Channel:
    return Channel(
        traffic_class=traffic_class,
        source=source,
        destination=destination,
        is_moving=False,
    )
