"""Recordings and pictures: what they show is what is drawn, and they are the same every time."""

from __future__ import annotations

import html
import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pyte
import pytest

from gpuflow.cells import cell_width
from gpuflow.draw.theme import THEMES, load_theme
from gpuflow.engine.pace import Pace
from gpuflow.engine.simulate import simulate
from gpuflow.exporters.cast import recording
from gpuflow.exporters.film import Film
from gpuflow.exporters.pictures import FONT_SIZE, PAD
from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.scenario.spec import Language

LANGUAGES: tuple[Language, ...] = ("zh", "en")


def film(language: Language, columns: int = 80, rows: int = 24, *, is_ascii: bool = False) -> Film:
    scenario = load_scenario("tp2-pp2", Overrides(profile="ideal"))
    return Film(Pace(simulate(scenario)), language, columns, rows, is_ascii=is_ascii)


def screen_after(events: list[list[Any]], columns: int, rows: int) -> list[str]:
    screen = pyte.Screen(columns, rows)
    stream = pyte.Stream(screen)
    for _, kind, data in events:
        assert kind == "o"
        stream.feed(data)
    return ["".join(screen.buffer[y][x].data for x in range(columns)) for y in range(rows)]


# ---------------------------------------------------------------- recordings


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_recording_is_the_same_every_time(language: str, gpuflow: Any, tmp_path: Path) -> None:
    written = []
    for name in ("one.cast", "two.cast"):
        result = gpuflow(
            *("record", "--file", str(tmp_path / name), "--until", "2", "--lang", language)
        )
        assert (result.code, result.out) == (0, "")
        written.append((tmp_path / name).read_bytes())
    printed = gpuflow("record", "--until", "2", "--lang", language).out
    assert written[0] == written[1] == printed.encode()


@pytest.mark.parametrize("language", LANGUAGES)
def test_played_to_any_frame_it_shows_what_is_drawn(language: Language) -> None:
    shot = film(language)
    first_s, last_s = shot.pace.step_start(1), shot.pace.step_start(3)
    lines = list(recording(shot, load_theme("dark"), first_s=first_s, last_s=last_s, fps=4))
    header, *events = map(json.loads, lines)
    assert (header["version"], header["width"], header["height"]) == (2, 80, 24)
    times = [time for time, _, _ in events]
    assert times == sorted(times)
    for count in (1, 10, len(events) - 1):
        last = events[count - 1][0]
        index = round((last - 0.5) * 4)
        frame = shot.frame(first_s)
        if count > 1:
            is_last = count == len(events) - 1
            moment_s = last_s if is_last else first_s + index / 4
            frame = shot.frame(moment_s, is_playing=not is_last)
        wanted = ["".join(run.text for run in row) for row in frame.rows]
        assert screen_after(events[:count], 80, 24) == wanted


def test_size_rate_and_steps_are_as_asked(gpuflow: Any) -> None:
    lines = gpuflow(
        *("record", "--from", "3", "--until", "3", "--size", "60x20", "--fps", "2", "--lang", "en")
    ).out.splitlines()
    header, *events = map(json.loads, lines)
    assert (header["width"], header["height"]) == (60, 20)
    steps = [time * 2 for time, _, _ in events]
    assert steps == [round(step) for step in steps]
    rows = "\n".join(screen_after(events[:-1], 60, 20))
    assert "3/8" in rows
    assert "4/8" not in rows


def test_without_colour_only_attributes_are_recorded(gpuflow: Any) -> None:
    text = gpuflow("record", "--until", "1", "--no-color").out
    assert "38;2" not in text
    assert "38;2" in gpuflow("record", "--until", "1").out
    assert r"\u001b[0;1m" in text


def test_the_end_may_not_come_before_the_start(gpuflow: Any) -> None:
    result = gpuflow("record", "--from", "3", "--until", "2", "--lang", "en")
    assert result.code == 2
    assert "step 2 comes before step 3" in result.err
    assert gpuflow("record", "--from", "9").code == 2


# ---------------------------------------------------------------- pictures


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("theme", THEMES)
def test_a_drawing_holds_every_character_in_its_cell(
    theme: str, language: Language, gpuflow: Any
) -> None:
    text = gpuflow(
        *("export", "--profile", "ideal", "--step", "2", "--theme", theme, "--size", "80x24"),
        *("--lang", language),
    ).out
    root = ElementTree.fromstring(text)
    rows: dict[float, list[str]] = {}

    def put(top: float, place: str, character: str) -> None:
        cell = round((float(place) - PAD) / 8.4)
        cells = rows.setdefault(top, [" "] * 80)
        cells[cell] = character
        if cell_width(character) == 2:
            cells[cell + 1] = ""

    space = "{http://www.w3.org/2000/svg}"
    for item in root.iter(f"{space}text"):
        places = item.attrib["x"].split()
        for place, character in zip(places, item.text or "", strict=True):
            put(float(item.attrib["y"]) - FONT_SIZE + 1, place, character)
    for item in root.iter(f"{space}g"):
        place, top = re.findall(r"[\d.]+", item.attrib["transform"])
        put(float(top), place, item.findtext(f"{space}title") or "")
    drawn = ["".join(cells).rstrip() for _, cells in sorted(rows.items())]
    wanted = film(language).still(1).text().splitlines()
    assert drawn == [line for line in wanted if line.strip()]
    assert load_theme(theme).background in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_page_holds_all_steps_and_asks_for_nothing(language: Language, gpuflow: Any) -> None:
    page = gpuflow(
        *("export", "--profile", "ideal", "--to", "html", "--size", "80x24", "--lang", language)
    ).out
    assert not re.search(r"https?:|//|url\(|@import|<script|<link|<img|src=", page)
    blocks = re.findall(r"<pre>(.*?)</pre>", page, re.S)
    assert len(blocks) == 8
    shot = film(language)
    for step, block in enumerate(blocks):
        shown = html.unescape(re.sub(r"</?(span|i)\b[^>]*>", "", block))
        assert "\n".join(line.rstrip() for line in shown.split("\n")) == shot.still(step).text()
        assert f'href="#step-{step + 1}"' in page
        assert f'id="step-{step + 1}"' in page


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_browser_opens_the_page_without_complaint(
    language: Language, gpuflow: Any, browse: Any, tmp_path: Path
) -> None:
    file = tmp_path / "steps.html"
    assert (
        gpuflow("export", "--profile", "ideal", "--file", str(file), "--lang", language).code == 0
    )
    page = browse(file.as_uri())
    assert page.console == []
    assert page.dom.count("<pre>") == 8


@pytest.mark.parametrize("language", LANGUAGES)
def test_text_is_what_print_prints(language: str, gpuflow: Any) -> None:
    asked = ("--at", "60us", "--size", "100x30", "--lang", language)
    assert gpuflow("export", "--to", "txt", *asked).out == gpuflow("play", "--print", *asked).out


@pytest.mark.parametrize("form", ["svg", "html", "txt"])
def test_the_form_follows_the_file(form: str, gpuflow: Any, tmp_path: Path) -> None:
    file = tmp_path / f"steps.{form}"
    assert gpuflow("export", "--step", "1", "--file", str(file)).code == 0
    assert file.read_text("utf-8") == gpuflow("export", "--step", "1", "--to", form).out


def test_ascii_pictures_are_ascii(gpuflow: Any) -> None:
    for form in ("svg", "html", "txt"):
        text = gpuflow("export", "--ascii", "--to", form, "--lang", "zh").out
        assert text.isascii()


@pytest.mark.parametrize("verb", ["record", "export"])
def test_a_file_that_cannot_be_written_is_said_in_a_line(
    verb: str, gpuflow: Any, tmp_path: Path
) -> None:
    result = gpuflow(verb, "--file", str(tmp_path / "none" / "x"), "--lang", "en")
    assert result.code == 2
    assert "cannot be written" in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize(("form", "sentence"), [("html", "<strong>{}"), ("md", "To remember: {}")])
def test_pages_close_each_step_with_what_is_to_be_remembered(
    form: str, sentence: str, gpuflow: Any
) -> None:
    page = gpuflow("export", "--profile", "ideal", "--to", form, "--lang", "en").out
    for words in ("Handing out the prompt moves 2 KiB", "PP buys memory, not speed"):
        assert page.count(sentence.format(words)) == 1
