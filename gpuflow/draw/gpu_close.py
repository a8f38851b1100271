"""One GPU from near: its box with all its numbers, and around it those it has to do with."""

from __future__ import annotations

from collections.abc import Sequence

from gpuflow.cells import cell_width
from gpuflow.draw.canvas import Canvas, Piece, Rect, width_of
from gpuflow.draw.expert_bars import example_forms, expert_bars, load_of
from gpuflow.draw.follow import doing_words
from gpuflow.draw.gpu import SIGNS, GpuPainter
from gpuflow.draw.links import first_fit, flow_labels, flow_role
from gpuflow.draw.moves import held_values, number_width, partners, replay_of
from gpuflow.draw.roles import at_rest
from gpuflow.draw.tiles import AT_REST, EXCHANGES
from gpuflow.draw.view import PlayView
from gpuflow.draw.wrap import wrap

BOX_ROWS, MAX_BOX = 11, 46
"""Rows of a box that says everything, and its cells at most."""
BESIDE, LEAST_BOX = 30, 22
"""Cells beside the box that peers are worth drawing in, and of a box that has something beside."""

MOST_EXAMPLE = 6
"""Lines that say what the bars of the experts are."""

AROUND = 5
"""Peers before a GPU that are named with it."""

Line = list[Piece]


def rows_of_close(view: PlayView, area: Rect, rank: int) -> int:
    """Rows of an area that the view of one GPU has a use for."""
    box = _box(area)
    lines = len(_lines(view, rank, _beside(area, box).width))
    used = max(box.height, lines) if box.width < area.width else box.height + lines
    return min(used, area.height)


def _box(area: Rect) -> Rect:
    """The GPU's box: at the left, or over all of a narrow area."""
    width = min(MAX_BOX, area.width - BESIDE - 2)
    return Rect(
        area.x, area.y, area.width if width < LEAST_BOX else width, min(BOX_ROWS, area.height)
    )


def _beside(area: Rect, box: Rect) -> Rect:
    """Where its peers stand: at the right of the box, or under it."""
    if box.width < area.width:
        x = box.right + 2
        return Rect(x, area.y, area.right - x, area.height)
    return Rect(area.x, box.bottom, area.width, area.height - box.height)


def draw_close(canvas: Canvas, view: PlayView, area: Rect, rank: int) -> None:
    """The GPU at the left, its peers at the right, or under it where the area is narrow."""
    box = _box(area)
    beside = _beside(area, box)
    held, digits = dict(held_values(view.state)), number_width(replay_of(view.state))
    GpuPainter(canvas, view, held, digits).box(box, view.state.gpus[rank])
    y = beside.y
    for line in _lines(view, rank, beside.width):
        if y >= beside.bottom:
            return
        canvas.put_pieces(beside.x, y, line, width=beside.width)
        y += 1


def _lines(view: PlayView, rank: int, width: int) -> list[Line]:
    """What it does now, then every kind of peer."""
    scene, mesh = view.scene, view.scene.mesh
    place, p = mesh.position(rank), mesh.parallel
    role = flow_role(view.state.span)
    lines: list[Line] = [[Piece(scene.t("close.now"), "title")]]
    lines += [[Piece(text, "text")] for text in wrap(doing_words(view, rank), width)[:2]]
    label = first_fit(flow_labels(view, with_name=True), width)
    if label and view.state.gpus.activity(rank) not in AT_REST:
        lines.append([Piece(label, role)])
    if p.tp > 1:
        peers = [mesh.rank(place.dp_rank, place.stage, t) for t in range(p.tp)]
        lines += [[], [Piece(scene.t("close.tp", gpus=p.tp), "title")]]
        lines += _chips(view, peers, rank, width)
    if p.pp > 1:
        lines += [[], [Piece(scene.t("close.pp"), "title")], *_neighbours(view, rank, width)]
    if p.dp > 1:
        peers = [mesh.rank(d, place.stage, place.tp_rank) for d in range(p.dp)]
        lines += [[], [Piece(scene.t("close.dp", gpus=p.dp), "title")]]
        lines += _chips(view, peers, rank, width)
    return lines + _experts(view, rank, width)


def _chips(view: PlayView, ranks: Sequence[int], rank: int, width: int) -> list[Line]:
    """Ranks with what they do in at most two lines, this one in the open tab's look."""
    to, from_ = partners(view.state, rank)
    # Of many the ones around it.
    first = max(ranks.index(rank) - AROUND, 0) if len(ranks) > 2 * AROUND else 0
    lines: list[Line] = [[Piece("… ", "dim")] if first else []]
    for one in ranks[first:]:
        activity = view.state.gpus.activity(one)
        is_both = one in to and one in from_
        sign = "⇄" if is_both else "»" if one in to else "«" if one in from_ else SIGNS[activity]
        role = "wait" if activity in AT_REST else "host" if activity == "host" else "compute"
        if one in to or one in from_ or activity in EXCHANGES:
            role = flow_role(view.state.span)
        chip = [Piece(str(one), "tab_open" if one == rank else "strong"), Piece(f"{sign} ", role)]
        room = width if not lines[:-1] else width - 1
        if width_of(lines[-1]) + width_of(chip) > room and lines[-1]:
            if lines[1:]:
                lines[-1].append(Piece("…", "dim"))
                break
            lines.append([])
        lines[-1] += chip
    return lines


def _neighbours(view: PlayView, rank: int, width: int) -> list[Line]:
    """The same position in the stage before and in the next one."""
    mesh = view.scene.mesh
    here = mesh.position(rank)
    to, from_ = partners(view.state, rank)
    lines: list[Line] = []
    for way, stage in (("in", here.stage - 1), ("out", here.stage + 1)):
        if not 0 <= stage < mesh.parallel.pp:
            continue
        other = mesh.rank(here.dp_rank, stage, here.tp_rank)
        is_moving = other in to or other in from_
        role = flow_role(view.state.span) if is_moving else at_rest("pp")
        sign = "▼" if is_moving else "│"
        node = view.scene.t("tile.node", node=mesh.node(other))
        name = view.scene.t(f"close.{way}", rank=other, stage=stage + 1)
        text = first_fit((f"{sign} {name} · {node}", f"{sign} {name}"), width)
        lines.append([Piece(text, role)])
    return lines


def _experts(view: PlayView, rank: int, width: int) -> list[Line]:
    """The experts it holds and how many tokens each gets, as an example."""
    load = load_of(view)
    if load is None:
        return []
    ranks = view.scene.mesh.stage_ranks(view.scene.mesh.position(rank).stage)
    place = ranks.index(rank)
    held, tokens = load.held(place), load.rank_copies(place)
    name = "close.experts" if load.holders > 1 else "close.slices"
    title = view.scene.t(name, first=held.start, last=held.stop - 1, experts=load.experts)
    count = view.scene.t("experts.tokens", tokens=f"{tokens:,}")
    bars = expert_bars(load, held)[: max(width - cell_width(count) - 1, 1)]
    example = wrap(example_forms(view)[0], width)[:MOST_EXAMPLE]
    return [
        [],
        [Piece(title, "title")],
        [Piece(f"{bars} ", "ep"), Piece(count, "text")],
        *([Piece(line, "dim")] for line in example),
    ]
