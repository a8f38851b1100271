"""Predict, then reveal, under Textual's pilot."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from textual.pilot import Pilot

from gpuflow.tui.app import PlayerApp
from gpuflow.tui.screens.play import PlayScreen
from gpuflow.tui.widgets.canvas import FrameCanvas

IN_STEP_2 = 2.5
"""Screen second before the first message of step 2."""
SIZES = ((80, 24), (120, 40), (40, 10))


def shown(app: PlayerApp) -> str:
    screen = app.screen_stack[0]
    assert isinstance(screen, PlayScreen)
    frame = screen.query_one(FrameCanvas).shown
    assert frame is not None
    return frame.text()


def watch(
    app: PlayerApp, then: Callable[[Pilot[None]], Awaitable[None]], size: tuple[int, int] = (80, 24)
) -> None:
    async def session() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await then(pilot)

    asyncio.run(session())


def let_pass(app: PlayerApp, seconds: float) -> None:
    """Seconds of the viewer, without waiting for them."""
    screen = app.screen_stack[0]
    assert isinstance(screen, PlayScreen)
    screen.pass_time(seconds)
    screen.redraw()


@pytest.mark.parametrize("size", SIZES)
def test_the_play_stops_asks_answers_and_goes_on(
    make_app: Callable[..., PlayerApp], size: tuple[int, int]
) -> None:
    app = make_app(is_asking=True, is_playing=True)

    async def then(pilot: Pilot[None]) -> None:
        first = app.predicting.questions[0]
        let_pass(app, first.moment_s + 5)
        assert app.predicting.question == first
        assert not app.playhead.is_playing
        assert app.playhead.moment_s == first.moment_s
        assert "Question 1" in shown(app)
        assert app.predicting.is_covering
        await pilot.press("x")
        assert "Answer 1" in shown(app)
        await pilot.press("space")
        assert app.predicting.question == app.predicting.questions[1]
        await pilot.press("right", "right")
        assert app.predicting.question is None
        assert app.playhead.is_playing
        assert app.screen is app.screen_stack[0]
        assert app.playhead.moment_s < app.pace.step_start(1)

    watch(app, then, size)


def test_all_questions_come_in_their_order(make_app: Callable[..., PlayerApp]) -> None:
    app = make_app(is_asking=True, is_playing=True)

    async def then(pilot: Pilot[None]) -> None:
        asked = []
        for _ in range(10_000):
            if app.predicting.question is None:
                if not app.playhead.is_playing:
                    break
                let_pass(app, 0.25)
            else:
                asked.append(app.predicting.question)
                await pilot.press("x", "x")
        assert asked == list(app.predicting.questions)

    watch(app, then)


def test_without_motion_every_step_asks_as_it_is_reached(
    make_app: Callable[..., PlayerApp],
) -> None:
    app = make_app(is_asking=True, is_animated=False)

    async def then(pilot: Pilot[None]) -> None:
        for step in range(8):
            mine = [q for q in app.predicting.questions if q.step == step]
            for question in mine:
                assert app.predicting.question == question
                await pilot.press("x", "x")
            assert app.predicting.question is None
            assert app.step_index == step
            await pilot.press("right")

    watch(app, then)


def test_the_text_of_a_step_waits_for_its_questions(make_app: Callable[..., PlayerApp]) -> None:
    app = make_app(is_asking=True, start_s=IN_STEP_2)

    async def then(pilot: Pilot[None]) -> None:
        assert "A question comes before the next result" in shown(app)
        assert "network challenge" not in shown(app)
        await pilot.press("a")
        assert "network challenge" in shown(app)
        assert " ask " not in shown(app).split("\n")[0]

    watch(app, then)


@pytest.mark.parametrize(
    ("key", "status"), [("q", 0), ("ctrl+q", 0), ("ctrl+c", 130)], ids=["q", "Ctrl-Q", "Ctrl-C"]
)
def test_keys_that_leave_leave(make_app: Callable[..., PlayerApp], key: str, status: int) -> None:
    app = make_app(is_asking=True, is_animated=False)

    async def then(pilot: Pilot[None]) -> None:
        assert app.predicting.question is not None
        await pilot.press(key)

    watch(app, then)
    assert app.return_code == status


def test_language_and_theme_change_under_an_open_question(
    make_app: Callable[..., PlayerApp],
) -> None:
    app = make_app(is_asking=True, is_animated=False)

    async def then(pilot: Pilot[None]) -> None:
        await pilot.press("L", "T")
        await pilot.pause()
        assert "问题 1/" in shown(app)
        assert not app.predicting.is_revealed

    watch(app, then)


def test_a_jump_asks_nothing_that_lies_between(make_app: Callable[..., PlayerApp]) -> None:
    app = make_app(is_asking=True, start_s=IN_STEP_2)

    async def then(pilot: Pilot[None]) -> None:
        await pilot.press("8")
        question = app.predicting.question
        assert question is None or question.step == 7
        assert app.step_index == 7

    watch(app, then)


def test_a_step_forward_stops_at_the_question_on_its_way(
    make_app: Callable[..., PlayerApp],
) -> None:
    app = make_app(is_asking=True, start_s=IN_STEP_2)

    async def then(pilot: Pilot[None]) -> None:
        await pilot.press("right")
        assert app.predicting.question is not None
        assert app.predicting.question.step == 1
        assert not app.playhead.is_playing

    watch(app, then)
