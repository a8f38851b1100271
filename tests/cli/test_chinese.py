"""Chinese on the page: nothing but Chinese punctuation and no blanks between Chinese words."""

from __future__ import annotations

import re
from typing import Any

import pytest

STRAY = re.compile(r"(?<=[一-鿿，。；：（]) (?=[一-鿿（])")
"""One blank where Chinese has none; columns of a table stand at least two apart."""


@pytest.mark.parametrize(
    "arguments",
    [
        ("table", "--profile", "ideal"),
        ("table", "--profile", "ideal", "--ttft", "500ms"),
        ("table", "--profile", "ideal", "--ttft", "500ms", "--tpot", "30ms"),
        ("estimate", "--explain", "--profile", "ideal"),
        ("compare", "profile=ideal", "profile=vllm"),
        ("compare", "tp2-pp2", "moe-ep4"),
        ("card", "--profile", "ideal"),
        ("play", "--plain", "--ask", "--profile", "ideal"),
        ("new", "--profile", "ideal"),
    ],
    ids=" ".join,
)
def test_chinese_words_stand_without_blanks(arguments: tuple[str, ...], gpuflow: Any) -> None:
    result = gpuflow(*arguments, "--lang", "zh")
    assert result.code == 0
    assert [line for line in result.out.splitlines() if STRAY.search(line)] == []
