"""What one rank does at the moment, in a line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpuflow.draw.focus import seen_rank
from gpuflow.draw.gpu import SIGNS
from gpuflow.draw.kv import NOTHING
from gpuflow.draw.moves import partners, replay_of
from gpuflow.draw.tiles import AT_REST
from gpuflow.draw.view import PlayView
from gpuflow.engine.state import SWITCH, Replay, ReplayRow
from gpuflow.units import format_bytes

MOST_NAMED = 3
"""Peers told by their numbers; of more, how many they are."""


def follow_forms(view: PlayView, rank: int) -> list[str]:
    """Who it is, where, whom it sends to and what it holds; longest form first."""
    scene, mesh = view.scene, view.scene.mesh
    gpu = view.state.gpus[rank]
    p = mesh.parallel
    who = scene.t("gpu.name", rank=rank)
    node = scene.t("tile.node", node=gpu.node)
    stage = scene.t("strip.stage", stage=gpu.stage + 1)
    split = [
        f"{name} {place + 1}/{size}"
        for name, place, size in (("TP", gpu.tp_rank, p.tp), ("DP", gpu.dp_rank, p.dp))
        if size > 1
    ]
    doing, briefly = doing_words(view, rank), doing_words(view, rank, is_brief=True)
    is_recorded = scene.timeline.recording is not None
    cache = f"KV {NOTHING if is_recorded else format_bytes(gpu.kv_bytes)}"
    forms = (
        (who, node, stage, *split, doing, cache),
        (who, node, stage, doing, cache),
        (who, node, stage, *split, briefly, cache),
        (who, node, stage, briefly, cache),
        (who, stage, doing, cache),
        (who, doing, cache),
        (who, doing),
        (who,),
    )
    return [" · ".join(form) for form in forms]


def replay_in_view(view: PlayView) -> Replay | None:
    """The replay to draw, with the ranks of the group that is looked at."""
    replay, span, focus = replay_of(view.state), view.state.span, view.focus
    if replay is None or span is None or focus is None:
        return replay
    rank = seen_rank(focus, view.scene.mesh, span.stage)
    group = next((group for group in span.groups if rank in group), span.groups[0])
    names = {SWITCH: SWITCH, **dict(zip(span.groups[0], group, strict=True))}

    def renamed(rows: tuple[ReplayRow, ...]) -> tuple[ReplayRow, ...]:
        return tuple(replace(row, rank=names[row.rank]) for row in rows)

    return replace(
        replay,
        before=renamed(replay.before),
        now=renamed(replay.now),
        after=renamed(replay.after),
        transfers=tuple((names[a], names[b]) for a, b in replay.transfers),
    )


def doing_words(view: PlayView, rank: int, *, is_brief: bool = False) -> str:
    """Whom it sends to and receives from, or else what it does."""
    to, from_ = partners(view.state, rank)
    ends = (("to", "»", to), ("from", "«", from_))
    named = [(key, sign, ranks_text(view, ranks)) for key, sign, ranks in ends if ranks]
    if named and is_brief:
        return " ".join(f"{sign} {ranks}" for _, sign, ranks in named)
    if named:
        parts = [view.scene.t(f"follow.{key}", ranks=ranks) for key, _, ranks in named]
        return view.scene.t("follow.and").join(parts)
    activity, span = view.state.gpus.activity(rank), view.state.span
    word = view.scene.t(f"state.{activity}")
    if activity == "exchange" and span is not None:
        word = view.scene.t(f"collective.{span.collective}")
    if activity == "compute" and span is not None and span.part:
        word = view.scene.t(f"part.{span.part}")
    return word if activity in AT_REST else f"{SIGNS[activity]} {word}"


def ranks_text(view: PlayView, ranks: Sequence[int]) -> str:
    """A few ranks by their numbers, many by how many they are."""
    if len(ranks) <= MOST_NAMED:
        return ", ".join(map(str, ranks))
    return view.scene.t("stage.gpus", gpus=len(ranks))
