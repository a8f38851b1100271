"""Scenario texts keep to the truth under every split: what has no figure is not said."""

from __future__ import annotations

import pytest

from gpuflow.engine.facts import HOLDS, NONE, facts
from gpuflow.engine.simulate import simulate
from gpuflow.engine.telling import tell, tell_if_true
from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.scenario.spec import Language
from gpuflow.units import Quantity

LANGUAGES: tuple[Language, ...] = ("zh", "en")
SPLITS = {
    "as shipped": ("tp2-pp2", Overrides()),
    "one GPU": ("tp2-pp2", Overrides(tp=1, pp=1)),
    "pipeline only": ("tp2-pp2", Overrides(tp=1)),
    "tensor only": ("tp2-pp2", Overrides(pp=1)),
    "many stages": ("tp2-pp2", Overrides(tp=8, pp=4, model="llama-3-70b")),
    "experts dispatched": ("tp2-pp2", Overrides(model="mixtral-8x7b", dp=2, ep=4)),
    "experts as shipped": ("moe-ep4", Overrides()),
    "experts in a TP group": ("moe-ep4", Overrides(tp=4, dp=1, ep=4)),
    "experts over two stages": ("moe-ep4", Overrides(pp=2)),
    "no experts": ("moe-ep4", Overrides(model="llama-3-8b", ep=1)),
}


def test_a_sentence_without_its_figure_is_left_out() -> None:
    values = {"tp": Quantity(1.0, "count"), "message_size": NONE}
    assert tell("tp 为 {tp}。每条 {message_size}，很小。完。", values) == "tp 为 1。完。"


def test_a_text_never_becomes_empty() -> None:
    assert tell("{size} each.", {"size": NONE}) == "– each."


def test_figures_with_points_do_not_end_a_sentence() -> None:
    values = {"time": Quantity(1.5e-3, "time"), "size": NONE}
    told = tell("It takes {time}. Version 1.2 {size} of it. End.", values)
    assert told == "It takes 1.5 ms. End."


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_text_of_a_step_at_work_has_its_figures(split: str, language: Language) -> None:
    name, overrides = SPLITS[split]
    timeline = simulate(load_scenario(name, overrides))
    for step, spec in zip(timeline.steps, timeline.scenario.steps, strict=True):
        if step.is_idle:
            assert spec.idle is not None, spec.id
            continue
        values = facts(timeline, step.index)
        for text in (spec.title, spec.summary, spec.detail, spec.network, spec.latency):
            told = tell(text.in_language(language), values)
            assert told
            assert "–，" not in told, (spec.id, told)
            assert not told.startswith("–"), (spec.id, told)
            assert " – " not in told, (spec.id, told)


def test_a_text_that_may_be_left_out_is_told_line_by_line() -> None:
    values = {
        "if_tp": NONE,
        "unless_tp": HOLDS,
        "tp": Quantity(2.0, "count"),
        "message_size": NONE,
    }
    assert tell_if_true("{if_tp}Add up.", values) == ""
    assert tell_if_true("A message is {message_size}.", values) == ""
    assert tell_if_true("One.\n{if_tp}Two.\n{unless_tp}tp is {tp}. {if_tp}Four.", values) == (
        "One.\ntp is 2."
    )
