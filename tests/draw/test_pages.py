from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from gpuflow.cells import cell_width
from gpuflow.draw.basics import draw_basics
from gpuflow.draw.frame import Frame
from gpuflow.draw.gallery import CARDS, TRAINING_CARDS, cards_of_step, draw_primitives
from gpuflow.draw.help import draw_help
from gpuflow.draw.keys import HELP_KEYS, KEYS, hints, pack
from gpuflow.draw.roles import ROLES
from gpuflow.draw.view import Scene
from gpuflow.scenario.spec import Language
from gpuflow.words import t

WIDTHS = (79, 99, 119, 199)
LANGUAGES: tuple[Language, ...] = ("zh", "en")
PAGES: dict[str, Callable[[Scene, int], Frame]] = {
    "basics": draw_basics,
    "help": draw_help,
    "primitives": lambda scene, width: draw_primitives(scene, width, current=(), beat=1),
}


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("width", [1, 12, 40, *WIDTHS])
def test_pages_are_exactly_as_wide_as_asked(
    name: str, language: Language, width: int, scene_in: Callable[..., Scene]
) -> None:
    frame = PAGES[name](scene_in(language), width)
    assert {sum(cell_width(run.text) for run in row) for row in frame.rows} <= {width}
    assert len(frame.rows) == frame.height
    assert {run.role for row in frame.rows for run in row} <= set(ROLES)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_nothing_on_the_gallery_is_cut(
    width: int, language: Language, scene_in: Callable[..., Scene]
) -> None:
    text = PAGES["primitives"](scene_in(language), width).text()
    assert "…" not in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_ten_cards_stand_in_the_seed_s_order_with_training_apart(
    language: Language, scene_in: Callable[..., Scene]
) -> None:
    text = PAGES["primitives"](scene_in(language), 79).text()
    titles = [t(f"card.{card.id}.title", language) for card in (*CARDS, *TRAINING_CARDS)]
    places = [text.index(f"╭ {title} ") for title in titles]
    assert places == sorted(places)
    heading = text.index(t("primitives.training_heading", language))
    assert places[7] < heading < places[8]
    assert [card.ranks for card in (*CARDS, *TRAINING_CARDS)] == [2] * 8 + [3] * 2


def test_cards_play_real_numbers_to_their_end_and_start_again(
    scene_in: Callable[..., Scene],
) -> None:
    scene = scene_in("en")

    def vectors(beat: int) -> list[str]:
        text = draw_primitives(scene, 79, current=(), beat=beat).text()
        return re.findall(r"^│ GPU\d .*? » (.*?) *│$", text, re.M)

    assert vectors(0)[:2] == ["[ 1  2  3  4]", "[ 5  6  7  8]"]
    assert vectors(2)[:2] == ["[ 6  8 10 12] ✓", "[ 6  8 10 12] ✓"]
    assert vectors(6)[:2] == vectors(0)[:2]
    assert vectors(2)[-3:] == ["[6] ✓", "[·]", "[·]"]


@pytest.mark.parametrize(
    ("step", "cards"),
    [
        (1, ["broadcast_input"]),
        (2, ["all_reduce"]),
        (3, ["send_recv"]),
        (5, ["all_gather", "broadcast_token"]),
        (7, ["send_recv", "all_reduce"]),
    ],
)
def test_the_step_s_cards_are_lit(
    step: int, cards: list[str], scene_in: Callable[..., Scene]
) -> None:
    scene = scene_in("en")
    assert list(cards_of_step(scene, step - 1)) == cards
    text = draw_primitives(scene, 79, current=cards, beat=0).text()
    assert re.findall(r"^╭ ▶ (.*?) ─", text, re.M) == [
        t(f"card.{card.id}.title", "en") for card in CARDS if card.id in cards
    ]


def test_the_setup_follows_the_split(scene_in: Callable[..., Scene]) -> None:
    assert "GPU0 ↔ GPU1" in draw_basics(scene_in("en"), 119).text()
    moe = draw_basics(scene_in("en", "moe-ep4"), 119).text()
    assert "4 GPUs = TP1 × PP1 × DP4" in moe
    deep = draw_basics(scene_in("en", pp=16, tp=1), 119).text()
    assert "↓ PP ↓ …" in deep


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_no_hint_is_lost_in_packing(width: int, language: Language) -> None:
    rows = pack(hints(language), width)
    assert [pair for row in rows for pair in row] == list(hints(language))
    for row in rows:
        used = sum(cell_width(key) + 1 + cell_width(word) for key, word in row) + len(row) - 1
        assert used <= width - 2


@pytest.mark.parametrize("language", LANGUAGES)
def test_help_lists_every_key(language: Language, scene_in: Callable[..., Scene]) -> None:
    text = draw_help(scene_in(language), 79).text()
    assert {key.id for key in KEYS} <= {key.id for key in HELP_KEYS}
    for key in HELP_KEYS:
        assert key.show in text
