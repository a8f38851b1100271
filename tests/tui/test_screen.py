"""What stands on the screen is what a fresh drawing of the same moment gives."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import pytest
from rich.style import Style
from textual.strip import Strip

from gpuflow.cells import cell_width
from gpuflow.draw.ascii import to_ascii
from gpuflow.draw.frame import Frame
from gpuflow.draw.play import draw_play
from gpuflow.draw.theme import THEMES
from gpuflow.tui.app import PlayerApp
from gpuflow.tui.screens.play import PlayScreen
from gpuflow.tui.styles import role_style
from gpuflow.tui.widgets.canvas import FrameCanvas
from gpuflow.tui.widgets.sheet import Sheet

KEYS = (
    *("right", "left", "l", "h", "space", "plus", "minus", "full_stop", "comma", "tab", "r"),
    *("t", "c", "b", "question_mark", "T", "L", "escape", "up", "down", "pagedown"),
    *(str(n) for n in range(1, 9)),
)


def screen_rows(app: PlayerApp) -> list[str]:
    """The text on the screen, row by row, as the compositor has it."""
    strips: list[Strip] = app.screen._compositor.render_strips(app.size)
    return ["".join(segment.text for segment in strip) for strip in strips]


def drawn_rows(frame: Frame) -> list[str]:
    return ["".join(run.text for run in row) for row in frame.rows]


def fresh(app: PlayerApp) -> Frame:
    screen = app.screen_stack[0]
    assert isinstance(screen, PlayScreen)
    frame = draw_play(app.view(tab=screen.tab, page=screen.page))
    return to_ascii(frame) if app.is_ascii else frame


def test_200_random_keys_and_seeks_leave_what_a_fresh_drawing_shows(
    make_app: Callable[..., PlayerApp],
) -> None:
    luck = random.Random(2026)
    app = make_app()

    async def session() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.pause()
            for count in range(200):
                if luck.random() < 0.25:
                    app.playhead.seek(luck.uniform(0, app.pace.duration_s))
                    screen = app.screen_stack[0]
                    assert isinstance(screen, PlayScreen)
                    screen.redraw()
                else:
                    await pilot.press(luck.choice(KEYS))
                if count % 10 == 9:
                    await hold(app)
                    await pilot.pause()
                    compare(app)

    async def hold(app: PlayerApp) -> None:
        """Back to the play screen, paused and folded, where it stands."""
        await app.action_close_page()
        screen = app.screen_stack[0]
        assert isinstance(screen, PlayScreen)
        if app.playhead.is_playing:
            screen.action_play()
        screen.action_fold()
        screen.redraw()

    def compare(app: PlayerApp) -> None:
        assert screen_rows(app) == drawn_rows(fresh(app))

    asyncio.run(session())


SMALL = [(1, 1), (3, 2), (20, 5), (40, 10), (60, 20), (79, 40), (120, 12)]


@pytest.mark.parametrize("size", SMALL)
def test_small_screens_show_what_fits_and_no_footer(
    size: tuple[int, int], make_app: Callable[..., PlayerApp]
) -> None:
    app = make_app()

    async def session() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.pause()
            await pilot.pause()
            assert screen_rows(app) == drawn_rows(fresh(app))
            for key in ("t", "c", "escape", "b", "question_mark", "tab", "L"):
                await pilot.press(key)
            await pilot.pause()

    asyncio.run(session())


def test_resizing_while_playing_redraws_at_the_new_size(
    make_app: Callable[..., PlayerApp],
) -> None:
    app = make_app(is_playing=True)

    async def session() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            for size in ((120, 40), (20, 5), (1, 1), (200, 60), (80, 24), (100, 30)):
                await pilot.resize_terminal(*size)
                await pilot.pause()
                await pilot.pause()
                assert {cell_width(row) for row in screen_rows(app)} == {size[0]}
                shown = app.screen.query_one(FrameCanvas).shown
                assert shown is not None
                assert (shown.width, shown.height) == size
            await pilot.press("space")
            await pilot.pause()
            assert screen_rows(app) == drawn_rows(fresh(app))

    asyncio.run(session())


def test_the_unfolded_table_covers_the_lower_part_only(make_app: Callable[..., PlayerApp]) -> None:
    app = make_app()

    async def session() -> None:
        async with app.run_test(size=(120, 40)) as pilot:
            await pilot.press("2", "t")
            await pilot.pause()
            await pilot.pause()
            rows, picture = screen_rows(app), drawn_rows(fresh(app))
            assert rows[:9] == picture[:9]
            assert rows[-1] == picture[-1]
            assert "200Gbps+" in "\n".join(rows[9:-1])
            assert {cell_width(row) for row in rows} == {120}

    asyncio.run(session())


@pytest.mark.parametrize("key", ["c", "b", "question_mark"])
def test_pages_scroll_from_top_to_bottom(key: str, make_app: Callable[..., PlayerApp]) -> None:
    app = make_app()

    async def session() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            await pilot.press(key)
            await pilot.pause()
            await pilot.pause()
            sheet = app.screen.query_one(Sheet)
            assert sheet.shown is not None
            lines = sheet.shown.text().splitlines()
            assert screen_rows(app)[0].rstrip().startswith(lines[0])
            await pilot.press("end")
            await pilot.pause()
            await pilot.pause()
            assert lines[-1] in "\n".join(screen_rows(app))

    asyncio.run(session())


@pytest.mark.parametrize("has_color", [True, False])
def test_every_theme_shows_the_same_words_in_its_own_looks(
    has_color: bool, make_app: Callable[..., PlayerApp], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not has_color:
        monkeypatch.setenv("NO_COLOR", "1")
    app = make_app(has_color=has_color, start_s=3.0)

    def looks(style: Style | None) -> tuple[object, ...]:
        style = style or Style()
        marks = (style.bold, style.dim, style.underline, style.reverse)
        return (style.color, style.bgcolor, *map(bool, marks))

    async def session() -> None:
        async with app.run_test(size=(80, 24)) as pilot:
            words = screen_rows(app)
            for theme in THEMES:
                assert app.look.name == theme
                await pilot.pause()
                strips = app.screen._compositor.render_strips(app.size)
                assert screen_rows(app) == words
                # Textual's footer stands over the rows of keys.
                for row, strip in list(zip(fresh(app).rows, strips, strict=True))[:-2]:
                    expected = [
                        (character, *looks(role_style(theme, run.role, has_color=has_color)))
                        for run in row
                        for character in run.text
                    ]
                    assert expected == [
                        (character, *looks(segment.style))
                        for segment in strip
                        for character in segment.text
                    ]
                await pilot.press("T")
            assert app.look.name == THEMES[0]

    asyncio.run(session())


@pytest.mark.parametrize("key", ["", "t", "c", "b", "question_mark", "ctrl+p"])
def test_no_colour_at_all_where_none_is_wanted(
    key: str, make_app: Callable[..., PlayerApp], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = make_app(has_color=False)

    async def session() -> None:
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.press(*([key] if key else []))
            await pilot.pause(0.1)
            styles = [
                segment.style
                for strip in app.screen._compositor.render_strips(app.size)
                for segment in strip
                if segment.style is not None
            ]
            assert styles
            assert [s for s in styles if s.color is not None or s.bgcolor is not None] == []
            assert any(style.bold for style in styles)

    asyncio.run(session())


@pytest.mark.parametrize("key", ["", "t", "c", "b", "question_mark", "ctrl+p"])
def test_ascii_alone_where_the_encoding_has_no_more(
    key: str, make_app: Callable[..., PlayerApp]
) -> None:
    app = make_app(is_ascii=True)

    async def session() -> None:
        async with app.run_test(size=(100, 30)) as pilot:
            await pilot.press(*([key] if key else []))
            await pilot.press("L")
            await pilot.pause(0.1)
            rows = screen_rows(app)
            assert all(row.isascii() for row in rows)
            assert {len(row) for row in rows} == {100}
            assert app.language == "en"

    asyncio.run(session())
