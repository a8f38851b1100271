"""The primitive in use: its name and badge, and before » after on the replay's small numbers."""

from __future__ import annotations

from collections.abc import Sequence

from gpuflow.cells import cell_width
from gpuflow.draw.canvas import Canvas, Piece, Rect, width_of
from gpuflow.draw.follow import replay_in_view
from gpuflow.draw.gpu import GpuPainter
from gpuflow.draw.links import flow_role, span_labels
from gpuflow.draw.moves import Held, number_width
from gpuflow.draw.view import PlayView
from gpuflow.draw.wrap import wrap
from gpuflow.engine.state import SWITCH, Replay, ReplayRow
from gpuflow.engine.timeline import Span


def span_in_use(view: PlayView) -> Span | None:
    """The span whose primitive is in use; of layers skipped through, the first that has one."""
    span = view.state.span
    if span is not None and view.state.is_compressed:
        step = view.state.step
        spans = view.scene.timeline.spans[step.first_span : step.last_span]
        alike = (s for s in spans if s.layer and s.stage == span.stage and s.collective)
        return next(alike, None)
    return span if span is not None and span.collective else None


def card_id(span: Span | None) -> str | None:
    """The card of a span's primitive, as the locale files name it; None when it has none."""
    if span is None or span.collective is None:
        return None
    if span.collective == "broadcast":
        return "broadcast_token" if span.payload == "token" else "broadcast_input"
    return span.collective


def messages_text(view: PlayView, span: Span) -> str:
    """How often the step sends this message; empty when once."""
    step = view.state.step
    spans = view.scene.timeline.spans[step.first_span : step.last_span]
    count = sum(s.collective == span.collective and s.payload == span.payload for s in spans)
    return view.scene.t("primitive.messages", count=count) if count > 1 else ""


def vector_text(row: ReplayRow, digits: int) -> str:
    """A small vector as people write it: `[3 1 4 1]`."""
    values = ("·" if value is None else str(value) for value in row.values)
    return f"[{' '.join(value.rjust(digits) for value in values)}]"


def draw_primitive_row(canvas: Canvas, view: PlayView, x: int, y: int, width: int) -> None:
    """All of it in one row."""
    label = _label(view)
    span = span_in_use(view)
    card = card_id(span)
    if span is None or card is None:
        canvas.put_pieces(x, y, (label, *_none_pieces(view)), width=width)
        return
    role = flow_role(span)
    name = [
        label,
        Piece(view.scene.word(f"card.{card}.title"), role),
        Piece(f" · {view.scene.word(f'card.{card}.badge')}", "dim"),
    ]
    room = width - width_of(name) - 2
    picture = _row_picture(view, span, card, room)
    x = canvas.put_pieces(x, y, name, width=width)
    canvas.put_pieces(x + 2, y, picture, width=room)


def _label(view: PlayView) -> Piece:
    """What the row or panel is; a Chinese colon brings its own blank."""
    text = view.scene.t("primitive.label")
    return Piece(text if view.scene.language == "zh" else f"{text} ", "dim")


def _none_pieces(view: PlayView) -> list[Piece]:
    pieces = [Piece(view.scene.t("primitive.none"), "strong")]
    span = view.state.span
    if view.state.step.is_idle:
        return pieces
    if span is not None and span.part:
        part = view.scene.t(f"part.{span.part}")
        pieces.append(Piece(f" · {view.scene.t('primitive.computing', part=part)}", "dim"))
    return pieces


def _row_picture(view: PlayView, span: Span, card: str, room: int) -> list[Piece]:
    """Before » after and the round, as much of it as fits; letters where numbers do not."""
    arrow = Piece(" » ", "accent")
    letters = [
        Piece(view.scene.word(f"card.{card}.before"), "number"),
        arrow,
        Piece(view.scene.word(f"card.{card}.after"), "good"),
    ]
    replay = replay_in_view(view)
    if replay is None:
        count = Piece(f"  {messages_text(view, span)}", "dim")
        return next((f for f in ([*letters, count], letters) if width_of(f) <= room), [])
    digits = number_width(replay)
    before = [f"GPU{row.rank} {vector_text(row, digits)}" for row in replay.before]
    after = [vector_text(row, digits) for row in replay.after]
    if len(set(after)) == 1:
        result = f"{after[0]} {view.scene.t('primitive.each')}"
    else:
        result = " ".join(after)
    rounds = view.scene.t(
        "primitive.rounds", algorithm=replay.algorithm, round=replay.round, rounds=replay.rounds
    )
    now = Piece(" ".join(before), "number")
    then = Piece(result, "good")
    short = Piece(" ".join(vector_text(row, digits) for row in replay.before), "number")
    tail = Piece(f"  {rounds}", "dim")
    for form in (
        [now, arrow, then, tail],
        [short, arrow, then, tail],
        [now, arrow, then],
        [short, arrow, then],
        [*letters, tail],
        letters,
        [Piece(rounds, "dim")],
    ):
        if width_of(form) <= room:
            return form
    return []


def draw_primitive_panel(canvas: Canvas, view: PlayView, area: Rect) -> None:
    """A framed panel: name and badge in the border, the vectors before, now and after."""
    span = span_in_use(view)
    card = card_id(span)
    label = _label(view)
    if span is None or card is None:
        none, *work = _none_pieces(view)
        canvas.box(area, "border", title=(label, none))
        inner = area.inner(1)
        work = [Piece(piece.text.removeprefix(" · "), piece.role) for piece in work]
        canvas.put_pieces(inner.x, inner.y, work, width=inner.width)
        return
    role = flow_role(span)
    title = [label, Piece(view.scene.word(f"card.{card}.title"), role)]
    badge = Piece(view.scene.word(f"card.{card}.badge"), "accent")
    canvas.box(area, role, title=title, right_title=(badge,))
    inner = area.inner(1)
    _panel_words(canvas, view, span, inner)
    replay = replay_in_view(view)
    rest = Rect(inner.x, inner.y + 1, inner.width, inner.height - 1)
    if replay is None:
        pieces = (
            Piece(view.scene.word(f"card.{card}.before"), "number"),
            Piece("  »  ", "accent"),
            Piece(view.scene.word(f"card.{card}.after"), "good"),
        )
        canvas.put_pieces(rest.x, rest.y + 1, pieces, width=rest.width)
        return
    _table(canvas, view, replay, rest)


def _panel_words(canvas: Canvas, view: PlayView, span: Span, inner: Rect) -> None:
    """The real message in words: size, time, rate, how often, where the time comes from."""
    scene, replay = view.scene, replay_in_view(view)
    words = [messages_text(view, span)]
    if replay is not None:
        words.append(
            scene.t(
                "primitive.rounds",
                algorithm=replay.algorithm,
                round=replay.round,
                rounds=replay.rounds,
            )
        )
    words.append(scene.t(f"source.{span.time_source}"))
    label = Piece(span_labels(view, span)[0], flow_role(span))
    for count in range(len(words), -1, -1):
        tail = "".join(f"   {word}" for word in words[:count] if word)
        if width_of((label, Piece(tail))) <= inner.width or not count:
            canvas.put_pieces(inner.x, inner.y, (label, Piece(tail, "dim")), width=inner.width)
            return


def _table(canvas: Canvas, view: PlayView, replay: Replay, area: Rect) -> None:
    """One row a rank: before » now » after; several ranks beside each other where rows lack."""
    painter = GpuPainter(canvas, view, {}, number_width(replay))
    columns = _columns(view, replay, with_heading=area.height > len(replay.now))
    if area.height > len(replay.now):
        x = area.x
        for word, width in zip(("", *_headings(view)), columns, strict=True):
            canvas.put(x, area.y, word, "dim", width=width)
            x += width
        area = Rect(area.x, area.y + 1, area.width, area.height - 1)
    room = max(area.height, 0)
    beside = -(-len(replay.now) // room) if room else 0
    if not room or sum(columns) * beside > area.width:
        _short_table(canvas, painter, replay, area)
        return
    for i, held in enumerate(_held(replay)):
        x, y = area.x + (i // room) * sum(columns), area.y + i % room
        _table_row(canvas, painter, held, x, y, columns)
    below = area.y + min(len(replay.now), room) + 1
    if below < area.bottom:
        _transfers(canvas, view, replay, Rect(area.x, below, area.width, area.bottom - below))


def _held(replay: Replay) -> list[Held]:
    return [Held(*rows) for rows in zip(replay.before, replay.now, replay.after, strict=True)]


def _headings(view: PlayView) -> tuple[str, str, str]:
    scene = view.scene
    before, after = scene.word("primitives.before"), scene.word("primitives.after")
    return before, scene.t("primitive.now"), after


def _columns(view: PlayView, replay: Replay, *, with_heading: bool) -> tuple[int, ...]:
    """Cells of name, before, now and after, each with the gap behind it."""
    name = len(f"GPU{max(row.rank for row in replay.now)}") + 1
    vector = len(replay.now[0].values) * (number_width(replay) + 1) + 1
    words = _headings(view) if with_heading else ("", "", "")
    before, now, after = (max(vector, cell_width(word)) for word in words)
    # Behind the second vector there is room for its check mark.
    return name, before + 3, max(vector + 2, now) + 3, after + 2


def _table_row(
    canvas: Canvas, painter: GpuPainter, held: Held, x: int, y: int, columns: Sequence[int]
) -> None:
    name, before, now, _ = columns
    canvas.put(x, y, f"GPU{held.now.rank}", "strong")
    x += name
    canvas.put(x, y, vector_text(held.before, painter.digits), "number")
    canvas.put(x + before - 2, y, "»", "dim")
    x += before
    painter.numbers(Rect(x, y, now, 1), held)
    canvas.put(x + now - 2, y, "»", "dim")
    canvas.put(x + now, y, vector_text(held.after, painter.digits), "good")


def _transfers(canvas: Canvas, view: PlayView, replay: Replay, area: Rect) -> None:
    """Who sends to whom in the round under way."""
    switch = view.scene.word("explore.switch")
    ends = [[switch if end == SWITCH else f"GPU{end}" for end in p] for p in replay.transfers]
    pairs = "  ".join(f"{source} » {to}" for source, to in ends)
    if pairs:
        label = view.scene.t("primitive.sends", round=replay.round + 1)
        for y, line in enumerate(wrap(f"{label} {pairs}", area.width)[: area.height], area.y):
            canvas.put(area.x, y, line, flow_role(view.state.span), width=area.width)


def _short_table(canvas: Canvas, painter: GpuPainter, replay: Replay, area: Rect) -> None:
    """Only what each rank holds now, one sign a number where numbers do not fit."""
    if area.height <= 0:
        return
    beside = -(-len(replay.now) // area.height)
    width = area.width // beside
    name_width = len(f"GPU{max(row.rank for row in replay.now)}") + 1
    for i, held in enumerate(_held(replay)):
        x, y = area.x + (i // area.height) * width, area.y + i % area.height
        end = x
        if name_width + 3 <= width:
            canvas.put(x, y, f"GPU{held.now.rank}", "strong")
            end = x + name_width
        painter.numbers(Rect(end, y, x + width - 1 - end, 1), held)
