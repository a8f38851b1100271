"""Where the ranks of one collective stand: boxes under each other, as roomy as the screen allows.

From the roomiest: tall boxes that say in words what each rank does, boxes, boxes that share their
borders, and slots of one row. Nodes are frames around their ranks; lines run at the right, those
between nodes outside the frames; a switch stands at the right of all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from gpuflow.draw.canvas import Rect

Form = Literal["tall", "boxes", "shared", "slots"]
FORMS: tuple[Form, ...] = ("tall", "boxes", "shared", "slots")
_PITCH = {"tall": 5, "boxes": 3, "shared": 2, "slots": 1}
_HEAD = 3
"""Cells between a box and the first lane: arrow head, sign of adding, line."""
_STEPS = (3, 2, 1)
"""Cells from lane to lane, roomiest first."""
_WIDEST_STEP = 4
_SWITCH_LEAST, _SWITCH_GAP = 10, 12
_FRAME = 2
"""Cells of a node's frame at either side."""


@dataclass(frozen=True, slots=True)
class Ports:
    """Cells that a rank needs to say whom it sends to and receives from."""

    named: int
    """Most peers that are named; more are counted."""
    sends: int
    receives: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What a subject asks for, the same in all its rounds."""

    n_ranks: int
    ranks_per_node: int
    """0 where there is one level."""
    vector: int
    """Cells of a rank's numbers, brackets included."""
    words: int
    """Cells of the words in a tall box."""
    ports: tuple[Ports, ...]
    """Longest first; none where all send to a switch."""
    inside: int
    """Lanes within nodes."""
    between: int
    """Lanes between nodes."""
    has_switch: bool

    @property
    def nodes(self) -> int:
        """Frames."""
        return self.n_ranks // self.ranks_per_node if self.ranks_per_node else 0


@dataclass(frozen=True, slots=True)
class Place:
    """Where one rank stands."""

    box: Rect
    receive_y: int
    """Row in which lines arrive."""
    send_y: int
    """Row in which they leave, and the numbers stand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StackPlan:
    """Where everything stands."""

    form: Form
    places: tuple[Place, ...]
    """Of the ranks that have room, from rank 0."""
    frames: tuple[Rect, ...]
    has_gutter: bool
    """Whether nodes are brackets at the left edge instead of frames."""
    named: int
    """Most peers that a box names as those it exchanges with; 0: it does not say."""
    has_numbers: bool
    """Whether numbers have room, not only a sign for each."""
    label: int
    """Cells of the name of a rank in a slot."""
    has_lines: bool
    lane_x: int
    """Column of the first lane within nodes."""
    lane_step: int
    outer_x: int
    """Column of the first lane between nodes."""
    outer_step: int
    switch: Rect | None
    right: int
    """One past the last column in use."""
    bottom: int
    """One past the last row in use."""

    def lane(self, number: int, *, is_between: bool) -> int:
        """Column of a lane."""
        if is_between:
            return self.outer_x + number * self.outer_step
        return self.lane_x + number * self.lane_step


def plan_stack(needs: Needs, area: Rect) -> StackPlan:
    """The roomiest plan that fits; one-row slots, of as many ranks as there is room, in the end.

    Args:
        needs: What the subject asks for.
        area: Where it may stand; a blank column beside it is taken as well where the numbers would
            have no room otherwise.
    """
    for form in FORMS[:-1]:
        if rows_of(needs, form) <= area.height:
            widths = _widths(needs, form, area.width)
            if widths is not None:
                return _boxes(needs, form, area, widths)
    slots = _slots(needs, area)
    if not slots.has_numbers and area.x:
        wide = _slots(needs, Rect(area.x - 1, area.y, area.width + 2, area.height))
        return wide if wide.has_numbers else slots
    return slots


def rows_of(needs: Needs, form: Form) -> int:
    """Rows that a form takes, frames included."""
    n, nodes = needs.n_ranks, needs.nodes
    if form == "shared":
        return 2 * n + (3 * nodes if nodes else 1)
    return _PITCH[form] * n + 2 * nodes


@dataclass(frozen=True, slots=True)
class _Widths:
    box: int
    named: int
    step: int
    """0: no lines."""
    inside: int
    between: int
    switch: int
    gap: int


def _widths(needs: Needs, form: Form, room: int) -> _Widths | None:
    """The roomiest division of a width; None where the numbers alone do not fit."""
    bare = 4 + needs.vector
    if form == "tall":
        bare = max(bare, 4 + needs.words)
    if needs.has_switch:
        return _beside_switch(needs, bare, room)
    framed = 2 * _FRAME if needs.nodes else 0
    for box, named, step in _wishes(needs, form, bare):
        inside, between = _lane_room(needs.inside, step), _lane_room(needs.between, step)
        spare = room - box - framed - inside - between
        if spare >= 0:
            box += min(spare, 6) if step else 0
            return _Widths(box, named, step, inside, between, 0, 0)
    return None


def _wishes(needs: Needs, form: Form, bare: int) -> list[tuple[int, int, int]]:
    """(cells of a box, peers it names, cells between lanes), best first."""
    if form == "tall":
        return [(bare, 0, step) for step in _STEPS]
    full, short = (
        (max(bare, 6 + needs.vector + p.sends, 16 + p.receives), p.named) for p in needs.ports
    )
    wishes = [(*full, 3), (*full, 2), (*short, 2), (bare, 0, 2), (*full, 1), (*short, 1)]
    return [*wishes, (bare, 0, 1), (*full, 0), (*short, 0), (bare, 0, 0)]


def _lane_room(lanes: int, step: int) -> int:
    return _HEAD + (lanes - 1) * step + 2 if lanes and step else 0


def _beside_switch(needs: Needs, box: int, room: int) -> _Widths | None:
    """Boxes, a gap that the lines cross, and the switch with its numbers wrapped if need be."""
    spare = room - box
    gap = min(_SWITCH_GAP, max(spare - needs.vector - 4, min(4, spare - _SWITCH_LEAST)))
    switch = min(spare - gap, needs.vector + 4)
    if gap < 1 or switch < _SWITCH_LEAST:
        return None
    return _Widths(box, 0, 1, 0, 0, switch, gap)


def _boxes(needs: Needs, form: Form, area: Rect, widths: _Widths) -> StackPlan:
    pitch = _PITCH[form]
    size = needs.ranks_per_node or needs.n_ranks
    edge = 1 if needs.nodes else 0
    x = area.x + (_FRAME if needs.nodes else 0)
    y = area.y
    places: list[Place] = []
    frames: list[Rect] = []
    framed_right = x + widths.box + widths.inside + edge + (0 if widths.inside else edge)
    for first in range(0, needs.n_ranks, size):
        top = y
        y += edge
        for _ in range(first, min(first + size, needs.n_ranks)):
            height = pitch + 1 if form == "shared" else pitch
            places.append(Place(Rect(x, y, widths.box, height), y, y + 1))
            y += pitch
        y += 1 if form == "shared" else 0
        if needs.nodes:
            y += 1
            frames.append(Rect(area.x, top, framed_right - area.x, y - top))
    right = (framed_right if needs.nodes else x + widths.box + widths.inside) + widths.between
    switch = None
    if widths.switch:
        right = x + widths.box + widths.gap + widths.switch
        switch = Rect(right - widths.switch, area.y, widths.switch, max(y - area.y, 3))
    return StackPlan(
        form=form,
        places=tuple(places),
        frames=tuple(frames),
        has_gutter=False,
        named=widths.named,
        has_numbers=True,
        label=0,
        has_lines=widths.step > 0,
        lane_x=x + widths.box + _HEAD,
        lane_step=widths.step,
        outer_x=framed_right + _HEAD - 1,
        outer_step=widths.step,
        switch=switch,
        right=right,
        bottom=y,
    )


def spread(plan: StackPlan, needs: Needs, room: int) -> StackPlan:
    """The same plan with lanes further apart, in as many cells more as there are."""
    lanes = needs.between if needs.nodes else needs.inside
    if not plan.has_lines or plan.switch is not None or lanes < 2:
        return plan
    more = min(room // (lanes - 1), _WIDEST_STEP - plan.lane_step)
    if more <= 0:
        return plan
    grown = replace(plan, right=plan.right + more * (lanes - 1))
    if needs.nodes:
        return replace(grown, outer_step=plan.outer_step + more)
    return replace(grown, lane_step=plan.lane_step + more)


def _slots(needs: Needs, area: Rect) -> StackPlan:
    """One row a rank; nodes framed where there are rows for it, else bracketed."""
    size = needs.ranks_per_node or needs.n_ranks
    is_framed = bool(needs.nodes) and rows_of(needs, "slots") <= area.height
    has_gutter = bool(needs.nodes) and not is_framed
    indent = closing = _FRAME if is_framed else 1 if has_gutter else 0
    room = area.width - indent - closing
    switch_room = _SWITCH_LEAST + 1 if needs.has_switch else 0
    label, ports, named = _slot_parts(needs, room - switch_room)
    has_numbers = label + needs.vector + ports + switch_room <= room
    box = min(label + needs.vector + ports, room - switch_room)
    inner = Rect(area.x + indent, area.y, box, area.height)
    places, tops = _slot_rows(inner, needs.n_ranks, size, edge=1 if is_framed else 0)
    frames = (
        [Rect(area.x, y, indent + box + closing, end - y) for y, end in pairwise(tops)]
        if needs.nodes
        else []
    )
    bottom = min(tops[-1], area.bottom)
    switch = None
    right = area.x + indent + box + closing
    if needs.has_switch and room - box >= switch_room:
        gap = min(_SWITCH_GAP, max(room - box - needs.vector - 4, 1))
        wide = min(room - box - gap, needs.vector + 4)
        switch = Rect(right + gap, area.y, wide, max(bottom - area.y, 1))
        right = switch.right
    return StackPlan(
        form="slots",
        places=tuple(places),
        frames=tuple(frames),
        has_gutter=has_gutter,
        named=named,
        has_numbers=has_numbers,
        label=label,
        has_lines=False,
        lane_x=right,
        lane_step=0,
        outer_x=right,
        outer_step=0,
        switch=switch,
        right=right,
        bottom=bottom,
    )


def _slot_rows(area: Rect, n_ranks: int, size: int, *, edge: int) -> tuple[list[Place], list[int]]:
    """Where slots stand, as far as there are rows; where each node begins, and the last one ends.

    Args:
        area: Of the slots alone.
        n_ranks: Slots.
        size: Of a node.
        edge: Rows of a frame above and below a node.
    """
    y, places, tops = area.y, [], [area.y]
    for _ in range(0, n_ranks, size):
        rows = range(y + edge, y + edge + size)
        places += [Place(area._replace(y=r, height=1), r, r) for r in rows if r < area.bottom]
        y = rows.stop + edge
        tops.append(y)
    return places, tops


def _slot_parts(needs: Needs, room: int) -> tuple[int, int, int]:
    """Cells of a slot's name and ports, and peers named: exchanges count more than names."""
    digits = len(str(needs.n_ranks - 1))
    wishes = []
    for ports in needs.ports:
        cells = ports.sends + 1 + ports.receives
        wishes += [(digits + 5, cells + gap, ports.named) for gap in (2, 1)]
        wishes += [(digits + 1, cells + 1, ports.named), (digits, cells, ports.named)]
    wishes += [(digits + 5, 0, 0), (digits + 1, 0, 0), (digits, 0, 0)]
    fitting = (wish for wish in wishes if wish[0] + needs.vector + wish[1] <= room)
    return next(fitting, (digits + 1, 0, 0))
