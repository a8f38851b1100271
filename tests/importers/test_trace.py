"""Traces understood: made up ones of each awkward form, and those of the field."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gpuflow.cluster.prediction import predict
from gpuflow.exporters.trace_document import share_of_step
from gpuflow.importers.trace.expected import with_expected
from gpuflow.importers.trace.order import likely_kinds
from gpuflow.importers.trace.reading import Reading, read_trace
from gpuflow.importers.trace.runs import runs_of
from gpuflow.scenario import catalog

DATA = Path(__file__).parent.parent / "data" / "traces"


def codes(reading: Reading) -> set[str]:
    return {doubt.code for doubt in reading.doubts}


def kinds(reading: Reading) -> dict[tuple[str, str], int]:
    return {(one.kind, one.kernel): one.count for one in reading.collectives}


class Field(NamedTuple):
    """What a real file says, in short."""

    gpu: str | None
    kernels: int
    collectives: dict[str, int]
    span_ms: float
    busy_ms: float
    repeats: str
    doubts: set[str]


FIELD = {
    "b200-8gpu-vllm-gpt-oss-120b-tp8-eager-rank0.json.gz": Field(
        "b200-sxm",
        768,
        {"all_reduce": 73, "all_gather": 1},
        83.4,
        10.8,
        "36 layer",
        {"group_assumed", "model_by_shape", "waited"},
    ),
    "a100-2rank-ddp-allreduce-oldnames-rank0.json.gz": Field(
        "a100-40gb-sxm", 728, {"all_reduce": 5}, 113.7, 38.4, "", {"no_step"}
    ),
    "mi300x-8rank-rccl-generic-kernelname-rank0.json.gz": Field(
        "mi300x",
        1556,
        {"all_reduce": 2, "broadcast": 4, "unknown": 5},
        50.1,
        45.9,
        "2 step",
        {"device_not_rank", "kind_unknown", "kind_likely", "group_assumed"},
    ),
    "mi300x-1gpu-vllm-decode-hipgraph-nocomm.json.gz": Field(
        "mi300x",
        425,
        {},
        10.7,
        10.7,
        "24 layer",
        {"gpu_by_shape", "device_not_rank", "no_communication"},
    ),
    "gloo-300rank-cpu-only-no-kernels-rank34.json.gz": Field(
        None, 0, {}, 0.0, 0.0, "", {"no_kernels"}
    ),
    "derived-cut-a100-trace-midevent.json": Field(
        "a100-40gb-sxm", 298, {"all_reduce": 3}, 51.2, 13.9, "", {"cut", "no_step"}
    ),
}


@pytest.mark.parametrize("name", FIELD)
def test_traces_of_the_field_are_read_right(name: str, inputs: Path) -> None:
    reading, wanted = read_trace(str(inputs / "traces" / name)), FIELD[name]
    counts: dict[str, int] = {}
    for one in reading.collectives:
        counts[one.kind] = counts.get(one.kind, 0) + one.count
    assert (reading.gpu, reading.n_kernels, counts) == (
        wanted.gpu,
        wanted.kernels,
        wanted.collectives,
    )
    assert 1e3 * reading.span_s == pytest.approx(wanted.span_ms, abs=0.06)
    assert 1e3 * reading.busy_s == pytest.approx(wanted.busy_ms, abs=0.06)
    found = reading.repeating.repeat if reading.repeating else None
    assert (f"{found.count} {found.unit}" if found else "") == wanted.repeats
    assert codes(reading) == wanted.doubts
    assert reading.refused is None


def test_the_all_reduces_of_a_server_are_sized_and_predicted(inputs: Path) -> None:
    reading = read_trace(str(inputs / "traces" / next(iter(FIELD))))
    reduced, gathered = with_expected(reading.collectives, reading.gpu)
    # 73 = 2 x 36 layers + the embedding; the experts' half is padded to 3072 wide.
    tokens, width, padded = 888, 2880, 3072
    sizes = [(row.size_bytes, row.count) for row in reduced.sizes]
    assert sizes == [(2 * tokens * width, 37), (2 * tokens * padded, 36)]
    assert 1e6 * reduced.median_s == pytest.approx(27.4, abs=0.1)
    assert 1e6 * reduced.time_s == pytest.approx(2120, abs=1)
    assert reduced.time_s / reading.busy_s == pytest.approx(0.196, abs=0.001)
    assert reduced.exposed_s == pytest.approx(reduced.time_s, abs=1e-12)
    assert (gathered.sizes[0].size_bytes, gathered.sizes[0].ranks) == (201088 * 2, 8)
    assert 1e6 * gathered.time_s == pytest.approx(22.0, abs=0.1)
    assert reduced.predicted_s == pytest.approx(73 * 22.5e-6, rel=0.1)
    assert (reading.model.name if reading.model else "") == "gpt-oss-120b"
    assert [(one.prompt_tokens, one.answer_tokens) for one in reading.passes] == [(888, 0)]


def test_a_name_that_hides_the_collective_is_looked_behind(inputs: Path) -> None:
    name = "mi300x-8rank-rccl-generic-kernelname-rank0.json.gz"
    reading = read_trace(str(inputs / "traces" / name))
    sizes = {one.kind: [row.size_bytes for row in one.sizes] for one in reading.collectives}
    assert sizes == {
        "all_reduce": [2873320 * 2, 8816192 * 2],
        "broadcast": [20 * 8, 9600 * 2],
        "unknown": [None],
    }


def test_what_hides_its_name_is_guessed_by_its_place_and_not_counted(inputs: Path) -> None:
    name = "mi300x-8rank-rccl-generic-kernelname-rank0.json.gz"
    reading = read_trace(str(inputs / "traces" / name))
    guess = next(doubt for doubt in reading.doubts if doubt.code == "kind_likely")
    assert guess.values["found"] == ["3 × all_reduce", "2 × broadcast"]


@pytest.mark.parametrize(
    ("kinds", "likely"),
    [
        ("?ababab", {"b": 1}),
        ("ab?bab??", {"a": 2, "b": 1}),
        ("aabaa?aab", {"b": 1}),
        ("?aaaa", {}),
        ("?abba", {}),
        ("????", {}),
        ("", {}),
    ],
)
def test_an_order_that_repeats_tells_what_is_missing(kinds: str, likely: dict[str, int]) -> None:
    names: dict[str, Any] = {"?": "unknown", "a": "all_reduce", "b": "broadcast"}
    found = likely_kinds([names[sign] for sign in kinds])
    assert found == {names[sign]: count for sign, count in likely.items()}


def test_very_many_sizes_are_predicted_in_few_lookups(
    traces: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = {"Collective name": "allreduce", "dtype": "Float", "Group size": 8}
    name = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)"
    events = [traces.kernel(name, 9.0 * n, 5, **said, **{"In msg nelems": n}) for n in range(700)]
    reading = read_trace(traces.write(traces.document(events)))
    (one,) = with_expected(reading.collectives, "h100-sxm")
    monkeypatch.setattr("gpuflow.importers.trace.expected.MOST_LOOKUPS", 10_000)
    calls: list[int] = []

    def counted(*key: Any) -> Any:
        calls.append(len(key[-1]))
        return predict(*key)

    monkeypatch.setattr("gpuflow.importers.trace.expected.predict", counted)
    (singly,) = with_expected(reading.collectives, "h100-sxm")
    assert [row.predicted_s for row in one.sizes] == [row.predicted_s for row in singly.sizes]
    assert calls == [1] * 699
    calls.clear()
    monkeypatch.setattr("gpuflow.importers.trace.expected.MOST_LOOKUPS", 200)
    with_expected(reading.collectives, "h100-sxm")
    assert (sum(calls), max(calls)) == (699, 4)


def test_a_cpu_trace_says_what_ran_on_the_host(inputs: Path) -> None:
    name = "gloo-300rank-cpu-only-no-kernels-rank34.json.gz"
    reading = read_trace(str(inputs / "traces" / name))
    assert [(label, count) for label, count, _ in reading.host_collectives] == [
        ("gloo:all_reduce", 10)
    ]
    assert (reading.head.rank, reading.head.world, reading.head.backend) == (34, 300, "gloo")


# ---------------------------------------------------------------- made up


def test_hidden_collectives_are_found_and_others_are_not() -> None:
    reading = read_trace(str(DATA / "hidden.json"))
    assert kinds(reading) == {
        ("all_reduce", "cross_device_reduce_1stage"): 1,
        ("all_reduce", "allreduce_fusion_kernel_oneshot_lamport"): 1,
        ("all_to_all", "internode_ll::dispatch"): 1,
        ("all_to_all", "internode_ll::combine"): 1,
        ("all_gather", "ncclDevKernel_Generic_2"): 1,
        ("all_to_all", "ncclDevKernel_SendRecv"): 1,
        ("send_recv", "ncclDevKernel_SendRecv"): 1,
        ("send_recv", "Memcpy PtoP"): 1,
    }
    by_kernel = {one.kernel: one for one in reading.collectives if one.kind != "send_recv"}
    small = by_kernel["cross_device_reduce_1stage"].sizes[0]
    assert (small.size_bytes, small.ranks) == (32 * 4096 * 2, 4)
    exchanged = by_kernel["ncclDevKernel_SendRecv"]
    assert (exchanged.bytes, exchanged.sizes[0].ranks) == (2 * 1048576, 8)
    # nvjet runs beside 20 of its 60 us
    assert 1e6 * exchanged.exposed_s == pytest.approx(40)
    assert {one.kind for one in reading.computes} == {"experts", "attention", "gemm"}
    assert reading.head.groups == (8, 4)
    assert codes(reading) >= {"size_unknown", "group_assumed", "send_recv", "no_step"}
    assert "device_not_rank" not in codes(reading)


def test_an_old_list_that_nobody_closed_is_read() -> None:
    reading = read_trace(str(DATA / "old-list-unclosed.json"), gpu="v100-sxm2")
    assert kinds(reading) == {("all_reduce", "ncclAllReduceRingLLKernel_sum_f32"): 1}
    assert (reading.n_kernels, reading.n_copies) == (2, 1)
    assert codes(reading) == {"cut", "broken_events", "group_unknown", "size_unknown", "no_step"}
    assert 1e6 * reading.exposed_s == pytest.approx(20)


@pytest.mark.parametrize("origin", [0.0, 1.7e15])
def test_what_follows_each_other_is_not_beside_each_other(origin: float, traces: Any) -> None:
    events, clock = [], 0.0
    for n in range(60):
        length, is_talk = 3.001 + 0.637 * (n % 7), n % 2
        name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL" if is_talk else "gemm"
        events.append(traces.kernel(name, origin + clock, length, 20 if is_talk else 7))
        clock += length
    reading = read_trace(traces.write(traces.document(events)))
    assert reading.exposed_s == pytest.approx(reading.communication_s, abs=1e-12)
    (reduced,) = reading.collectives
    assert reduced.exposed_s == pytest.approx(reduced.time_s, abs=1e-12)


def test_sizes_are_made_of_tokens_where_the_model_is_named(traces: Any) -> None:
    events = traces.steps(2, at=1e6)
    width = events[-1]["ts"] + 20 - 1e6
    note = {"ph": "X", "cat": "gpu_user_annotation", "pid": 0, "tid": 7, "ts": 1e6, "dur": width}
    note["name"] = "execute_context_0(0)_generation_32(32)"
    file = traces.write(traces.document([note, *events]))
    assert "size_unknown" in codes(read_trace(file))
    reading = read_trace(file, model=catalog.model("llama-3-8b"))
    assert "size_by_model" in codes(reading)
    reduced = next(one for one in reading.collectives if one.kind == "all_reduce")
    assert [row.size_bytes for row in reduced.sizes] == [32 * 4096 * 2]


def test_steps_of_a_server_are_counted(traces: Any) -> None:
    reading = read_trace(traces.write(traces.document(traces.steps(5)), packed=True))
    assert reading.step is not None
    assert reading.layer is not None
    assert (reading.step.repeat.count, reading.layer.repeat.count) == (5, 40)
    assert 1e6 * reading.step.duration_s == pytest.approx((5 + 7 * 8) * 12 + 300)
    assert reading.n_steps == pytest.approx(5)


def test_annotated_steps_stand_above_what_kernels_suggest(traces: Any) -> None:
    events = traces.steps(4)
    firsts = [event["ts"] for event in events if event["name"] == traces.head[0]]
    for n, start in enumerate(firsts):
        about = {"ph": "X", "cat": "gpu_user_annotation", "pid": 0, "tid": 7, "args": {}}
        events.append({**about, "name": f"ProfilerStep#{n}", "ts": start, "dur": 730})
    reading = read_trace(traces.write(traces.document(events)))
    assert reading.step is not None
    assert (reading.step.repeat.by, reading.step.repeat.count) == ("annotation", 4)


def _passes(traces: Any, *, slow: float = 10.0, streams: tuple[int, ...] = (7,)) -> list[Any]:
    """A pass over a prompt and three of one token each, annotated on each of some streams."""
    events: list[Any] = []
    clock = 1e6
    for n in range(4):
        one = traces.steps(1, slow=slow if n == 0 else 1.0, at=clock)
        length = one[-1]["ts"] + one[-1]["dur"] - clock
        names = [f"ProfilerStep#{n}", f"execute_context_{n == 0:d}(9)_generation_{n > 0:d}(1)"]
        for stream in streams:
            note = {"ph": "X", "cat": "gpu_user_annotation", "pid": 0, "tid": stream, "args": {}}
            events += [{**note, "name": name, "ts": clock, "dur": length} for name in names]
        events += one
        clock += length + 300
    return events


def test_annotations_that_stand_on_several_streams_and_in_each_other_count_once(
    traces: Any,
) -> None:
    events = _passes(traces, streams=(7, 20, 24))
    events.append(traces.kernel("side_kernel", 1e6 + 50, 1.0, stream=20))
    reading = read_trace(traces.write(traces.document(events)))
    assert [one.prompts for one in reading.passes] == [1, 0, 0, 0]
    assert reading.step is not None
    assert (reading.step.repeat.by, reading.step.repeat.count) == ("annotation", 4)
    assert reading.n_steps == pytest.approx(4)


def test_annotations_of_another_device_do_not_count(traces: Any) -> None:
    events = _passes(traces)
    other = [{**one, "pid": 1, "args": {**one["args"], "device": 1}} for one in events]
    reading = read_trace(traces.write(traces.document([*other[:-9], *events])))
    assert "several_devices" in codes(reading)
    assert len(reading.passes) == 4
    assert reading.step is not None
    assert reading.step.repeat.count == 4


def test_the_share_of_steps_counts_a_long_one_in_full(traces: Any) -> None:
    reading = read_trace(traces.write(traces.document(_passes(traces))))
    (run,) = runs_of([reading])
    reduced = next(one for one in run.collectives if one.collective.kind == "all_reduce")
    share = share_of_step(reduced, run)
    # From the first kernel to where a fifth pass would begin.
    assert share == pytest.approx(reduced.time_s / (reading.span_s + 300e-6), rel=1e-6)
    assert reading.step is not None
    assert reading.step.duration_s < 0.8 * reading.step.mean_s


@pytest.mark.parametrize(
    "properties",
    [
        None,
        5,
        "x",
        [],
        [5],
        [{}],
        [{"name": 7}],
        [{"name": ""}],
        [{"name": "A", "totalGlobalMem": "?"}],
    ],
)
@pytest.mark.parametrize(
    "job",
    [None, 5, [], {}, {"rank": -1, "world_size": "8"}, {"pg_config": {"a": 1}}, {"pg_config": [1]}],
)
def test_odd_heads_are_no_error(properties: Any, job: Any, traces: Any) -> None:
    head = {"deviceProperties": properties, "distributedInfo": job}
    reading = read_trace(traces.write({**traces.document(traces.steps(1)), **head}))
    assert reading.n_kernels == 61
    assert reading.gpu is None


@pytest.mark.parametrize(
    "args",
    [
        {"Collective name": 5},
        {"Collective name": "allreduce", "In msg nelems": -4, "Group size": 0, "dtype": 8},
        {"Collective name": "allreduce", "In msg nelems": 10**30, "dtype": "Float"},
        {"Collective name": "allreduce", "In msg nelems": True, "dtype": "Nothing"},
        {"External id": "five"},
        {"External id": 10**40},
        {"device": [1], "stream": {"a": 1}},
        {"device": "\x1b[31m", "stream": None},
    ],
)
def test_odd_arguments_are_no_error(args: Any, traces: Any) -> None:
    event = traces.kernel("ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 1.0, 5.0, **args)
    reading = read_trace(traces.write(traces.document([event])))
    assert kinds(reading) == {("all_reduce", "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"): 1}
    assert reading.collectives[0].bytes is None


def test_names_that_never_repeat_are_bounded(traces: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuflow.importers.trace.kernels.MOST_NAMES", 10)
    monkeypatch.setattr("gpuflow.importers.trace.kernels.MOST_KERNELS", 90)
    events = [traces.kernel(f"kernel_{n}", n, 0.5) for n in range(100)]
    reading = read_trace(traces.write(traces.document(events)))
    assert reading.n_kernels == 90
    assert "full" in codes(reading)
    assert reading.queue is not None
    assert len(reading.queue.texts) == 11
    assert "names_full" in codes(reading)


def test_long_names_are_bounded_together(traces: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuflow.importers.trace.kernels.MOST_NAME_CHARACTERS", 1000)
    events = [traces.kernel(f"{n}_" + "k" * 200, n, 0.5) for n in range(100)]
    reading = read_trace(traces.write(traces.document(events)))
    assert reading.n_kernels == 100
    assert reading.queue is not None
    assert len(reading.queue.texts) == 5
    doubt = next(one for one in reading.doubts if one.code == "names_full")
    assert doubt.values["count"] == 96
