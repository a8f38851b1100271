"""Texts in two languages with placeholders, checked where they stand in the file."""

from __future__ import annotations

import difflib
import re

from gpuflow.scenario.nodes import Broken, Node, Scalar
from gpuflow.scenario.placeholders import PLACEHOLDERS
from gpuflow.scenario.reader import Fields, wrong_type
from gpuflow.scenario.spec import Text

TEXT_EXAMPLE = "{zh: ..., en: ...}"

_BRACES = re.compile(r"\{\{|\}\}|\{[^{}\n]*\}|[{}]")
_QUANTITY = re.compile(
    r"[0-9][0-9.,]*\s?(?:[KMGTP]i?B(?:/s|ps)?|[KMGT]?b(?:/s|ps|it/s)|k[Bb](?:/s|ps)?|B/s|bytes?"
    r"|ns|us|µs|μs|ms|[GTP]?FLOPS?(?:/s)?|%|％"
    r"|seconds?|microseconds?|milliseconds?|纳秒|微秒|毫秒|秒|字节)(?![A-Za-z0-9])"
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
    if not isinstance(node, Scalar) or isinstance(node, Broken):
        return
    key = fields.path(language)
    seen: dict[str, int] = {}
    for match in _BRACES.finditer(node.value):
        written = match[0]
        nth = seen[written] = seen.get(written, 0) + 1
        if written in {"{{", "}}"} or written[1:-1] in PLACEHOLDERS:
            continue
        at = _place(fields, node, written, nth)
        if len(written) == 1:
            fields.problems.add("stray_brace", at=at, key=key, hint="stray_brace", found=written)
            continue
        near = difflib.get_close_matches(written[1:-1].lower(), PLACEHOLDERS, 1)
        fields.problems.add(
            "unknown_placeholder",
            at=at,
            key=key,
            hint="did_you_mean" if near else "known_placeholders",
            found=written,
            suggestion=f"{{{near[0]}}}" if near else "",
            known=[f"{{{name}}}" for name in PLACEHOLDERS],
        )
    for match in _QUANTITY.finditer(node.value):
        at = _place(fields, node, match[0], 1)
        fields.problems.add(
            "typed_quantity", at=at, key=key, hint="use_placeholder", found=match[0]
        )


def _place(fields: Fields, node: Node, written: str, nth: int) -> tuple[int, int]:
    """Where the nth such piece of a text stands in the file; the text's start if unsure."""
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
