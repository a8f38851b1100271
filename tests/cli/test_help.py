"""Help pages: every verb and option explained, in both languages, within the page's width."""

from __future__ import annotations

from typing import Any

import pytest

from gpuflow.cells import cell_width
from gpuflow.cli.app import VERBS, build_program
from gpuflow.words import has, t


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [40, 60, 80, None])
@pytest.mark.parametrize("verb", ["", *VERBS])
def test_every_page_fits_its_width(
    verb: str, width: int | None, language: str, gpuflow: Any
) -> None:
    result = gpuflow(*filter(None, (verb, "--help", "--lang", language)), width=width)
    assert (result.code, result.err) == (0, "")
    examples = t(f"verb.{verb}.examples", language).splitlines() if verb else []
    for line in result.out.splitlines():
        # An example stays on one line, so that it can be copied.
        assert cell_width(line) <= (width or 100) or line.strip() in examples


@pytest.mark.parametrize("verb", VERBS)
def test_a_page_names_every_option(verb: str, gpuflow: Any) -> None:
    page = gpuflow(verb, "--help").out
    for item in build_program().commands[verb].params:
        is_option = item.param_type_name == "option"
        names = [*item.opts, *item.secondary_opts] if is_option else [item.metavar]
        assert all(name in page for name in names)


def test_the_first_page_names_every_verb_and_needs_no_gpu(gpuflow: Any) -> None:
    page = gpuflow("--help").out
    assert "needs no GPU" in " ".join(page.splitlines()[:2])
    assert all(f"\n  {verb} " in page for verb in VERBS)
    assert gpuflow("-h").out == page


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_example_of_a_page_runs_as_far_as_its_options(language: str) -> None:
    program = build_program()
    for verb in VERBS:
        for example in t(f"verb.{verb}.examples", language).splitlines():
            words = example.split(" > ")[0].split()
            assert words[:2] == ["gpuflow", verb]
            known = {option for item in program.commands[verb].params for option in item.opts}
            assert {word for word in words if word.startswith("--")} <= known


def test_no_option_is_explained_that_is_not_there() -> None:
    commands = build_program().commands
    for verb, command in commands.items():
        for item in command.params:
            name = item.name.rstrip("_")
            assert has(f"option.{name}", "en") or has(f"option.{verb}.{name}", "en")


def test_the_version_is_one_line(gpuflow: Any) -> None:
    from gpuflow import __version__

    assert gpuflow("--version").out == f"gpuflow {__version__}\n"
