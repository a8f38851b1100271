"""The command line run inside the test's own process, with streams of its choice."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from gpuflow.cli.app import run


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
        return Result(code, out.text(), err.text())

    return call
