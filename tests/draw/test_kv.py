"""What is said of the KV cache: one meaning a figure, and the truth where it has no room."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from gpuflow.draw.kv import fill_text, widest_fill
from gpuflow.draw.play import draw_play
from gpuflow.draw.view import PlayView
from gpuflow.engine.moment import Moments
from gpuflow.scenario.spec import Language

SIZES = ((80, 24), (100, 30), (120, 40), (200, 60))


@pytest.mark.parametrize(
    ("held", "full", "text"),
    [
        (0, 20 * 2**20, "0/20 MiB"),
        (1, 20 * 2**20, "<1/20 MiB"),
        (16 * 2**20, 20 * 2**20, "16/20 MiB"),
        (0.62 * 2**30, 1.25 * 2**30, "0.6/1.2 GiB"),
        (79.9 * 2**20, 79.9 * 2**20, "80/80 MiB"),
        (8 * 2**20, 9.98 * 2**20, "8/10 MiB"),
        (0, 0, "–"),
    ],
)
def test_the_fraction_is_of_what_the_bar_stands_for(held: float, full: float, text: str) -> None:
    assert fill_text(held, full) == text
    assert len(text) <= widest_fill(full)


@pytest.mark.parametrize("size", SIZES)
def test_the_bar_is_as_full_as_the_fraction_beside_it(
    size: tuple[int, int], view_at: Callable[..., PlayView], moments_of: Callable[..., Moments]
) -> None:
    for part in (0.0, 0.3, 0.6, 1.0):
        view = view_at(size, "en", part * moments_of().pace.duration_s)
        found = re.findall(r"KV ([▇─]+)\s+<?(\d+)/(\d+) MiB", draw_play(view).text())
        assert len(found) == 4
        for bar, held, full in found:
            assert abs(bar.count("▇") / len(bar) - int(held) / int(full)) <= 1 / len(bar)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("language", "box", "metric"),
    [("en", "weights do not fit", "no room"), ("zh", "权重超出显存", "放不下")],
)
def test_a_model_that_does_not_fit_is_said_not_to(
    size: tuple[int, int],
    language: Language,
    box: str,
    metric: str,
    view_at: Callable[..., PlayView],
    moments_of: Callable[..., Moments],
) -> None:
    overrides: dict[str, object] = {"model": "llama-3-70b", "tp": 1, "pp": 1}
    duration_s = moments_of(**overrides).pace.duration_s
    view = view_at(size, language, duration_s, "tp2-pp2", overrides)
    text = draw_play(view).text()
    squeezed = "".join(text.split())
    assert "".join(box.split()) in squeezed
    assert re.search(r"KV\s+" + r"\s*".join(metric.replace(" ", "")), text)
    assert "of 0 B" not in text
    assert "/ 0 B" not in text


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_cache_that_outgrows_the_memory_is_said_to(
    language: Language, view_at: Callable[..., PlayView], moments_of: Callable[..., Moments]
) -> None:
    overrides: dict[str, object] = {"tp": 1, "pp": 1, "batch": 64, "prompt": 16000}
    duration_s = moments_of(**overrides).pace.duration_s
    view = view_at((120, 40), language, duration_s, "tp2-pp2", overrides)
    squeezed = "".join(draw_play(view).text().split())
    assert ("doesnotfitin" if language == "en" else "放不下") in squeezed


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("overrides", [{"pp": 8}, {"tp": 16, "pp": 4}, {"tp": 4, "pp": 8}])
def test_no_figure_of_a_stage_is_cut(
    size: tuple[int, int],
    overrides: dict[str, object],
    view_at: Callable[..., PlayView],
    moments_of: Callable[..., Moments],
) -> None:
    duration_s = moments_of(**overrides).pace.duration_s
    view = view_at(size, "en", 0.8 * duration_s, "tp2-pp2", overrides)
    rows = [row for row in draw_play(view).text().splitlines() if re.search(r"\d GPUs  ", row)]
    for row in rows:
        assert re.search(r" KV [▇─]{3,} +\d+/\d+ MiB( +<0.1 %)? ", row + " "), row
        assert "…" not in row
