"""Small screens: the stage at work, then words, each complete in its way."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpuflow.cells import cell_width
from gpuflow.draw.compact import compact_layout
from gpuflow.draw.play import draw_play, page_count
from gpuflow.draw.view import PlayView
from gpuflow.engine.moment import Moments
from gpuflow.scenario.spec import Language

LANGUAGES: tuple[Language, ...] = ("zh", "en")
SIZES = ((60, 16), (60, 20), (79, 30), (120, 12), (40, 10), (45, 24), (59, 40))


def squeezed(text: str) -> str:
    return "".join(text.split())


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("size", SIZES)
def test_every_moment_fills_its_size(
    size: tuple[int, int],
    language: Language,
    view_at: Callable[..., PlayView],
    moments_of: Callable[..., Moments],
) -> None:
    for part in range(21):
        screen_s = moments_of().pace.duration_s * part / 20
        frame = draw_play(view_at(size, language, screen_s))
        assert len(frame.rows) == size[1]
        assert {sum(cell_width(run.text) for run in row) for row in frame.rows} == {size[0]}


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_stage_at_work_is_the_one_shown(
    language: Language,
    view_at: Callable[..., PlayView],
    moments_of: Callable[..., Moments],
    middle_of: Callable[[Moments, int, str], float],
) -> None:
    moments = moments_of()
    for step, here, elsewhere in ((2, "Stage 1 ·", "Stage 2 ·"), (4, "Stage 2 ·", "Stage 1 ·")):
        view = view_at((60, 20), language, middle_of(moments, step, "all_reduce"))
        layout = compact_layout(view)
        rows = draw_play(view).text().splitlines()[layout.stage.y : layout.stage.bottom]
        assert here in "\n".join(rows)
        assert elsewhere not in "\n".join(rows)
        assert step == 4 or "═" in "\n".join(rows)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("size", [(60, 20), (40, 10)])
def test_title_and_key_figures_are_there_in_every_step(
    size: tuple[int, int],
    language: Language,
    view_at: Callable[..., PlayView],
    moments_of: Callable[..., Moments],
) -> None:
    for step in range(8):
        view = view_at(size, language, moments_of().pace.step_start(step) + 0.1)
        text = draw_play(view).text()
        title = squeezed(view.texts.title)[:12]
        assert f"{step + 1}·{title}" in squeezed(text)
        assert f"{step + 1}/8" in text
        assert all(name in text for name in ("TTFT", "TPOT", "TPS", "KV"))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_words_say_the_summary_whole(
    language: Language, view_at: Callable[..., PlayView], moments_of: Callable[..., Moments]
) -> None:
    view = view_at((45, 24), language, moments_of().pace.step_start(1) + 0.1)
    assert squeezed(view.texts.summary) in squeezed(draw_play(view).text())


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("size", [(60, 20), (45, 18)])
@pytest.mark.parametrize("tab", range(3))
def test_the_pages_of_a_small_screen_hold_the_whole_text(
    tab: int,
    size: tuple[int, int],
    language: Language,
    view_at: Callable[..., PlayView],
    moments_of: Callable[..., Moments],
) -> None:
    start_s = moments_of().pace.step_start(1)
    shown = ""
    for page in range(page_count(view_at(size, language, start_s, tab=tab))):
        view = view_at(size, language, start_s, tab=tab, page=page)
        area = compact_layout(view).text
        shown += "".join(draw_play(view).text().splitlines()[area.y : area.bottom])
    assert squeezed(shown).replace("…", "") == squeezed(view.texts.tab(tab)).replace("…", "")


@pytest.mark.parametrize("language", LANGUAGES)
def test_large_splits_and_single_gpus_are_drawn_small(
    language: Language, view_at: Callable[..., PlayView], moments_of: Callable[..., Moments]
) -> None:
    for overrides in ({"tp": 1, "pp": 1}, {"tp": 8, "pp": 4}, {"tp": 8, "pp": 1, "dp": 4}):
        for size in SIZES:
            screen_s = moments_of(**overrides).pace.duration_s * 0.4
            text = draw_play(view_at(size, language, screen_s, "tp2-pp2", dict(overrides))).text()
            assert "TTFT" in text


def test_no_size_at_all_breaks_the_drawing(view_at: Callable[..., PlayView]) -> None:
    for width in range(1, 82, 4):
        for height in range(1, 26, 3):
            frame = draw_play(view_at((width, height), "zh", 7.0))
            assert (frame.width, len(frame.rows)) == (width, height)
