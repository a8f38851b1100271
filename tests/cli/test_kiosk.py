"""`play --kiosk` names nothing but what is shipped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest


@pytest.mark.parametrize(("language", "words"), [("zh", "可能是文件"), ("en", "may be a file")])
def test_files_are_refused(language: str, words: str, gpuflow: Any, tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("secret: 1\n", "utf-8")
    for arguments in (
        (str(file),),
        ("--model", str(tmp_path)),
        ("--topo", str(file)),
        ("--launch", "vllm serve llama-3-8b"),
        ("--calibration", str(file)),
        (f"--calibration={file}",),
    ):
        result = gpuflow("play", *arguments, "--kiosk", "--lang", language)
        assert result.code == 2
        assert words in result.err
        assert "secret" not in result.err + result.out


def test_what_is_shipped_is_played(gpuflow: Any) -> None:
    result = gpuflow("play", "moe-ep4", "--kiosk", "--plain", "--gpu", "h200")
    assert result.code == 0
    assert "8/8" in result.out
    assert gpuflow("play", "--kiosk", "--plain", "--model", "llama-3-70b", "--tp", "8").code == 0
