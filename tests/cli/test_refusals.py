"""Options that would change nothing, or mean something else than was typed, are refused."""

from __future__ import annotations

from typing import Any

import pytest


@pytest.mark.parametrize("verb", ["play", "schema"])
@pytest.mark.parametrize("form", ["table", "markdown", "csv"])
def test_a_verb_without_tables_refuses_their_formats(verb: str, form: str, gpuflow: Any) -> None:
    assert "--format {json}" in gpuflow(verb, "--help").out
    result = gpuflow(verb, "--format", form)
    assert (result.code, result.out) == (2, "")
    assert f"`{form}`" in result.err
    assert "json" in result.err


@pytest.mark.parametrize("arguments", [("--format", "csv", "play"), ("--format", "csv")])
def test_a_format_before_the_verb_is_refused_too(arguments: tuple[str, ...], gpuflow: Any) -> None:
    result = gpuflow(*arguments)
    assert (result.code, result.out) == (2, "")


@pytest.mark.parametrize("options", [("--at", "6"), ("--step", "decode-first")])
def test_text_of_one_step_is_that_step_alone(options: tuple[str, ...], gpuflow: Any) -> None:
    whole = gpuflow("play", "--plain").out
    text = gpuflow("play", "--plain", *options).out
    assert text.startswith("Step 6/8")
    assert text.count("/8 (") == 1
    assert text in whole
    steps = gpuflow("play", *options, "--format", "json").json["steps"]
    assert [step["id"] for step in steps] == ["decode-first"]


def test_a_moment_tells_the_step_it_is_in(gpuflow: Any) -> None:
    assert gpuflow("play", "--plain", "--at", "1.5ms").out.startswith("Step 2/8")
