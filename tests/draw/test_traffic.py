"""What lines carry and what is said of them: only what is sent, the way it goes, by its name."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from gpuflow.draw.focus import Focus
from gpuflow.draw.moves import partners
from gpuflow.draw.play import draw_play
from gpuflow.draw.tiles import nodes_text
from gpuflow.draw.traffic import traffic_of
from gpuflow.engine.moment import MAX_REPLAY_RANKS, Moments
from gpuflow.scenario.spec import Language

MANY: dict[str, object] = {"model": "llama-3-70b", "tp": 8, "pp": 4}
"""32 ranks, too many for a replay, in four nodes."""
FIRST, LAST = 0, 24
"""Ranks that the first and the last stage begin with."""
At = Callable[..., Any]


@pytest.fixture(scope="module")
def many_at(view_at: At, moments_of: Callable[..., Moments], middle_of: At) -> At:
    """A view in the middle of a step's first message of a kind."""

    def get(
        step: int,
        kind: str,
        size: tuple[int, int] = (120, 40),
        language: Language = "en",
        **view: object,
    ) -> Any:
        moment_s = middle_of(moments_of(**MANY), step, kind)
        return view_at(size, language, moment_s, overrides=MANY, **view)

    return get


def test_a_message_to_many_goes_down_from_its_sender_and_never_back(many_at: At) -> None:
    view = many_at(1, "broadcast")
    assert len(view.state.span.groups[0]) > MAX_REPLAY_RANKS
    traffic = traffic_of(view)
    assert {way for ways in traffic.between.values() for way in ways.values()} == {"v"}
    state = replace(view.state, span=replace(view.state.span, algorithm="ring"))
    assert partners(state, FIRST) == ((1,), ())
    assert partners(state, 31) == ((), (30,))


def test_what_is_gathered_goes_up_to_its_receiver_straight(many_at: At) -> None:
    view = many_at(8, "gather")
    traffic = traffic_of(view)
    assert {way for ways in traffic.between.values() for way in ways.values()} == {"^"}
    assert traffic.along(0, 0, 8) == "<"
    assert partners(view.state, 13) == ((FIRST,), ())
    to, from_ = partners(view.state, FIRST)
    assert (to, len(from_)) == ((), 31)


def test_a_token_begins_its_way_where_it_was_sampled(many_at: At) -> None:
    view = many_at(5, "token")
    state = replace(view.state, span=replace(view.state.span, algorithm="ring"))
    assert partners(state, LAST) == ((LAST + 1,), ())
    assert partners(state, LAST - 1) == ((), (LAST - 2,))


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (200, 60)])
@pytest.mark.parametrize("step", [1, 8])
def test_only_the_hand_over_is_called_pipeline(
    step: int, size: tuple[int, int], language: Language, many_at: At
) -> None:
    kind = {1: "broadcast", 8: "gather"}[step]
    for focus in (None, Focus(level="stage", rank=8, is_held=True)):
        view = many_at(step, kind, size, language, focus=focus)
        bytes_moved = {1: "2 KiB", 8: "128 B"}[step]
        told = [row for row in draw_play(view).text().split("\n") if bytes_moved in row]
        assert told
        assert not [row for row in told if "PP ×" in row.partition(bytes_moved)[0]]
    named = draw_play(many_at(3, "send", size, language)).text()
    assert "PP ×8 · 8 MiB" in named or "PP 8 MiB" in named


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40), (200, 60)])
def test_two_words_in_a_bottom_edge_never_overlap(size: tuple[int, int], many_at: At) -> None:
    for step, kind in ((1, "broadcast"), (2, "all_reduce"), (5, "token"), (8, "gather")):
        text = draw_play(many_at(step, kind, size)).text()
        assert text.count("All-to-All") == text.count("╌╌ All-to-All · MoE ╌╌")


def test_a_rail_moves_only_the_way_its_bytes_do(
    view_at: At, moments_of: Callable[..., Moments], middle_of: At
) -> None:
    overrides: dict[str, object] = {"tp": 4, "pp": 1}
    for step, kind, signs in ((1, "broadcast", "»"), (8, "gather", "«"), (2, "all_reduce", "«»")):
        moment_s = middle_of(moments_of(**overrides), step, kind)
        view = view_at((120, 40), "en", moment_s, overrides=overrides)
        rails = [row for row in draw_play(view).text().split("\n") if "╚" in row]
        assert rails
        assert {sign for row in rails for sign in row if sign in "«»"} == set(signs)


def test_nodes_that_are_no_neighbours_are_not_told_as_a_range(
    view_at: At, moments_of: Callable[..., Moments]
) -> None:
    assert nodes_text([4, 5, 6, 7]) == "4–7"
    assert nodes_text([0, 4, 8]) == "0, 4 … 8"
    overrides: dict[str, object] = {**MANY, "dp": 32}
    focus = Focus(level="stage", rank=0, is_held=True)
    text = draw_play(view_at((120, 40), "en", 5.0, overrides=overrides, focus=focus)).text()
    assert "nodes 0, 4 ─" in text
    assert "nodes 0–4" not in text


def test_bars_of_small_gpus_stand_under_each_other_whoever_works(
    view_at: At, moments_of: Callable[..., Moments], middle_of: At
) -> None:
    overrides: dict[str, object] = {**MANY, "pp": 8}
    moments = moments_of(**overrides)
    for step in (2, 4):
        moment_s = middle_of(moments, step, "all_reduce")
        view = view_at((200, 60), "en", moment_s, overrides=overrides)
        rows = draw_play(view).text().split("\n")
        chips = [row for row in rows if re.match(r" │ +\d+[·⇄●]", row)]
        places = {tuple((m.start(), m.end()) for m in re.finditer("[▇─]+", r)) for r in chips}
        assert len(chips) == 8
        assert len(places) == 1


def test_small_gpus_are_joined_by_lines_of_the_class_that_moves(
    view_at: At, moments_of: Callable[..., Moments], middle_of: At
) -> None:
    overrides: dict[str, object] = {"model": "mixtral-8x7b", "tp": 2, "dp": 2, "ep": 4, "pp": 2}
    for kind, joints in (("all_reduce", ["═", "", "═"]), ("all_to_all", ["╌", "╌", "╌"])):
        moment_s = middle_of(moments_of(**overrides), 2, kind)
        view = view_at((80, 24), "en", moment_s, overrides=overrides)
        row = next(r for r in draw_play(view).text().split("\n") if "0⇄" in r)
        found = re.findall(r"[▇─] +([═╌]?) *\d⇄", row.replace("═", " ═ ").replace("╌", " ╌ "))
        assert found == joints, kind
