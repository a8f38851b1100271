"""Everything a verb says: data on stdout in one of four formats, talk on stderr."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TextIO

from gpuflow import words
from gpuflow.cli.config import Config
from gpuflow.cli.options import Early, Format
from gpuflow.cli.streams import CHINESE, Streams, can_show, write_data
from gpuflow.scenario.spec import Language

if TYPE_CHECKING:
    # A play has none; it is on the screen sooner without them.
    from gpuflow.exporters.tables import Table

_STEERING = re.compile(r"[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
"""Characters that JSON lets through and terminals obey; within its strings they can be escaped."""


@dataclass(frozen=True, slots=True)
class Output:
    """Where a verb writes, how, and in which language."""

    streams: Streams
    verb: str
    language: Language
    format: Format
    has_color: bool
    width: int | None
    """Cells of the terminal; None in a pipe or file, where nothing is folded or cut."""
    beside: Mapping[str, object] = field(default_factory=dict)
    """Entries that every JSON document gets."""
    no_color: bool = False
    """Whether the command line says so, whatever stdout is."""
    config: Config = field(default_factory=Config)
    """The user's own defaults."""

    def write(self, text: str) -> None:
        """One piece of data, a line end added."""
        self._put(text + "\n")

    def say(self, key: str, **values: object) -> None:
        """One line of talk; that nobody can hear it is no reason to stop."""
        with suppress(OSError, ValueError):
            self.streams.stderr.write(words.t(key, self.language, **values) + "\n")

    def tell(self, text: str) -> None:
        """Talk that is a sentence already."""
        with suppress(OSError, ValueError):
            self.streams.stderr.write(text + "\n")

    def document(self, content: Mapping[str, object]) -> None:
        """The verb's JSON document, its schema first."""
        self.write(self.document_text(content))

    def document_text(self, content: Mapping[str, object]) -> str:
        """The verb's JSON document as text, for a file or for stdout."""
        document = {"schema": f"gpuflow/{self.verb}/1", **content, **self.beside}
        # Escapes keep the document whole where the encoding cannot carry it.
        plain = not can_show(self.streams.stdout, f"{CHINESE}µ⇄")
        text = json.dumps(document, indent=2, ensure_ascii=plain, allow_nan=False)
        return _STEERING.sub(lambda found: f"\\u{ord(found[0]):04x}", text)

    def tables(self, *parts: Table | str) -> None:
        """Tables for people, as text or Markdown, one below the other.

        A str is a picture made of text, which Markdown and LaTeX go without.
        """
        from gpuflow.exporters.grid import grid_text, painter
        from gpuflow.exporters.latex import latex
        from gpuflow.exporters.tables import Table, markdown

        if self.format in {"markdown", "latex"}:
            written = markdown if self.format == "markdown" else latex
            self.write("\n\n".join(written(part) for part in parts if isinstance(part, Table)))
            return
        paint = painter(self.has_color)
        texts = (
            part if isinstance(part, str) else grid_text(part, self.width, paint) for part in parts
        )
        self.write("\n\n".join(texts))

    def records(self, rows: Sequence[Mapping[str, object]]) -> None:
        """Rows for programs, as CSV under the names that JSON has."""
        from gpuflow.exporters.tables import csv_text

        self._put(csv_text(rows))

    def _put(self, text: str) -> None:
        # A play is for watching: where nobody can, nothing is lost.
        write_data(self.streams, text, may_be_lost=self.verb == "play")


def output_for(streams: Streams, early: Early, verb: str, config: Config | None = None) -> Output:
    """The output of this run, by command line, environment, the user's file and the streams."""
    environ, config = os.environ, config or Config()
    own = None if environ.get("GPUFLOW_LANG") else config.lang
    language = words.language_of(early.lang or own, environ)
    if early.lang is None and language == "zh" and not can_show(streams.stdout, CHINESE):
        # A locale that means Chinese on a stream that cannot carry it: English can be read.
        language = "en"
    return Output(
        streams,
        verb,
        language,
        early.format,
        has_color(streams.stdout, environ, early.no_color),
        terminal_width(streams.stdout),
        no_color=early.no_color,
        config=config,
    )


def has_color(stream: TextIO, environ: Mapping[str, str], no_color: bool) -> bool:
    """Whether to colour: --no-color, NO_COLOR, FORCE_COLOR, then whether it is a terminal."""
    if no_color or environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "0") not in {"", "0"}:
        return True
    return stream.isatty() and environ.get("TERM", "") != "dumb"


def terminal_width(stream: TextIO) -> int | None:
    """Cells of the terminal behind a stream; COLUMNS is a shell's memory and may be wrong."""
    try:
        return os.get_terminal_size(stream.fileno()).columns or None if stream.isatty() else None
    except (OSError, ValueError):
        return None
