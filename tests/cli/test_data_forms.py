"""The timeline as JSON and CSV, and a scenario as a Markdown report."""

from __future__ import annotations

import csv
import io
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt


def test_the_spans_add_up_to_the_estimate(gpuflow: Any) -> None:
    document = json.loads(gpuflow("export", "--to", "json").out)
    estimate = json.loads(gpuflow("estimate", "--format", "json").out)
    assert document["schema"] == "gpuflow/export/1"
    assert document["inputs"].items() <= estimate["inputs"].items()
    assert document["ttft_s"] == estimate["ttft_s"]
    spans = document["spans"]
    assert spans[0]["start_s"] == 0
    assert all(a["end_s"] == b["start_s"] for a, b in pairwise(spans))
    assert spans[-1]["end_s"] == pytest.approx(document["end_s"])
    for step in estimate["steps"]:
        own = [span for span in spans if span["step"] == step["number"] and not span["fold"]]
        assert sum(span["duration_s"] for span in own) == pytest.approx(step["duration_s"])
    messages = [
        span
        for span in spans
        if (span["class"], span["phase"], span["collective"]) == ("tp", "decode", "all_reduce")
    ]
    (row,) = (
        row
        for row in estimate["traffic"]
        if (row["class"], row["phase"], row["collective"]) == ("tp", "decode", "all_reduce")
    )
    assert len(messages) == row["messages"]
    for name in ("algorithm", "ranks", "message_size_bytes", "time_source"):
        assert {span[name] for span in messages} == {row[name]}
    assert {span["layer"] for span in messages} == set(range(1, 33))


def test_csv_is_the_same_a_row_a_span(gpuflow: Any) -> None:
    spans = json.loads(gpuflow("export", "--to", "json").out)["spans"]
    rows = list(csv.DictReader(io.StringIO(gpuflow("export", "--to", "csv").out)))
    assert len(rows) == len(spans)
    assert list(rows[0]) == list(spans[0])
    for row, span in zip(rows, spans, strict=True):
        assert float(row["start_s"]) == span["start_s"]
        assert json.loads(row["groups"]) == span["groups"]
        assert (row["collective"] or None) == span["collective"]


def test_one_step_alone(gpuflow: Any, tmp_path: Path) -> None:
    file = tmp_path / "hop.csv"
    assert gpuflow("export", "--step", "3", "--file", str(file)).code == 0
    rows = list(csv.DictReader(io.StringIO(file.read_text("utf-8"))))
    assert [row["kind"] for row in rows] == ["send"]
    document = json.loads(gpuflow("export", "--step", "prefill-hop", "--to", "json").out)
    assert [span["step"] for span in document["spans"]] == [3]
    assert [step["number"] for step in document["steps"]] == [3]
    assert gpuflow("export", "--step", "9", "--to", "csv").code == 2


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_report_holds_every_part(language: str, gpuflow: Any) -> None:
    text = gpuflow("export", "moe-ep4", "--to", "md", "--lang", language).out
    tokens = MarkdownIt().enable("table").parse(text)
    levels = [token.tag for token in tokens if token.type == "heading_open"]
    assert levels[0] == "h1"
    assert levels.count("h1") == 1
    assert levels.count("h3") == 8
    widths = [
        (len(table.splitlines()[0].replace(r"\|", "").split("|")), row)
        for table in text.split("\n\n")
        if table.startswith("| ")
        for row in table.splitlines()
    ]
    assert all(len(row.replace(r"\|", "").split("|")) == width for width, row in widths)
    tables = sum(token.type == "table_open" for token in tokens)
    assert tables == 7  # results, steps, traffic, links, memory, requirements, sources
    assert "NVIDIA H100 data sheet" in text
    estimate = gpuflow("estimate", "moe-ep4", "--format", "markdown", "--lang", language).out
    requirement = gpuflow("table", "moe-ep4", "--format", "markdown", "--lang", language).out
    for block in [*estimate.split("\n\n"), *requirement.split("\n\n")]:
        assert block.strip() in text
