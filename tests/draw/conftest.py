"""Real timelines to draw, each simulated once, and every screen of them."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gpuflow.draw.basics import draw_basics
from gpuflow.draw.explore import draw_explore
from gpuflow.draw.explore_view import ExploreView
from gpuflow.draw.focus import Focus
from gpuflow.draw.frame import Frame
from gpuflow.draw.gallery import cards_of_step, draw_primitives
from gpuflow.draw.glossary import draw_glossary
from gpuflow.draw.help import draw_help
from gpuflow.draw.notes import NotesView, draw_notes, step_notes
from gpuflow.draw.play import draw_play, page_count
from gpuflow.draw.questions import answer_caption, question_caption
from gpuflow.draw.scene import scene_of
from gpuflow.draw.tour import draw_explorer_stop, explorer_pages, stop_caption, stop_words
from gpuflow.draw.view import Caption, PlayView, Scene, WhatIfPanel
from gpuflow.draw.whatif import changes_text
from gpuflow.engine.explore import outlook, subject_of
from gpuflow.engine.moment import Moments
from gpuflow.engine.pace import Pace
from gpuflow.engine.questions import questions
from gpuflow.engine.simulate import simulate
from gpuflow.engine.tour import tour_stops
from gpuflow.engine.whatif import difference, knobs, side_of
from gpuflow.importers.trace.reading import read_trace
from gpuflow.importers.trace.recorded import recorded_timeline
from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.scenario.spec import Language
from gpuflow.tui.tables import table_frame

GOLDEN = Path(__file__).parent / "golden"
Size = tuple[int, int]
REPLICAS: dict[str, object] = {"dp": 2}
"""Two replicas: the smallest split with every level to zoom to."""
CHANGES: dict[str, Any] = {"tp": 4, "batch": 8}
"""What the panel of questions of what if has changed."""
MOMENTS = {
    "all-reduce": (2, "all_reduce"),
    "big": (2, "all_reduce"),
    "hand-over": (3, "send"),
    "decode": (7, "compute"),
}
PAGES = frozenset({"table", "primitives", "basics", "help", "glossary", "notes"})
"""Screens to scroll: as tall as they need to be, a column left for the scroll bar."""


@cache
def _moments(name: str, overrides: tuple[tuple[str, Any], ...]) -> Moments:
    scenario = load_scenario(name, Overrides(profile="ideal", **dict(overrides)))
    return Moments(Pace(simulate(scenario)))


@cache
def _scene(name: str, overrides: tuple[tuple[str, object], ...], language: Language) -> Scene:
    return scene_of(_moments(name, overrides), language)


@pytest.fixture(scope="session")
def moments_of() -> Callable[..., Moments]:
    """States of a shipped scenario, with overrides as keywords."""

    def get(name: str = "tp2-pp2", **overrides: object) -> Moments:
        return _moments(name, tuple(sorted(overrides.items())))

    return get


@pytest.fixture(scope="session")
def scene_in() -> Callable[..., Scene]:
    """Scene of a shipped scenario in a language."""

    def get(language: Language, name: str = "tp2-pp2", **overrides: object) -> Scene:
        return _scene(name, tuple(sorted(overrides.items())), language)

    return get


@pytest.fixture(scope="session")
def view_at(
    moments_of: Callable[..., Moments], scene_in: Callable[..., Scene]
) -> Callable[..., PlayView]:
    """A view of a scenario: size, language, screen second, then what PlayView takes."""

    def get(
        size: tuple[int, int],
        language: Language,
        screen_s: float,
        name: str = "tp2-pp2",
        overrides: dict[str, object] | None = None,
        **view: Any,
    ) -> PlayView:
        more = overrides or {}
        return PlayView(
            scene=scene_in(language, name, **more),
            state=moments_of(name, **more).at(screen_s),
            width=size[0],
            height=size[1],
            **view,
        )

    return get


@pytest.fixture(scope="session")
def middle_of() -> Callable[[Moments, int, str], float]:
    """Screen second in the middle of a step's first span of a kind or collective."""

    def get(moments: Moments, step: int, kind: str) -> float:
        times = moments.timeline.steps[step - 1]
        spans = moments.timeline.spans[times.first_span : times.last_span]
        span = next(s for s in spans if kind in (s.kind, s.collective, s.payload))
        stretch = next(
            s for s in moments.pace.stretches if s.first_span <= span.index < s.last_span
        )
        return (stretch.screen_start_s + stretch.screen_end_s) / 2

    return get


# ---------------------------------------------------------------- every screen


class Screens:
    """Draws every screen; each picture once."""

    def __init__(
        self,
        moments_of: Callable[..., Moments],
        middle_of: Callable[[Moments, int, str], float],
        view_at: Callable[..., PlayView],
        folder: Path,
    ) -> None:
        self.moments_of, self.middle_of, self.view_at = moments_of, middle_of, view_at
        self.folder = folder
        self.frame = cache(self._frame)
        self.recording = cache(self._recording)
        self.panel = cache(self._panel)

    def _frame(self, name: str, size: Size, language: Language) -> Frame:
        if name in PAGES:
            return self._page(name, page_width(size), language)
        if name == "explore":
            return draw_explore(self._explorer("ring", 2, 1.0, size, language, is_playing=False))
        if name == "explore-tour":
            return self._explorer_stop(size, language)
        return draw_play(self.view(name, size, language))

    def view(self, name: str, size: Size, language: Language, **more: Any) -> PlayView:
        """The play screen of that name."""
        if name == "recorded":
            return self._recorded(size, language, **more)
        if name == "what-if":
            return self._what_if(size, language, **more)
        if name in {"question", "answer"}:
            return self._asked(name, size, language, **more)
        if name == "tour":
            return self._tour(size, language, **more)
        if name.startswith("replicas-"):
            return self._near(name.removeprefix("replicas-"), size, language, **more)
        step, kind = MOMENTS[name]
        moment_s = self.middle_of(self.moments_of(), step, kind)
        return self.view_at(size, language, moment_s, is_big=name == "big", **more)

    def _near(self, level: Any, size: Size, language: Language, **more: Any) -> PlayView:
        is_following = level == "follow"
        near = Focus(rank=5, is_following=True) if is_following else Focus(level=level, rank=5)
        moment_s = self.middle_of(self.moments_of(**REPLICAS), 4, "all_reduce")
        return self.view_at(size, language, moment_s, overrides=REPLICAS, focus=near, **more)

    def _panel(self) -> WhatIfPanel:
        before, after = (self.moments_of(**extra).timeline for extra in ({}, CHANGES))
        return WhatIfPanel(
            knobs=knobs(before.scenario, after.scenario, CHANGES),
            difference=difference(side_of(before), side_of(after)),
            row=0,
        )

    def _what_if(self, size: Size, language: Language, **more: Any) -> PlayView:
        panel = self.panel()
        moment_s = self.middle_of(self.moments_of(**CHANGES), 2, "compute")
        scene = self.view_at(size, language, moment_s, overrides=CHANGES).scene
        marks = (changes_text(scene, panel.knobs),)
        return self.view_at(
            size, language, moment_s, overrides=CHANGES, panel=panel, marks=marks, **more
        )

    def _asked(self, name: str, size: Size, language: Language, **more: Any) -> PlayView:
        moments = self.moments_of()
        asked = questions(moments)
        number, question = next((n, q) for n, q in enumerate(asked, start=1) if q.step == 1)
        scene = self.view_at(size, language, question.moment_s).scene
        words = question_caption if name == "question" else answer_caption
        return PlayView(
            scene=scene,
            state=moments.at(question.moment_s, is_covered=name == "question"),
            width=size[0],
            height=size[1],
            is_playing=False,
            is_covered=name == "question",
            caption=words(scene, question, (number, len(asked)), size),
            marks=(scene.word("ask.on"),),
            **more,
        )

    def _stop(self, name: str, size: Size, language: Language, count_pages: Any) -> Caption:
        pace = self.moments_of().pace
        stops = tour_stops(pace)
        number, stop = next((n, s) for n, s in enumerate(stops, start=1) if s.id == name)
        words = stop_words(pace, stop, language)
        keys = "tour.hint" if size[0] >= 80 else "tour.hint.short"
        caption = stop_caption(words, number, len(stops), language, keys=keys)
        if size[0] < 80 or count_pages(caption) == 1:
            return caption
        return stop_caption(words, number, len(stops), language, keys="tour.hint.pages")

    def _tour(self, size: Size, language: Language, **more: Any) -> PlayView:
        stop = next(s for s in tour_stops(self.moments_of().pace) if s.id == "all_reduce")

        def view(caption: Caption) -> PlayView:
            told = {"caption": caption, "is_playing": False, **more}
            return self.view_at(size, language, stop.screen_s, **told)

        return view(self._stop("all_reduce", size, language, lambda c: page_count(view(c))))

    def _explorer_stop(self, size: Size, language: Language) -> Frame:
        caption = self._stop("ring", size, language, lambda c: explorer_pages(c, *size))
        view = self._explorer("ring", 1, 0.4, size, language, is_playing=True)
        return draw_explorer_stop(view, caption, 0)

    def _explorer(
        self,
        algorithm: str,
        number: int,
        part: float,
        size: Size,
        language: Language,
        *,
        is_playing: bool,
    ) -> ExploreView:
        subject = subject_of("all_reduce", algorithm, 4, gpus_per_node=8)
        return ExploreView(
            language=language,
            outlook=outlook(subject, self.moments_of().timeline, 1),
            round=number,
            fraction=part,
            width=size[0],
            height=size[1],
            is_playing=is_playing,
        )

    def _recording(self) -> Moments:
        traces = traces_in(self.folder)
        file = traces.write(traces.document(traces.steps(2)), name="rank0.json")
        timeline = recorded_timeline(read_trace(file))
        assert timeline is not None
        return Moments(Pace(timeline))

    def _recorded(self, size: Size, language: Language, **more: Any) -> PlayView:
        moments = self.recording()
        return PlayView(
            scene=scene_of(moments, language),
            state=moments.at(0.45 * moments.pace.duration_s),
            width=size[0],
            height=size[1],
            **more,
        )

    def _page(self, name: str, width: int, language: Language) -> Frame:
        scene = self.view_at((80, 24), language, 0.0).scene
        if name == "table":
            return table_frame(side_of(scene.timeline).table, language, width)
        if name == "primitives":
            return draw_primitives(scene, width, current=cards_of_step(scene, 1), beat=1)
        if name == "notes":
            steps = tuple(map(step_notes, scene.texts))
            view = NotesView(
                language=language,
                scenario=scene.timeline.scenario.name,
                steps=steps,
                step=5,
                time_s=0.00123,
                is_playing=True,
                speed=2.0,
                minutes=12,
            )
            return draw_notes(view, width)
        if name == "glossary":
            return draw_glossary(scene, width, step=1)
        return {"basics": draw_basics, "help": draw_help}[name](scene, width)


def page_width(size: Size) -> int:
    """Cells of a page to scroll on a screen of that size."""
    return size[0] - 1


def traces_in(folder: Path) -> Any:
    """The maker of traces that the importers are tested with."""
    file = Path(__file__).parents[1] / "importers" / "conftest.py"
    spec = importlib.util.spec_from_file_location("traces", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Traces(folder)


@pytest.fixture(scope="session")
def screens(
    moments_of: Callable[..., Moments],
    middle_of: Callable[[Moments, int, str], float],
    view_at: Callable[..., PlayView],
    tmp_path_factory: pytest.TempPathFactory,
) -> Screens:
    """Every screen, drawn."""
    return Screens(moments_of, middle_of, view_at, tmp_path_factory.mktemp("recording"))


@pytest.fixture(scope="session")
def approved() -> Callable[[str, str], None]:
    """Holds a text against the file of that name under golden/, row by row.

    GPUFLOW_UPDATE_GOLDEN=1 writes it anew.
    """

    def compare(name: str, text: str) -> None:
        file = GOLDEN / f"{name}.txt"
        if os.environ.get("GPUFLOW_UPDATE_GOLDEN"):
            file.write_text(f"{text}\n", "utf-8")
        assert text.split("\n") == file.read_text("utf-8").removesuffix("\n").split("\n")

    return compare
