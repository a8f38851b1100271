"""The worked numbers of the default scenario in the ideal profile."""

from __future__ import annotations

import pytest

from gpuflow.cluster.parameters import kv_bytes_per_token, parameters
from gpuflow.engine.cache import CacheFill
from gpuflow.engine.metrics import communication_share, estimate
from gpuflow.engine.simulate import simulate
from gpuflow.engine.timeline import Timeline


@pytest.fixture(scope="module")
def timeline(load) -> Timeline:
    return simulate(load())


def test_ttft_is_the_worked_figure(timeline: Timeline) -> None:
    # 1 %: the worked figure is rounded and leaves out the token's broadcast
    assert timeline.ttft_s == pytest.approx(7.56e-3, rel=0.01)


def test_tpot_is_the_worked_figure(timeline: Timeline) -> None:
    assert timeline.tpot_s == pytest.approx(3.53e-3, rel=0.01)


def test_all_reduce_takes_its_share_of_a_decode_step(timeline: Timeline) -> None:
    # 0.3 percentage points, as the worked figure is given to one decimal
    assert communication_share(timeline, "decode", "tp") == pytest.approx(0.145, abs=0.003)


def test_prefill_layer_and_its_all_reduce(timeline: Timeline) -> None:
    layer = [s for s in timeline.spans if s.step == 1 and s.layer == 1]
    compute = sum(s.duration_s for s in layer if s.kind == "compute")
    reduces = [s.duration_s for s in layer if s.collective == "all_reduce"]
    assert compute == pytest.approx(190e-6, rel=0.002)
    assert reduces == pytest.approx([19.34e-6] * 2, rel=0.001)


@pytest.mark.parametrize(
    ("step", "collective", "size_bytes", "messages"),
    [
        (0, "broadcast", 2 * 2**10, 1),
        (1, "all_reduce", 4 * 2**20, 32),
        (2, "send_recv", 4 * 2**20, 1),
        (3, "all_reduce", 4 * 2**20, 32),
        (4, "all_gather", 128_256 * 2, 1),
        (4, "broadcast", 4, 1),
        (5, "all_reduce", 8 * 2**10, 32),
        (6, "send_recv", 8 * 2**10, 1),
        (6, "all_reduce", 8 * 2**10, 32),
        (7, "all_gather", 128_256 * 2, 1),
        (7, "broadcast", 4, 1),
    ],
)
def test_messages_of_a_step(
    timeline: Timeline, step: int, collective: str, size_bytes: int, messages: int
) -> None:
    sizes = [
        s.message_size_bytes
        for s in timeline.spans
        if s.step == step and s.collective == collective
    ]
    assert sizes == [size_bytes] * messages


def test_sends_pair_ranks_of_equal_tensor_position(timeline: Timeline) -> None:
    send = next(s for s in timeline.spans if s.kind == "send")
    assert send.groups == ((0, 2), (1, 3))


def test_sampled_token_is_broadcast_from_the_last_stage(timeline: Timeline) -> None:
    span = next(s for s in timeline.spans if s.payload == "token")
    assert span.groups[0][span.root] == 2


def test_kv_cache_per_token_and_after_prefill(timeline: Timeline) -> None:
    assert kv_bytes_per_token(timeline.scenario.model) == 131_072
    fill = CacheFill(timeline)
    assert fill.bytes_at(0, timeline.ttft_s) == pytest.approx(16 * 2**20)
    assert fill.bytes_at(1, 0.0) == 0.0
    # 639 tokens: the last output token is never fed back
    assert fill.bytes_at(1, timeline.end_s) == pytest.approx(639 * 131_072 / 4)


def test_lap_steps_add_up_to_tpot(timeline: Timeline) -> None:
    laps = sum(s.duration_s for s in timeline.steps if s.phase == "decode")
    assert laps == pytest.approx(timeline.tpot_s)


def test_end_is_ttft_and_all_laps(timeline: Timeline) -> None:
    assert timeline.laps == 127
    assert timeline.end_s == pytest.approx(timeline.ttft_s + 127 * timeline.tpot_s)
    assert timeline.spans[-1].end_s == pytest.approx(timeline.end_s)


def test_memory_adds_up_to_the_device(timeline: Timeline) -> None:
    device = timeline.scenario.cluster.device
    rows = estimate(timeline).memory
    for row in rows:
        whole = row.weights_bytes + row.kv_bytes + row.free_bytes
        assert whole == pytest.approx(device.memory_bytes)
    # the embedding is held whole by both ranks of the first stage, norms by every rank
    extra = 2 * 128_256 * 4096 - 128_256 * 4096 + 4096 * (2 * 32 + 1)
    held = sum(row.weights_bytes for row in rows) / 2
    assert held == pytest.approx(parameters(timeline.scenario.model) + extra)


def test_tpot_grows_with_the_context_and_its_mean_is_tpot(timeline: Timeline) -> None:
    first, middle, last = estimate(timeline).tpot_at
    assert (first.position, middle.position, last.position) == (2, 65, 128)
    assert first.tpot_s < middle.tpot_s < last.tpot_s
    assert (first.tpot_s + last.tpot_s) / 2 == pytest.approx(timeline.tpot_s)


def test_mean_lap_equals_the_mean_over_all_laps(load) -> None:
    """The closed form over the context against 127 laps one by one."""
    laps = [simulate(load(context=512 + i)).tpot_s for i in range(1, 128)]
    assert simulate(load()).tpot_s == pytest.approx(sum(laps) / len(laps), rel=1e-12)


def test_a_single_output_token_has_no_lap(load) -> None:
    timeline = simulate(load(output=1))
    result = estimate(timeline)
    assert timeline.end_s == timeline.ttft_s
    assert result.tpot_s is None
    assert result.tokens_per_s is None
    assert all(s.is_idle for s in timeline.steps if s.phase == "decode")
