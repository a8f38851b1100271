"""`gpuflow serve`: what it refuses, and that visitors get the play that was asked for."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from typing import Any

import pytest

from gpuflow.cli.options import Request, StageLayers
from gpuflow.cli.serve import arguments_of


def test_every_change_is_handed_on() -> None:
    request = Request(
        scenario="tp2-pp2",
        model="llama-3-70b",
        tp=4,
        layers=StageLayers((31, 49)),
        batch=8,
        overlap=False,
        micro_batches=2,
    )
    assert arguments_of(request) == [
        *("tp2-pp2", "--model", "llama-3-70b", "--tp", "4", "--layers", "31,49"),
        *("--batch", "8", "--micro-batches", "2", "--no-overlap"),
    ]
    assert arguments_of(Request()) == []


def test_without_the_extra_its_name_is_said(gpuflow: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "textual_serve", None)
    monkeypatch.setitem(sys.modules, "textual_serve.app_service", None)
    monkeypatch.delitem(sys.modules, "gpuflow.tui.serving", raising=False)
    result = gpuflow("serve", "--lang", "en")
    assert result.code == 3
    assert "pip install 'gpuflow[serve]'" in result.err


def test_visitors_get_no_files(gpuflow: Any, tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("id: own\n", "utf-8")
    for asked in ((str(own),), ("--model", str(tmp_path))):
        result = gpuflow("serve", *asked, "--lang", "en")
        assert result.code == 2
        assert "shipped" in result.err


def test_a_mistake_is_said_before_anything_is_served(gpuflow: Any) -> None:
    result = gpuflow("serve", "--tp", "3", "--lang", "en")
    assert result.code == 2
    assert "tp" in result.err


def test_a_port_that_is_taken_is_said_in_a_line(gpuflow: Any) -> None:
    pytest.importorskip("textual_serve")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        result = gpuflow("serve", "--port", port, "--lang", "en")
    assert result.code == 2
    assert f"127.0.0.1:{port} cannot be listened on" in result.err


def test_a_host_that_is_not_there_is_not_said_of_the_port(gpuflow: Any) -> None:
    pytest.importorskip("textual_serve")
    result = gpuflow("serve", "--host", "nowhere.invalid")
    assert result.code == 2
    assert result.err.startswith("--host: ")
