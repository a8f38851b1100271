"""The load of a request rate as people read it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gpuflow.engine.load import network_load
from gpuflow.engine.requirements import requirement_table
from gpuflow.engine.targets import Targets
from gpuflow.exporters.grid import grid_text
from gpuflow.exporters.load import load_rows, load_table
from gpuflow.exporters.tables import markdown
from gpuflow.scenario.spec import Language, Scenario

Load = Callable[..., Scenario]

ACROSS = {"model": "llama-3-70b", "gpu": "a100", "tp": 32, "pp": 1}
"""Four nodes, two below each leaf switch."""


def text_of(scenario: Scenario, rate: float, language: Language, **targets: float) -> str:
    table = requirement_table(scenario, targets=Targets(**targets))
    return grid_text(load_table(network_load(table, rate), language), None, lambda text, _: text)


def test_the_table_says_what_a_network_engineer_asks(load: Load) -> None:
    scenario = load(model="llama-3-70b", gpu="a100", tp=8, pp=4, prompt=8192, output=256)
    text = text_of(scenario, 1.0, "en")
    assert "KV hand-over" in text
    assert "21.5 Gb/s (2.68 GB/s)" in text
    assert "An oversubscription of " in text
    assert "PP in prefill 3 GiB" in text
    assert "more than they can serve" in text
    assert "Leaf uplink" in markdown(
        load_table(network_load(requirement_table(scenario), 1.0), "en")
    )


@pytest.mark.parametrize(
    ("changes", "rate", "targets", "english", "chinese"),
    [
        ({}, 1.0, {}, "tolerates any oversubscription", "收敛比多大都可以"),
        (ACROSS, 1.0, {}, "No oversubscription is", "不能有任何收敛"),
        ({}, 1.0, {"ttft_s": 1e-3}, "leaves no time", "没有留出 Prefill 之后再读的时间"),
        ({}, 1e-3, {}, "so 0.001 can be served", "0.001 个可以承受"),
        ({}, 1.0, {}, "stays inside its nodes", "都在节点内"),
    ],
)
def test_sentences_for_every_case(
    changes: dict[str, object],
    rate: float,
    targets: dict[str, float],
    english: str,
    chinese: str,
    load: Load,
) -> None:
    scenario = load(**changes)
    assert english in text_of(scenario, rate, "en", **targets)
    assert chinese in text_of(scenario, rate, "zh", **targets)


def test_rows_are_the_same_figures_in_both_languages(load: Load) -> None:
    found = network_load(requirement_table(load(tp=8, pp=2)), 3.0)
    english, chinese = (load_rows(found, language) for language in ("en", "zh"))
    words = {"type", "note"}
    for one, other in zip(english, chinese, strict=True):
        assert {k: v for k, v in one.items() if k not in words} == {
            k: v for k, v in other.items() if k not in words
        }


def test_a_burst_of_one_nic_is_not_taken_for_that_of_all(load: Load) -> None:
    text = text_of(load("tp2-pp2", **ACROSS), 1.0, "en")
    line = next(line for line in text.splitlines() if line.startswith("KV hand-over "))
    assert " a NIC" in line
