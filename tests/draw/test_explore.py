"""One collective drawn: every row whole, every number real, at every size."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache

import pytest

from gpuflow.cells import cell_width
from gpuflow.collectives.algorithms import ALGORITHMS
from gpuflow.collectives.small import SmallRow
from gpuflow.draw.ascii import to_ascii
from gpuflow.draw.canvas import Rect
from gpuflow.draw.explore import draw_explore
from gpuflow.draw.explore_boxes import value_pieces
from gpuflow.draw.explore_nets import lines_of
from gpuflow.draw.explore_peers import needs_of
from gpuflow.draw.explore_plan import plan_stack
from gpuflow.draw.explore_view import FLIGHT, ExploreView, share_text
from gpuflow.draw.frame import Frame
from gpuflow.draw.help import draw_help
from gpuflow.draw.keys import EXPLORE_HELP_KEYS, EXPLORE_KEYS, explore_hints
from gpuflow.draw.roles import ROLES
from gpuflow.draw.view import Scene
from gpuflow.engine.explore import Outlook, Subject, outlook, subject_of
from gpuflow.engine.simulate import simulate
from gpuflow.engine.timeline import Timeline
from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.scenario.spec import Language
from gpuflow.words import t

EVERY = [
    pytest.param(collective, algorithm, id=f"{collective}-{algorithm}")
    for collective, algorithms in ALGORITHMS.items()
    for algorithm in algorithms
]
LANGUAGES: tuple[Language, ...] = ("zh", "en")
SIZES = ((80, 24), (120, 40), (200, 60))
LEVELS = ("hierarchical", "node_limited")
ROW = re.compile(r"\[((?: *(?:\d+|·)[ +✓»])+)\]")
"""A vector as it is drawn, each number with the sign behind it."""


@cache
def timeline() -> Timeline:
    return simulate(load_scenario("tp2-pp2", Overrides(profile="ideal")))


@cache
def outlook_of(subject: Subject) -> Outlook:
    return outlook(subject, timeline(), 1)


def view_of(
    subject: Subject,
    number: int = 0,
    size: tuple[int, int] = (80, 24),
    language: Language = "en",
    fraction: float = 1.0,
) -> ExploreView:
    """A view of a round; rounds below 0 count from the end."""
    found = outlook_of(subject)
    return ExploreView(
        language=language,
        outlook=found,
        round=number if number >= 0 else found.own.rounds + 1 + number,
        fraction=fraction,
        width=size[0],
        height=size[1],
    )


def check_whole(frame: Frame, size: tuple[int, int]) -> None:
    assert (frame.width, frame.height, len(frame.rows)) == (*size, size[1])
    assert {sum(cell_width(run.text) for run in row) for row in frame.rows} == {size[0]}
    assert {run.role for row in frame.rows for run in row} <= set(ROLES)


def vectors(frame: Frame) -> list[tuple[int | None, ...]]:
    """Every vector on the screen, from top to bottom."""
    found = []
    for line in frame.text().splitlines():
        for numbers in ROW.findall(line):
            values = re.findall(r"\d+|·", numbers)
            found.append(tuple(None if value == "·" else int(value) for value in values))
    return found


def values(rows: tuple[SmallRow, ...]) -> list[tuple[int | None, ...]]:
    return [row.values for row in rows]


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
def test_two_to_sixteen_ranks_show_the_numbers_of_the_replay(
    collective: str, algorithm: str
) -> None:
    """Start, middle and end, and the first round in flight, at all sizes and in both languages."""
    for n in range(2, 17):
        subject = subject_of(collective, algorithm, n)
        replay = subject.replay()
        size, language = SIZES[n % 3 if n % 2 else 0], LANGUAGES[n % 2]
        rounds = range(len(replay.rounds) + 1)
        for number in sorted({0, len(rounds) // 2, len(rounds) - 1}):
            view = view_of(subject, number, size, language)
            frame = draw_explore(view)
            check_whole(frame, size)
            assert vectors(frame) == values(replay.rows_after(number)), (n, number)
        flying = view_of(subject, 1, size, language, fraction=0.3)
        frame = draw_explore(flying)
        check_whole(frame, size)
        assert vectors(frame) == values(replay.before), n


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
def test_at_80x24_it_is_said_who_sends_to_whom(collective: str, algorithm: str) -> None:
    for n in range(2, 17):
        subject = subject_of(collective, algorithm, n)
        for language in LANGUAGES:
            plan = plan_stack(needs_of(subject, language), Rect(1, 2, 78, 17))
            assert plan.has_numbers
            assert len(plan.places) == n
            assert plan.has_lines or plan.named or plan.switch, (n, plan.form)


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
@pytest.mark.parametrize("n", [32, 64, 256])
def test_many_ranks_are_summed_up_row_by_row(collective: str, algorithm: str, n: int) -> None:
    subject = subject_of(collective, algorithm, n, gpus_per_node=8)
    for size, language in zip((SIZES[0], SIZES[2]), LANGUAGES, strict=True):
        for number in (0, 1, -1):
            view = view_of(subject, number, size, language)
            frame = draw_explore(view)
            check_whole(frame, size)
            text = frame.text()
            for block in view.tally.blocks(view.round):
                assert f"{block.first}–{block.first + block.n_peers - 1}" in text
            assert t("explore.sums.alike", view.language) in text
            if number == -1:
                assert "✓ ┃" in text


@pytest.mark.parametrize(
    ("collective", "algorithm"),
    [
        ("all_reduce", "ring"),
        ("all_reduce", "hierarchical"),
        ("all_reduce", "nvls"),
        ("all_gather", "pat"),
        ("all_to_all", "node_limited"),
        ("broadcast", "binomial"),
    ],
)
def test_a_thousand_ranks_too(collective: str, algorithm: str) -> None:
    subject = subject_of(collective, algorithm, 1024, gpus_per_node=8)
    for number in (0, 1, -1):
        view = view_of(subject, number)
        frame = draw_explore(view)
        check_whole(frame, (80, 24))
        assert "1,024" in frame.text()
        assert sum(block.n_peers for block in view.tally.blocks(view.round)) == 1024


SWITCHED = [p for p in EVERY if str(p.values[1]).startswith("nvls")]


@pytest.mark.parametrize(("collective", "algorithm"), SWITCHED)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_switch_is_a_box_of_its_own_with_what_it_passes_on(
    collective: str, algorithm: str, language: Language
) -> None:
    switch = t("explore.switch", language)
    for n in (*range(2, 17), 64):
        for size in SIZES:
            view = view_of(subject_of(collective, algorithm, n), 1, size, language)
            text = draw_explore(view).text()
            assert re.search(rf"┏.{switch}" if n <= 16 else rf"┃ {switch}", text), (n, size)
            if n > 16:
                continue
            row = view.replay.rounds[0].switch_row
            assert row is not None
            box = " ".join(re.findall(r"┃([ \d·]+)┃", text))
            assert re.findall(r"\d+", box) == [str(v) for v in row.values if v is not None]


@pytest.mark.parametrize(("collective", "algorithm"), SWITCHED)
def test_all_lines_lead_to_the_switch_and_back(collective: str, algorithm: str) -> None:
    view = view_of(subject_of(collective, algorithm, 6), 1, (120, 40))
    text = draw_explore(view).text()
    assert text.count("▸┃") == 6
    assert len(re.findall(r"◂═+[┃┏]", text)) == 6
    early = draw_explore(view_of(view.subject, 1, (120, 40), fraction=0.1)).text()
    assert not re.findall(r"◂═+[┃┏]", early)
    assert early.count("»") >= 6


@pytest.mark.parametrize(("collective", "algorithm"), [p for p in EVERY if p.values[1] in LEVELS])
@pytest.mark.parametrize("n", [4, 8, 12, 16])
def test_two_levels_are_framed_and_their_lines_differ(
    collective: str, algorithm: str, n: int
) -> None:
    subject = subject_of(collective, algorithm, n)
    nodes = n // subject.ranks_per_node
    for number in range(1, subject.rounds + 1):
        view = view_of(subject, number, (200, 60))
        text = draw_explore(view).text()
        assert [int(node) for node in re.findall(r"┏ node (\d+) ━", text)] == list(range(nodes))
        assert view.levels == {net.is_between for net in lines_of(subject).rounds[number - 1]}
        if view.levels == {True}:
            assert re.search(r"◂\+?━", text)
            assert not re.search(r"◂\+?═", text)
        elif view.levels == {False}:
            assert re.search(r"◂\+?═", text)
            assert not re.search(r"◂\+?━", text)
    seen = {
        level for nets in lines_of(subject).rounds for level in {net.is_between for net in nets}
    }
    assert seen == {True, False}


@pytest.mark.parametrize("language", LANGUAGES)
def test_small_screens_bracket_the_nodes(language: Language) -> None:
    subject = subject_of("all_reduce", "hierarchical", 16, gpus_per_node=4)
    lines = draw_explore(view_of(subject, 5, language=language)).text().splitlines()
    assert [line[1] for line in lines[2:18]] == list("┏┃┃┗" * 4)


def test_sums_name_both_levels() -> None:
    subject = subject_of("all_reduce", "hierarchical", 64, gpus_per_node=8)
    inside = draw_explore(view_of(subject, 1)).text()
    between = draw_explore(view_of(subject, 9)).text()
    assert "64 GPUs in 8 nodes of 8" in inside
    assert "in the node ═" in inside
    assert "to nodes ━" in inside
    assert len(re.findall(r"8/8 +8 × 512 KiB +–", inside)) == 8
    assert len(re.findall(r"8/8 +– +8 × 64 KiB", between)) == 8


def test_signs_tell_sums_on_their_way_from_totals() -> None:
    subject = subject_of("all_reduce", "ring", 4)

    def row(number: int, fraction: float = 1.0) -> str:
        view = view_of(subject, number, fraction=fraction)
        return "".join(piece.text for piece in value_pieces(view, 0))

    assert row(0) == "[ 1  2  3  4 ]"
    assert row(1, 0.3) == "[ 1  2  3  4»]"
    assert row(1) == "[ 1  2 18+ · ]"
    assert row(3) == "[28✓ ·  ·  · ]"
    assert row(6) == "[28 32 36 40✓]"


def test_roles_make_partial_sums_brighter_and_totals_final() -> None:
    view = view_of(subject_of("all_reduce", "ring", 4), 2)
    roles = {piece.text.strip(): piece.role for piece in value_pieces(view, 0)}
    assert roles["26"] == "reduce"
    assert roles["1"] == "number"
    done = view_of(view.subject, 3)
    assert {p.role for p in value_pieces(done, 0) if p.text == "28"} == {"good"}


def test_numbers_stand_still_in_flight_and_change_where_it_ends() -> None:
    subject = subject_of("all_gather", "ring", 4)
    before, after = (
        view_of(subject, 1, fraction=FLIGHT - 0.01),
        view_of(subject, 1, fraction=FLIGHT),
    )
    assert (before.done, after.done) == (0, 1)
    assert vectors(draw_explore(before)) == values(subject.replay().before)
    assert vectors(draw_explore(after)) == values(subject.replay().rows_after(1))


def test_packets_move_along_the_lines() -> None:
    subject = subject_of("broadcast", "ring", 3)
    places = []
    for part in (0.05, 0.2, 0.35, 0.5):
        frame = draw_explore(view_of(subject, 1, (120, 40), fraction=part))
        places += [
            (y, run.text)
            for y, row in enumerate(frame.rows)
            for run in row
            if run.role == "accent" and run.text in "»«▼▲"
        ]
    assert [sign for _, sign in places if sign != "»"]
    assert len(set(places)) > 2


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
def test_lines_in_a_lane_never_run_over_each_other(collective: str, algorithm: str) -> None:
    for n in (2, 5, 8, 16):
        lines = lines_of(subject_of(collective, algorithm, n))
        for nets in lines.rounds:
            for a in nets:
                for b in nets:
                    if a is not b and (a.lane, a.is_between) == (b.lane, b.is_between):
                        assert a.span[1] < b.span[0] or b.span[1] < a.span[0]


@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
def test_lines_join_exactly_the_ranks_that_exchange(collective: str, algorithm: str) -> None:
    for n in (2, 5, 8, 12):
        subject = subject_of(collective, algorithm, n)
        for nets, one in zip(lines_of(subject).rounds, subject.replay().rounds, strict=True):
            drawn = {
                (sender, receiver, net.adds)
                for net in nets
                for sender in net.senders
                for receiver in net.receivers
                if sender != receiver
            }
            sent = {
                (*pair, adds)
                for pair, adds in zip(one.transfers, one.adds, strict=True)
                if max(pair) < n
            }
            assert drawn == sent


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(("collective", "algorithm"), EVERY)
def test_how_it_works_fits_one_row(collective: str, algorithm: str, language: Language) -> None:
    assert cell_width(t(f"explore.how.{collective}.{algorithm}", language)) <= 78


@pytest.mark.parametrize(
    "size", [(1, 1), (12, 3), (39, 30), (40, 10), (60, 18), (79, 23), (250, 12)]
)
@pytest.mark.parametrize("language", LANGUAGES)
def test_any_size_is_drawn(size: tuple[int, int], language: Language) -> None:
    for collective, algorithm, n in (
        ("all_reduce", "ring", 16),
        ("all_reduce", "nvls", 16),
        ("all_reduce", "hierarchical", 12),
        ("all_to_all", "bruck", 9),
        ("all_reduce", "hierarchical", 64),
        ("broadcast", "direct", 32),
    ):
        for fraction in (0.3, 1.0):
            subject = subject_of(collective, algorithm, n)
            frame = draw_explore(view_of(subject, 1, size, language, fraction))
            check_whole(frame, size)


def test_ranks_without_room_are_counted() -> None:
    text = draw_explore(view_of(subject_of("all_reduce", "ring", 16), 1, (80, 12))).text()
    shown = re.findall(r"^ *(\d+) ?\[", text, re.M)
    hidden = re.search(r"… (\d+) more GPUs", text)
    assert hidden
    assert len(shown) + int(hidden[1]) == 16


@pytest.mark.parametrize("language", LANGUAGES)
def test_costs_and_times_are_those_of_the_outlook(language: Language) -> None:
    view = view_of(subject_of("all_reduce", "ring", 8), 3, (120, 40), language)
    text = draw_explore(view).text()
    own = view.outlook.own
    assert f"{own.rounds}" in text
    assert f"{share_text(own.sent_most)} = {view.size_of(own.sent_most)}" in text
    for one in view.outlook.algorithms:
        assert re.search(rf"{one.algorithm} +{one.rounds} ", text)
    assert t("explore.panel.title", language, size="4 MiB") in text


def test_what_machines_cannot_run_is_said() -> None:
    text = draw_explore(view_of(subject_of("all_reduce", "nvls", 16), 1, (120, 40))).text()
    assert "needs a switch that adds" in text


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("size", SIZES)
def test_every_key_stands_at_the_foot(size: tuple[int, int], language: Language) -> None:
    lines = draw_explore(view_of(subject_of("gather"), 1, size, language)).text().splitlines()
    foot = " ".join(lines[-3:])
    for key, word in explore_hints(language):
        assert f"{key} {word}" in foot


@pytest.mark.parametrize("language", LANGUAGES)
def test_help_lists_the_explorer_s_keys(language: Language, scene_in: Callable[..., Scene]) -> None:
    text = draw_help(scene_in(language), 79).text()
    for key in EXPLORE_HELP_KEYS:
        assert key.show in text
    shared = {"theme", "language", "help", "back", "quit"}
    assert {key.id for key in EXPLORE_KEYS} - shared <= {key.id for key in EXPLORE_HELP_KEYS}


def test_ascii_has_a_likeness_of_every_sign() -> None:
    for collective, algorithm in (("all_reduce", "tree"), ("all_reduce", "hierarchical")):
        for number in (1, 3):
            subject = subject_of(collective, algorithm, 8)
            frame = draw_explore(view_of(subject, number, (200, 60), fraction=0.4))
            text = to_ascii(frame).text()
            assert text.isascii()
            # the other language's own name is written in its own characters
            assert "?" not in text.replace("? help", "").replace("L ????", "")
