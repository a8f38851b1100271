"""The glossary screen: the terms of the present step first, then all others in their groups."""

from __future__ import annotations

from collections.abc import Sequence

from gpuflow.draw.canvas import Piece
from gpuflow.draw.frame import Frame
from gpuflow.draw.page import Block, Line, Page
from gpuflow.draw.step_terms import terms_of_step
from gpuflow.draw.terms import Term, glossary, group_names, in_both
from gpuflow.draw.view import Scene

TWO_COLUMNS = 110


def draw_glossary(scene: Scene, width: int, *, step: int, is_ascii: bool = False) -> Frame:
    """The whole screen at a width.

    Args:
        scene: Language and timeline.
        width: Cells.
        step: Index of the present step.
        is_ascii: Leave out what ASCII has no signs for: the names in Chinese.
    """
    page = Page(width)
    page.words(Piece(scene.word("glossary.heading"), "title"))
    page.paragraph(scene.word("glossary.subheading"), "subtitle")
    mine = terms_of_step(scene.timeline, step)
    heading = scene.word("glossary.of_step", step=step + 1, title=scene.texts[step].title)
    blocks = [_block(scene, f"▶ {heading}", mine, is_ascii=is_ascii, is_lit=True)]
    others = [term for term in glossary().values() if term not in mine]
    for group, name in group_names().items():
        terms = [term for term in others if term.group == group]
        if terms:
            title = name.in_language(scene.language)
            blocks.append(_block(scene, title, terms, is_ascii=is_ascii))
    for block in blocks if width < TWO_COLUMNS else ():
        page.beside((block,))
    if width >= TWO_COLUMNS:
        page.columns(_halves(blocks, width))
    return page.to_frame()


def _halves(blocks: Sequence[Block], width: int) -> tuple[Sequence[Block], Sequence[Block]]:
    """Two columns of about the same height, the order kept."""
    heights = [block.height((width - 1) // 2) for block in blocks]
    cut = min(
        range(1, len(blocks)), key=lambda n: abs(sum(heights[:n]) - sum(heights[n:])), default=1
    )
    return blocks[:cut], blocks[cut:]


def _block(
    scene: Scene,
    title: str,
    terms: Sequence[Term],
    *,
    is_ascii: bool,
    is_lit: bool = False,
) -> Block:
    lines: list[Line] = []
    for term in terms:
        lines += _entry(scene, term, is_ascii=is_ascii)
    return Block(
        title=(Piece(title, "title"),),
        lines=tuple(lines),
        role="border_lit" if is_lit else "border",
    )


def _entry(scene: Scene, term: Term, *, is_ascii: bool) -> list[Line]:
    mine, other = in_both(term, scene.language)
    name = [Piece(mine, "strong")]
    if other and not is_ascii:
        name.append(Piece(f"  {other}", "accent"))
    seen = scene.word("glossary.seen", place=term.seen.in_language(scene.language))
    return [
        Line(pieces=tuple(name)),
        Line(term.text.in_language(scene.language), indent=2),
        Line(seen, "dim", indent=2),
    ]
