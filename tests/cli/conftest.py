"""The command line run inside the test's own process, with streams of its choice."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from gpuflow.cli.app import run
from gpuflow.exporters.schemas import document_names, document_schema


class Stream(io.TextIOWrapper):
    """A standard stream on bytes in memory, a terminal if asked."""

    def __init__(self, encoding: str, is_terminal: bool, content: bytes = b"") -> None:
        self.bytes = io.BytesIO(content)
        self.is_terminal = is_terminal
        super().__init__(self.bytes, encoding=encoding)

    def isatty(self) -> bool:
        return self.is_terminal

    def text(self) -> str:
        self.flush()
        return self.bytes.getvalue().decode(self.encoding)


@dataclass
class Result:
    """What a run left behind."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Gpuflow = Callable[..., Result]


@pytest.fixture
def gpuflow(monkeypatch: pytest.MonkeyPatch) -> Gpuflow:
    """Run a command line: `gpuflow("table", "--tp", "4", width=80)`."""
    for name in ("NO_COLOR", "FORCE_COLOR", "GPUFLOW_LANG", "GPUFLOW_DEBUG", "LC_ALL", "LANG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")

    def call(*arguments: str, encoding: str = "utf-8", width: int | None = None) -> Result:
        out, err = Stream(encoding, width is not None), Stream(encoding, is_terminal=False)
        with monkeypatch.context() as patched:
            patched.setattr(sys, "stdin", Stream("utf-8", is_terminal=False))
            patched.setattr(sys, "stdout", out)
            patched.setattr(sys, "stderr", err)
            patched.setattr("gpuflow.cli.output.terminal_width", lambda stream: width)
            code = run(list(arguments))
        result = Result(code, out.text(), err.text())
        check_document(result.out)
        return result

    return call


MOST_CHECKED = 300_000
"""Characters of a document; larger ones take seconds and have the same parts."""


@cache
def validator(name: str) -> Draft202012Validator:
    """What holds a verb's documents to its published schema."""
    return Draft202012Validator(document_schema(name))


def check_document(text: str) -> None:
    """Whatever a verb prints as a document is what `gpuflow schema VERB` says of it."""
    if not text.startswith('{\n  "schema": "gpuflow/') or len(text) > MOST_CHECKED:
        return
    document = json.loads(text)
    name = document["schema"].removeprefix("gpuflow/").removesuffix("/1")
    assert name in document_names(), f"describe {name!r} in gpuflow/data/schemas"
    best = best_match(validator(name).iter_errors(document))
    where = f"gpuflow/data/schemas/{name}.yaml"
    assert best is None, f"{best.json_path}: {best.message[:300]} (see {where})"


BROWSER = shutil.which("chromium")
_BROWSER_OPTIONS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--enable-logging=stderr", "--v=0", "--virtual-time-budget=1000"),
)


@dataclass
class Page:
    """What a browser made of an address."""

    dom: str
    console: list[str]
    """What the page and the browser complain of."""


@pytest.fixture
def browse(tmp_path: Path) -> Callable[[str], Page]:
    """Open an address in headless Chromium; skips where it is absent."""
    if BROWSER is None:
        pytest.skip("needs Chromium")

    def open_page(address: str) -> Page:
        place = f"--user-data-dir={tmp_path / 'browser'}"
        done = subprocess.run(
            [BROWSER, *_BROWSER_OPTIONS, place, "--dump-dom", address],
            capture_output=True,
            check=True,
            encoding="utf-8",
            timeout=120,
        )
        return Page(done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line])

    return open_page
