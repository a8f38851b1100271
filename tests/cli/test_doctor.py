"""The doctor where there is no terminal: it says so, in both languages and every form."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize(("language", "word"), [("zh", "输出文本"), ("en", "prints text")])
def test_without_a_terminal_it_says_that_text_is_printed(
    language: str, word: str, gpuflow: Any
) -> None:
    result = gpuflow("doctor", "--lang", language)
    assert (result.code, result.err) == (0, "")
    assert word in result.out
    assert "TERM" in result.out


def test_every_form_holds_the_same_answers(gpuflow: Any) -> None:
    document = gpuflow("doctor", "--format", "json").json
    assert document["schema"] == "gpuflow/doctor/1"
    assert document["use"]["mode"] == "text"
    lines = gpuflow("doctor", "--format", "csv").out.splitlines()
    assert len(lines) == 1 + len(document["terminal"]) + len(document["use"])
    assert "| TERM | xterm-256color |" in gpuflow("doctor", "--format", "markdown").out
