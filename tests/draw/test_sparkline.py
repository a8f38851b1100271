"""Braille columns, their ASCII twin, and the curves made of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuflow.cells import cell_width
from gpuflow.draw.ascii import ascii_text
from gpuflow.draw.sparkline import HEIGHT, sparkline
from gpuflow.draw.trends import resampled


@given(st.lists(st.floats(0, 1), max_size=80))
def test_two_values_take_one_cell_and_their_ascii_as_many(parts: list[float]) -> None:
    text = sparkline(parts)
    assert cell_width(text) == len(text) == -(-len(parts) // 2)
    assert len(ascii_text(text)) == len(text)
    assert ascii_text(text).isascii()
    assert "?" not in ascii_text(text)


def test_higher_values_have_more_dots_in_braille_and_ascii() -> None:
    levels = [sparkline([i / HEIGHT, i / HEIGHT]) for i in range(HEIGHT + 1)]
    assert levels == [" ", "⣀", "⣤", "⣶", "⣿"]
    assert ascii_text("".join(levels)) == " :=*#"


def test_next_to_nothing_is_not_nothing() -> None:
    assert sparkline([1e-9]) == sparkline([1 / HEIGHT])
    assert sparkline([7.0]) == sparkline([1.0])


@given(st.lists(st.floats(0, 1), min_size=1, max_size=200), st.integers(1, 200))
def test_resampling_keeps_within_what_was_there(values: list[float], size: int) -> None:
    found = resampled(values, size)
    assert len(found) == size
    assert min(values) - 1e-9 <= min(found)
    assert max(found) <= max(values) + 1e-9
