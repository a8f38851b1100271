"""Ctrl-C before there is anything that could catch it."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

from gpuflow import __main__


def test_ctrl_c_while_modules_load_leaves_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    load = builtins.__import__

    def interrupted(name: str, *rest: Any, **more: Any) -> Any:
        if name == "gpuflow.cli.app":
            raise KeyboardInterrupt
        return load(name, *rest, **more)

    monkeypatch.setattr("sys.argv", ["gpuflow", "table"])
    monkeypatch.setattr("gc.set_threshold", lambda _: None)
    monkeypatch.setattr(builtins, "__import__", interrupted)
    assert __main__.main() == 130
    assert capsys.readouterr() == ("", "")


def test_ctrl_c_while_nobody_takes_the_version_leaves_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sys.argv", ["gpuflow", "--version"])
    monkeypatch.setattr("gc.set_threshold", lambda _: None)
    monkeypatch.setattr("gpuflow.cli.version.write_data", interrupted)
    assert __main__.main() == 130
    assert capsys.readouterr() == ("", "")
