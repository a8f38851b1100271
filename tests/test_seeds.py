"""Every item of the document gpuflow was started from is on a screen, in both languages."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from gpuflow.draw.basics import draw_basics
from gpuflow.draw.frame import Frame
from gpuflow.draw.gallery import draw_primitives
from gpuflow.draw.play import draw_play
from gpuflow.draw.scene import scene_of
from gpuflow.draw.view import TABS, PlayView, Scene
from gpuflow.engine.moment import Moments
from gpuflow.engine.pace import Pace
from gpuflow.engine.requirements import requirement_table
from gpuflow.engine.simulate import simulate
from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.scenario.spec import Language
from gpuflow.tui.tables import table_frame
from gpuflow.words import t

SEED_ITEMS = 159
LANGUAGES: tuple[Language, ...] = ("zh", "en")
ROOT = Path(__file__).parent.parent
ROW = re.compile(r"^\| (\d+) \| (.+) \| `(gpuflow/[^`]+)` \| (.+) \|$")
BIG = (200, 60)
NARROW = (80, 60)
"""Here a step's text has the screen's whole width, so that its lines follow each other."""
WHOLE = 600
"""Cells in which no cell of the table is folded."""


class Item(NamedTuple):
    """One row of seeds/README.md."""

    number: int
    item: str
    file: str
    ids: tuple[str, ...]


def read_items() -> list[Item]:
    lines = (ROOT / "seeds" / "README.md").read_text("utf-8").splitlines()
    found = [match.groups() for match in map(ROW.match, lines) if match]
    return [
        Item(int(number), item, file, tuple(re.findall(r"`([^`]+)`", ids)))
        for number, item, file, ids in found
    ]


ITEMS = read_items()
IDS = [f"{item.number} {item.item}" for item in ITEMS]


def test_there_is_one_row_for_each_item() -> None:
    assert [item.number for item in ITEMS] == list(range(1, SEED_ITEMS + 1))
    assert len({item.item for item in ITEMS}) == SEED_ITEMS


@pytest.mark.parametrize("item", ITEMS, ids=IDS)
def test_the_named_file_exists(item: Item) -> None:
    assert (ROOT / item.file).is_file()
    assert item.ids


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("item", ITEMS, ids=IDS)
def test_the_item_is_found_on_the_screen(item: Item, language: Language) -> None:
    screen = SCREENS.get(Path(item.file).stem, play_text)(language)
    for id_ in item.ids:
        if id_.startswith("draw:"):
            assert DRAWN[id_.removeprefix("draw:")](language), id_
        else:
            text = bare(words_of(id_, language))
            assert text
            assert text in place_of(id_, screen, language), words_of(id_, language)


def place_of(id_: str, screen: str, language: Language) -> str:
    """Where the words of an id must stand: a cell of the table in its own row."""
    if not id_.startswith("table.row."):
        return screen
    kind = bare(t(f"{id_.rsplit('.', 1)[0]}.type", language))
    return next(row for row in table_rows(language) if row.startswith(kind))


# ---------------------------------------------------------------- words


def words_of(id_: str, language: Language) -> str:
    """What an id stands for: a sentence of the locale files, or a text of a scenario."""
    if id_.startswith("scenario:"):
        _, _, number, field = id_.removeprefix("scenario:").split("/")
        return str(getattr(scene(language).texts[int(number) - 1], field))
    key, *pairs = id_.split(" ")
    return t(key, language, **dict(pair.split("=") for pair in pairs))


def bare(text: str) -> str:
    """Text without blanks and lines, so that wrapping and borders do not matter."""
    return re.sub(r"[\s\u2500-\u257f]", "", text)


# ---------------------------------------------------------------- screens


@cache
def moments() -> Moments:
    return Moments(Pace(simulate(load_scenario("tp2-pp2", Overrides(profile="ideal")))))


@cache
def scene(language: Language) -> Scene:
    return scene_of(moments(), language)


def play_frame(language: Language, screen_s: float, size: tuple[int, int], tab: int = 0) -> Frame:
    state = moments().at(screen_s)
    width, height = size
    return draw_play(
        PlayView(scene=scene(language), state=state, width=width, height=height, tab=tab)
    )


def frame_at(language: Language, step: int, kind: str) -> list[str]:
    """Rows of the big screen in the middle of the first span of a kind in a step, from 1."""
    timeline, pace = moments().timeline, moments().pace
    times = timeline.steps[step - 1]
    spans = timeline.spans[times.first_span : times.last_span]
    span = next(s for s in spans if kind in (s.kind, s.collective))
    middle = pace.at_time((span.start_s + span.end_s) / 2)
    return play_frame(language, middle, BIG).text().splitlines()


@cache
def play_text(language: Language) -> str:
    pace = moments().pace
    frames = [play_frame(language, 0.0, NARROW, tab) for tab in range(len(TABS))]
    frames += [play_frame(language, pace.step_start(step), BIG) for step in range(8)]
    return bare("\n".join(frame.text() for frame in frames))


@cache
def basics_text(language: Language) -> str:
    return bare(draw_basics(scene(language), NARROW[0]).text())


@cache
def gallery_text(language: Language) -> str:
    return bare(draw_primitives(scene(language), NARROW[0], current=(), beat=0).text())


@cache
def table_rows(language: Language) -> list[str]:
    table = requirement_table(moments().timeline.scenario)
    return [bare(row) for row in table_frame(table, language, WHOLE).text().splitlines()]


def table_text(language: Language) -> str:
    return "\n".join(table_rows(language))


SCREENS: dict[str, Callable[[Language], str]] = {
    "basics": basics_text,
    "gallery": gallery_text,
    "tables": table_text,
}
"""By the name of the module that draws it; every other module is part of the play screen."""


# ---------------------------------------------------------------- what has no words


def phase_badge(language: Language) -> bool:
    prefill, decode = (
        play_frame(language, moments().pace.step_start(step - 1), BIG).text() for step in (1, 6)
    )
    return "PREFILL" in prefill and "DECODE" in decode and "PREFILL" not in decode


def tp_link(language: Language, stage: int) -> bool:
    """While a stage adds up partial sums, its link has pulses and says what moves."""
    rows = frame_at(language, step=2 if stage == 1 else 4, kind="all_reduce")
    second = next(i for i, row in enumerate(rows) if bare(t_stage(language, 2)) in bare(row))
    own = rows[:second] if stage == 1 else rows[second:]
    word = t("ui.collective.all_reduce", language)
    is_moving = any("═" in row and {"»", "«"} & set(row) for row in own)
    return is_moving and word in "\n".join(own)


def t_stage(language: Language, stage: int) -> str:
    return t("ui.stage.name", language, stage=stage, first=17, last=32)


def pp_links(language: Language) -> list[int]:
    """Columns of the lines on which activations move to the next stage."""
    rows = frame_at(language, step=3, kind="send")
    return sorted({x for row in rows for x, sign in enumerate(row) if sign == "┃"})


def idle_gpus(language: Language) -> bool:
    """When all is done every GPU says that it is idle."""
    end = play_frame(language, moments().pace.duration_s, BIG).text()
    return bare(end).count(f"○{bare(t('ui.state.idle', language))}") == 4


def kv_bars(language: Language) -> bool:
    frame = play_frame(language, 0.0, BIG).text()
    return len(re.findall(r"KV [▇─]{8}", frame)) == 4


DRAWN: dict[str, Callable[[Language], bool]] = {
    "phase_badge": phase_badge,
    "tp_link_1": lambda language: tp_link(language, 1),
    "tp_link_2": lambda language: tp_link(language, 2),
    "pp_left": lambda language: pp_links(language)[0] < BIG[0] // 4,
    "pp_right": lambda language: pp_links(language)[-1] > BIG[0] // 4,
    "idle": idle_gpus,
    "kv": kv_bars,
}
