"""Stops of the guided tour in the explorer, at every size."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpuflow.cells import cell_width
from gpuflow.draw.explore_view import ExploreView
from gpuflow.draw.tour import draw_explorer_stop, explorer_pages, stop_caption, stop_words
from gpuflow.draw.view import Caption
from gpuflow.engine.explore import outlook
from gpuflow.engine.moment import Moments
from gpuflow.engine.tour import tour_stops
from gpuflow.scenario.spec import Language

SIZES = ((40, 10), (60, 16), (80, 24), (100, 30), (120, 40), (200, 60))
At = Callable[..., tuple[ExploreView, Caption]]


@pytest.fixture(scope="module")
def stop_at(moments_of: Callable[..., Moments]) -> At:
    """A stop of the explorer: its picture in the middle of a round, and its words."""

    def get(name: str, size: tuple[int, int], language: Language) -> tuple[ExploreView, Caption]:
        pace = moments_of().pace
        stop = next(s for s in tour_stops(pace) if s.id == name)
        assert stop.subject is not None
        view = ExploreView(
            language=language,
            outlook=outlook(stop.subject, pace.timeline, 0),
            round=1,
            fraction=0.4,
            width=size[0],
            height=size[1],
            is_playing=True,
        )
        words = stop_words(pace, stop, language)
        return view, stop_caption(words, 5, 23, language, keys="tour.hint")

    return get


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("name", ["ring", "all_to_all", "scatter", "reduce"])
def test_all_words_are_said_and_the_screen_is_full(
    name: str, size: tuple[int, int], language: Language, stop_at: At
) -> None:
    view, caption = stop_at(name, size, language)
    said = ""
    for page in range(explorer_pages(caption, *size)):
        frame = draw_explorer_stop(view, caption, page)
        assert (frame.width, frame.height, len(frame.rows)) == (*size, size[1])
        for row in frame.rows:
            assert sum(cell_width(run.text) for run in row) == size[0]
        said += "".join(frame.text().split())
    plain = said.replace("…", "").replace("│", "")
    for word in f"{caption.lead} {caption.text}".split():
        # Where pages are turned, Chinese may go on in the next one.
        assert language == "zh" or word in plain, word
    assert "".join(caption.text.split())[-3:] in plain


def test_nothing_is_offered_that_the_tour_does_not_take(stop_at: At) -> None:
    view, caption = stop_at("ring", (120, 40), "en")
    text = draw_explorer_stop(view, caption, 0).text()
    assert "+-" not in text
    assert "↑↓" not in text
    assert "→ next  ← back  Esc leave" in text
    assert "tour 5/23 · How all_reduce works: the ring" in text


def test_a_small_screen_keeps_the_words(stop_at: At) -> None:
    view, caption = stop_at("scatter", (40, 10), "en")
    text = draw_explorer_stop(view, caption, 0).text()
    assert "GPU 0" not in text
    assert "The root cuts its data up" in text
