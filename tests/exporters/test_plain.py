"""The eight steps as text: whole, filled, and free of anything a screen reader stumbles over."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from gpuflow.cells import cell_width
from gpuflow.engine.simulate import simulate
from gpuflow.exporters.plain import scenario_line, steps_text
from gpuflow.scenario.spec import Language, Scenario

BOXES = re.compile("[\u2500-\u257f\u2580-\u259f\x1b]")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", ["tp2-pp2", "moe-ep4"])
def test_each_step_is_one_paragraph(
    name: str, language: Language, load: Callable[..., Scenario]
) -> None:
    paragraphs = steps_text(simulate(load(name)), language, None).split("\n\n")
    assert len(paragraphs) == 10
    for number, paragraph in enumerate(paragraphs[1:9], start=1):
        assert f"{number}/8" in paragraph.splitlines()[0]
        assert len(paragraph.splitlines()) >= 5


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", ["tp2-pp2", "moe-ep4"])
def test_no_boxes_no_escapes_no_open_placeholder(
    name: str, language: Language, load: Callable[..., Scenario]
) -> None:
    text = steps_text(simulate(load(name)), language, None)
    assert not BOXES.search(text)
    assert not re.search(r"\{\w+\}", text)
    assert "\ufe0f" not in text


def test_the_figures_are_those_of_the_engine(load: Callable[..., Scenario]) -> None:
    text = steps_text(simulate(load()), "en", None)
    for figure in ("2 KiB", "4 MiB", "8 KiB", "19.3 µs", "TTFT"):
        assert figure in text


def test_a_step_with_nothing_to_do_says_why(load: Callable[..., Scenario]) -> None:
    paragraphs = steps_text(simulate(load(pp=1)), "en", None).split("\n\n")
    assert len(paragraphs) == 10
    assert len(paragraphs[3].splitlines()) == 2


def test_one_token_of_output_has_no_tpot(load: Callable[..., Scenario]) -> None:
    assert "TPOT" not in steps_text(simulate(load(output=1)), "en", None).splitlines()[-1]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_lines_fold_at_the_width_of_a_terminal(
    language: Language, load: Callable[..., Scenario]
) -> None:
    timeline = simulate(load())
    folded = steps_text(timeline, language, 60)
    assert max(map(cell_width, folded.splitlines())) <= 60
    whole = steps_text(timeline, language, None)
    assert re.sub(r"\s", "", folded) == re.sub(r"\s", "", whole)


@pytest.mark.parametrize(
    ("language", "said"), [("en", "output 128, context 4,096;"), ("zh", "输出 128，上下文 4,096；")]
)
def test_a_heading_names_a_context_that_was_given(
    language: Language, said: str, load: Callable[..., Scenario]
) -> None:
    assert said in scenario_line(load(context=4096), language)
    assert "4,096" in steps_text(simulate(load(context=4096)), language, None).split("\n\n")[0]
    usual = scenario_line(load(), language)
    assert "context" not in usual
    assert "上下文" not in usual
