"""Zooming, moving and following with the keys."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import pytest
from textual import events

from gpuflow.cells import cell_width
from gpuflow.draw.focus import Focus
from gpuflow.tui.app import PlayerApp
from gpuflow.tui.screens.play import PlayScreen
from gpuflow.tui.widgets.canvas import FrameCanvas

THOUSAND = {"tp": 8, "pp": 16, "dp": 8}
KEYS = (
    *("z", "Z", "f", "left_square_bracket", "right_square_bracket") * 4,
    *("right", "left", "full_stop", "comma", "space", "tab", "r", "1", "4", "8", "L", "plus"),
)


def shown(app: PlayerApp) -> str:
    screen = app.screen_stack[0]
    assert isinstance(screen, PlayScreen)
    frame = screen.query_one(FrameCanvas).shown
    assert frame is not None
    widths = {sum(cell_width(run.text) for run in row) for row in frame.rows}
    assert widths <= {frame.width}
    return frame.text()


def after(app: PlayerApp, keys: list[str]) -> tuple[Focus | None, str]:
    """What is looked at, and the screen, after some keys."""

    async def session() -> tuple[Focus | None, str]:
        async with app.run_test(size=(120, 40)) as pilot:
            for key in keys:
                await pilot.press(key)
            await pilot.pause()
            return app.focusing.focus, shown(app)

    return asyncio.run(session())


@pytest.mark.parametrize(
    ("keys", "focus", "words"),
    [
        ([], None, "1,024 GPUs"),
        (["z"], Focus(level="stage"), "stage 1 of 16"),
        (["2", "z"], Focus(level="stage"), "stage 1 of 16"),
        (["z", "z"], Focus(level="group"), "node 0"),
        (["z", "z", "z"], Focus(level="gpu"), "GPU 0 of 0–1023"),
        (["z", "z", "z", "z"], Focus(level="gpu"), "GPU 0 of 0–1023"),
        (["z", "z", "Z"], Focus(level="stage"), "stage 1 of 16"),
        (["z", "Z"], None, "1,024 GPUs"),
        (["Z"], None, "1,024 GPUs"),
        (["right_square_bracket"], None, "1,024 GPUs"),
        (
            ["z", "right_square_bracket"],
            Focus(level="stage", rank=8, is_held=True),
            "stage 2 of 16",
        ),
        (
            ["z", "left_square_bracket"],
            Focus(level="stage", rank=120, is_held=True),
            "stage 16 of 16",
        ),
        (["f"], Focus(is_following=True), "GPU 0 · node 0"),
        (
            ["f", "right_square_bracket"],
            Focus(rank=1, is_following=True, is_held=True),
            "GPU 1 · node 0",
        ),
        (["f", "f"], None, "1,024 GPUs"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_keys_change_what_is_looked_at(
    keys: list[str], focus: Focus | None, words: str, make_app: Callable[..., PlayerApp]
) -> None:
    found, text = after(make_app(overrides=THOUSAND), keys)
    assert found == focus
    assert words in text


def test_a_player_starts_where_it_was_told_to_look(make_app: Callable[..., PlayerApp]) -> None:
    focus = Focus(level="gpu", rank=37, is_following=True)
    _, text = after(make_app(overrides=THOUSAND, focus=focus), [])
    assert "GPU 37 · node 4 · Stage 5" in text


def test_a_rank_that_is_not_there_any_more_becomes_the_last(
    make_app: Callable[..., PlayerApp],
) -> None:
    found, text = after(make_app(focus=Focus(level="gpu", rank=900)), [])
    assert found is not None
    assert found.rank == 3
    assert "GPU 3 of 0–3" in text


def test_three_hundred_keys_and_sizes_leave_every_row_whole(
    make_app: Callable[..., PlayerApp],
) -> None:
    app = make_app(overrides=THOUSAND)
    choose = random.Random(11)

    async def session() -> None:
        async with app.run_test(size=(120, 40)) as pilot:
            for i in range(300):
                if i % 15 == 7:
                    size = choose.randint(40, 200), choose.randint(10, 60)
                    await pilot.resize_terminal(*size)
                # All that wait are handled before the next look, so that none is waited for.
                app.post_message(events.Key(choose.choice(KEYS), None))
                if i % 15 == 0:
                    await pilot.pause()
                    shown(app)
            await pilot.pause()
            shown(app)

    asyncio.run(session())
