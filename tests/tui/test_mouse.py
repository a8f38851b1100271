"""With --mouse the strip and the wheel answer; without it the mouse is the terminal's."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

from gpuflow.draw.frame import Run
from gpuflow.draw.play import draw_play
from gpuflow.draw.strip import step_in_strip
from gpuflow.tui.app import PlayerApp
from gpuflow.tui.widgets.canvas import FrameCanvas

Start = Callable[..., Any]


def test_a_strip_is_known_by_its_signs() -> None:
    row = (Run(" 1━2━▶", "accent"), Run("╌3╌╌4╌5╌6╌7╌8╌╌", "dim"))
    text = "".join(run.text for run in row)
    for number in range(1, 9):
        place = text.index(str(number))
        assert step_in_strip(row, place) == number - 1
    assert step_in_strip(row, 0) is None
    for other in ("│ 1 ── 2 │", " 12 ", "╌╌╌╌", "Step 3 ╌╌"):
        assert step_in_strip((Run(other, "dim"),), len(other) - 1) is None


def test_a_click_goes_to_the_step_and_elsewhere_does_nothing(
    make_app: Callable[..., PlayerApp],
) -> None:
    async def click() -> list[int]:
        app = make_app()
        found = []
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.pause()
            rows = draw_play(app.view(tab=0, page=0)).rows
            texts = ["".join(run.text for run in row) for row in rows]
            y = next(i for i, text in enumerate(texts) if re.fullmatch(r" ?[1-8━╌▶]{20,} ?", text))
            for number in (6, 2):
                await pilot.click(FrameCanvas, offset=(texts[y].index(str(number)) + 1, y))
                await pilot.pause()
                found.append(app.step_index + 1)
            await pilot.click(FrameCanvas, offset=(5, 5))
            found.append(app.step_index + 1)
        return found

    assert asyncio.run(click()) == [6, 2, 2]


def test_the_mouse_is_asked_for_and_given_back(on_terminal: Start) -> None:
    terminal = on_terminal("play", "--profile", "ideal", "--no-autoplay", "--mouse")
    screen = terminal.until(lambda screen: "q quit" in screen)
    assert terminal.modes()[1006]
    rows = screen.split("\n")
    y = next(i for i, row in enumerate(rows) if re.fullmatch(r" ?[1-8━╌▶]{20,} *", row))
    x = rows[y].index("5")
    terminal.press(f"\x1b[<0;{x + 1};{y + 1}M\x1b[<0;{x + 1};{y + 1}m")
    terminal.until(lambda screen: "5/8" in screen)
    terminal.press("q")
    assert terminal.status() == 0
    assert terminal.is_as_it_was()
