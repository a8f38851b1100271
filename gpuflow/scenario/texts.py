"""Texts in two languages with placeholders, checked where they stand in the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from gpuflow.scenario.nodes import Scalar
from gpuflow.scenario.placeholders import FIGURES, PLACEHOLDERS
from gpuflow.scenario.reader import Fields, wrong_type
from gpuflow.scenario.spec import Text
from gpuflow.scenario.spelling import nearest

TEXT_EXAMPLE = "{zh: ..., en: ...}"

_MAX_PROBLEMS = 10
"""Of one text; finding the place of each takes as long as the text is."""

_BRACES = re.compile(r"\{\{|\}\}|\{[^{}\n]*\}|[{}]")
# A number and its unit apart: one pattern would try a long row of digits from each of them.
_NUMBER = re.compile(r"[0-9][0-9.,]*\s?")
# The escapes are the Chinese words for (nano-, micro-, milli-) second and for byte.
_UNIT = re.compile(
    r"(?:[KMGTP]i?B(?:/s|ps)?|[KMGT]?b(?:/s|ps|it/s)|k[Bb](?:/s|ps)?|B/s|bytes?"
    r"|ns|us|µs|μs|ms|[GTP]?FLOPS?(?:/s)?|%|％"
    r"|seconds?|microseconds?|milliseconds?|[\u7eb3\u5fae\u6beb]?\u79d2|\u5b57\u8282)(?![A-Za-z0-9])"
)


def read_text(fields: Fields, name: str) -> Text | None:
    """A text `{zh: ..., en: ...}` under a key."""
    node = fields.node.values.get(name)
    if isinstance(node, Scalar) and node.yaml_type != "null":
        wrong_type(fields.problems, node, fields.path(name), "text_in_languages")
        return None
    inner = fields.mapping(name)
    if inner is None:
        return None
    inner.known(("zh", "en"), {"zh": "...", "en": "..."})
    chinese, english = inner.word("zh"), inner.word("en")
    for language in ("zh", "en"):
        _check(inner, language)
    if chinese is None or english is None:
        return None
    return Text(zh=chinese, en=english)


def _check(fields: Fields, language: str) -> None:
    node = fields.node.values.get(language)
    if not isinstance(node, Scalar):
        return
    n_reported = 0
    for match in _BRACES.finditer(node.value):
        if match[0] in {"{{", "}}"} or match[0][1:-1] in PLACEHOLDERS:
            continue
        _report_braces(fields, language, node, match)
        n_reported += 1
        if n_reported == _MAX_PROBLEMS:
            break
    for written, end in islice(_quantities(node.value), _MAX_PROBLEMS):
        fields.problems.add(
            "typed_quantity",
            at=_place(fields, node, written, end),
            key=fields.path(language),
            hint="use_placeholder",
            found=written,
        )


def _quantities(text: str) -> Iterator[tuple[str, int]]:
    """Numbers with their units, and where each ends."""
    for number in _NUMBER.finditer(text):
        unit = _UNIT.match(text, number.end())
        if unit:
            yield number[0] + unit[0], unit.end()


def _report_braces(fields: Fields, language: str, node: Scalar, match: re.Match[str]) -> None:
    written = match[0]
    at, key = _place(fields, node, written, match.end()), fields.path(language)
    if len(written) == 1:
        fields.problems.add("stray_brace", at=at, key=key, hint="stray_brace", found=written)
        return
    near = nearest(written[1:-1], PLACEHOLDERS)
    fields.problems.add(
        "unknown_placeholder",
        at=at,
        key=key,
        hint="did_you_mean" if near else "known_placeholders",
        found=written,
        suggestion=f"{{{near}}}",
        known=[f"{{{name}}}" for name in FIGURES],
    )


def _place(fields: Fields, node: Scalar, written: str, end: int) -> tuple[int, int]:
    """Where a piece of a text, which ends there, stands in the file; the text's start if unsure.

    The file may fold the text over lines and quote it, so the piece is looked for as often as it
    stands in the text up to there.
    """
    nth = node.value.count(written, 0, end)
    lines = fields.problems.source.lines
    column = node.column
    for line in range(node.line, min(node.end_line + 1, len(lines))):
        while (found := lines[line].find(written, column)) >= 0:
            nth -= 1
            if nth == 0:
                return line, found
            column = found + len(written)
        column = 0
    return node.line, node.column
