"""The footer names the keys that count: those of the play, a tour, a question, the panel."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from textual.widgets._footer import FooterKey

from gpuflow.draw.keys import hints
from gpuflow.draw.view import Mode
from gpuflow.scenario.spec import Language
from gpuflow.tui.app import PlayerApp
from gpuflow.tui.screens.play import PlayScreen
from gpuflow.words import t

MODES: dict[str, tuple[dict[str, object], tuple[str, ...], Mode]] = {
    "play": ({}, (), "play"),
    "tour": ({}, ("n",), "tour"),
    "a tour that was left": ({}, ("n", "escape"), "play"),
    "question": ({"is_asking": True}, ("5",), "question"),
    "no more questions": ({"is_asking": True}, ("5", "a"), "play"),
}


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
@pytest.mark.parametrize("case", MODES)
def test_the_footer_has_the_keys_that_count_and_stands_where_the_frame_has_it(
    case: str, size: tuple[int, int], language: Language, make_app: Callable[..., PlayerApp]
) -> None:
    options, keys, mode = MODES[case]
    app = make_app(language=language, is_playing=False, **options)

    async def session() -> None:
        async with app.run_test(size=size) as pilot:
            await pilot.press(*keys)
            await pilot.pause()
            await pilot.pause()
            screen = app.screen
            assert isinstance(screen, PlayScreen)
            view = app.view(tab=0, page=0)
            assert view.mode == mode
            named = [(key.key_display, key.description) for key in screen.query(FooterKey)]
            assert named == list(hints(language, mode=mode))

    asyncio.run(session())


def test_a_tour_names_its_own_keys_and_none_that_would_end_it() -> None:
    shown = dict(hints("en", mode="tour"))
    assert shown["←→"] == t("ui.key.stop", "en")
    assert shown["Esc"] == t("ui.key.leave", "en")
    assert not {"␣", "a", "w"} & set(shown)


def test_an_open_question_leaves_only_the_keys_that_do_not_answer_it() -> None:
    assert [key for key, _ in hints("en", mode="question")] == ["a", "L", "q"]


def test_the_panel_has_the_arrow_keys_and_tab() -> None:
    assert not {"←→", "⇥"} & {key for key, _ in hints("en", mode="what_if")}
