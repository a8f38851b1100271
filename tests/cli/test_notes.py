"""`gpuflow notes` and `gpuflow tour` where there is no terminal: text to print, and records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Gpuflow = Callable[..., Any]


@pytest.mark.parametrize(("lang", "label"), [("en", "- Say: "), ("zh", "- 讲：")])
def test_notes_of_all_steps_are_a_handout(lang: str, label: str, gpuflow: Gpuflow) -> None:
    result = gpuflow("notes", "moe-ep4", "--plain", "--profile", "ideal", "--lang", lang)
    assert result.code == 0
    assert result.err == ""
    paragraphs = result.out.split("\n\n")
    assert len(paragraphs) == 9
    assert all(label in paragraph for paragraph in paragraphs[1:])


def test_notes_without_a_terminal_say_why_they_are_text(gpuflow: Gpuflow) -> None:
    result = gpuflow("notes", "--lang", "en")
    assert result.code == 0
    assert "no terminal" in result.err
    assert "Step 8/8" in result.out


def test_notes_for_programs(gpuflow: Gpuflow) -> None:
    document = gpuflow("notes", "--pp", "1", "--format", "json").json
    assert document["schema"] == "gpuflow/notes/1"
    assert document["steps"][1]["takeaway"]
    assert len(document["steps"][1]["notes"]) >= 3
    assert document["steps"][2]["takeaway"] is None
    assert document["steps"][2]["notes"] == []


def test_a_player_cannot_be_followed_and_its_scenario_chosen(gpuflow: Gpuflow) -> None:
    for more in (("moe-ep4",), ("--plain",), ("--tp", "4")):
        result = gpuflow("notes", "--pid", "1", *more, "--lang", "en")
        assert result.code == 2
        assert "--pid" in result.err
    assert gpuflow("notes", "--pid", "0").code == 2


def test_a_scenario_without_notes_has_its_steps(gpuflow: Gpuflow, tmp_path: Any) -> None:
    written = gpuflow("new", "--tp", "2", "--pp", "1").out
    lines, kept = [], True
    for line in written.splitlines():
        if line.startswith("    ") and not line.startswith("     "):
            kept = line.strip() not in {"takeaway:", "notes:"}
        if line.startswith("  - "):
            kept = True
        lines += [line] if kept else []
    file = tmp_path / "bare.yaml"
    file.write_text("\n".join(lines) + "\n", "utf-8")
    assert "takeaway" not in file.read_text("utf-8")
    result = gpuflow("notes", str(file), "--lang", "en")
    assert result.code == 0
    assert "Say:" not in result.out
    assert "Step 2/8: First layer: attention" in result.out
    played = gpuflow("play", str(file), "--plain", "--lang", "en")
    assert played.code == 0
    assert "To remember" not in played.out


def test_the_tour_as_text(gpuflow: Gpuflow) -> None:
    result = gpuflow("tour", "--plain", "--profile", "ideal", "--lang", "en")
    assert result.code == 0
    assert result.err == ""
    assert "5/23 How all_reduce works: the ring" in result.out
    assert "no terminal" in gpuflow("tour", "--lang", "en").err


def test_the_tour_for_programs(gpuflow: Gpuflow) -> None:
    document = gpuflow("tour", "moe-ep4", "--format", "json").json
    assert document["schema"] == "gpuflow/tour/1"
    stops = {stop["id"]: stop for stop in document["stops"]}
    assert stops["all_reduce"]["collective"] == "all_reduce"
    assert stops["all_to_all"]["collective"] is None
    assert gpuflow("tour", "--format", "csv").code == 2
