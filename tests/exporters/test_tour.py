"""The words of the guided tour: whole, filled, and true of the play."""

from __future__ import annotations

import re

import pytest

from gpuflow.cells import cell_width
from gpuflow.engine.composition import composed
from gpuflow.engine.pace import Pace
from gpuflow.engine.simulate import simulate
from gpuflow.exporters.tour import stop_records, tour_text
from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.scenario.spec import Language

LANGUAGES: tuple[Language, ...] = ("en", "zh")
CASES = (
    ("tp2-pp2", Overrides()),
    ("tp2-pp2", Overrides(tp=8, pp=1)),
    ("tp2-pp2", Overrides(tp=1, pp=1)),
    ("tp2-pp2", Overrides(pp=4, micro_batches=4, batch=4)),
    ("tp2-pp2", Overrides(output=1)),
    ("tp2-pp2", Overrides(tp=8, pp=1, batch=2048)),
    ("tp2-pp2", Overrides(tp=16, pp=4, model="llama-3-70b")),
    ("moe-ep4", Overrides()),
    ("moe-ep4", Overrides(tp=4, dp=1, ep=4)),
    ("moe-ep4", Overrides(model="deepseek-v3", gpu="h200", dp=16, ep=16)),
)


def pace_of(name: str, overrides: Overrides, *, is_composed: bool = False) -> Pace:
    scenario = load_scenario(name, overrides)
    return Pace(simulate(composed(scenario) if is_composed else scenario))


@pytest.mark.parametrize("is_composed", [False, True])
@pytest.mark.parametrize(("name", "overrides"), CASES)
def test_every_stop_has_a_title_a_lead_and_a_text_in_whole_sentences(
    name: str, overrides: Overrides, is_composed: bool
) -> None:
    pace = pace_of(name, overrides, is_composed=is_composed)
    for language in LANGUAGES:
        _, *stops = tour_text(pace, language, None).split("\n\n")
        for stop in stops:
            assert len(stop.splitlines()) == 3, stop
            for line in stop.splitlines():
                assert not re.search(r"[{}]|[a-z][.;,:][A-Za-z]|  | [,.;:]|: *[?.]", line), line
                assert not re.search("[，；：。][，；：。]|：$|^[）)]", line), line
                assert " – " not in line, line


def test_words_are_true_of_the_split() -> None:
    shipped = tour_text(pace_of("tp2-pp2", Overrides()), "en", None)
    assert "4 MiB a message, 17.1 µs" in shipped
    assert "dealt out to 2 stages" in shipped
    one = tour_text(pace_of("tp2-pp2", Overrides(tp=1, pp=1)), "en", None)
    for word in ("stages (PP)", "split over 1", "Stage 1 waits", "communication and"):
        assert word not in one
    assert "delivered by the host" in one
    large = tour_text(pace_of("tp2-pp2", Overrides(tp=8, pp=1, batch=2048)), "zh", None)
    assert "batch 大了，消息也大" in large
    assert "用不满带宽" not in large


@pytest.mark.parametrize("language", LANGUAGES)
def test_lines_fold_at_the_width_of_a_terminal(language: Language) -> None:
    text = tour_text(pace_of("tp2-pp2", Overrides()), language, 60)
    assert max(map(cell_width, text.splitlines())) <= 60


def test_records_are_the_same_in_every_language_but_for_words() -> None:
    pace = pace_of("moe-ep4", Overrides())
    english, chinese = (stop_records(pace, language) for language in LANGUAGES)
    for one, other in zip(english, chinese, strict=True):
        same = ("id", "number", "step", "collective")
        assert [one[key] for key in same] == [other[key] for key in same]
        assert one["text"] != other["text"]
