from __future__ import annotations

import ast
import re
import string
import tokenize
import unicodedata
from collections.abc import Iterator
from functools import cache
from importlib import resources
from pathlib import Path

import pytest
import yaml

from gpuflow.cells import cell_width
from gpuflow.errors import Mark, Problem
from gpuflow.units import Quantity
from gpuflow.words import LANGUAGES, language_of, problem_text, report, sentences, t

PACKAGE = Path(str(resources.files("gpuflow")))
LOCALES = PACKAGE / "data" / "locales"
FILES = sorted(path.name for path in (LOCALES / "en").glob("*.yaml"))


def read(language: str, name: str) -> dict[str, str]:
    return yaml.safe_load((LOCALES / language / name).read_text("utf-8"))


def placeholders(sentence: str) -> list[str]:
    return sorted(name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None)


def test_both_languages_have_the_same_files() -> None:
    assert sorted(path.name for path in (LOCALES / "zh").glob("*.yaml")) == FILES


@pytest.mark.parametrize("name", FILES)
def test_both_languages_have_the_same_keys_in_the_same_order(name: str) -> None:
    assert list(read("zh", name)) == list(read("en", name))


@pytest.mark.parametrize("name", FILES)
def test_both_languages_have_the_same_placeholders(name: str) -> None:
    english, chinese = read("en", name), read("zh", name)
    differing = [k for k in english if placeholders(english[k]) != placeholders(chinese[k])]
    assert differing == []


def test_no_key_stands_in_two_files() -> None:
    keys = [key for name in FILES for key in read("en", name)]
    assert sorted(keys) == sorted(set(keys))


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_sentence_holds_a_character_that_shifts_columns(language: str) -> None:
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    for key, sentence in sentences(language).items():
        found = [c for c in sentence if unicodedata.category(c) in hidden or c == "\ufe0f"]
        assert [c for c in found if c != "\n"] == [], key


def code_strings(path: Path) -> Iterator[tuple[int, str]]:
    """Strings and comments of a source with their line, without docstrings and their examples."""
    begins_line = True
    with path.open("rb") as stream:
        for token in tokenize.tokenize(stream.readline):
            if token.type == tokenize.COMMENT or (
                token.type not in {tokenize.NL, tokenize.NEWLINE} and not begins_line
            ):
                yield token.start[0], token.string
            begins_line = token.type in {
                tokenize.ENCODING,
                tokenize.NEWLINE,
                tokenize.INDENT,
                tokenize.DEDENT,
            } or (begins_line and token.type in {tokenize.NL, tokenize.COMMENT})


def test_sources_hold_no_han_character() -> None:
    han = re.compile("[\u3400-\u9fff\uf900-\ufaff]")
    found = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for line, text in code_strings(path)
        if han.search(text)
    ]
    assert found == []


@cache
def literals() -> frozenset[str]:
    """Every string of the sources."""
    return frozenset(
        node.value
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


@cache
def beginnings() -> frozenset[str]:
    """What the f-strings of the sources begin with."""
    return frozenset(
        str(node.values[0].value)
        for path in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant)
    )


CODE_PREFIXES = ("problem.", "hint.", "kind.", "assumed.")
"""Keys whose last part is a value somewhere in the sources: a code, a hint, a reason."""


def is_used(key: str) -> bool:
    prefix = next((p for p in CODE_PREFIXES if key.startswith(p)), "")
    name = key.removeprefix(prefix)
    if name in literals():
        return True
    if not prefix:
        return any(key.startswith(start) for start in beginnings() if "." in start)
    # catalogue codes are made of a kind: unknown_model, known_model
    return any(
        name.startswith(start) and name.removeprefix(start) in literals()
        for start in beginnings()
        if start.endswith("_")
    )


def test_every_sentence_is_used() -> None:
    assert [key for key in sentences("en") if not is_used(key)] == []


def problem_codes() -> Iterator[tuple[str, str]]:
    """Literal codes, hints and keys of words in calls, with the sentence they need."""
    for path in PACKAGE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call):
                continue
            for keyword in node.keywords:
                value = keyword.value
                if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value:
                    if keyword.arg == "code":
                        yield f"problem.{value.value}", path.name
                    elif keyword.arg == "hint":
                        yield f"hint.{value.value}", path.name
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            first = node.args[0] if node.args else None
            if name == "t" and isinstance(first, ast.Constant):
                yield str(first.value), path.name


def test_every_code_hint_and_key_in_the_sources_has_a_sentence() -> None:
    known = set(sentences("en"))
    missing = {(key, place) for key, place in problem_codes() if key not in known}
    assert missing == set()


def test_a_missing_key_is_a_bug_and_raises() -> None:
    with pytest.raises(KeyError):
        t("no.such.key", "en")


def test_values_are_written_with_their_unit_and_controls_become_visible() -> None:
    problem = Problem(
        code="file_too_large",
        values={"size": Quantity(3 * 2**20, "bytes"), "limit": "\x1b[31m"},
    )
    message, _ = problem_text(problem, "en")
    assert message.startswith("3 MiB is more than such a file may have (␛[31m)")


@pytest.mark.parametrize(
    ("option", "environ", "language"),
    [
        (None, {}, "en"),
        ("zh", {"GPUFLOW_LANG": "en"}, "zh"),
        (None, {"GPUFLOW_LANG": "zh", "LC_ALL": "en_US.UTF-8"}, "zh"),
        (None, {"LC_ALL": "C", "LANG": "zh_CN.UTF-8"}, "en"),
        (None, {"LC_ALL": "", "LC_MESSAGES": "zh_CN.UTF-8", "LANG": "en_US"}, "zh"),
        (None, {"LANG": "de_DE.UTF-8"}, "en"),
    ],
)
def test_language_follows_option_then_environment(
    option: str | None, environ: dict[str, str], language: str
) -> None:
    assert language_of(option, environ) == language


def test_the_caret_stands_under_its_character_beside_chinese_text() -> None:
    mark = Mark(file="a.yaml", line=3, column=5, source_line="标题：坏 tp")
    problem = Problem(
        code="file_empty", key="title", file="a.yaml", mark=mark, hint="start_from_shipped"
    )
    place, source, caret, hint = report([problem], "zh").splitlines()
    assert place == "a.yaml:3:5: title: 文件是空的"
    assert source == "  标题：坏 tp"
    assert caret == "  " + " " * cell_width("标题：坏") + "^"
    assert hint.startswith("提示：")


@pytest.mark.parametrize("column", [1, 40, 150, 290, 300])
def test_a_long_line_is_cut_around_the_caret(column: int) -> None:
    line = "".join(chr(0x4E00 + n) for n in range(300))
    mark = Mark(file="a", line=1, column=column, source_line=line)
    _, source, caret = report([Problem(code="file_empty", mark=mark)], "en").splitlines()
    assert cell_width(source) <= 102
    position, cells = 0, 2
    text = source.removeprefix("  ")
    while cells < caret.index("^"):
        cells += cell_width(text[position])
        position += 1
    assert text[position] == line[column - 1]
