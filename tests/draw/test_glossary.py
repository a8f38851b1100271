"""The glossary: complete in both languages, in the words of the program, the step's own first."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib import resources
from typing import get_args

import pytest

from gpuflow.draw.glossary import draw_glossary
from gpuflow.draw.step_terms import tags_of, terms_of_step
from gpuflow.draw.terms import find_term, glossary, group_names, names_of
from gpuflow.draw.view import Scene
from gpuflow.engine.moment import Moments
from gpuflow.scenario.load import scenario_names, scenario_path
from gpuflow.scenario.spec import Collective, Language
from gpuflow.words import sentences

LANGUAGES: tuple[Language, ...] = ("zh", "en")
HAN = re.compile("[\u3400-\u9fff]")
ONLY_HERE = {
    "alpha-beta": "α-β 模型",
    "chunked-prefill": "Chunked Prefill",
    "continuous-batching": "连续批处理",
    "gqa": "GQA",
    "one-shot": "one-shot 与 two-shot AllReduce",
    "roce": "RoCE",
}
"""Chinese names that no other sentence needs."""


def every_chinese_word() -> str:
    """All that the program and its scenarios say in Chinese."""
    data = resources.files("gpuflow") / "data"
    words = [s for key, s in sentences("zh").items() if not key.startswith("glossary.")]
    words += [scenario_path(name).read_text("utf-8") for name in scenario_names()]
    words += [(data / f"{name}.yaml").read_text("utf-8") for name in ("steps", "fabrics")]
    return "\n".join(words)


def test_there_are_terms_of_every_group() -> None:
    assert len(glossary()) >= 45
    assert {term.group for term in glossary().values()} == set(group_names())


def test_every_term_is_complete_in_both_languages() -> None:
    for term in glossary().values():
        for text in (term.name, term.text, term.seen):
            assert text.zh
            assert text.en
            assert not HAN.search(text.en), term.id
        assert term.text.en.endswith(".")
        assert term.text.zh.endswith("。")
        assert HAN.search(term.text.zh)
        assert len(re.findall(r"[.:] ", f"{term.text.en} ")) <= 4, term.id


def test_every_primitive_is_explained() -> None:
    assert set(get_args(Collective)) <= set(glossary())


def test_no_name_means_two_things() -> None:
    names = [name.casefold() for term in glossary().values() for name in set(names_of(term))]
    for term in glossary().values():
        for name in names_of(term):
            assert find_term(name) == term, name
    assert names


@pytest.mark.parametrize("name", sorted(glossary()))
def test_chinese_names_are_those_that_the_program_uses(name: str) -> None:
    term, said = glossary()[name], every_chinese_word()
    if name in ONLY_HERE:
        assert term.name.zh == ONLY_HERE[name]
        return
    for part in re.split("[、（）]| 与 ?", term.name.zh):
        assert part.strip().casefold() in said.casefold(), part


def test_chinese_texts_have_blanks_between_the_scripts() -> None:
    for term in glossary().values():
        for text in (term.text.zh, term.seen.zh):
            assert not re.search("[\u3400-\u9fff][A-Za-z0-9]|[A-Za-z0-9][\u3400-\u9fff]", text), (
                text
            )


def test_tags_are_those_that_steps_have(moments_of: Callable[..., Moments]) -> None:
    met: set[str] = set()
    for scenario, changes in (
        ("tp2-pp2", {}),
        ("tp2-pp2", {"tp": 8, "pp": 4}),
        ("tp2-pp2", {"chunk": 128}),
        ("moe-ep4", {}),
    ):
        timeline = moments_of(scenario, **changes).timeline
        for step in timeline.steps:
            met |= tags_of(timeline, step.index)
    rare = {"mla", "roce", "pcie", "reduce", "scatter", "reduce_scatter", "nvls", "tree"}
    rare |= {"one_shot", "two_shot"}
    used = {tag for term in glossary().values() for tag in term.tags}
    assert used - met - rare == set()


def test_a_step_names_its_own_terms(moments_of: Callable[..., Moments]) -> None:
    timeline = moments_of("tp2-pp2").timeline
    first = {term.id for term in terms_of_step(timeline, 1)}
    assert {"tp", "all_reduce", "prefill", "ttft", "nvlink"} <= first
    assert {"decode", "tpot", "ep", "send_recv"} & first == set()
    hop = {term.id for term in terms_of_step(timeline, 2)}
    assert {"pp", "send_recv", "stage"} <= hop
    assert "all_reduce" not in hop


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("width", [39, 79, 119, 199])
def test_the_page_holds_every_term_once(
    width: int, language: Language, scene_in: Callable[..., Scene]
) -> None:
    scene = scene_in(language)
    text = draw_glossary(scene, width, step=1).text()
    assert text.index("▶") < text.index("NVSwitch")
    squeezed = re.sub(r"[\s│]", "", text)
    for term in glossary().values():
        name = re.sub(r"\s", "", term.name.in_language(language))[:20]
        assert name in squeezed, term.id


def test_ascii_goes_without_chinese(scene_in: Callable[..., Scene]) -> None:
    assert not HAN.search(draw_glossary(scene_in("en"), 79, step=1, is_ascii=True).text())
