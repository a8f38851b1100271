from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuflow.cells import cell_width
from gpuflow.draw.canvas import Canvas, Piece, Rect
from gpuflow.draw.frame import Frame


def lines(canvas: Canvas) -> list[str]:
    return ["".join(run.text for run in row) for row in canvas.rows()]


def is_whole(frame: Frame) -> bool:
    widths = {sum(cell_width(run.text) for run in row) for row in frame.rows}
    return widths <= {frame.width} and len(frame.rows) == frame.height


def test_text_that_does_not_fit_ends_in_an_ellipsis() -> None:
    canvas = Canvas(8, 1)
    canvas.put(2, 0, "pipeline")
    assert lines(canvas) == ["  pipel…"]


def test_a_wide_character_at_the_edge_is_left_out_whole() -> None:
    canvas = Canvas(6, 1)
    canvas.put(1, 0, "流水线并行")
    assert lines(canvas) == [" 流水…"]


@pytest.mark.parametrize(("x", "shown"), [(0, "x 水"), (1, " x水"), (2, "流x "), (3, "流 x")])
def test_half_of_a_wide_character_never_stays_behind(x: int, shown: str) -> None:
    canvas = Canvas(4, 1)
    canvas.put(0, 0, "流水")
    canvas.put(x, 0, "x")
    assert lines(canvas) == [shown]


def test_nothing_is_drawn_outside() -> None:
    canvas = Canvas(3, 2)
    for x, y in ((-5, 0), (0, -1), (0, 2), (3, 0)):
        canvas.put(x, y, "abc")
    assert lines(canvas) == ["   ", "   "]


def test_a_box_holds_its_titles_between_blanks() -> None:
    canvas = Canvas(30, 3)
    canvas.box(
        Rect(0, 0, 30, 3), title=(Piece("层 1"),), right_title=(Piece("note"),), foot=(Piece("ok"),)
    )
    assert lines(canvas) == [
        "╭ 层 1 ─────────────── note ─╮",
        "│                            │",
        "╰──────────── ok ────────────╯",
    ]


def test_a_title_gives_way_to_the_corner() -> None:
    canvas = Canvas(10, 2)
    canvas.box(Rect(0, 0, 10, 2), title=(Piece("a long title"),))
    assert lines(canvas)[0] == "╭ a lon… ╮"


def test_pieces_end_in_an_ellipsis_also_where_the_first_fits_exactly() -> None:
    canvas = Canvas(5, 1)
    canvas.put_pieces(0, 0, (Piece("abcde"), Piece("f")))
    assert lines(canvas) == ["abcd…"]


@given(
    st.integers(1, 24),
    st.integers(1, 4),
    st.lists(
        st.tuples(
            st.integers(-4, 26), st.integers(-1, 4), st.text("ab─层，e\u0301⏩", max_size=12)
        ),
        max_size=12,
    ),
)
def test_rows_are_always_exactly_as_wide_as_the_canvas(
    width: int, height: int, texts: list[tuple[int, int, str]]
) -> None:
    canvas = Canvas(width, height)
    for x, y, text in texts:
        canvas.put(x, y, text, "dim")
    assert is_whole(canvas.to_frame())
