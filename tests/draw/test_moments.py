"""Moments that a lecturer stops at: what is drawn there agrees with itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from gpuflow.draw.basics import draw_basics
from gpuflow.draw.keys import HELP_KEYS, hints, plain_hints
from gpuflow.draw.play import draw_play
from gpuflow.draw.scene import scene_of
from gpuflow.draw.traffic import traffic_of
from gpuflow.draw.view import PlayView, Scene
from gpuflow.draw.whatif import turn_signs
from gpuflow.engine.moment import Moments
from gpuflow.engine.pace import Pace
from gpuflow.engine.simulate import simulate
from gpuflow.engine.timeline import Recording
from gpuflow.engine.whatif import Knob
from gpuflow.scenario.load import load_scenario

SIZES = ((80, 24), (100, 30), (120, 40))


def text_of(view: PlayView) -> str:
    return draw_play(view).text()


@pytest.fixture(scope="module")
def ring() -> Moments:
    """The default scenario as an engine runs it: its broadcast is a ring over all four GPUs."""
    return Moments(Pace(simulate(load_scenario("tp2-pp2"))))


@pytest.mark.parametrize("size", [*SIZES, (200, 60)], ids=str)
def test_a_message_to_another_place_of_the_next_stage_passes_no_third_gpu(
    ring: Moments, size: tuple[int, int]
) -> None:
    """From GPU 1 to GPU 2 nothing is drawn past GPU 3, which has it a round later."""
    scene, end_s = scene_of(ring, "en"), ring.pace.step_end(0)
    seen = 0
    for i in range(100):
        state = ring.at(end_s * i / 100)
        view = PlayView(scene=scene, state=state, width=size[0], height=size[1])
        turns = traffic_of(view, has_turns=True).turns
        if not turns:
            continue
        seen += 1
        assert turns == {0: {(1, 0, "v")}}
        stage_1, _, rest = text_of(view).partition("Stage 2 ·")
        assert re.search("┏[^┓┗]*┛", stage_1.splitlines()[-2])
        assert "═" not in rest.splitlines()[3] + stage_1.splitlines()[3]
    assert seen


@pytest.mark.parametrize("width", range(40, 121, 20))
def test_the_head_of_the_strip_stands_in_its_own_step(
    moments_of: Callable[..., Moments], view_at: Callable[..., PlayView], width: int
) -> None:
    duration_s = moments_of().pace.duration_s
    for i in range(200):
        view = view_at((width, 24), "en", duration_s * i / 200)
        rows = text_of(view).splitlines()
        strip = next(row for row in rows if row.startswith(" 1") and "▶" in row)
        passed = [int(sign) for sign in strip.split("▶")[0] if sign.isdigit()]
        assert max(passed) <= view.state.step.index + 1


def test_the_name_of_a_scenario_goes_with_its_split(view_at: Callable[..., PlayView]) -> None:
    assert "tp2-pp2" in text_of(view_at((120, 40), "en", 0.0))
    for size in SIZES:
        altered = text_of(view_at(size, "en", 0.0, overrides={"tp": 8, "pp": 4}))
        assert "tp2-pp2" not in altered
        assert "TP8×PP4" in altered


def test_a_step_with_nothing_to_do_has_a_reason_and_no_empty_headings(
    moments_of: Callable[..., Moments], view_at: Callable[..., PlayView]
) -> None:
    idle = moments_of(tp=1, pp=1).pace.step_start(2)
    for size in SIZES:
        drawn = text_of(view_at(size, "en", idle, overrides={"tp": 1, "pp": 1}))
        assert "there is nobody" in " ".join(drawn.split())
        assert "network challenge" not in drawn
        assert "comm over the play" not in drawn


def test_a_subtitle_is_never_cut(view_at: Callable[..., PlayView]) -> None:
    for width in range(80, 140, 3):
        second = text_of(view_at((width, 40), "en", 0.0)).splitlines()[1]
        assert "…" not in second


def test_ascii_hints_name_keys_that_work() -> None:
    shown = plain_hints(hints("en"))
    assert hints("en", is_ascii=True) == shown
    assert all(word.isascii() for _, word in shown)
    assert {"Space", "Tab"} <= {key for key, _ in shown}
    assert {"␣ Space  p", "⇥ Tab"} <= {key.show for key in HELP_KEYS}


def test_the_basics_cut_no_meaning(scene_in: Callable[..., Scene]) -> None:
    for width in range(45, 130):
        assert "…" not in draw_basics(scene_in("en"), width).text()


def test_a_recording_of_an_unknown_model_is_described_by_what_its_trace_says(
    moments_of: Callable[..., Moments],
) -> None:
    recording = Recording(file="x", rank=0, has_model=False, has_layers=False, has_phase=False)
    timeline = replace(moments_of().timeline, recording=recording)
    text = draw_basics(scene_of(Moments(Pace(timeline)), "en"), 119).text()
    assert "the trace says neither" in text
    assert not any(word in text for word in ("Llama", "tokens in", "layers 1", "a token, "))


def test_a_number_at_its_end_shows_no_way_on() -> None:
    knob = Knob(id="tp", value=8, original=2, values=(1, 2, 8), lock=None)
    assert turn_signs(knob) == ("‹", " ")
    assert turn_signs(replace(knob, value=1)) == (" ", "›")
    assert turn_signs(replace(knob, value=2)) == ("‹", "›")
    names = Knob(id="gpu", value="b", original="b", values=("a", "b"), lock=None)
    assert turn_signs(names) == ("‹", "›")
