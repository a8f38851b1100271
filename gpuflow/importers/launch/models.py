"""The model of a launch line: a folder at hand, or a name of the catalogue in any of its forms."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gpuflow.errors import Problem, ScenarioError
from gpuflow.importers.launch.values import precision_of
from gpuflow.scenario import catalog

_CACHE_FOLDER = re.compile(r"models--(.+)")
_EDITION = re.compile(
    r"(?:instruct|it|chat|hf|base|thinking|reasoning|preview|original|dynamic|block|channel|quantized|static|"
    r"fp8|fp4|nvfp4|mxfp4|bf16|fp16|awq|gptq|int4|int8|w4a16|w4a8|w8a8|w8a16|4bit|8bit|bnb|"
    r"quantized\.w\d+a\d+|v\d+(?:\.\d+)*|\d{4}|\d{6})",
    re.IGNORECASE,
)
"""Parts of a checkpoint's name that say how it was trained or stored, not how it is shaped."""
_SIZE = re.compile(r"\d[bB]\b")


@dataclass(frozen=True, slots=True)
class NamedModel:
    """A model to be looked up."""

    name: str
    """Catalogue id, or the path of a folder at hand."""
    precision: str | None
    """What its name says the weights are stored in; None: nothing, or the folder is at hand."""
    is_exact: bool
    """False where parts of the name were left out to find it."""


def find_model(written: str, folder: Path) -> NamedModel:
    """The model of a name or path as it stands in a launch line.

    Args:
        written: Hugging Face id, catalogue name, or a path.
        folder: Relative paths start here.

    Raises:
        ScenarioError: There is no such folder, and the catalogue has nothing of that name.
    """
    if "$" in written:
        values: dict[str, object] = {"found": written}
        raise ScenarioError(
            [Problem(code="launch_variable", key="--launch", values=values, hint="launch_variable")]
        )
    local = folder / _in_home(written)
    if _has_config(local):
        return NamedModel(str(local), None, is_exact=True)
    base = _base(written)
    for spelling in dict.fromkeys((written, base)):
        if catalog.has_model(spelling):
            return NamedModel(catalog.model(spelling).name, precision_of(base), is_exact=True)
    for spelling in _shorter(base):
        found = _by_base().get(spelling)
        if found is not None:
            return NamedModel(found, precision_of(base), is_exact=spelling == base.lower())
    values = {**catalog.unknown_name("model", base).values, "found": written}
    hint = "launch_model_near" if values["suggestion"] else "launch_model"
    raise ScenarioError([Problem(code="launch_model", key="--launch", values=values, hint=hint)])


def _in_home(written: str) -> Path:
    """A path with the home that its `~` means; as it stands where nobody knows whose that is."""
    try:
        return Path(written).expanduser()
    except RuntimeError:
        return Path(written)


def _has_config(path: Path) -> bool:
    try:
        return (path / "config.json").is_file()
    except (OSError, ValueError):
        return False


def _base(written: str) -> str:
    """The last part of a path or id; of a download cache the id that its folder is named for."""
    parts = [part for part in written.split("/") if part]
    for part in parts:
        cached = _CACHE_FOLDER.fullmatch(part)
        if cached is not None:
            return cached[1].split("--")[-1]
    return parts[-1] if parts else written


def _shorter(base: str) -> Iterator[str]:
    """The name, and what remains of it when editions and precisions are taken off its end."""
    name = base.lower().replace("_", "-").removeprefix("meta-")
    yield name
    while True:
        head, dash, last = name.rpartition("-")
        if not dash or not _EDITION.fullmatch(last):
            return
        if last[0] == "v" and not _SIZE.search(head):
            # DeepSeek-V3 is no edition of DeepSeek, Mistral-7B-v0.3 is one of Mistral-7B.
            return
        name = head
        yield name


@cache
def _by_base() -> dict[str, str]:
    """Id by the last part of every spelling, also without edition; spellings in full come first."""
    found: dict[str, str] = {}
    spellings = catalog.model_spellings()
    for position in (0, None):
        for spelling, name in spellings.items():
            for short in [*_shorter(_base(spelling))][position : 1 if position == 0 else None]:
                found.setdefault(short, name)
    return found
