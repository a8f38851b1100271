"""Stops of the guided tour: their words, and the explorer with words under it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpuflow.draw.canvas import Canvas, Rect
from gpuflow.draw.caption import caption_pages, draw_caption, draw_caption_panel
from gpuflow.draw.explore import LEAST_HEIGHT, LEAST_WIDTH, draw_explore
from gpuflow.draw.explore_view import ExploreView
from gpuflow.draw.frame import Frame
from gpuflow.draw.view import Caption
from gpuflow.draw.wrap import wrap
from gpuflow.engine.pace import Pace
from gpuflow.engine.telling import tell_if_true
from gpuflow.engine.tour import Stop, stop_values
from gpuflow.scenario.spec import Language
from gpuflow.words import sentences, t

LEAST_WORDS = 6
"""Rows that the words take under the explorer at the least."""
PICTURE_ROWS = 13
"""Rows from which the explorer shows boxes; words leave it so many where they can."""
_FRAME = 2


@dataclass(frozen=True, slots=True)
class StopWords:
    """What is said at a stop, every figure in its place."""

    title: str
    lead: str
    text: str


def stop_words(pace: Pace, stop: Stop, language: Language) -> StopWords:
    """The words of a stop, as far as they are true of the play."""
    values = stop_values(pace, stop)
    written = sentences(language)
    prefix = f"tour.{stop.id}.away" if stop.is_away else f"tour.{stop.id}"
    return StopWords(
        title=tell_if_true(written[f"tour.{stop.id}.title"], values),
        lead=tell_if_true(written[f"{prefix}.lead"], values),
        text=tell_if_true(written[f"{prefix}.text"], values),
    )


def stop_caption(
    words: StopWords, number: int, count: int, language: Language, *, keys: str
) -> Caption:
    """The words with how far the tour is; `keys` is the locale key of which key does what."""
    progress = t("tour.progress", language, number=number, count=count)
    return Caption(
        title=f"{progress} · {words.title}",
        lead=words.lead,
        text=words.text,
        hint=t(keys, language),
        needs_room=True,
        mode="tour",
    )


# ---------------------------------------------------------------- the explorer with words


def explorer_pages(caption: Caption, width: int, height: int) -> int:
    """Pages of the words of a stop in the explorer, on a screen of that size."""
    area, is_framed = _words_area(caption, width, height)
    return len(caption_pages(caption, area, is_framed=is_framed))


def draw_explorer_stop(view: ExploreView, caption: Caption, page: int) -> Frame:
    """The explorer with the words of a stop under it; on a small screen the words alone.

    Args:
        view: Of the whole screen; it is drawn in what the words leave of it.
        caption: The words.
        page: Of them, from 0.
    """
    area, is_framed = _words_area(caption, view.width, view.height)
    words = Canvas(view.width, view.height - area.y)
    draw = draw_caption_panel if is_framed else draw_caption
    draw(words, caption, area._replace(y=0), page)
    if not area.y:
        return words.to_frame()
    picture = draw_explore(replace(view, height=area.y, is_guided=True))
    return Frame(view.width, view.height, picture.rows + tuple(words.rows()))


def _words_area(caption: Caption, width: int, height: int) -> tuple[Rect, bool]:
    """Where the words stand, and whether in a frame; at row 0 where no picture has room."""
    if width < LEAST_WIDTH or height < LEAST_HEIGHT + LEAST_WORDS:
        return Rect(0, 0, width, height), False
    inner = max(width - 2 * _FRAME, 2)
    needed = len(wrap(caption.lead, inner)) + len(wrap(caption.text, inner - 1)) + 1 + _FRAME
    most = max(height - PICTURE_ROWS, LEAST_WORDS)
    rows = max(min(needed, most), LEAST_WORDS)
    return Rect(0, height - rows, width, rows), True
