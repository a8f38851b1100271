"""A collective of many ranks: a row for each node or block, and what it sends, receives, has."""

from __future__ import annotations

from dataclasses import dataclass

from gpuflow.cells import cell_width
from gpuflow.collectives.tally import BlockTally, SwitchTally, Tally
from gpuflow.draw.canvas import Canvas, Piece, Rect
from gpuflow.draw.explore_view import ExploreView
from gpuflow.draw.gpu import bar
from gpuflow.units import format_count

_FRAME_ROWS = 3
"""Border and headings."""
_BAR_LEAST, _PERCENT = 6, 8


def draw_sums(canvas: Canvas, view: ExploreView, area: Rect) -> int:
    """The framed table; returns the row after it."""
    size, tally, number = view.block_size, view.tally, view.round
    blocks = tally.blocks(number)
    switch = tally.switch(number)
    rows = len(blocks) + _FRAME_ROWS + (1 if switch else 0)
    box = Rect(area.x, area.y, area.width, min(rows, area.height))
    canvas.box(box, "border_lit", border="heavy", title=_title(view, size))
    inner = box.inner(1)
    columns = _columns(view, tally, inner)
    _headings(canvas, view, columns, inner)
    before = tally.blocks(max(number - 1, 0)) if view.is_in_flight else blocks
    for y, (block, earlier) in enumerate(zip(blocks, before, strict=True), inner.y + 1):
        if y < inner.bottom:
            _row(canvas, view, columns, y, block, earlier)
    if switch and inner.y + 1 + len(blocks) < inner.bottom:
        _switch_row(canvas, view, inner, inner.y + 1 + len(blocks), switch)
    return box.bottom


def _title(view: ExploreView, size: int) -> tuple[Piece, ...]:
    subject = view.subject
    n = format_count(subject.n_ranks)
    if not subject.has_levels:
        return (Piece(view.t("sums.blocks", ranks=n, size=size), "strong"),)
    nodes = subject.n_ranks // subject.ranks_per_node
    title = view.t("sums.nodes", ranks=n, nodes=nodes, size=subject.ranks_per_node)
    if size > subject.ranks_per_node:
        title += view.t("sums.grouped", nodes=size // subject.ranks_per_node)
    return (Piece(title, "strong"),)


@dataclass(frozen=True, slots=True)
class _Columns:
    """First cell and width of each column."""

    name: tuple[int, int]
    alike: tuple[int, int]
    inside: tuple[int, int]
    outside: tuple[int, int]
    received: tuple[int, int]
    moved: tuple[int, int]


def _columns(view: ExploreView, tally: Tally, inner: Rect) -> _Columns:
    """As wide as the widest cell of the round, the bar taking what is left over."""
    blocks = tally.blocks(view.round)
    texts = [_texts(view, block) for block in blocks]
    widths = [
        max(cell_width(text) for text in (*column, heading))
        for column, heading in zip(zip(*texts, strict=True), _words(view), strict=False)
    ]
    # the longest amounts come and go with the rounds: a column keeps room for a usual one
    widths[2:5] = [max(width, 14 if inner.width >= 92 else 9) for width in widths[2:5]]
    gap = 2 if sum(widths[:5]) + 10 + _BAR_LEAST + _PERCENT < inner.width else 1
    starts = [inner.x]
    for width in widths:
        starts.append(starts[-1] + width + gap)
    room = max(inner.right - starts[-1], 0)
    pairs = [*zip(starts, widths, strict=False), (starts[-1], room)]
    return _Columns(*pairs)


def _words(view: ExploreView) -> tuple[str, ...]:
    levels = "nodes" if view.subject.has_levels else "rows"
    inside = "switch" if view.subject.has_switch else levels
    return (
        view.t(f"sums.name.{levels}"),
        view.t("sums.alike"),
        f"{view.t(f'sums.inside.{inside}')} ═",
        f"{view.t(f'sums.outside.{levels}')} ━",
        view.t("sums.received"),
        view.t("sums.moved"),
    )


def _headings(canvas: Canvas, view: ExploreView, columns: _Columns, inner: Rect) -> None:
    places = (
        columns.name,
        columns.alike,
        columns.inside,
        columns.outside,
        columns.received,
        columns.moved,
    )
    for (x, width), word in zip(places, _words(view), strict=True):
        canvas.put(x, inner.y, word, "dim", width=min(width, inner.right - x))
    complete = Piece(view.t("sums.complete"), "dim")
    if columns.moved[1] >= _BAR_LEAST + _PERCENT + 1:
        canvas.put_right(inner.right, inner.y, (complete,), width=_PERCENT)


def _texts(view: ExploreView, block: BlockTally) -> tuple[str, ...]:
    last = block.first + block.n_peers - 1
    name = f"{block.first}–{last}" if last > block.first else str(block.first)
    if view.subject.has_levels:
        size = view.subject.ranks_per_node
        first_node, last_node = block.first // size, last // size
        nodes = f"{first_node}–{last_node}" if last_node > first_node else str(first_node)
        name = f"{nodes}: {name}"
    alike = f"{block.alike}/{block.n_peers}" if view.round else "–"
    sign = "+" if block.adds else ""
    received = f"{view.size_of(block.received)} {sign}".rstrip() if block.received else "–"
    return (
        name,
        alike,
        amount_text(view, block.messages_inside, block.inside),
        amount_text(view, block.messages_outside, block.outside),
        received,
    )


def amount_text(view: ExploreView, messages: int, share: float) -> str:
    """Messages and their bytes: `64 × 4 MiB`."""
    if not messages:
        return "–"
    return f"{format_count(messages)} × {view.size_of(share / messages)}"


def _row(
    canvas: Canvas,
    view: ExploreView,
    columns: _Columns,
    y: int,
    block: BlockTally,
    earlier: BlockTally,
) -> None:
    name, alike, inside, outside, received = _texts(view, block)
    canvas.put(columns.name[0], y, name, "strong", width=columns.name[1])
    all_alike = block.alike == block.n_peers
    canvas.put(columns.alike[0], y, alike, "text" if all_alike else "dim", width=columns.alike[1])
    outer_role = view.outer_role if view.subject.has_levels else view.role
    cells = (
        (columns.inside, inside, view.role),
        (columns.outside, outside, outer_role),
        (columns.received, received, "reduce" if block.adds else view.role),
    )
    for (x, width), text, role in cells:
        canvas.put(x, y, text, "dim" if text == "–" else role, width=width)
    x, room = columns.moved
    share = earlier.complete
    text = "–" if share is None else "✓" if share >= 1 else f"{share * 100:.0f} %"
    if room >= _BAR_LEAST + _PERCENT + 1:
        bar(canvas, Rect(x, y, room - _PERCENT - 1, 1), earlier.moved, view.role)
        x, room = x + room - _PERCENT, _PERCENT
    role = "good" if share is not None and share >= 1 else "text"
    canvas.put_right(x + room, y, (Piece(text, role),), width=max(room, 0))


def _switch_row(
    canvas: Canvas, view: ExploreView, inner: Rect, y: int, switch: SwitchTally
) -> None:
    way = "adds" if switch.adds else "copies"
    words = view.t(
        f"sums.switch.{way}",
        coming=amount_text(view, switch.messages_in, switch.received),
        going=amount_text(view, switch.messages_out, switch.sent),
    )
    x = canvas.put(inner.x, y, view.t("switch"), "strong")
    if switch.messages_in or switch.messages_out:
        canvas.put(x, y, words, view.role, width=inner.right - x)
