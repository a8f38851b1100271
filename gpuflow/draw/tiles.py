"""A tile: some GPUs of a stage in a few cells, with what each or how many of them do."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from gpuflow.cells import cell_width
from gpuflow.draw.canvas import Canvas, Piece, Rect, width_of
from gpuflow.draw.expert_bars import expert_row, load_of
from gpuflow.draw.gpu import FAST, FOLLOWED, MIN_BAR, SIGNS, bar
from gpuflow.draw.kv import fill_text
from gpuflow.draw.links import first_fit, flow_role
from gpuflow.draw.view import PlayView
from gpuflow.engine.gpu_states import Counts
from gpuflow.engine.state import Activity

LEAST_CACHE, MOST_CACHE = 7, 24
"""Cells of a KV bar beside the signs of a tile without a border."""
AT_REST = frozenset({"idle", "wait"})
EXCHANGES = frozenset({"exchange", "send", "receive"})


class TilePainter:
    """Draws the tiles of one view; what all of them share is worked out once."""

    def __init__(self, canvas: Canvas, view: PlayView) -> None:
        self.canvas = canvas
        self.view = view
        self.scene = view.scene
        self.mesh = view.scene.mesh
        self.gpus = view.state.gpus
        self.flow = flow_role(view.state.span)
        self.is_fast = view.state.is_compressed
        self.followed = view.followed
        self._said: dict[tuple[Counts, int], list[Piece]] = {}
        self._roles: dict[Activity, str] = {
            activity: "wait"
            if activity in AT_REST
            else self.flow
            if activity in EXCHANGES
            else "host"
            if activity == "host"
            else "compute"
            for activity in SIGNS
        }

    # ------------------------------------------------------------ what is in a tile

    def ranks(self, stage: int, first: int, size: int) -> tuple[int, ...]:
        """The GPUs of a tile."""
        return self.mesh.stage_ranks(stage)[first : first + size]

    def role(self, activity: Activity) -> str:
        """The role of what a GPU does."""
        return self._roles[activity]

    def word(self, activity: Activity) -> str:
        """What a GPU does, in a word."""
        span = self.view.state.span
        if self.is_fast and activity not in AT_REST:
            return self.scene.t("state.fast")
        if activity == "exchange" and span is not None:
            return self.scene.t(f"collective.{span.collective}")
        return self.scene.t(f"state.{activity}")

    def sign(self, activity: Activity) -> str:
        """The sign of what a GPU does."""
        return FAST if self.is_fast and activity not in AT_REST else SIGNS[activity]

    def _pieces(self, counts: Counts, width: int) -> list[Piece]:
        """How many GPUs do what, in as many words as fit; most tiles say the same."""
        key = (counts, width)
        if key not in self._said:
            forms = self._forms(counts)
            self._said[key] = next((form for form in forms if width_of(form) <= width), forms[-1])
        return self._said[key]

    def _forms(self, counts: Counts) -> list[list[Piece]]:
        long = [
            Piece(f"{self.sign(activity)} {number} {self.word(activity)}  ", self.role(activity))
            for activity, number in counts
        ]
        short = [Piece(f"{self.sign(a)}{n} ", self.role(a)) for a, n in counts]
        activity, number = counts[0]
        least = Piece(f"{SIGNS[activity]}{number}", self.role(activity))
        return [long, short, [least]]

    # ------------------------------------------------------------ drawing

    def tile(self, rect: Rect, stage: int, first: int, size: int) -> None:
        """A tile with a border where it has the rows, else its signs alone."""
        ranks = self.ranks(stage, first, size)
        if rect.height < 3:
            self.signs(rect, stage, first, size)
            spare = rect.width - size - 2
            if spare >= LEAST_CACHE:
                x = rect.right - min(spare, MOST_CACHE)
                self._kv(Rect(x, rect.y, rect.right - x, 1), stage)
            return
        counts = self.gpus.counts(stage, first, size)
        role = self.role(counts[0][0])
        self.canvas.box(rect, "border" if role == "wait" else role)
        self._title(rect, ranks)
        inner = rect.inner(1)
        rows = [Rect(inner.x, y, inner.width, 1) for y in range(inner.y, inner.bottom)]
        self.signs(rows[0], stage, first, size)
        if len(rows) > 1:
            self._kv(rows[1], stage)
        if len(rows) > 2 and load_of(self.view) is not None:
            expert_row(self.canvas, self.view, rows[2], first, size)
        elif len(rows) > 2:
            self._words(rows[2], stage, counts)

    def signs(self, row: Rect, stage: int, first: int, size: int) -> None:
        """A sign for each GPU where they fit, else how many do what."""
        counts = self.gpus.counts(stage, first, size)
        n_gpus = sum(number for _, number in counts)
        if n_gpus > row.width:
            self.canvas.put_pieces(row.x, row.y, self._pieces(counts, row.width), width=row.width)
            return
        if len(counts) == 1:
            activity = counts[0][0]
            self.canvas.put(row.x, row.y, SIGNS[activity] * n_gpus, self.role(activity))
        else:
            x = row.x
            for activity, run in groupby(self.ranks(stage, first, size), self.gpus.activity):
                sign = SIGNS[activity] * len(list(run))
                x = self.canvas.put(x, row.y, sign, self.role(activity))
        if self.followed is not None and self.followed in self.ranks(stage, first, size):
            place = row.x + self.ranks(stage, first, size).index(self.followed)
            self.canvas.put(place, row.y, FOLLOWED, "accent")

    def _words(self, row: Rect, stage: int, counts: Counts) -> None:
        """What most of them do, and the layer at work."""
        activity, shared = counts[0][0], self.gpus.stages[stage]
        layer = f" {shared.layer}/{shared.layers}" if shared.layer else ""
        word = self.word(activity)
        text = first_fit((f"{word}{layer}", word), row.width)
        self.canvas.put(row.x, row.y, text, self.role(activity), width=row.width)

    def _title(self, rect: Rect, ranks: Sequence[int]) -> None:
        is_followed = self.followed in ranks
        forms = [f"{FOLLOWED}{form}" if is_followed else form for form in self.names(ranks)]
        name = first_fit(forms, rect.width - 4) or forms[-1]
        self.canvas.head_box(rect, (Piece(name, "accent" if is_followed else "strong"),))

    def names(self, ranks: Sequence[int]) -> list[str]:
        """What a tile is: its node or nodes and its replicas, longest form first."""
        first, last = ranks[0], ranks[-1]
        nodes = sorted({self.mesh.node(rank) for rank in ranks})
        if len(nodes) == 1:
            place, short = self.scene.t("tile.node", node=nodes[0]), f"n{nodes[0]}"
        else:
            text = nodes_text(nodes)
            place, short = self.scene.t("tile.nodes", nodes=text), f"n{text.replace(' ', '')}"
        forms = [place, short]
        p = self.mesh.parallel
        if p.dp > 1 and p.tp > 1:
            a, b = self.mesh.position(first).dp_rank + 1, self.mesh.position(last).dp_rank + 1
            replica = f"DP {a}" if a == b else f"DP {a}–{b}"
            forms.insert(0, f"{place} · {replica}")
        return [*forms, f"{first}"]

    def column_names(self, ranks: Sequence[int]) -> list[str]:
        """What stands in a column over all stages: the replica or replicas, longest form first."""
        first, last = (self.mesh.position(ranks[i]).dp_rank + 1 for i in (0, -1))
        if self.mesh.parallel.dp == 1:
            return [f"TP 1–{self.mesh.parallel.tp}", "TP"]
        return [f"DP {first}", f"{first}"] if first == last else [f"DP {first}–{last}", f"{first}"]

    def _kv(self, row: Rect, stage: int) -> None:
        """The cache of each of its GPUs."""
        shared = self.gpus.stages[stage]
        full = self.scene.kv_full_bytes[self.mesh.stage_ranks(stage)[0]]
        x = self.canvas.put(row.x, row.y, "KV ", "dim")
        text = fill_text(shared.kv_bytes, full)
        right = row.right
        if row.right - x - cell_width(text) - 1 >= MIN_BAR:
            right = (
                self.canvas.put_right(row.right, row.y, (Piece(text, "dim"),), width=row.width) - 1
            )
        part = shared.kv_bytes / full if full else 0.0
        bar(self.canvas, Rect(x, row.y, right - x, 1), part, "kv")


def nodes_text(nodes: Sequence[int]) -> str:
    """Several nodes by their numbers, sorted; those between which others stand are told apart.

    Example:
        >>> nodes_text([0, 1, 2]), nodes_text([0, 4]), nodes_text([0, 4, 8, 12])
        ('0–2', '0, 4', '0, 4 … 12')
    """
    if nodes[-1] - nodes[0] + 1 == len(nodes):
        return f"{nodes[0]}–{nodes[-1]}"
    rest = f" … {nodes[-1]}" if len(nodes) > 2 else ""
    return f"{nodes[0]}, {nodes[1]}{rest}"
