"""Recorded steps as timelines: measured times, no gaps, nothing invented, and they can be drawn."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from gpuflow.draw.play import draw_play
from gpuflow.draw.scene import scene_of
from gpuflow.draw.view import PlayView
from gpuflow.engine.moment import Moments
from gpuflow.engine.pace import Pace
from gpuflow.engine.questions import questions
from gpuflow.engine.timeline import Timeline
from gpuflow.engine.tour import tour_stops
from gpuflow.exporters.plain import steps_text
from gpuflow.importers.trace.reading import read_trace
from gpuflow.importers.trace.recorded import recorded_timeline
from gpuflow.scenario import catalog
from gpuflow.scenario.spec import Language

DATA = Path(__file__).parent.parent / "data" / "traces"


def timeline_of(file: str | Path) -> Timeline:
    found = recorded_timeline(read_trace(str(file)))
    assert found is not None
    return found


def screen(timeline: Timeline, at: float, size: tuple[int, int], language: Language = "en") -> str:
    moments = Moments(Pace(timeline))
    view = PlayView(
        scene=scene_of(moments, language),
        state=moments.at(at * moments.pace.duration_s),
        width=size[0],
        height=size[1],
    )
    return draw_play(view).text()


def check(timeline: Timeline) -> None:
    """What the player relies on, and what a recording must not claim."""
    assert timeline.spans[0].start_s == 0
    assert timeline.spans[-1].end_s == timeline.end_s
    assert all(a.end_s == pytest.approx(b.start_s, abs=1e-12) for a, b in pairwise(timeline.spans))
    assert {span.time_source for span in timeline.spans} == {"measured"}
    assert [span.index for span in timeline.spans] == list(range(len(timeline.spans)))
    assert [step.first_span for step in timeline.steps[1:]] == [
        step.last_span for step in timeline.steps[:-1]
    ]
    assert timeline.steps[-1].last_span == len(timeline.spans)
    end = Moments(Pace(timeline)).at(1e9)
    assert (end.known.ttft_s, end.known.tpot_s, end.known.kv_bytes) == (None, None, 0.0)


def test_a_step_of_a_server_is_cut_into_its_layers(traces: Any) -> None:
    timeline = timeline_of(traces.write(traces.document(traces.steps(3))))
    check(timeline)
    assert [step.id for step in timeline.steps] == ["before", "layers", "after"]
    layers = [span for span in timeline.spans if span.layer]
    assert {span.layer for span in layers} == set(range(1, 9))
    first = [(s.kind, s.part or s.collective) for s in layers if s.layer == 1]
    assert first == [
        ("compute", "attention"),
        ("collective", "all_reduce"),
        ("compute", "mlp"),
        ("collective", "all_reduce"),
    ]
    reduced = [span for span in timeline.spans if span.collective == "all_reduce"]
    assert len(reduced) == 16
    assert all(1e6 * span.duration_s == pytest.approx(10) for span in reduced)
    assert {span.algorithm for span in reduced} == {"one_shot"}
    assert {len(span.groups[0]) for span in reduced} == {8}
    assert timeline.end_s == pytest.approx((61 * 12 + 300) * 1e-6)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("size", [(80, 24), (120, 40), (40, 12), (200, 60)])
def test_recordings_are_drawn_at_every_moment(
    size: tuple[int, int], language: Language, traces: Any
) -> None:
    timeline = timeline_of(traces.write(traces.document(traces.steps(2)), name="rank0.json"))
    for at in (0.0, 0.2, 0.45, 0.7, 1.0):
        drawn = screen(timeline, at, size, language)
        assert "MiB" not in drawn.split("KV", 1)[-1].split("\n")[0]
    if size[0] >= 120:
        assert "rank0.json" in drawn


def test_what_has_no_layers_is_one_step(traces: Any) -> None:
    events = [traces.kernel(f"gemm_{n}", 10.0 * n, 8) for n in range(6)]
    events.append(traces.kernel("ncclDevKernel_Broadcast_RING_LL(x)", 12, 20, stream=9))
    events.append(traces.kernel("ncclDevKernel_Generic(x)", 40, 5, stream=9))
    timeline = timeline_of(traces.write(traces.document(events)))
    check(timeline)
    assert [step.id for step in timeline.steps] == ["whole"]
    assert [span.collective for span in timeline.spans] == [None, "broadcast", None, None, None]
    assert {span.part for span in timeline.spans} == {None}
    assert timeline.recording is not None
    assert (timeline.recording.has_model, timeline.recording.has_phase) == (False, False)
    drawn = screen(timeline, 0.5, (100, 30))
    assert "PREFILL" not in drawn
    assert "DECODE" not in drawn
    assert "TP 1/8" not in drawn


def test_talk_on_two_streams_keeps_its_count_its_time_and_its_bandwidth(traces: Any) -> None:
    said = {"Collective name": "allreduce", "dtype": "Float", "Group size": 8}
    name, sizes = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", {"In msg nelems": 1000}
    events = [traces.kernel(f"gemm_{n}", 100.0 * n, 90) for n in range(4)]
    # The second begins beside the first and goes on; the third is hidden in the second.
    for start, length, stream in ((10, 40, 20), (30, 60, 21), (60, 10, 22)):
        events.append(traces.kernel(name, start, length, stream, **said, **sizes))
    timeline = timeline_of(traces.write(traces.document(events)))
    check(timeline)
    shown = [span for span in timeline.spans if span.collective]
    assert [1e6 * span.duration_s for span in shown] == pytest.approx([40, 40])
    bus = [4000 * 7 / 4 / length for length in (40e-6, 60e-6)]
    assert [span.bus_bandwidth_bytes_per_s for span in shown] == pytest.approx(bus)
    network = timeline.scenario.steps[0].network.en
    assert "3 × all_reduce of 3.91 KiB in 110 µs" in network
    assert "10 µs to 60 µs, 40 µs in the median" in timeline.scenario.steps[0].latency.en


def test_an_a100_of_40_gb_has_the_links_of_its_like(traces: Any) -> None:
    head = {"deviceProperties": [{"id": 0, "name": "NVIDIA A100-SXM4-40GB"}]}
    content = {**traces.document(traces.steps(2)), **head}
    cluster = timeline_of(traces.write(content)).scenario.cluster
    like = catalog.device("a100-80gb-sxm")
    assert (cluster.device.title, cluster.scale_up.name) == ("A100 40GB SXM", like.fabric)


def test_all_kinds_of_collectives_can_be_drawn() -> None:
    timeline = timeline_of(DATA / "hidden.json")
    check(timeline)
    kinds = {span.collective for span in timeline.spans}
    assert kinds >= {"all_reduce", "all_gather", "all_to_all", "send_recv"}
    moments = Moments(Pace(timeline))
    scene = scene_of(moments, "en")
    for stretch in moments.pace.stretches:
        state = moments.at((stretch.screen_start_s + stretch.screen_end_s) / 2)
        draw_play(PlayView(scene=scene, state=state, width=120, height=40))


def test_words_from_outside_stay_words(traces: Any) -> None:
    events = [traces.kernel("gemm {ttft} {x}\x1b[31m", 10.0 * n, 8) for n in range(6)]
    head = {"deviceProperties": [{"id": 0, "name": "B200 {tp}\x1b[2J"}]}
    content = {**traces.document(events), **head}
    timeline = timeline_of(traces.write(content, name="{tp}.json"))
    for text in (steps_text(timeline, "en", None), screen(timeline, 0.5, (120, 40))):
        assert "\x1b" not in text
    assert "(tp).json" in steps_text(timeline, "en", None)


def test_a_trace_without_kernels_is_not_played(traces: Any) -> None:
    assert recorded_timeline(read_trace(traces.write(traces.document([])))) is None


FIELD = {
    "b200-8gpu-vllm-gpt-oss-120b-tp8-eager-rank0.json.gz": ("before layers after", 36, 73),
    "a100-2rank-ddp-allreduce-oldnames-rank0.json.gz": ("whole", 0, 5),
    "mi300x-8rank-rccl-generic-kernelname-rank0.json.gz": ("whole", 0, 2),
    "mi300x-1gpu-vllm-decode-hipgraph-nocomm.json.gz": ("before layers after", 24, 0),
}


@pytest.mark.parametrize("name", FIELD)
def test_traces_of_the_field_are_played(name: str, inputs: Path) -> None:
    timeline = timeline_of(inputs / "traces" / name)
    check(timeline)
    ids, n_layers, n_reduced = FIELD[name]
    assert " ".join(step.id for step in timeline.steps) == ids
    assert len({span.layer for span in timeline.spans if span.layer}) == n_layers
    assert sum(span.collective == "all_reduce" for span in timeline.spans) == n_reduced
    for at in (0.1, 0.5, 0.9):
        assert screen(timeline, at, (100, 30)).count("–") > 3


def test_a_recording_asks_and_tells_nothing_that_is_not_in_it(traces: Any) -> None:
    timeline = timeline_of(traces.write(traces.document(traces.steps(2))))
    pace = Pace(timeline)
    assert tour_stops(pace) == ()
    assert {one.kind for one in questions(Moments(pace))} == {"primitive"}
