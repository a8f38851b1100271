"""Real timelines to draw, each simulated once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from gpuflow.draw.scene import scene_of
from gpuflow.draw.view import PlayView, Scene
from gpuflow.engine.moment import Moments
from gpuflow.engine.pace import Pace
from gpuflow.engine.simulate import simulate
from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.scenario.spec import Language


@cache
def _moments(name: str, overrides: tuple[tuple[str, object], ...]) -> Moments:
    scenario = load_scenario(name, Overrides(profile="ideal", **dict(overrides)))  # type: ignore[arg-type]
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
        **view: object,
    ) -> PlayView:
        more = overrides or {}
        return PlayView(
            scene=scene_in(language, name, **more),
            state=moments_of(name, **more).at(screen_s),
            width=size[0],
            height=size[1],
            **view,  # type: ignore[arg-type]
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
