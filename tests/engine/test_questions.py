"""Questions before results: answers by another way, plausible mistakes, nothing given away."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest

from gpuflow.draw.play import draw_play
from gpuflow.draw.questions import answer_caption, question_caption
from gpuflow.draw.scene import scene_of
from gpuflow.draw.view import Caption, PlayView
from gpuflow.engine.moment import Moments
from gpuflow.engine.pace import Pace
from gpuflow.engine.question_choice import Question, written
from gpuflow.engine.questions import questions
from gpuflow.engine.simulate import simulate
from gpuflow.engine.timeline import Span
from gpuflow.scenario.load import Overrides, load_scenario
from gpuflow.scenario.spec import Language
from gpuflow.units import Quantity

CASES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("tp2-pp2", {}),
    ("tp2-pp2", {"profile": "ideal"}),
    ("tp2-pp2", {"tp": 1, "pp": 1}),
    ("tp2-pp2", {"tp": 1, "pp": 2}),
    ("tp2-pp2", {"tp": 1, "pp": 4, "profile": "ideal"}),
    ("tp2-pp2", {"tp": 4, "pp": 1}),
    ("tp2-pp2", {"tp": 8, "pp": 4, "batch": 16}),
    ("tp2-pp2", {"tp": 2, "pp": 2, "dp": 2}),
    ("tp2-pp2", {"output": 1}),
    ("tp2-pp2", {"prompt": 1, "output": 400}),
    ("tp2-pp2", {"chunk": 128}),
    ("tp2-pp2", {"batch": 8, "micro_batches": 2}),
    ("tp2-pp2", {"overlap": True, "batch": 8}),
    ("tp2-pp2", {"model": "llama-3-70b", "gpu": "a100", "tp": 8, "pp": 2}),
    ("moe-ep4", {}),
    ("moe-ep4", {"tp": 2}),
    ("moe-ep4", {"tp": 4, "dp": 1, "ep": 4, "profile": "ideal"}),
    ("moe-ep4", {"model": "deepseek-v3", "gpu": "h200", "tp": 1, "dp": 16, "ep": 16, "batch": 4}),
)
IDS = [f"{name} {' '.join(f'{k}={v}' for k, v in changes.items())}" for name, changes in CASES]
LANGUAGES: tuple[Language, ...] = ("zh", "en")
SLACK = 1e-9


@cache
def _moments(index: int) -> Moments:
    name, changes = CASES[index]
    return Moments(Pace(simulate(load_scenario(name, Overrides(**changes)))))


@pytest.fixture(params=range(len(CASES)), ids=IDS)
def moments(request: pytest.FixtureRequest) -> Moments:
    """States of one scenario under one split."""
    return _moments(request.param)


def amount(question: Question) -> float:
    value = question.answer.values["value"]
    assert isinstance(value, Quantity)
    return float(value.value)


def spans_of(moments: Moments, question: Question) -> tuple[Span, ...]:
    step = moments.timeline.steps[question.step]
    return moments.timeline.spans[step.first_span : step.last_span]


def message_at(moments: Moments, question: Question) -> Span:
    """The span that begins at the question's moment."""
    time_s = moments.pace.time(question.moment_s)
    return next(
        span
        for span in spans_of(moments, question)
        if span.collective and abs(span.start_s - time_s) < 1e-12 + 1e-6 * time_s
    )


def test_every_step_with_work_asks_once_or_twice_in_time(moments: Moments) -> None:
    asked = questions(moments)
    for step in moments.timeline.steps:
        mine = [q for q in asked if q.step == step.index]
        # where nothing takes time and nothing is sent, there is nothing to ask
        has_work = step.duration_s > 0
        assert len(mine) in ((1, 2) if has_work else (0,)), step.id
        assert len({q.kind for q in mine}) == len(mine)
        low, high = moments.pace.step_start(step.index), moments.pace.step_end(step.index)
        assert all(low <= q.moment_s < high for q in mine)
    assert [q.moment_s for q in asked] == sorted(q.moment_s for q in asked)
    working = sum(step.duration_s > 0 for step in moments.timeline.steps)
    assert len({q.kind for q in asked}) >= min(3, working)


def test_choices_are_few_different_and_hold_the_right_one(moments: Moments) -> None:
    for question in questions(moments):
        assert 2 <= len(question.choices) <= 4
        looks = [
            (choice.name, *map(written, choice.values.values())) for choice in question.choices
        ]
        assert len(set(looks)) == len(looks), question
        assert question.answer.mistake == ""
        others = [c for c in question.choices if c is not question.answer]
        assert all(choice.mistake or choice.name for choice in others)


def test_the_right_one_does_not_always_stand_in_one_place() -> None:
    places = {q.right for q in questions(_moments(0))}
    assert len(places) >= 3


def test_sizes_are_what_the_formula_gives(moments: Moments) -> None:
    scenario = moments.timeline.scenario
    w, p, model = scenario.workload, scenario.parallel, scenario.model
    group = w.batch / w.micro_batches
    chunks = 1 if w.chunk_tokens is None else -(-group * w.prompt_tokens // w.chunk_tokens)
    for question in questions(moments):
        if question.kind != "size":
            continue
        span = message_at(moments, question)
        tokens = group if span.phase == "decode" else group * w.prompt_tokens / chunks
        copies = model.moe.experts_per_token if model.moe else 0
        narrow = scenario.precision in {"fp8", "fp4"} and model.quantised != "experts"
        expected = {
            "token_ids": 4 * tokens,
            "activations": tokens * model.hidden_size * 2,
            "dispatch": tokens / p.tp * copies * model.hidden_size * (1 + 4 / 128 if narrow else 2),
            "combine": tokens / p.tp * copies * model.hidden_size * 2,
            "logits": group * model.vocab_size * 2,
            "token": 4 * group,
            "output": 4 * group * len(span.groups[0]),
        }[question.about]
        assert amount(question) == pytest.approx(expected)
        assert amount(question) == span.message_size_bytes


def test_times_are_those_of_the_message_and_their_parts_add_up(moments: Moments) -> None:
    for question in questions(moments):
        if question.kind != "time":
            continue
        assert amount(question) == message_at(moments, question).duration_s
        if question.about == "split":
            wire, fixed = question.values["wire"], question.values["fixed"]
            assert isinstance(wire, Quantity)
            assert isinstance(fixed, Quantity)
            assert float(wire.value) + float(fixed.value) == pytest.approx(amount(question))


def test_counts_are_the_messages_that_follow_one_another(moments: Moments) -> None:
    for question in questions(moments):
        if question.kind == "messages":
            name = question.values["collective"]
            counted = {
                (span.payload, span.stage, span.layer, span.start_s)
                for span in spans_of(moments, question)
                if span.collective == name and span.layer
            }
            payloads = {payload for payload, *_ in counted}
            # dispatch and combine are two kinds of one collective
            assert amount(question) in {
                sum(key[0] in chosen for key in counted) for chosen in ({p} for p in payloads)
            } | {len(counted)}


def test_what_dominates_is_the_largest_of_the_step_s_parts(moments: Moments) -> None:
    for question in questions(moments):
        if question.kind != "dominates":
            continue
        step, spans = moments.timeline.steps[question.step], spans_of(moments, question)
        parts = {
            name: question.values[name] for name in ("memory", "arithmetic", "messages", "overhead")
        }
        seconds = {k: float(v.value) for k, v in parts.items() if isinstance(v, Quantity)}
        assert seconds["messages"] == pytest.approx(step.communication_s)
        folded = sum(span.duration_s for span in spans if span.kind == "fold")
        assert sum(seconds.values()) + folded == pytest.approx(sum(s.duration_s for s in spans))
        best = question.answer.name.removeprefix("dominates.")
        assert seconds[best] == max(seconds.values())


def test_sums_are_what_numpy_makes_of_the_numbers(moments: Moments) -> None:
    for question in questions(moments):
        if question.kind != "sums":
            continue
        held = [
            [None if word == "·" else int(word) for word in numbers.split()]
            for numbers in re.findall(r"\[(.*?)\]", str(question.values["before"]))
        ]
        ranks = [int(rank) for rank in re.findall(r"GPU (\d+)", str(question.values["before"]))]
        rank = question.values["rank"]
        assert isinstance(rank, Quantity)
        mine = ranks.index(int(float(rank.value)))
        known = np.array([[0 if v is None else v for v in row] for row in held])
        expected = {
            "all_reduce": known.sum(axis=0),
            "all_gather": known.sum(axis=0),
            "all_to_all": known[:, mine] if known.shape[1] == len(held) else None,
            "broadcast": known[0],
        }[question.about]
        assert expected is not None
        assert question.answer.values["value"] == f"[{' '.join(map(str, expected))}]"


def test_ttft_and_tpot_are_the_sums_of_their_steps(moments: Moments) -> None:
    timeline = moments.timeline
    for question in questions(moments):
        if question.kind in {"ttft", "tpot"}:
            whole = timeline.ttft_s if question.kind == "ttft" else timeline.tpot_s
            assert amount(question) == whole
            parts = str(question.values["sum"]).split(" + ")
            units = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
            total = sum(float(n.replace(",", "")) * units[u] for n, u in map(str.split, parts))
            assert total == pytest.approx(whole, rel=0.01)


def test_a_hand_over_goes_to_the_same_place_of_the_next_stage(moments: Moments) -> None:
    for question in questions(moments):
        if question.kind != "sends":
            continue
        p = moments.timeline.scenario.parallel
        shown = [
            tuple(map(int, pair))
            for pair in re.findall(r"(\d+)→(\d+)", str(question.answer.values["value"]))
        ]
        for source, destination in shown:
            a, b = moments.mesh.position(source), moments.mesh.position(destination)
            assert (a.dp_rank, a.tp_rank) == (b.dp_rank, b.tp_rank)
            assert b.stage == a.stage + 1 < p.pp


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_words_are_there_for_every_question(moments: Moments, language: Language) -> None:
    scene, asked = scene_of(moments, language), questions(moments)
    for number, question in enumerate(asked, start=1):
        for size in ((40, 10), (80, 24), (200, 60)):
            words = question_caption(scene, question, (number, len(asked)), size)
            answer = answer_caption(scene, question, (number, len(asked)), size)
            assert words.lead
            assert words.text.count(")") >= len(question.choices)
            assert answer.lead
            assert answer.text
            assert "{" not in f"{words}{answer}"


@pytest.mark.parametrize("size", [(80, 24), (120, 40), (40, 10)])
def test_the_picture_keeps_the_answer_to_itself(size: tuple[int, int]) -> None:
    for index in (0, 1, 11):
        moments = _moments(index)
        scene, asked = scene_of(moments, "en"), questions(moments)
        for number, question in enumerate(asked, start=1):
            frame = draw_play(
                PlayView(
                    scene=scene,
                    state=moments.at(question.moment_s, is_covered=True),
                    width=size[0],
                    height=size[1],
                    caption=Caption(title="", lead="", text="", needs_room=True),
                    is_covered=True,
                )
            ).text()
            value = question.answer.values.get("value")
            if value is not None and question.kind != "messages":
                assert not re.search(rf"(?<![\d.,]){re.escape(written(value))}(?!\w)", frame), (
                    number
                )
            assert "round" not in frame
            assert "»" not in frame


def test_nothing_is_asked_that_was_answered_before() -> None:
    for index in range(len(CASES)):
        told: set[tuple[str, str]] = set()
        for question in questions(_moments(index)):
            if question.kind == "primitive":
                assert ("primitive", question.about) not in told
            payload, name = question.values.get("payload"), question.values.get("collective")
            told.add(("primitive", f"{payload}.{name}"))
