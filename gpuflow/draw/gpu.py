"""One GPU: rank and role; state with progress; its small numbers; KV cache with bytes and share."""

from __future__ import annotations

from collections.abc import Sequence

from gpuflow.cells import cell_width
from gpuflow.draw.canvas import Canvas, Piece, Rect, width_of
from gpuflow.draw.expert_bars import expert_row, load_of
from gpuflow.draw.kv import fill_text, kv_forms, kv_share, widest_fill
from gpuflow.draw.moves import Held
from gpuflow.draw.roles import CLASS_ROLES
from gpuflow.draw.view import PlayView
from gpuflow.engine.state import Activity, GpuState

SIGNS: dict[Activity, str] = {
    "idle": "○",
    "compute": "●",
    "exchange": "⇄",
    "send": "»",
    "receive": "«",
    "wait": "·",
    "host": "◆",
}
FAST = "⏩"
FOLLOWED = "▸"
"""Stands before the GPU that is followed, or what holds it."""
FULL, FREE = "▇", "─"
PADDED = 12
"""Cells of a box from which on blanks stand beside what is in it."""
LEAST_CHIP = 8
"""Cells of a chip after its sign, beside which its layer has room."""
MIN_BAR = 3
"""Cells of a KV bar worth drawing beside figures."""


class GpuPainter:
    """Draws the GPUs of one view; what all of them share is worked out once."""

    def __init__(self, canvas: Canvas, view: PlayView, held: dict[int, Held], digits: int) -> None:
        self.canvas = canvas
        self.view = view
        self.scene = view.scene
        self.state = view.state
        self.held = held
        self.digits = digits
        """Cells of the widest number of the replay."""

    # ------------------------------------------------------------ words

    def role_of(self, gpu: GpuState) -> str:
        """The role of what a GPU does."""
        span = self.state.span
        if gpu.activity == "compute":
            return "compute"
        if gpu.activity in {"exchange", "send", "receive"} and span and span.traffic_class:
            return CLASS_ROLES[span.traffic_class]
        return "host" if gpu.activity == "host" else "wait"

    def names(self, gpu: GpuState) -> list[Sequence[Piece]]:
        """Rank and role, longest form first."""
        p = self.scene.timeline.scenario.parallel
        is_followed = gpu.rank == self.view.followed
        mark, role = (FOLLOWED, "accent") if is_followed else ("", "strong")
        rank = Piece(f"{mark}{self.scene.t('gpu.name', rank=gpu.rank)}", role)
        roles: list[str] = []
        recording = self.scene.timeline.recording
        if recording is not None and not recording.has_phase:
            # Nobody knows what the ranks are to each other.
            return [(rank,), (rank,), (Piece(f"{mark}{gpu.rank}", role),)]
        if p.tp == 2:
            roles.append(self.scene.t("gpu.left" if gpu.tp_rank == 0 else "gpu.right"))
        elif p.tp > 2:
            roles.append(f"TP {gpu.tp_rank + 1}/{p.tp}")
        if p.dp > 1:
            roles.append(f"DP {gpu.dp_rank + 1}/{p.dp}")
        if self.scene.has_dispatch:
            place = self.view.scene.mesh.stage_ranks(gpu.stage).index(gpu.rank) % p.ep
            roles.append(f"EP {place + 1}/{p.ep}")
        if not roles:
            roles.append(self.scene.t("gpu.whole"))
        forms: list[Sequence[Piece]] = [
            (rank, Piece(" · " + " · ".join(roles[:n]), "dim")) for n in range(len(roles), 0, -1)
        ]
        return [*forms, (rank,), (Piece(f"{mark}{gpu.rank}", role),)]

    def state_words(self, gpu: GpuState) -> tuple[str, str]:
        """(sign, word) of what a GPU does."""
        if self.is_fast(gpu):
            return FAST, self.scene.t("state.fast")
        word = self.scene.t(f"state.{gpu.activity}")
        span = self.state.span
        if gpu.activity == "exchange" and span is not None:
            word = self.scene.t(f"collective.{span.collective}")
        return SIGNS[gpu.activity], word

    def is_fast(self, gpu: GpuState) -> bool:
        """Whether this GPU's work is being skipped through."""
        is_fold = self.state.span is not None and self.state.span.kind == "fold"
        return self.state.is_compressed and (gpu.layer > 0 or is_fold)

    def layer_words(self, gpu: GpuState) -> tuple[str, str]:
        """Layer at work, long and short; empty when none."""
        if not gpu.layer:
            return "", ""
        short = f"{gpu.layer}/{gpu.layers}"
        return self.scene.t("gpu.layer", layer=gpu.layer, layers=gpu.layers), short

    # ------------------------------------------------------------ a box

    def box(self, rect: Rect, gpu: GpuState) -> None:
        """A border with everything in it that its rows allow."""
        role = self.role_of(gpu)
        border = role if role not in {"wait"} or self.is_fast(gpu) else "border"
        if self.is_fast(gpu):
            border = "compute"
        self.canvas.box(rect, border)
        self._name(rect, gpu)
        inner = rect.inner(1 if rect.width >= PADDED else 0)
        lines = self._lines(inner.height)
        for y, line in zip(range(inner.y, inner.bottom), lines, strict=False):
            row = Rect(inner.x, y, inner.width, 1)
            if line == "state":
                self._state(row, gpu)
            elif line == "doing":
                self._doing(self._number_row(rect, row, gpu), gpu)
            elif line == "layers":
                self._layers(row, gpu)
            elif line == "kv":
                self._kv(row, gpu, has_text_row="kv_text" in lines)
            elif line == "kv_text":
                self._kv_text(row, gpu)
            elif line == "stage":
                self._stage(row, gpu)
            elif line == "experts":
                place = self.scene.mesh.stage_ranks(gpu.stage).index(gpu.rank)
                expert_row(self.canvas, self.view, row, place, 1)

    def _lines(self, rows: int) -> tuple[str, ...]:
        lines = self._usual_lines(rows)
        if load_of(self.view) is None or "layers" not in lines:
            return lines
        # Which layer it is stands in the row of the state as well.
        place = lines.index("" if lines.count("") > 1 else "layers")
        return (*lines[:place], "experts", *lines[place + 1 :])

    def _usual_lines(self, rows: int) -> tuple[str, ...]:
        return {
            2: ("state", "kv"),
            3: ("state", "doing", "kv"),
            4: ("state", "doing", "kv", "kv_text"),
            5: ("state", "doing", "layers", "kv", "kv_text"),
            6: ("stage", "state", "doing", "layers", "kv", "kv_text"),
            7: ("stage", "state", "doing", "layers", "", "kv", "kv_text"),
            8: ("stage", "", "state", "doing", "layers", "", "kv", "kv_text"),
        }.get(rows, ("stage", "", "state", "doing", "", "layers", "", "kv", "kv_text"))

    def _name(self, rect: Rect, gpu: GpuState) -> None:
        forms = self.names(gpu)
        # The narrowest boxes have room for the blanks or for the word before the rank.
        for pieces in forms if rect.width >= PADDED else ():
            if width_of(pieces) <= rect.width - 4:
                self.canvas.put(rect.x + 1, rect.y, " ")
                x = self.canvas.put_pieces(rect.x + 2, rect.y, pieces)
                self.canvas.put(x, rect.y, " ")
                return
        pieces = forms[-2] if width_of(forms[-2]) <= rect.width - 2 else forms[-1]
        self.canvas.put_pieces(rect.x + 1, rect.y, pieces, width=rect.width - 2)

    def _state(self, row: Rect, gpu: GpuState) -> None:
        sign, word = self.state_words(gpu)
        long_layer, short_layer = self.layer_words(gpu)
        role = "compute" if self.is_fast(gpu) else self.role_of(gpu)
        forms = (
            (f"{sign} {word}", long_layer),
            (f"{sign} {word}", short_layer),
            (sign, short_layer),
            (f"{sign}{short_layer}" if short_layer else f"{sign} {word}", ""),
        )
        left, right = next((form for form in forms if _fits(form, row.width)), (sign, ""))
        self.canvas.put(row.x, row.y, left, role, width=row.width)
        if right:
            self.canvas.put_right(row.right, row.y, (Piece(right, "text"),), width=row.width)

    def _doing(self, row: Rect, gpu: GpuState) -> None:
        span = self.state.span
        if span is None or self.is_fast(gpu):
            return
        if gpu.activity == "compute" and span.part:
            name = self.scene.t(f"part.{span.part}")
            x = self.canvas.put(row.x, row.y, name, "text", width=row.width) + 1
            self._bar(Rect(x, row.y, row.right - x, 1), self.state.span_progress, "compute")
        elif gpu.rank in self.held:
            self.numbers(row, self.held[gpu.rank])
        elif gpu.activity == "host":
            self.canvas.put(
                row.x, row.y, self.scene.t(f"host.{span.host_action}"), "dim", width=row.width
            )
        elif gpu.activity == "wait" and span.stage is not None and row.width >= 12:
            word = self.scene.t("gpu.waits_for", stage=span.stage + 1)
            self.canvas.put(row.x, row.y, word, "dim", width=row.width)

    def _number_row(self, rect: Rect, row: Rect, gpu: GpuState) -> Rect:
        """In narrow boxes numbers matter more than the blanks beside them."""
        is_tight = gpu.rank in self.held and self._vector_width(self.held[gpu.rank]) > row.width
        return Rect(rect.x + 1, row.y, rect.width - 2, 1) if is_tight and rect.width < 16 else row

    def _vector_width(self, held: Held) -> int:
        return len(held.now.values) * (self.digits + 1) + 1

    def numbers(self, row: Rect, held: Held) -> int:
        """The small vector: its numbers, or one sign a number where they do not fit."""
        values = held.now.values
        if self._vector_width(held) <= row.width:
            x = self.canvas.put(row.x, row.y, "[", "dim")
            for i, value in enumerate(values):
                text = ("·" if value is None else str(value)).rjust(self.digits)
                x = self.canvas.put(x, row.y, text, self._value_role(held, i))
                x = self.canvas.put(x, row.y, " " if i + 1 < len(values) else "]", "dim")
            if held.is_complete and x + 2 <= row.right:
                x = self.canvas.put(x, row.y, " ✓", "good")
            return x
        x = row.x
        for i in range(min(len(values), row.width)):
            x = self.canvas.put(x, row.y, self._value_sign(held, i), self._value_role(held, i))
        return x

    def _value_role(self, held: Held, i: int) -> str:
        if held.now.values[i] is None:
            return "dim"
        if held.now.is_final[i]:
            return "good"
        return "number" if held.now.values[i] == held.before.values[i] else "reduce"

    def _value_sign(self, held: Held, i: int) -> str:
        if held.now.values[i] is None:
            return "·"
        if held.now.is_final[i]:
            return "█"
        return "░" if held.now.values[i] == held.before.values[i] else "▒"

    def _layers(self, row: Rect, gpu: GpuState) -> None:
        if not gpu.layer:
            return
        label = self.scene.t("gpu.layers_label")
        x = self.canvas.put(row.x, row.y, label, "dim", width=row.width) + 1
        self._bar(Rect(x, row.y, row.right - x, 1), gpu.layer / gpu.layers, "compute")

    def _stage(self, row: Rect, gpu: GpuState) -> None:
        recording = self.scene.timeline.recording
        if recording is not None and not recording.has_layers:
            return
        long = self.scene.t(
            "gpu.stage", stage=gpu.stage + 1, first=gpu.first_layer, last=gpu.last_layer
        )
        short = self.scene.t("strip.stage", stage=gpu.stage + 1)
        text = long if cell_width(long) <= row.width else short
        self.canvas.put(row.x, row.y, text, "dim", width=row.width)

    # ------------------------------------------------------------ KV cache

    def _kv(self, row: Rect, gpu: GpuState, *, has_text_row: bool) -> None:
        """The bar, then as much of what it means and of the share as leaves it room."""
        x, right = row.x, row.right
        if row.width >= PADDED - 4:
            x = self.canvas.put(x, row.y, "KV ", "dim")
        full = self.scene.kv_full_bytes[gpu.rank]
        fill = Piece(fill_text(gpu.kv_bytes, full).rjust(widest_fill(full) + 1), "text")
        share = Piece(kv_share(self.scene, gpu).rjust(7), "dim")
        # Of a recording neither is known, and one dash says so.
        is_alone = has_text_row or self.scene.timeline.recording is not None
        forms = ((fill,),) if is_alone else ((fill, share), (fill,))
        for form in forms:
            if right - x - width_of(form) >= MIN_BAR:
                right = self.canvas.put_right(row.right, row.y, form, width=row.width)
                break
        self._bar(Rect(x, row.y, right - x, 1), self.kv_part(gpu), "kv")

    def _kv_text(self, row: Rect, gpu: GpuState) -> None:
        forms = kv_forms(self.scene, gpu)
        text = next((form for form in forms if cell_width(form) <= row.width), forms[-1])
        role = "dim" if gpu.kv_bytes <= gpu.kv_capacity_bytes else "strong"
        self.canvas.put(row.x, row.y, text, role, width=row.width)

    def kv_part(self, gpu: GpuState) -> float:
        """How much of the cache this GPU will hold at the end is there, 0..1."""
        full = self.scene.kv_full_bytes[gpu.rank]
        return gpu.kv_bytes / full if full else 0.0

    def _bar(self, row: Rect, part: float, role: str) -> None:
        bar(self.canvas, row, part, role)

    # ------------------------------------------------------------ a chip

    def chip(self, rect: Rect, gpu: GpuState) -> None:
        """A GPU in a few cells: rank, sign, and what fits of layer and KV bar."""
        role = "compute" if self.is_fast(gpu) else self.role_of(gpu)
        digits = len(str(self.scene.mesh.n_ranks - 1))
        sign = SIGNS["compute"] if self.is_fast(gpu) else SIGNS[gpu.activity]
        is_followed = gpu.rank == self.view.followed
        name = str(gpu.rank).rjust(digits)
        if is_followed:
            self.canvas.put(rect.x - 1, rect.y, FOLLOWED, "accent")
        x = self.canvas.put(rect.x, rect.y, name, "accent" if is_followed else "strong")
        x = self.canvas.put(x, rect.y, sign, role)
        room = rect.right - x
        # Room for the layer is kept or not, whether one is at work or none: bars stay in columns.
        label = len("{0}/{0}".format(max(stage.layers for stage in self.state.gpus.stages)))
        if room >= LEAST_CHIP + label:
            x = self.canvas.put(x + 1, rect.y, self.layer_words(gpu)[1].ljust(label), role)
            room = rect.right - x
        if room >= 5:
            bar(self.canvas, Rect(x + 1, rect.y, room - 2, 1), self.kv_part(gpu), "kv")


def bar(canvas: Canvas, row: Rect, part: float, role: str) -> None:
    """A bar of `row.width` cells; anything above nothing shows at least one full cell."""
    if row.width <= 0:
        return
    full = min(max(round(part * row.width), 1 if part > 0 else 0), row.width)
    x = canvas.put(row.x, row.y, FULL * full, role)
    canvas.put(x, row.y, FREE * (row.width - full), "kv_free")


def _fits(form: tuple[str, str], width: int) -> bool:
    left, right = form
    gap = 1 if right else 0
    return cell_width(left) + gap + cell_width(right) <= width
