from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gpuflow.cells import cell_width
from gpuflow.draw.wrap import pages, wrap, wrap_into


def test_english_breaks_at_blanks() -> None:
    assert wrap("each GPU holds half of it", 10) == ["each GPU", "holds half", "of it"]


def test_chinese_breaks_anywhere_but_before_closing_punctuation() -> None:
    assert wrap("张量并行，流水线。", 8) == ["张量并", "行，流水", "线。"]


def test_opening_punctuation_does_not_end_a_line() -> None:
    assert wrap("部分和（求和）", 8) == ["部分和", "（求和）"]


def test_a_word_longer_than_the_line_is_broken() -> None:
    assert wrap("reduce_scatter x", 6) == ["reduce", "_scatt", "er x"]


def test_a_line_break_in_the_text_stays() -> None:
    assert wrap("one\ntwo", 10) == ["one", "two"]


def test_pages_that_go_on_end_in_an_ellipsis() -> None:
    assert pages(["a", "b", "c"], 2) == [["a", "b…"], ["c"]]
    assert pages([], 2) == [[]]


def test_a_figure_stays_with_its_unit_and_a_formula_with_its_factor() -> None:
    assert wrap("a message of 19.3 µs.", 18) == ["a message of", "19.3 µs."]
    assert wrap("每条 4 MiB，用 8 个", 8) == ["每条", "4 MiB，", "用 8 个"]
    assert wrap("sends (n−1) · S each", 13) == ["sends (n−1)", "· S each"]
    assert wrap("in 3 steps of 5 GPUs", 4) == ["in 3", "step", "s of", "5", "GPUs"]


@given(st.text("ab 层，。（）-", max_size=60), st.integers(2, 20))
def test_no_line_is_too_wide_and_no_word_is_lost(text: str, width: int) -> None:
    found = wrap(text, width)
    assert all(cell_width(line) <= width for line in found)
    assert "".join("".join(found).split()) == "".join(text.split())


WORDS = st.lists(st.sampled_from(["NCCL", "ring", "每层", "算法", "，", "Key/Value", "2", "MiB"]))


@given(WORDS.map(" ".join), st.integers(1, 4), st.integers(6, 40))
def test_what_does_not_fit_into_so_many_lines_stays_whole_in_the_last(
    text: str, most: int, width: int
) -> None:
    lines, whole = wrap_into(text, width, most), wrap(text, width)
    if len(whole) <= most:
        assert lines == whole
        return
    assert lines[:-1] == whole[: most - 1]
    # Blanks at the ends of lines are all that is lost, in either language.
    assert text.endswith(lines[-1])
    assert "".join("".join(lines).split()) == "".join(text.split())
