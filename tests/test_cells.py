from __future__ import annotations

import pytest
from rich.cells import cell_len

from gpuflow.cells import cell_width, clip, pad, sanitise


@pytest.mark.parametrize(
    "text",
    [
        "",
        "all_reduce 4 MiB",
        "张量并行 TP · 流水线并行 PP",
        "（全角：，。）",
        "│┌┐└┘─┼╭╮╰╯ ▁▂▃▄▅▆▇█ ░▒▓",
        "→ ← ↑ ↓ ⇄ ▶ ◀ ● ○ ◆ µ × ÷ ≥ … –",
        "e\u0301a",
        "␛ ␤ \ufffd",
    ],
)
def test_width_agrees_with_rich(text: str) -> None:
    assert cell_width(text) == cell_len(text)


def test_width_agrees_with_rich_on_every_han_character_and_symbol() -> None:
    ranges = [
        (0x4E00, 0x9FF0),
        (0x3000, 0x302A),
        (0xFF01, 0xFF5F),
        (0x2190, 0x2200),
        (0x2500, 0x25A0),
    ]
    text = [chr(code) for first, last in ranges for code in range(first, last)]
    assert [c for c in text if cell_width(c) != cell_len(c)] == []


@pytest.mark.parametrize("width", range(12))
@pytest.mark.parametrize(
    "text", ["流水线并行 PP 2", "stage 1", "a层b层c层d层", "e\u0301e\u0301e\u0301e\u0301"]
)
def test_clip_never_exceeds_the_width_and_says_when_it_cut(text: str, width: int) -> None:
    shown = clip(text, width)
    assert cell_width(shown) <= width
    if cell_width(text) <= width:
        assert shown == text
    elif width:
        assert shown.endswith("…")
        assert text.startswith(shown[:-1])


@pytest.mark.parametrize("align", ["left", "right", "center"])
@pytest.mark.parametrize("width", [0, 1, 2, 5, 6, 20])
def test_pad_fills_exactly(width: int, align: str) -> None:
    assert cell_width(pad("提示文字", width, align)) == width  # type: ignore[arg-type]


def test_sanitise_leaves_no_character_that_steers_a_terminal() -> None:
    hostile = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0), 0xAD, 0x61C, 0xFE0F, 0xFEFF]))
    hostile += "\u200b\u200d\u200e\u2028\u202e\u2066\ud800"
    shown = sanitise(hostile)
    assert len(shown) == len(hostile)
    assert all(character in "␡\ufffd" or "␀" <= character <= "␟" for character in shown)


def test_sanitise_keeps_ordinary_text() -> None:
    assert sanitise("延迟 19.3 µs [red]") == "延迟 19.3 µs [red]"
