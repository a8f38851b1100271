from __future__ import annotations

import random
import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from gpuflow.cells import cell_width
from gpuflow.draw.ascii import to_ascii
from gpuflow.draw.canvas import Canvas, Rect
from gpuflow.draw.frame import Frame
from gpuflow.draw.play import draw_play, layout_of, page_count
from gpuflow.draw.questions import question_caption
from gpuflow.draw.roles import ROLES
from gpuflow.draw.stage import draw_stage
from gpuflow.draw.view import PlayView, Scene
from gpuflow.engine.moment import Moments
from gpuflow.engine.questions import questions
from gpuflow.scenario.spec import Language
from gpuflow.tui.playhead import SPEEDS
from gpuflow.units import format_time

SPLITS: tuple[tuple[str, dict[str, object]], ...] = (
    ("tp2-pp2", {}),
    ("moe-ep4", {}),
    ("tp2-pp2", {"tp": 8}),
    ("tp2-pp2", {"tp": 8, "pp": 4}),
    ("tp2-pp2", {"tp": 1, "pp": 1}),
    ("tp2-pp2", {"tp": 1, "pp": 2}),
    ("tp2-pp2", {"tp": 4, "pp": 1}),
    ("tp2-pp2", {"tp": 2, "pp": 2, "dp": 2}),
    ("moe-ep4", {"tp": 2, "dp": 4, "ep": 8}),
    ("moe-ep4", {"dp": 32, "ep": 8}),
    ("tp2-pp2", {"tp": 8, "pp": 4, "dp": 4}),
    ("tp2-pp2", {"tp": 8, "pp": 16, "dp": 8}),
)
SIZES = ((80, 24), (100, 30), (120, 40), (200, 60))
LEFT_EDGES, RIGHT_EDGES = "╭│├╰", "╮│┤╯"


def check(frame: Frame) -> None:
    assert len(frame.rows) == frame.height
    assert {sum(cell_width(run.text) for run in row) for row in frame.rows} <= {frame.width}
    assert {run.role for row in frame.rows for run in row} <= set(ROLES)


def borders(canvas: Canvas, box: Rect) -> list[str]:
    """Characters at the left and right border of a box, row by row, that are not borders."""
    rows = range(box.y, box.bottom)
    left = [canvas.at(box.x, y) for y in rows]
    right = [canvas.at(box.right - 1, y) for y in rows]
    return [c for c in left if c not in LEFT_EDGES] + [c for c in right if c not in RIGHT_EDGES]


@pytest.mark.parametrize(("name", "overrides"), SPLITS, ids=str)
def test_frames_are_whole_at_random_moments_and_sizes(
    name: str,
    overrides: dict[str, object],
    moments_of: Callable[..., Moments],
    view_at: Callable[..., PlayView],
) -> None:
    luck = random.Random(f"{name}{overrides}")
    moments = moments_of(name, **overrides)
    sizes = [*SIZES, *((luck.randint(80, 230), luck.randint(24, 75)) for _ in range(5))]
    for size in sizes:
        language: Language = luck.choice(("zh", "en"))
        screen_s = luck.uniform(0, moments.pace.duration_s)
        view = view_at(
            size, language, screen_s, name, overrides, tab=luck.randrange(3), page=luck.randrange(4)
        )
        frame = draw_play(view)
        check(frame)
        assert to_ascii(frame).text().isascii()
        check(to_ascii(frame))


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize(("name", "overrides"), SPLITS[:9], ids=str)
def test_the_borders_of_a_box_stand_in_one_column(
    name: str,
    overrides: dict[str, object],
    language: Language,
    moments_of: Callable[..., Moments],
    view_at: Callable[..., PlayView],
) -> None:
    luck = random.Random(f"{name}{overrides}{language}")
    for size in SIZES:
        moment_s = luck.uniform(0, moments_of(name, **overrides).pace.duration_s)
        view = view_at(size, language, moment_s, name, overrides)
        canvas = Canvas(*size)
        plan = draw_stage(canvas, view, layout_of(view).stage)
        boxes = [cell for cells in plan.cells for cell in cells] if plan.form == "boxes" else []
        frames = [frame for frame in plan.frames if frame.height > 1]
        assert [borders(canvas, box) for box in (*boxes, *frames) if borders(canvas, box)] == []


@pytest.mark.parametrize("language", ["zh", "en"])
def test_what_is_cut_ends_in_an_ellipsis(
    language: Language, view_at: Callable[..., PlayView], moments_of: Callable[..., Moments]
) -> None:
    start_s = moments_of().pace.step_start(1)
    view = view_at((80, 24), language, start_s)
    assert page_count(view) > 1
    text = draw_play(view).text()
    assert any(line.endswith("…") for line in text.splitlines())
    last = view_at((80, 24), language, start_s, page=page_count(view) - 1)
    assert not any(line.endswith("…") for line in draw_play(last).text().splitlines())


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("tab", range(3))
def test_going_through_the_pages_shows_the_whole_text(
    language: Language,
    tab: int,
    view_at: Callable[..., PlayView],
    moments_of: Callable[..., Moments],
    scene_in: Callable[..., Scene],
) -> None:
    start_s = moments_of().pace.step_start(1)
    count = page_count(view_at((80, 24), language, start_s, tab=tab))
    shown = ""
    for page in range(count):
        view = view_at((80, 24), language, start_s, tab=tab, page=page)
        rows = draw_play(view).text().splitlines()
        area = layout_of(view).texts
        said = rows[area.y + 1 : area.bottom]
        shown += "".join(row for row in said if not row.strip().startswith("▸"))
    whole = scene_in(language).texts[1].tab(tab)
    assert "".join(shown.split()).replace("…", "") == "".join(whole.split()).replace("…", "")


@pytest.mark.parametrize("language", ["zh", "en"])
def test_too_small_a_screen_is_told_both_sizes(
    language: Language, view_at: Callable[..., PlayView]
) -> None:
    for size in ((39, 10), (40, 9), (79, 5)):
        text = draw_play(view_at(size, language, 5.0)).text()
        assert f"{size[0]}×{size[1]}" in text
        assert "40×10" in text
        assert len(text.strip().splitlines()) == 1


def test_every_size_down_to_one_cell_is_drawn(view_at: Callable[..., PlayView]) -> None:
    for size in ((1, 1), (2, 1), (1, 9), (5, 2), (20, 5), (40, 10), (79, 60), (300, 23)):
        for language in ("zh", "en"):
            check(draw_play(view_at(size, language, 5.0)))


def test_pulses_move_only_while_bytes_move(
    view_at: Callable[..., PlayView],
    moments_of: Callable[..., Moments],
    middle_of: Callable[[Moments, int, str], float],
) -> None:
    moments = moments_of()
    moving_s = middle_of(moments, 2, "all_reduce")
    computing_s = middle_of(moments, 2, "compute")
    stage = layout_of(view_at((80, 24), "en", 0.0)).stage

    def stage_text(screen_s: float) -> str:
        rows = draw_play(view_at((80, 24), "en", screen_s)).text().splitlines()
        return "\n".join(rows[stage.y : stage.bottom])

    assert "═" in stage_text(moving_s)
    assert "»" in stage_text(moving_s)
    assert stage_text(moving_s) != stage_text(moving_s + 0.15)
    assert "═" not in stage_text(computing_s)
    assert "»" not in stage_text(computing_s)


def test_a_reduction_is_seen_in_the_boxes(
    view_at: Callable[..., PlayView],
    moments_of: Callable[..., Moments],
    middle_of: Callable[[Moments, int, str], float],
) -> None:
    moments = moments_of()
    middle_s = middle_of(moments, 2, "all_reduce")
    start = draw_play(view_at((80, 24), "en", middle_s - 1.0)).text()
    end = draw_play(view_at((80, 24), "en", middle_s + 1.05)).text()
    assert "[ 1  2  3  4]" in start
    assert "[ 5  6  7  8]" in start
    assert end.count("[ 6  8 10 12] ✓") == 2


def test_compression_is_said_while_it_lasts(
    view_at: Callable[..., PlayView], moments_of: Callable[..., Moments]
) -> None:
    fast = next(s for s in moments_of().pace.stretches if s.is_compressed)
    text = draw_play(view_at((100, 30), "en", fast.screen_start_s + 1)).text()
    assert "1 of 16 layers shown, 15 alike ⏩" in text
    assert text.count("⏩ skipping") == 2


@pytest.mark.parametrize("pp", [2, 4, 8])
def test_the_note_in_a_stage_counts_the_layers_of_that_stage(
    pp: int, view_at: Callable[..., PlayView], moments_of: Callable[..., Moments]
) -> None:
    overrides: dict[str, object] = {"pp": pp}
    noted = set()
    for s in moments_of(**overrides).pace.stretches:
        middle_s = (s.screen_start_s + s.screen_end_s) / 2
        text = draw_play(view_at((120, 60), "en", middle_s, "tp2-pp2", overrides)).text()
        form = r"Stage (\d+) · layers (\d+)–(\d+) .*? \d+ of (\d+) layers shown"
        for stage, first, last, layers in re.findall(form, text):
            assert int(layers) == int(last) - int(first) + 1
            noted.add(int(stage))
    assert noted >= set(range(1, min(pp, 3) + 1))


def test_an_idle_step_says_why(
    view_at: Callable[..., PlayView], moments_of: Callable[..., Moments]
) -> None:
    overrides: dict[str, object] = {"tp": 2, "pp": 1}
    moments = moments_of(**overrides)
    idle = next(step for step in moments.timeline.steps if step.is_idle)
    for size in SIZES:
        view = view_at(size, "zh", moments.pace.step_start(idle.index) + 0.1, "tp2-pp2", overrides)
        shown = "".join(draw_play(view).text().split())
        assert "".join(view.texts.summary.split()) in shown


def test_metrics_fill_in_as_they_become_known(
    view_at: Callable[..., PlayView], moments_of: Callable[..., Moments]
) -> None:
    pace, timeline = moments_of().pace, moments_of().timeline
    ttft, tpot = format_time(timeline.ttft_s), format_time(timeline.tpot_s)
    early = draw_play(view_at((80, 24), "en", 1.0)).text()
    decode = draw_play(view_at((80, 24), "en", pace.step_start(5) + 0.1)).text()
    end = draw_play(view_at((80, 24), "en", pace.duration_s)).text()
    assert re.search("TTFT – +TPOT –", early)
    assert re.search(f"TTFT {ttft} +TPOT –", decode)
    assert re.search(f"TTFT {ttft} +TPOT {tpot}", end)


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("size", SIZES)
def test_the_legend_is_there_from_the_first_moment_to_the_last(
    size: tuple[int, int],
    language: Language,
    view_at: Callable[..., PlayView],
    moments_of: Callable[..., Moments],
) -> None:
    for part in (0.0, 0.3, 0.6, 0.9, 1.0):
        screen_s = part * moments_of().pace.duration_s
        rows = draw_play(view_at(size, language, screen_s)).text().splitlines()
        legends = [row for row in rows if "TP" in row and "PP" in row and "EP" in row]
        assert any(all(sign in row for sign in "═┃╌") for row in legends)


def test_a_message_between_nodes_is_rated_in_bits(
    view_at: Callable[..., PlayView],
    moments_of: Callable[..., Moments],
    middle_of: Callable[[Moments, int, str], float],
) -> None:
    overrides: dict[str, object] = {"tp": 8, "pp": 2}
    moments = moments_of(**overrides)
    hop = draw_play(
        view_at((120, 40), "en", middle_of(moments, 3, "send"), "tp2-pp2", overrides)
    ).text()
    inside = draw_play(
        view_at((120, 40), "en", middle_of(moments, 2, "all_reduce"), "tp2-pp2", overrides)
    ).text()
    assert "Gb/s" in hop
    assert "GB/s" in inside


@pytest.mark.parametrize(("language", "title"), [("en", "Primitive in use: none"), ("zh", "无")])
def test_the_title_says_that_no_primitive_is_in_use(
    language: Language,
    title: str,
    view_at: Callable[..., PlayView],
    moments_of: Callable[..., Moments],
    middle_of: Callable[[Moments, int, str], float],
) -> None:
    view = view_at((120, 40), language, middle_of(moments_of(), 2, "compute"))
    label = re.sub(r"\s", "", view.scene.t("primitive.label"))
    rows = [re.sub(r"\s", "", row) for row in draw_play(view).text().splitlines()]
    row = next(row for row in rows if label in row)
    assert f"{label}{title.rsplit(' ', 1)[-1]}─" in row


@pytest.mark.parametrize("speed", [SPEEDS[0], 1.0, SPEEDS[-1]])
def test_nothing_in_the_header_touches_the_slowdown(
    speed: float, view_at: Callable[..., PlayView], moments_of: Callable[..., Moments]
) -> None:
    for s in moments_of().pace.stretches:
        view = view_at((100, 30), "en", s.screen_start_s, speed=speed)
        row = draw_play(view).text().splitlines()[1]
        assert re.match(r" ⏵ +[\d.]+ m?s (\S[\d.,]+( M)?|at rest) +(speed|step) ", row), row


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (150, 50)])
def test_no_two_pulses_that_meet_are_left_by_halves_at_a_joint(
    size: tuple[int, int], view_at: Callable[..., PlayView], moments_of: Callable[..., Moments]
) -> None:
    overrides: dict[str, object] = {"dp": 16, "ep": 8}
    duration_s = moments_of("moe-ep4", **overrides).pace.duration_s
    for i in range(60):
        view = view_at(size, "en", duration_s * (0.2 + i / 200), "moe-ep4", overrides)
        drawn = draw_play(view).text()
        assert not re.search("[┴╩╰╚]»[╌═]+«»|«»[╌═]+«[┴╩╯╝]|»«[╌═]+»[┴╩╯╝]", drawn), drawn


@pytest.mark.parametrize("overrides", [{"dp": 16, "ep": 8}, {"tp": 2, "dp": 4, "ep": 8}, {}])
def test_words_in_boxes_stand_between_blanks(
    overrides: dict[str, object],
    view_at: Callable[..., PlayView],
    moments_of: Callable[..., Moments],
) -> None:
    middle_s = moments_of("moe-ep4", **overrides).pace.duration_s / 2
    for width in range(80, 200, 7):
        text = draw_play(view_at((width, 40), "en", middle_s, "moe-ep4", overrides)).text()
        for title in re.findall("╭([^╭╮╌]*GPU [^╭╮╌]*)╮", text):
            assert len(title) < 10 or re.match(r" GPU \d[^─]* [─┴]*$", title), text
        assert not re.search(r"│[⇄●][^│]*\d/\d+│", text) or "╭GPU" in text, text


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("size", [(200, 60)])
@pytest.mark.parametrize("step", range(8))
def test_the_takeaway_stands_at_the_foot_of_the_panel(
    language: Language,
    size: tuple[int, int],
    step: int,
    view_at: Callable[..., PlayView],
    moments_of: Callable[..., Moments],
    scene_in: Callable[..., Scene],
) -> None:
    start_s = moments_of().pace.step_start(step)
    first = view_at(size, language, start_s)
    shown = ""
    for page in range(page_count(first)):
        view = view_at(size, language, start_s, page=page)
        area = layout_of(view).texts.inner(1)
        rows = draw_play(view).text().splitlines()[area.y : area.bottom]
        panel = "".join(row.rsplit("│", 2)[1] for row in rows)
        *_, foot = panel.rpartition("▸ ")
        shown = "".join(foot.split()) if "▸ " in panel else shown
    assert shown == "".join(scene_in(language).texts[step].takeaway.split())


def test_a_scenario_without_takeaways_is_drawn_as_before(
    view_at: Callable[..., PlayView], moments_of: Callable[..., Moments]
) -> None:
    view = view_at((120, 40), "en", moments_of().pace.step_start(2))
    bare = replace(view.scene, texts=tuple(replace(t, takeaway="") for t in view.scene.texts))
    area = layout_of(view).texts.inner(1)
    with_it, without = (
        draw_play(shown).text().splitlines() for shown in (view, replace(view, scene=bare))
    )
    assert page_count(view) == page_count(replace(view, scene=bare))
    pairs = enumerate(zip(with_it, without, strict=True))
    differing = [y for y, (one, other) in pairs if one != other]
    assert differing
    assert min(differing) > area.y + 10
    assert max(differing) < area.bottom


@pytest.mark.parametrize("height", [33, 34, 35, 36])
def test_choices_have_rows_of_their_own_where_there_is_a_panel_for_them(
    height: int, view_at: Callable[..., PlayView], moments_of: Callable[..., Moments]
) -> None:
    asked = questions(moments_of())
    scene = view_at((120, height), "en", 0.0).scene
    caption = question_caption(scene, asked[0], (1, len(asked)), (120, height))
    view = view_at((120, height), "en", asked[0].moment_s, caption=caption)
    assert ("\n" in caption.text) is layout_of(view).is_wide
