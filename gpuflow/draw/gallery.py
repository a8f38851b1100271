"""The primitives screen: ten cards in the seed's order, each played on real small numbers."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from gpuflow.collectives.algorithms import default_algorithm
from gpuflow.collectives.small import SmallReplay, SmallRow, small_replay
from gpuflow.draw.canvas import Piece
from gpuflow.draw.frame import Frame
from gpuflow.draw.page import Block, Line, Page
from gpuflow.draw.primitive import card_id
from gpuflow.draw.view import Scene

REST_BEATS = 3
"""How many beats the result stands before a card starts again."""


@dataclass(frozen=True, slots=True)
class Card:
    """One primitive of the gallery; `card.<id>.*` are its words."""

    id: str
    collective: str
    ranks: int
    role: str


CARDS: tuple[Card, ...] = (
    Card("all_reduce", "all_reduce", 2, "tp"),
    Card("all_gather", "all_gather", 2, "tp"),
    Card("all_to_all", "all_to_all", 2, "ep"),
    Card("send_recv", "send_recv", 2, "pp"),
    Card("broadcast_input", "broadcast", 2, "host"),
    Card("scatter", "scatter", 2, "tp"),
    Card("gather", "gather", 2, "host"),
    Card("broadcast_token", "broadcast", 2, "host"),
)
TRAINING_CARDS: tuple[Card, ...] = (
    Card("reduce_scatter", "reduce_scatter", 3, "tp"),
    Card("reduce", "reduce", 3, "tp"),
)


def cards_of_step(scene: Scene, step: int) -> tuple[str, ...]:
    """Ids of the cards that a step uses, in the order of their first use."""
    times = scene.timeline.steps[step]
    spans = scene.timeline.spans[times.first_span : times.last_span]
    found = (card_id(span) for span in spans)
    return tuple(dict.fromkeys(card for card in found if card is not None))


def draw_primitives(scene: Scene, width: int, *, current: Collection[str], beat: int) -> Frame:
    """The gallery at a width, as tall as it needs to be.

    Args:
        scene: Words and timeline.
        width: Cells.
        current: Ids of the cards that the current step uses.
        beat: Counts up while the cards play; every card goes through its rounds with it.
    """
    page = Page(width)
    page.words(
        Piece(f"📡 {scene.word('primitives.heading')}", "title"),
        Piece(f"   {scene.word('primitives.subheading')}", "subtitle"),
    )
    used = " · ".join(scene.word(f"card.{card}.title") for card in current)
    page.words(
        Piece(f"{scene.word('primitives.current')}  ", "dim"),
        Piece(used or scene.word("primitives.none"), "accent" if current else "strong"),
    )
    page.paragraph(scene.word("primitives.legend"), "dim")
    columns = 1 if width < 110 else 2 if width < 180 else 3
    _rows(page, scene, CARDS, columns, current, beat)
    page.blank()
    page.words(Piece(scene.word("primitives.training_heading"), "title"))
    _rows(page, scene, TRAINING_CARDS, min(columns, 2), current, beat)
    return page.to_frame()


def _rows(
    page: Page,
    scene: Scene,
    cards: Sequence[Card],
    columns: int,
    current: Collection[str],
    beat: int,
) -> None:
    for start in range(0, len(cards), columns):
        blocks = [
            card_block(scene, card, is_lit=card.id in current, beat=beat)
            for card in cards[start : start + columns]
        ]
        page.beside(blocks)


def card_block(scene: Scene, card: Card, *, is_lit: bool, beat: int) -> Block:
    """One card with its numbers as they stand at a beat."""
    replay = small_replay(card.collective, default_algorithm(card.collective), card.ranks)
    done = beat % (len(replay.rounds) + REST_BEATS + 1)
    done = min(done, len(replay.rounds))

    def word(part: str) -> str:
        return scene.word(f"card.{card.id}.{part}")

    letters = Line(
        pieces=(
            Piece(word("before"), "number"),
            Piece("  »  ", "accent"),
            Piece(word("after"), "good"),
        )
    )
    lines = [
        letters,
        *_numbers(replay, done, card.role),
        _round(scene, replay, done, card.role),
        Line(word("text"), "strong" if is_lit else "text"),
        _labelled(scene, "cost", word("cost")),
        _labelled(scene, "honest", word("note")),
    ]
    foot = (Piece(scene.word("primitives.current"), "accent"),) if is_lit else ()
    return Block(
        title=(Piece(f"▶ {word('title')}" if is_lit else word("title"), card.role),),
        right_title=(Piece(word("badge"), "accent" if is_lit else "dim"),),
        lines=tuple(lines),
        foot=foot,
        role="accent" if is_lit else "border",
    )


def _labelled(scene: Scene, key: str, text: str) -> Line:
    colon = "：" if scene.language == "zh" else ": "
    return Line(f"{scene.word(f'primitives.{key}')}{colon}{text}", "dim")


def _numbers(replay: SmallReplay, done: int, role: str) -> list[Line]:
    """A line a peer: what it has at the start, and now."""
    digits = _digits(replay)
    now = replay.rows_after(done)
    return [
        Line(
            pieces=(
                Piece(f"GPU{row.peer} ", "strong"),
                Piece(_vector(before.values, digits), "number"),
                Piece(" » ", role),
                Piece("[", "dim"),
                *_values(before, row, digits),
                Piece("]", "dim"),
                Piece(" ✓" if done and row == after and any(row.is_final) else "", "good"),
            )
        )
        for before, row, after in zip(replay.before, now, replay.after, strict=True)
    ]


def _digits(replay: SmallReplay) -> int:
    rows = (*replay.before, *replay.after)
    return max(len(str(v)) for row in rows for v in row.values if v is not None)


def _vector(values: Sequence[int | None], digits: int) -> str:
    return f"[{' '.join(('·' if v is None else str(v)).rjust(digits) for v in values)}]"


def _values(before: SmallRow, now: SmallRow, digits: int) -> list[Piece]:
    pieces: list[Piece] = []
    for i, value in enumerate(now.values):
        text = ("·" if value is None else str(value)).rjust(digits)
        role = "dim" if value is None else "good" if now.is_final[i] else "number"
        if role == "number" and value != before.values[i]:
            role = "reduce"
        pieces.append(Piece(f"{' ' if i else ''}{text}", role))
    return pieces


def _round(scene: Scene, replay: SmallReplay, done: int, role: str) -> Line:
    """The round just done: who sent to whom, and whether it was added."""
    count = scene.t(
        "primitive.rounds", algorithm=replay.algorithm, round=done, rounds=len(replay.rounds)
    )
    if not done:
        return Line(pieces=(Piece(count, "dim"),))
    last = replay.rounds[done - 1]
    arrows = "  ".join(
        f"{a}»{b}{'+' if add else ''}"
        for (a, b), add in zip(last.transfers, last.adds, strict=True)
    )
    return Line(pieces=(Piece(f"{count}:  ", "dim"), Piece(arrows, role)))
