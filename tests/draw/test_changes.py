from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuflow.cells import cell_width
from gpuflow.draw.canvas import Canvas
from gpuflow.draw.changes import changed_span
from gpuflow.draw.frame import Row

WIDTH = 12


def row(text: str, role: str = "text") -> Row:
    canvas = Canvas(WIDTH, 1)
    canvas.put(0, 0, text, role)
    return canvas.rows()[0]


def cells(line: Row) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for text, role in line:
        for character in text:
            found += [(character, role)] + [("", role)] * (cell_width(character) - 1)
    return found


def test_equal_rows_have_not_changed() -> None:
    assert changed_span(row("abc"), row("abc")) is None


def test_only_what_differs_is_in_the_span() -> None:
    assert changed_span(row("abcdef"), row("abXdef")) == (2, 3)


def test_a_role_is_a_difference_too() -> None:
    assert changed_span(row("ab"), row("ab", "dim")) == (0, 2)


def test_the_span_takes_in_whole_wide_characters() -> None:
    assert changed_span(row("a层b"), row("a水b")) == (1, 3)
    assert changed_span(row("层层"), row("a层b")) == (0, 4)


@given(st.text("ab层─", max_size=14), st.text("ab层─", max_size=14))
def test_putting_the_span_over_the_old_row_gives_the_new_one(before: str, after: str) -> None:
    old, new = row(before), row(after, "text")
    span = changed_span(old, new)
    if span is None:
        assert cells(old) == cells(new)
        return
    first, last = span
    merged = cells(old)[:first] + cells(new)[first:last] + cells(old)[last:]
    assert merged == cells(new)
    assert cells(old)[first][0] != ""
    assert last == WIDTH or cells(old)[last][0] != ""
