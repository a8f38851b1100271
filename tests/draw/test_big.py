"""Big mode: whole screens compared with golden/, numerals, and what it says."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gpuflow.draw.ascii import to_ascii
from gpuflow.draw.big import big_figures, fits_big, sentence
from gpuflow.draw.canvas import Canvas
from gpuflow.draw.numerals import HALF_ROWS, draw_halves, draw_wholes, numeral_width
from gpuflow.draw.play import draw_play, page_count
from gpuflow.draw.view import Caption, Mode, PlayView
from gpuflow.engine.moment import Moments
from gpuflow.scenario.spec import Language
from gpuflow.units import format_bytes

GOLDEN = Path(__file__).parent / "golden"
SIZES = ((60, 20), (80, 24), (200, 60))
LANGUAGES: tuple[Language, ...] = ("zh", "en")
MOMENTS = (("all-reduce", 2, "all_reduce"), ("hand-over", 3, "send"), ("decode", 7, "compute"))
CASES = [
    (moment, size, language) for moment in MOMENTS[:1] for size in SIZES for language in LANGUAGES
]
CASES += [(MOMENTS[1], (120, 40), "zh"), (MOMENTS[1], (80, 24), "en"), (MOMENTS[2], (80, 24), "zh")]
Case = tuple[tuple[str, int, str], tuple[int, int], Language]


def case_name(case: Case) -> str:
    (name, _, _), (width, height), language = case
    return f"big-{name}-{width}x{height}-{language}"


@pytest.mark.parametrize("case", CASES, ids=case_name)
def test_the_screen_looks_as_it_was_approved(
    case: Case,
    moments_of: Callable[..., Moments],
    middle_of: Callable[[Moments, int, str], float],
    view_at: Callable[..., PlayView],
) -> None:
    (_, step, kind), size, language = case
    screen_s = middle_of(moments_of("tp2-pp2"), step, kind)
    text = draw_play(view_at(size, language, screen_s, is_big=True)).text()
    file = GOLDEN / f"{case_name(case)}.txt"
    if os.environ.get("GPUFLOW_UPDATE_GOLDEN"):
        file.write_text(f"{text}\n", "utf-8")
    assert f"{text}\n" == file.read_text("utf-8")


@pytest.mark.parametrize("size", [(59, 20), (60, 19), (40, 10)])
def test_a_smaller_screen_shows_what_it_always_shows(
    size: tuple[int, int], view_at: Callable[..., PlayView]
) -> None:
    assert not fits_big(*size)
    big, usual = (draw_play(view_at(size, "en", 5.0, is_big=is_big)) for is_big in (True, False))
    assert big == usual


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("scenario", ["tp2-pp2", "moe-ep4"])
def test_every_step_has_its_sentence_and_its_stage(
    scenario: str,
    language: Language,
    moments_of: Callable[..., Moments],
    view_at: Callable[..., PlayView],
) -> None:
    pace = moments_of(scenario).pace
    for step in range(8):
        for size in ((60, 20), (100, 30), (200, 60)):
            view = view_at(size, language, pace.step_start(step) + 0.1, scenario, is_big=True)
            frame = draw_play(view)
            assert (frame.width, frame.height) == size
            text = frame.text()
            assert "GPU" in text
            assert "Stage" in text
            assert sentence(view)[:12] in text


def test_the_second_figure_is_the_message_or_what_is_known_last(
    moments_of: Callable[..., Moments],
    middle_of: Callable[[Moments, int, str], float],
    view_at: Callable[..., PlayView],
) -> None:
    moments = moments_of("tp2-pp2")
    view = view_at((80, 24), "en", middle_of(moments, 2, "all_reduce"), is_big=True)
    span = view.state.span
    assert span is not None
    clock, figure = big_figures(view)
    assert f"{figure.number} {figure.unit}" == format_bytes(span.message_size_bytes)
    assert clock.unit == "ms"
    late = view_at((80, 24), "en", moments.pace.duration_s, is_big=True)
    assert big_figures(late)[1].label.startswith("TPOT")
    decode = view_at((80, 24), "en", middle_of(moments, 6, "compute"), is_big=True)
    assert big_figures(decode)[1].label.startswith("TTFT")


def test_a_question_stands_in_the_sentence_s_place(view_at: Callable[..., PlayView]) -> None:
    caption = Caption(title="Question", lead="How large?", text="A) 1 B | B) 2 B\n" * 9, hint="any")
    view = view_at((80, 24), "en", 5.0, is_big=True, caption=caption)
    text = draw_play(view).text()
    assert "Question" in text
    assert "How large?" in text
    assert page_count(view) > 1


@pytest.mark.parametrize("text", ["0.123", "456.789", "1,024", "–"])
def test_numerals_are_as_wide_as_they_say(text: str) -> None:
    canvas = Canvas(60, 8)
    assert draw_halves(canvas, 1, 1, text, "clock") == 1 + numeral_width(text)
    assert draw_wholes(canvas, 1, 1, text, "clock", scale=2) == 1 + numeral_width(text, 2)
    assert HALF_ROWS == 3


def test_every_digit_has_a_shape_of_its_own() -> None:
    shapes = set()
    for digit in "0123456789":
        canvas = Canvas(8, 3)
        draw_halves(canvas, 0, 0, digit, "clock")
        shapes.add(canvas.to_frame().text())
    assert len(shapes) == 10


def test_the_ascii_twin_is_ascii(view_at: Callable[..., PlayView]) -> None:
    view = view_at((80, 24), "en", 5.0, is_big=True, is_ascii=True)
    text = to_ascii(draw_play(view)).text()
    assert text.isascii()
    assert "?" not in text.replace("? help", "")
    assert text.count("###") > 4


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_tour_and_a_question_keep_their_keys_to_themselves(
    language: Language, view_at: Callable[..., PlayView]
) -> None:
    def last_row(mode: Mode) -> str:
        caption = Caption(title="T", lead="L", text="", hint="h", mode=mode)
        view = view_at((80, 24), language, 5.0, is_big=True, caption=caption)
        return draw_play(view).text().split("\n")[-1]

    assert "←→" in last_row("play")
    assert "?" in last_row("tour")
    assert "←→" not in last_row("tour")
    assert last_row("question") == ""


def test_a_sentence_that_is_cut_says_so(view_at: Callable[..., PlayView]) -> None:
    view = view_at((60, 20), "en", 5.0, is_big=True)
    long = replace(view.texts, takeaway="long words " * 60)
    scene = replace(view.scene, texts=(long,) * len(view.scene.texts))
    assert "words…" in draw_play(replace(view, scene=scene)).text()
    assert "…" not in draw_play(view).text()
