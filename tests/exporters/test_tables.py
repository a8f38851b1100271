"""Tables in every form: rectangular, literal, and never cut."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuflow.cells import cell_width
from gpuflow.exporters.figures import rate_both
from gpuflow.exporters.grid import fits, grid_text, painter
from gpuflow.exporters.tables import (
    Cell,
    Column,
    Table,
    csv_text,
    markdown,
    records,
    table_of,
)

PLAIN = painter(False)
COLOR = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture
def small() -> Table:
    return Table(
        title="Traffic",
        columns=(Column("Class", marks_row=True), Column("Bytes", "right"), Column("Note")),
        rows=(
            (Cell("TP", "tp"), Cell("4 MiB"), Cell("all_reduce after attention and MLP")),
            (Cell("流水线并行", "pp"), Cell("8 KiB"), Cell("一跳")),
        ),
        notes=("Shares are of TTFT.",),
    )


def test_columns_stand_under_each_other_beside_chinese_text(small: Table) -> None:
    lines = grid_text(small, None, PLAIN).splitlines()
    assert lines[:5] == [
        "Traffic",
        "Class       Bytes  Note",
        "─────────────────────────────────────────────────────",
        "TP          4 MiB  all_reduce after attention and MLP",
        "流水线并行  8 KiB  一跳",
    ]
    assert lines[-1] == "• Shares are of TTFT."


def test_a_narrower_terminal_folds_cells(small: Table) -> None:
    lines = grid_text(small, 40, PLAIN).splitlines()
    assert max(map(cell_width, lines)) <= 40
    assert "TP          4 MiB  all_reduce after" in lines
    assert "                   attention and MLP" in lines


def test_a_still_narrower_one_gets_a_block_a_row(small: Table) -> None:
    assert not fits(small, 24, folded=True)
    assert grid_text(small, 24, PLAIN).splitlines()[1:] == [
        "TP",
        "  Bytes  4 MiB",
        "  Note   all_reduce",
        "         after attention",
        "         and MLP",
        "",
        "流水线并行",
        "  Bytes  8 KiB",
        "  Note   一跳",
        "",
        "• Shares are of TTFT.",
    ]


def test_a_rule_stands_before_a_group_of_columns() -> None:
    columns = (Column("a"), Column("b", begins_group=True))
    table = Table(columns=columns, rows=((Cell("1"), Cell("2")),))
    assert grid_text(table, None, PLAIN).splitlines() == ["a │ b", "──┼──", "1 │ 2"]


def test_colour_changes_nothing_but_colour(small: Table) -> None:
    colored = grid_text(small, 40, painter(True))
    assert "\x1b[34mTP\x1b[0m" in colored
    assert COLOR.sub("", colored) == grid_text(small, 40, PLAIN)


TEXTS = st.text(alphabet="ab 中文，-", max_size=12)


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.tuples(TEXTS, TEXTS, TEXTS), min_size=1, max_size=4),
    width=st.integers(min_value=12, max_value=70),
)
def test_no_text_is_lost_and_no_line_too_wide(rows: list[tuple[str, str, str]], width: int) -> None:
    table = table_of("", [Column("x", marks_row=True), Column("y"), Column("z", "right")], rows)
    text = grid_text(table, width, PLAIN)
    assert all(cell_width(line) <= width for line in text.splitlines())
    wanted = Counter("".join("".join(row) for row in rows).replace(" ", ""))
    assert not wanted - Counter(text)


def test_markdown_takes_no_sign_of_a_cell_for_its_own() -> None:
    table = table_of("a*b", [Column("x"), Column("y", "right")], [("1|2", "<b>"), ("`c`", "d\ne")])
    assert markdown(table).splitlines() == [
        "## a\\*b",
        "",
        "| x | y |",
        "| --- | ---: |",
        "| 1\\|2 | \\<b> |",
        "| \\`c\\` | d<br>e |",
    ]


def test_csv_quotes_and_leaves_what_does_not_apply_empty() -> None:
    rows = [{"a": 'x,"y', "b": None}, {"a": [1, 2], "b": 0.1, "c": True}]
    text = csv_text(rows)
    assert list(csv.reader(io.StringIO(text))) == [
        ["a", "b", "c"],
        ['x,"y', "", ""],
        ["[1, 2]", "0.1", "true"],
    ]


def test_a_document_of_tables_becomes_one_record_a_value() -> None:
    found = records({"a": 1, "b": {"c": 2}, "d": [{"e": 3}, {"e": 4}], "f": ["g"]})
    assert [tuple(record.values()) for record in found] == [
        ("", None, "a", 1),
        ("b", None, "c", 2),
        ("d", 0, "e", 3),
        ("d", 1, "e", 4),
        ("f", 0, "", "g"),
    ]


def test_control_characters_in_cells_are_made_visible() -> None:
    table = table_of("t\x1b", [Column("x")], [("\x1b[31mred\u202e",)])
    for text in (grid_text(table, None, PLAIN), markdown(table), csv_text([{"x": "\x1b"}])):
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_people_of_each_tier_read_their_unit_first() -> None:
    assert rate_both(50e9, "scale_out") == "400 Gb/s (50 GB/s)"
    assert rate_both(50e9, "scale_up") == "50 GB/s (400 Gb/s)"


def test_a_heading_ends_in_no_colon() -> None:
    assert markdown(Table(title="Conclusions:", columns=(), rows=())) == "## Conclusions"
    assert markdown(Table(title="结论：", columns=(), rows=())) == "## 结论"


def test_groups_of_columns_come_one_below_the_other_where_they_are_too_wide() -> None:
    columns = [
        Column("", marks_row=True),
        *(Column(f"GPU{n}", begins_group=n == 3) for n in range(6)),
        Column("NUMA", begins_group=True),
    ]
    rows = [[f"GPU{row}", *["NV18"] * 6, "0"] for row in range(2)]
    table = replace(table_of("", columns, rows), has_parts=True)
    assert grid_text(table, 60, PLAIN) == grid_text(replace(table, has_parts=False), 60, PLAIN)
    assert grid_text(table, 36, PLAIN).split("\n") == [
        "      GPU0  GPU1  GPU2",
        "──────────────────────",
        "GPU0  NV18  NV18  NV18",
        "GPU1  NV18  NV18  NV18",
        "",
        "      GPU3  GPU4  GPU5 │ NUMA",
        "───────────────────────┼─────",
        "GPU0  NV18  NV18  NV18 │ 0",
        "GPU1  NV18  NV18  NV18 │ 0",
    ]
    # What fits in no way becomes blocks, as any table does.
    assert grid_text(table, 20, PLAIN) == grid_text(replace(table, has_parts=False), 20, PLAIN)
