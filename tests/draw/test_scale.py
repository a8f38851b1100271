"""From one GPU to 1,024, from far and from near: what is shown, and that it fits."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from gpuflow.cells import cell_width
from gpuflow.cluster.mesh import Mesh
from gpuflow.draw.ascii import to_ascii
from gpuflow.draw.focus import LEVELS, Focus, Level, followed, levels_of, moved, part_of, zoomed
from gpuflow.draw.play import draw_play
from gpuflow.draw.tile_plan import tile_sizes
from gpuflow.draw.view import PlayView
from gpuflow.engine.moment import Moments
from gpuflow.scenario.spec import Language, ParallelSpec

GOLDEN = Path(__file__).parent / "golden"
ONE = {"tp": 1, "pp": 1}
EIGHT = {"tp": 8, "pp": 1}
SIXTY_FOUR = {"model": "llama-3-70b", "tp": 8, "pp": 8}
THOUSAND = {"model": "llama-3-70b", "tp": 8, "pp": 16, "dp": 8}
REPLICAS = {"tp": 8, "pp": 1, "dp": 128}
EXPERTS = {"model": "deepseek-v3", "tp": 1, "pp": 1, "dp": 64, "ep": 64}
SPLITS: tuple[dict[str, object], ...] = (
    ONE,
    EIGHT,
    SIXTY_FOUR,
    THOUSAND,
    REPLICAS,
    EXPERTS,
    {"model": "deepseek-v3", "tp": 4, "pp": 1, "dp": 256, "ep": 256},
    {"tp": 2, "pp": 4, "dp": 64},
    {"tp": 1, "pp": 8, "dp": 128},
)


class Look(NamedTuple):
    """A golden screen: a split, a step's first span of a kind, and what is looked at."""

    name: str
    overrides: dict[str, object]
    step: int
    kind: str
    focus: Focus | None = None
    size: tuple[int, int] = (120, 40)
    language: Language = "en"


LOOKS = (
    Look("scale-1", ONE, 2, "compute"),
    Look("scale-8", EIGHT, 2, "all_reduce"),
    Look("scale-64", SIXTY_FOUR, 3, "send"),
    Look("scale-1024", THOUSAND, 4, "all_reduce"),
    Look("scale-1024-zh", THOUSAND, 3, "send", language="zh"),
    Look("scale-1024-wide", THOUSAND, 4, "all_reduce", size=(200, 60)),
    Look("scale-1024-narrow", THOUSAND, 4, "all_reduce", size=(80, 24)),
    Look("scale-replicas", REPLICAS, 2, "all_reduce"),
    Look("scale-experts", EXPERTS, 6, "compute"),
    Look("zoom-stage", THOUSAND, 4, "all_reduce", Focus(level="stage")),
    Look("zoom-group", THOUSAND, 4, "all_reduce", Focus(level="group", rank=515)),
    Look("zoom-gpu", THOUSAND, 3, "send", Focus(level="gpu", rank=5)),
    Look("follow", THOUSAND, 4, "all_reduce", Focus(rank=653, is_following=True)),
    Look(
        "follow-gpu",
        EXPERTS,
        6,
        "all_to_all",
        Focus(level="gpu", rank=37, is_following=True),
        language="zh",
    ),
)


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.name)
def test_the_screen_looks_as_it_was_approved(
    look: Look,
    moments_of: Callable[..., Moments],
    middle_of: Callable[[Moments, int, str], float],
    view_at: Callable[..., PlayView],
) -> None:
    moments = moments_of(**look.overrides)
    screen_s = middle_of(moments, look.step, look.kind)
    view = view_at(look.size, look.language, screen_s, overrides=look.overrides, focus=look.focus)
    text = draw_play(view).text()
    file = GOLDEN / f"{look.name}.txt"
    if os.environ.get("GPUFLOW_UPDATE_GOLDEN"):
        file.write_text(f"{text}\n", "utf-8")
    assert f"{text}\n" == file.read_text("utf-8")


@pytest.mark.parametrize("overrides", SPLITS, ids=str)
def test_every_row_is_whole_however_near_it_is_looked_at(
    overrides: dict[str, object],
    moments_of: Callable[..., Moments],
    view_at: Callable[..., PlayView],
) -> None:
    moments, choose = moments_of(**overrides), random.Random(7)
    languages: tuple[Language, ...] = ("en", "zh")
    for _ in range(40):
        rank = choose.randrange(moments.mesh.n_ranks)
        is_following = choose.random() < 0.4
        focus = Focus(level=choose.choice(LEVELS), rank=rank, is_following=is_following)
        size = (choose.randint(60, 210), choose.randint(16, 64))
        screen_s = choose.uniform(0, moments.pace.duration_s)
        view = view_at(size, choose.choice(languages), screen_s, overrides=overrides, focus=focus)
        frame = draw_play(view)
        widths = [sum(cell_width(run.text) for run in row) for row in frame.rows]
        assert widths == [size[0]] * size[1]
        plain = to_ascii(frame)
        assert [sum(cell_width(run.text) for run in row) for row in plain.rows] == widths
        if is_following:
            assert f"GPU {rank}" in frame.text()


def test_a_thousand_gpus_are_all_there_and_their_links_counted(
    moments_of: Callable[..., Moments],
    middle_of: Callable[[Moments, int, str], float],
    view_at: Callable[..., PlayView],
) -> None:
    moments = moments_of(**THOUSAND)
    moving = draw_play(
        view_at((120, 40), "en", middle_of(moments, 4, "all_reduce"), overrides=THOUSAND)
    ).text()
    assert moving.count("⇄8") == 8
    assert moving.count("·8") == 8 * 15
    assert "8 × all_reduce" in moving
    assert "1,024 GPUs · 128 nodes" in moving
    still = draw_play(
        view_at((200, 60), "en", middle_of(moments, 4, "compute"), overrides=THOUSAND)
    ).text()
    assert "64 × NVLink 4" in still
    assert "64 × InfiniBand" in still
    assert still.count("●" * 8) == 8


def test_zoomed_in_the_stage_at_work_is_shown_until_another_is_picked(
    moments_of: Callable[..., Moments],
    middle_of: Callable[[Moments, int, str], float],
    view_at: Callable[..., PlayView],
) -> None:
    screen_s = middle_of(moments_of(**THOUSAND), 4, "all_reduce")

    def shown(focus: Focus | None) -> str:
        view = view_at((120, 40), "en", screen_s, overrides=THOUSAND, focus=focus)
        return draw_play(view).text()

    assert "stage 2 of 16" in shown(Focus(level="stage"))
    mesh = moments_of(**THOUSAND).mesh
    picked = moved(Focus(level="stage"), mesh, 1, at_work=1)
    assert "stage 3 of 16" in shown(picked)
    assert "from stage 2" in shown(picked)
    assert "to stage 4" in shown(picked)


def test_whom_a_followed_rank_sends_to_is_said(
    moments_of: Callable[..., Moments],
    middle_of: Callable[[Moments, int, str], float],
    view_at: Callable[..., PlayView],
) -> None:
    screen_s = middle_of(moments_of(**THOUSAND), 3, "send")
    for rank, words in ((5, "» sends to 13"), (13, "« receives from 5"), (21, "waiting")):
        focus = Focus(rank=rank, is_following=True)
        view = view_at((120, 40), "en", screen_s, overrides=THOUSAND, focus=focus)
        line = draw_play(view).text().splitlines()[2]
        assert line.startswith(f" GPU {rank} · node {rank // 8} · Stage {rank // 8 + 1} · TP 6/8")
        assert words in line


def test_expert_loads_say_that_they_are_an_example(view_at: Callable[..., PlayView]) -> None:
    text = draw_play(view_at((200, 60), "en", 0.1, "moe-ep4")).text()
    assert "E0–1 ⣤" in text
    assert "random" in text
    dense = draw_play(view_at((200, 60), "en", 0.1)).text()
    assert "random" not in dense


# ---------------------------------------------------------------- focus


def mesh(tp: int, pp: int, dp: int, gpus_per_node: int = 8) -> Mesh:
    return Mesh(ParallelSpec(tp=tp, pp=pp, dp=dp), gpus_per_node)


@pytest.mark.parametrize(
    ("split", "levels"),
    [
        ((1, 1, 1), ("cluster", "gpu")),
        ((2, 2, 1), ("cluster", "stage", "gpu")),
        ((8, 1, 1), ("cluster", "gpu")),
        ((8, 1, 4), ("cluster", "group", "gpu")),
        ((8, 16, 8), LEVELS),
        ((1, 1, 64), ("cluster", "group", "gpu")),
    ],
)
def test_only_levels_that_show_something_else_are_stopped_at(
    split: tuple[int, int, int], levels: tuple[str, ...]
) -> None:
    cluster = mesh(*split)
    assert levels_of(cluster) == levels
    focus: Focus | None = None
    met = ["cluster"]
    for _ in range(5):
        nearer = zoomed(focus, cluster, 1)
        if nearer == focus:
            break
        focus = nearer
        met.append(focus.level if focus else "cluster")
    assert tuple(met) == levels
    for _ in range(5):
        focus = zoomed(focus, cluster, -1)
    assert focus is None


def test_moving_goes_round_all_stages_groups_and_ranks() -> None:
    cluster = mesh(4, 2, 4)
    counts: tuple[tuple[Level, int], ...] = (("stage", 2), ("group", 4), ("gpu", 32))
    for level, count in counts:
        focus: Focus | None = Focus(level=level)
        seen = set()
        for _ in range(count):
            focus = moved(focus, cluster, 1, None)
            assert focus is not None
            assert focus.is_held
            seen.add(focus.rank)
        assert len(seen) == count
        assert focus is not None
        assert focus.rank == 0
        assert moved(focus, cluster, -1, None) != focus


def test_the_whole_cluster_has_nothing_to_move_to_unless_a_rank_is_followed() -> None:
    cluster = mesh(4, 2, 4)
    assert moved(None, cluster, 1, None) is None
    focus = followed(None, cluster, 1)
    assert focus is not None
    assert (focus.rank, focus.is_following) == (0, True)
    on = moved(focus, cluster, -1, 1)
    assert on is not None
    assert on.rank == 31
    assert followed(on, cluster, 1) is None


def test_following_from_near_takes_the_rank_in_view() -> None:
    cluster = mesh(4, 2, 4)
    focus = followed(Focus(level="gpu", rank=2), cluster, 1)
    assert focus is not None
    assert focus.rank == 6
    free = followed(focus, cluster, 0)
    assert free is not None
    assert (free.level, free.is_following, free.is_held) == ("gpu", False, False)


@pytest.mark.parametrize(
    ("split", "sizes"),
    [
        ((8, 16, 8), (8, 16, 32, 64)),
        ((2, 2, 64), (2, 4, 8, 16, 32, 64, 128)),
        ((1, 1, 64), (8, 16, 32, 64)),
        ((1, 8, 6), (2, 6)),
        ((16, 1, 4), (8, 16, 32, 64)),
        ((1, 1, 1), (1,)),
    ],
)
def test_tiles_cut_a_stage_evenly(split: tuple[int, int, int], sizes: tuple[int, ...]) -> None:
    cluster = mesh(*split)
    assert tile_sizes(cluster) == sizes
    assert all(split[0] * split[2] % size == 0 for size in sizes)


def test_the_group_of_a_rank_holds_it() -> None:
    for split in ((8, 16, 8), (2, 2, 64), (1, 1, 64), (1, 8, 6), (16, 1, 4)):
        cluster = mesh(*split)
        for rank in range(0, cluster.n_ranks, 5):
            part = part_of(cluster, rank)
            ranks = cluster.stage_ranks(part.stage)[part.first : part.first + part.size]
            assert rank in ranks
            assert len(ranks) == part.size


def test_in_a_large_all_to_all_every_rank_talks_to_every_other(
    moments_of: Callable[..., Moments],
    middle_of: Callable[[Moments, int, str], float],
    view_at: Callable[..., PlayView],
) -> None:
    screen_s = middle_of(moments_of(**EXPERTS), 6, "all_to_all")
    focus = Focus(rank=37, is_following=True)
    view = view_at((200, 60), "en", screen_s, overrides=EXPERTS, focus=focus)
    line = draw_play(view).text().splitlines()[2]
    assert "» sends to 63 GPUs, « receives from 63 GPUs" in line


def test_the_replay_is_that_of_the_group_in_view(
    moments_of: Callable[..., Moments],
    middle_of: Callable[[Moments, int, str], float],
    view_at: Callable[..., PlayView],
) -> None:
    screen_s = middle_of(moments_of(**THOUSAND), 4, "all_reduce")
    for focus, names in ((None, "GPU8 "), (Focus(level="group", rank=515), "GPU520")):
        view = view_at((120, 40), "en", screen_s, overrides=THOUSAND, focus=focus)
        panel = draw_play(view).text().split("Primitive in use")[1]
        assert names in panel


def test_rows_of_stages_that_go_on_say_so(
    moments_of: Callable[..., Moments],
    middle_of: Callable[[Moments, int, str], float],
    view_at: Callable[..., PlayView],
) -> None:
    screen_s = middle_of(moments_of(**THOUSAND), 4, "all_reduce")
    rows = draw_play(view_at((80, 24), "en", screen_s, overrides=THOUSAND)).text().splitlines()
    stages = [row for row in rows if "MiB" in row and "│ KV" in row]
    assert len(stages) < 16
    assert [row[0] for row in stages[:-1]].count("…") == 0
    assert stages[-1].startswith("…")
