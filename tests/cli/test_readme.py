"""What the README and the pages behind it show is what the program does."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = (README, *sorted((ROOT / "gpuflow" / "data" / "docs").glob("*.md")))
PICTURE = ROOT / "tests" / "data" / "readme" / "play-80x24.txt"
DRAWING = PICTURE.with_name("play.svg")
DRAWING_COMMAND = "gpuflow export --profile ideal --at 60us --size 100x30"
PICTURE_COMMAND = "gpuflow play --profile ideal --at 60us --size 80x24 --print"

pytestmark = pytest.mark.skipif(not README.is_file(), reason="not run from a checkout")


def examples() -> list[str]:
    """The example lines that need no file of the reader's own."""
    text = "\n".join(page.read_text("utf-8") for page in PAGES)
    blocks = re.findall(r"^```\n(.*?)^```$", text, re.M | re.S)
    lines = [line for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("gpuflow ") and "path/to" not in line]


def test_the_picture_is_what_its_command_prints(gpuflow: Callable[..., Any]) -> None:
    readme = README.read_text("utf-8")
    picture = PICTURE.read_text("utf-8")
    assert f"`{PICTURE_COMMAND}`" in readme
    assert f"```\n{picture}```" in readme
    printed = gpuflow(*shlex.split(PICTURE_COMMAND)[1:], "--lang", "en")
    assert printed.out == picture


def test_the_drawing_is_what_its_command_writes(gpuflow: Callable[..., Any]) -> None:
    readme = README.read_text("utf-8")
    assert f"]({DRAWING.relative_to(ROOT).as_posix()})" in readme
    assert f"`{DRAWING_COMMAND}`" in readme
    written = gpuflow(*shlex.split(DRAWING_COMMAND)[1:], "--lang", "en")
    if os.environ.get("GPUFLOW_UPDATE_GOLDEN"):
        DRAWING.write_text(written.out, "utf-8")
    assert written.out == DRAWING.read_text("utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_to_a_file(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)\)", page.read_text("utf-8"))
    assert [target for target in targets if not (page.parent / target).is_file()] == []


def test_there_are_examples() -> None:
    assert len(examples()) > 5


@pytest.mark.parametrize("line", examples())
def test_every_example_runs(line: str, gpuflow: Callable[..., Any]) -> None:
    result = gpuflow(*shlex.split(line)[1:])
    assert result.code == 0, result.err
    assert result.out
